"""What an adapter is: the only place that knows a framework's API.

An adapter answers two kinds of request. A *probe* feeds controlled inputs to the framework's
real code and returns what came out. A *training* runs the framework's own training loop. An
adapter knows no formulas and no expectations; it meets them in the tests.

Adapters run inside foreign and old environments: standard library, NumPy, torch, gymnasium and
the framework only, Python 3.10 syntax.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlregress.errors import UserError
from rlregress.missing_packages import MissingPackage
from rlregress.model.extra_packages import not_installed
from rlregress.probing import families, installed_metadata
from rlregress.probing.interface import (
    PLAIN,
    Minibatch,
    Probe,
    RunningStatistics,
    TraceTraining,
    Trained,
    TrainingRequest,
    TrainingVariant,
    Transitions,
)

if TYPE_CHECKING:
    from rlregress.probing.file_kinds import Saving


def _folders(modules: Sequence[str]) -> list[str]:
    specs = [importlib.util.find_spec(module) for module in modules]
    return [f for spec in specs if spec for f in spec.submodule_search_locations or ()]


class Adapter:
    """Base of all adapters.

    A subclass sets the attributes. Its framework is imported only when one of the methods needs
    it: each finds its work in a module beside the one that defines the subclass, ``probes``
    (``PROBES``), ``training`` (``train``), ``collection`` (``transitions``) or ``minibatches``
    (``minibatches``). A subclass that lives in a single file overrides the methods.
    """

    name: str = ""
    title: str = ""
    #: distributions whose versions identify what was tested; the first is the package under test.
    packages: tuple[str, ...] = ()
    #: importable packages whose code is under test.
    modules: tuple[str, ...] = ()
    #: importable packages of another framework that this one extends: its probes run their code.
    beneath: tuple[str, ...] = ()
    #: modules whose public classes and functions users call: their defaults are compared.
    public: tuple[str, ...] = ()
    #: algorithm names as in the catalogue: "ppo", "sac", "td3".
    algorithms: tuple[str, ...] = ()
    #: of these, the ones that are trained with discrete actions, too.
    discrete: tuple[str, ...] = ()
    #: algorithms beside these that no cell trains: their behaviour is asked, not their returns.
    behavior_only: tuple[str, ...] = ()
    #: of these, algorithm -> those of other names that have its details, too.
    related: Mapping[str, tuple[str, ...]] = {}
    #: the scopes a detail can be probed in: "library" (class defaults), "trainer", "script", or the
    #: name of a class where several classes have the detail, and "library" is another one of them.
    scopes: tuple[str, ...] = ("library",)
    #: methods whose return values a trace records, "module:Class.method", with all subclasses: what
    #: vector environments, normalisers and collectors hand out.
    recorded_methods: tuple[str, ...] = ()
    #: methods that are given what a training logs, named as the above: a name and a value, a table
    #: of them, or values by keyword.
    logged: tuple[str, ...] = ()
    #: class that steps environments, or samples, in other threads or processes -> what to use in
    #: its place to do the same in one.
    in_one_process: Mapping[str, str] = {}
    #: why a training that was stopped begins anew, one clause; empty: ``train`` keeps it, and goes
    #: on with it in another process as if nothing had been.
    no_resume_reason: str = "its adapter cannot keep a training"
    #: whether ``baselines/saved`` keeps files that its past releases wrote.
    stores_files: bool = False
    #: environment variable that names a checkout to ask instead of an installed package, if any.
    checkout: str = ""
    #: which of several copies of the framework this adapter asks; empty where there can be but one.
    label: str = ""

    @property
    def full_name(self) -> str:
        """``name``, or ``name@label`` where there can be several copies."""
        return f"{self.name}@{self.label}" if self.label else self.name

    def is_about(self, algorithm: str, words: Collection[str]) -> bool:
        """Whether one of some words, of a file or of a training's name, is of an algorithm.

        It is the algorithm's name, ends with it, as ``recurrentppo`` does, or is ``related``.
        """
        related = self.related.get(algorithm, ())
        if (algorithm,) == (*self.algorithms, *self.behavior_only):
            return bool(words)
        return any(word.endswith(algorithm) or word in related for word in words)

    def available(self) -> Sequence[str]:
        """Labels of the copies that are here; a framework that is a package has none."""
        return ()

    def at(self, label: str) -> Adapter:
        """The adapter of one copy; UserError if there is none of that label."""
        version = self.version()
        if label != version:
            raise UserError(
                f"{self.name}@{label} is not here: {self.packages[0]} {version} is installed"
            )
        return self

    def versions(self) -> Mapping[str, str]:
        """Versions of ``packages``; raises UserError that names the first missing one."""
        try:
            return installed_metadata.versions(self.packages)
        except importlib.metadata.PackageNotFoundError as error:
            missing = error.args[0]
            # of another party there is no extra
            own = type(self).__module__.startswith("rlregress.")
            raise MissingPackage(
                f"{self.title} cannot be tested: {not_installed(missing, self.name if own else '')}"
            ) from None

    def version(self) -> str:
        """The version of the package under test."""
        return self.versions()[self.packages[0]]

    def _sibling(self, name: str) -> Any:
        return families.load(f"{type(self).__module__}.{name}")

    def digests(self) -> Mapping[str, str]:
        """SHA-256 of code under test that is in no importable package, by name."""
        return {}

    def probes(self) -> Mapping[tuple[str, str], Probe]:
        """The probes of this adapter by (detail id, scope)."""
        return self._sibling("probes").PROBES

    def defaults(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """What is set if a user sets nothing: (algorithm, scope) -> hyperparameter -> value.

        Hyperparameters have the names of ``baselines/hyperparameters``. None: switched off. One
        that a scope does not have, or whose value is not in the installed package, is left out.
        A cell that cannot be read is a ``families.Unread``.
        """
        return self._sibling("defaults").values()

    def other_defaults(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """As ``defaults``, but all arguments in the framework's own names, and none documented.

        Two sides of an upgrade are compared by these, where an algorithm is among both.
        """
        return {}

    def applied(self, algorithm: str, hyperparameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Build an agent with a hyperparameter set and read back what it is set to.

        Raises:
            UserError: the framework cannot be set to it; names every hyperparameter that it cannot
                take. A hyperparameter is never dropped silently.
        """
        return self._sibling("defaults").applied(algorithm, hyperparameters)

    def parameter_names(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """What the framework calls them: (algorithm, scope) -> hyperparameter -> own name."""
        return self._sibling("defaults").names()

    def expectations(self) -> Path | None:
        """File or folder of what is documented, for an adapter outside of this repository."""
        return None

    def locate(self, file: str) -> Path | None:
        """Where a source file of the framework is, given below the folder of its packages."""
        package, _, below = file.partition("/")
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):  # no package of that name can be
            return None
        for folder in (spec.submodule_search_locations if spec else None) or ():
            if (Path(folder) / below).is_file():
                return Path(folder) / below
        return None

    def copy_to_change(self, file: str, folder: Path) -> Mapping[str, str]:
        """Lay a copy of the code that holds ``file`` into ``folder``, where it can be changed.

        Args:
            file: path of a source file, below the folder of its packages.
            folder: an empty one; the copy of the file is ``folder / file``, maybe as a link.

        Returns:
            Environment variables of a process that is to use the copy; what is in ``PYTHONPATH``
            goes in front of what is there.

        Raises:
            UserError: the package of ``file`` is not installed.
        """
        package = file.partition("/")[0]
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise UserError(f"the package '{package}' of {file} is not installed; install it")
        source = next(iter(spec.submodule_search_locations))
        # links, so that the compiled files of what is not changed still serve
        shutil.copytree(source, folder / package, copy_function=os.symlink)
        return {"PYTHONPATH": str(folder)}

    def is_checkout(self, folder: Path) -> bool:
        """Whether a folder can be named as a checkout of this framework."""
        return False

    def code_folders(self) -> Sequence[str]:
        """The folders of the code under test."""
        return _folders(self.modules)

    def probed_folders(self) -> Sequence[str]:
        """The folders of the code under test, and of what it extends."""
        return [*self.code_folders(), *_folders(self.beneath)]

    def absent(self) -> Mapping[str, str]:
        """What this framework does not have: a detail, or a whole family of them -> the reason."""
        return getattr(self._sibling("probes"), "ABSENT", {})

    def train(self, request: TrainingRequest) -> Trained:
        """Train with the framework's own loop."""
        return self._sibling("training").train(request)

    def train_and_resume(self, request: TrainingRequest, restored: bool = False) -> Trained:
        """Train half of the steps, and then, as the framework documents it, the other half.

        Args:
            request: ``total_steps`` are two whole halves of its loop; without checkpoints.
            restored: in between the training is saved, and all of it that the framework can load is
                loaded into a new one, as its documentation says; the global random generators and
                the environment go on as they were.

        Raises:
            Unsupported: the framework has no such way to go on.
        """
        return self._sibling("resume").train_and_resume(request, restored)

    def train_seeded(self, request: Any) -> Trained:
        """Train DQN or DDPG with the framework's own loop, each source of chance with its own seed.

        Args:
            request: a ``rlregress.probing.seeded_training.SeededTraining``.

        Raises:
            Unsupported: the framework, in this version, has no such algorithm.
        """
        return self._sibling("seeded").train_seeded(request)

    def sources_of_chance(self) -> Mapping[str, str]:
        """Source, named as in ``seeded_training.Seeds`` -> what draws it, how it is set apart."""
        return self._sibling("seeded").SOURCES

    def trace_trainings(self) -> Mapping[str, TraceTraining]:
        """Built-in trainings for traces, by title: "<algorithm>" or "<algorithm> <scenario>".

        They are short. That of an algorithm reaches truncation, termination and both at once,
        several environments, a replay buffer that wraps around, delayed and target updates, the end
        of schedules, the last incomplete minibatch and an evaluation, as far as the algorithm has
        them. Scenarios switch on what users do.
        """
        return self._sibling("builtin_trainings").TRAININGS

    def saved_files(self) -> Mapping[str, Sequence[Saving]]:
        """What the framework's documentation saves of built-in trainings, by algorithm."""
        return {}

    @property
    def saves_files(self) -> bool:
        """Whether there are such files; the framework need not be installed to say so."""
        return type(self).saved_files is not Adapter.saved_files

    def user_agent(self, path: str) -> Any:
        """Load an agent of a user, whatever its algorithm.

        Raises:
            UserError: files of this framework say nothing of what they hold.
        """
        raise UserError(
            f"files of {self.title} do not say how they are loaded; give --loader FILE, a file "
            "with a function load(path)"
        )

    def settings_of(self, agent: Any) -> Mapping[str, Any]:
        """The settings of an agent that was loaded, by name."""
        return {}

    def warm_up(self) -> None:
        """Do once what takes long the first time; traced trainings are forked after it."""

    def transitions(self, request: TrainingRequest, environments: int = 1) -> Transitions:
        """Train with the framework's own loop and return what the algorithm stored.

        On-policy algorithms give every rollout as their update got it; off-policy algorithms the
        rows of the replay buffer in the order of their writing.

        Args:
            request: ``total_steps`` (over all environments) is a whole number of segments; a
                segment has ``rollout_steps`` (on-policy) or ``steps_per_collection`` (off-policy)
                steps in each environment. ``replay_size`` holds them all.
            environments: copies from ``make_env``, side by side in the framework's own vectorised
                environment.
        """
        return self._sibling("collection").transitions(request, environments)

    def minibatches(
        self, request: TrainingRequest, environments: int = 1, around: TrainingVariant = PLAIN
    ) -> Sequence[Minibatch]:
        """Train with the framework's own loop and return the minibatches that its updates read.

        They are noted where the framework's own sampling hands them to the update, in the order of
        reading: all of an epoch, then those of the next.

        Args:
            request: as for ``transitions``.
            environments: as for ``transitions``.
            around: what else is set up.

        Raises:
            Unsupported: the framework has nothing of the kind.
        """
        return self._sibling("minibatches").minibatches(request, environments, around)

    def running_statistics(
        self, request: TrainingRequest, environments: int = 1
    ) -> RunningStatistics:
        """Train with the framework's own normalisation of observations around the environments.

        As a user sets it up who says nothing else than that observations are to be normalised.

        Args:
            request: as for ``transitions``; ``on_checkpoint`` is called once, when the training has
                ended and nothing has been evaluated yet.
            environments: as for ``transitions``.

        Raises:
            Unsupported: the framework has no normalisation, or none that can be looked into.
        """
        return self._sibling("normalised").running_statistics(request, environments)

    def play_atari(self, make_env: Callable[[], Any]) -> Any:
        """A game of ``make_env`` through all that surrounds one in a training on Atari.

        Returns:
            A ``rlregress.environments.atari_play.Player``.
        """
        return self._sibling("probes.atari").player(make_env)
