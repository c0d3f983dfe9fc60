"""Adapters: the only code that knows a framework's API.

An adapter says what the framework is (``Framework``), where its code lies (``Code``), and measures
it in five ways (``rlregress.frameworks.kinds``). It knows no formulas and no expectations: the
tests compare its results with them.

Adapters run inside foreign and old environments: standard library, NumPy, torch, gymnasium and the
framework only, Python 3.10 syntax.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rlregress.errors import UserError
from rlregress.frameworks.adapter_errors import (
    convert_errors_to_sentences,
    format_annotation,
    is_value_of_type,
)
from rlregress.frameworks.framework_code import Code
from rlregress.frameworks.kinds import Call, Kind, Load, Observe, Read, Train
from rlregress.probing import families
from rlregress.probing.interface import TraceTraining


@dataclass(frozen=True)
class Framework:
    """The description of a framework: its packages, algorithms and the places of its code.

    Attributes:
        packages: distributions whose versions identify what is tested; the first is the package
            under test.
        modules: importable packages whose code is under test.
        beneath: importable packages of another framework that this one extends: its probes run
            their code.
        public: modules whose public classes and functions users call: their defaults are compared.
        algorithms: names as in the catalogue: "ppo", "sac", "td3".
        discrete: of these, the ones that are trained with discrete actions, too.
        behavior_only: algorithms beside these that no cell trains: their behaviour is checked, not
            their returns.
        related: algorithm -> algorithms with other names that have its details, too.
        scopes: in which a detail can be probed: "library" (class defaults), "trainer", "script", or
            the name of a class where several classes have the detail.
        recorded_methods: methods whose return values a trace records, "module:Class.method", with
            all subclasses: what vector environments, normalisers and collectors return.
        logged: methods, named like these, that get what a training logs: a name and a value, a
            table of them, or values by keyword.
        in_one_process: class that steps environments, or samples, in other threads or processes ->
            its replacement that does the same in one process.
        stores_files: whether ``baselines/saved`` keeps files that its past releases wrote.
        checkout: environment variable that names a checkout to test instead of a package, if any.
        expectations: file or folder of the expectations, if they lie outside of this repository.
    """

    title: str
    packages: tuple[str, ...]
    modules: tuple[str, ...] = ()
    beneath: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()
    behavior_only: tuple[str, ...] = ()
    related: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scopes: tuple[str, ...] = ("library",)
    recorded_methods: tuple[str, ...] = ()
    logged: tuple[str, ...] = ()
    in_one_process: Mapping[str, str] = field(default_factory=dict)
    stores_files: bool = False
    checkout: str = ""
    expectations: Path | None = None

    def __post_init__(self) -> None:
        for name, annotation in inspect.get_annotations(type(self), eval_str=True).items():
            value = getattr(self, name)
            if not is_value_of_type(value, annotation):
                raise TypeError(f"{name} is {value!r}; expected {format_annotation(annotation)}")
        if not self.packages:
            raise ValueError("packages is (); expected the package under test, and those beside it")

    def do_words_name_algorithm(self, algorithm: str, words: Collection[str]) -> bool:
        """Return whether a word in the name of a file or a training belongs to an algorithm.

        A word does if it is the algorithm's name, ends with it, as ``recurrentppo`` does, or is
        ``related``. In a framework with one algorithm, every word does.
        """
        related = self.related.get(algorithm, ())
        if (algorithm,) == (*self.algorithms, *self.behavior_only):
            return bool(words)
        return any(word.endswith(algorithm) or word in related for word in words)


K = TypeVar("K", bound=Kind)


class Adapter:
    """The interface to one framework.

    The framework is imported only when one of the five kinds needs it.

    Args:
        name: by which users call the framework.
        package: the importable package whose modules ``observe``, ``train``, ``call``, ``read`` and
            ``load`` have the functions of the kinds of these names, as far as there are any.
        framework: its description.
    """

    #: which of several copies of the framework this adapter measures; empty where there can be one.
    label: str = ""

    def __init__(self, name: str, package: str, framework: Framework) -> None:
        self.name, self.package, self._framework = name, package, framework

    def __str__(self) -> str:
        return self.framework.title

    @property
    def framework(self) -> Framework:
        """The description of the framework."""
        return self._framework

    @property
    def full_name(self) -> str:
        """``name``, or ``name@label`` where there can be several copies."""
        return f"{self.name}@{self.label}" if self.label else self.name

    @property
    def code(self) -> Code:
        """The location and version of its code."""
        # of another party there is no extra
        extra = self.name if self.package.startswith("rlregress.") else ""
        return Code(self.framework, extra)

    def list_copy_labels(self) -> Sequence[str]:
        """Return labels of the local checkouts, the preferred one first; a package has none."""
        return ()

    def get_adapter_of_copy(self, label: str) -> Adapter:
        """Return the adapter of one copy; UserError if there is none of that label."""
        version = self.code.version()
        if label != version:
            raise UserError(
                f"{self.name}@{label} is not installed; "
                f"found {self.framework.packages[0]} {version}"
            )
        return self

    def _make_kind(self, kind: type[K], **arguments: Any) -> K:
        """Return a ``Kind``, such as ``Train``, with the functions of the module ``train``.

        Args:
            arguments: further arguments of each function.
        """
        name = f"{self.package}.{kind.__name__.lower()}"
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:  # the package is a module
            spec = None
        with convert_errors_to_sentences(name, "a module that can be imported"):
            return kind(
                families.import_with_absent_names(name) if spec else None, str(self), arguments
            )

    @property
    def observe(self) -> Observe:
        """The object that measures updates with known inputs."""
        return self._make_kind(Observe)

    @property
    def train(self) -> Train:
        """The object that trains with the framework's own loop."""
        return self._make_kind(Train)

    @property
    def call(self) -> Call:
        """The object that calls classes and functions with generated arguments."""
        return self._make_kind(Call)

    @property
    def read(self) -> Read:
        """The object that reads defaults and names of hyperparameters."""
        return self._make_kind(Read)

    @property
    def load(self) -> Load:
        """The object that loads files that the framework has saved."""
        return self._make_kind(Load)

    def list_trace_trainings(self) -> Mapping[str, TraceTraining]:
        """Return built-in trainings and generated calls, which a trace can record, by title."""
        return {**self.train.list_builtin_trainings(), **self.call.list_generated_calls()}
