"""One detail, on one framework, in one scope, with what is documented for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rlregress import suite
from rlregress.details import catalogue, expectations
from rlregress.details.expectations import Expectation
from rlregress.details.fingerprint import run_probe
from rlregress.details.judge import (
    Judgement,
    judge_among,
    report,
    scaled_error,
    show,
    show_inputs,
)
from rlregress.errors import UserError, nearest
from rlregress.missing_packages import MissingPackage
from rlregress.model.detail_answers import variant_words

if TYPE_CHECKING:
    from rlregress.frameworks.base import Adapter
    from rlregress.probing.interface import Probe


#: what tells the code of an adapter from any other that this process may ask.
AdapterKey = tuple[str, str, str, str | None]

_JUDGED: dict[tuple[AdapterKey, str, str], Judgement] = {}


def adapter_key(adapter: Adapter) -> AdapterKey:
    """Package, copy and version of what an adapter asks, and the checkout if one is named."""
    checkout = os.environ.get(adapter.framework.checkout)
    return adapter.package, adapter.full_name, adapter.code.version(), checkout


class _RecordedInputs(Mapping[str, Any]):
    """Inputs; the names of those that are read are added to ``read``."""

    def __init__(self, inputs: Mapping[str, Any], read: set[str]) -> None:
        self._inputs, self._read = inputs, read

    def __getitem__(self, name: str) -> Any:
        self._read.add(name)
        return self._inputs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)


def _read_by_formulas(detail: catalogue.Detail) -> set[str]:
    read: set[str] = set()
    for variant in detail.variants.values():
        variant.formula(_RecordedInputs(detail.inputs, read))
    return read


@dataclass(frozen=True, repr=False)
class Implementation:
    """A probe of ``adapter`` and the expectation it is held against.

    Attributes:
        documented: the entry that holds for the installed version, or None if there is none.
        judgements: what was asserted, in order.
    """

    adapter: Adapter
    detail: catalogue.Detail
    scope: str
    documented: Expectation | None
    judgements: list[Judgement] = field(default_factory=list, compare=False)

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Detail, framework and scope, for test ids."""
        return f"{self.detail.id}-{self.adapter.full_name}-{self.scope}"

    @property
    def version(self) -> str:
        """Of the package under test."""
        return self.adapter.code.version()

    @property
    def judgement(self) -> Judgement:
        """What the framework's real code answers to the catalogue's inputs: which variant it is.

        Asked once per process: tests, claims and comparisons rest on the same answer.
        """
        adapter = self.adapter
        key = (adapter_key(adapter), self.detail.id, self.scope)
        if key not in _JUDGED:
            _JUDGED[key] = run_probe(self.detail, self._probe)
        return _JUDGED[key]

    @property
    def _probe(self) -> Probe:
        return self.adapter.observe.probes()[self.detail.id, self.scope]

    def probe(self, /, **inputs: Any) -> Judgement:
        """What the framework's real code answers to these inputs.

        Args:
            inputs: in place of the catalogue's inputs of these names. Where they are the
                catalogue's own numbers, the answer is the one that this process has already.

        Raises:
            UserError: the detail has no input of that name, or one of another kind or dimension;
                or another number than the catalogue's is given to a probe or to formulas that do
                not read it.
        """
        given = {name: self._input(name, value) for name, value in inputs.items()}
        own = self.detail.inputs
        changed = [n for n, value in given.items() if not np.array_equal(value, own[n])]
        if not changed:
            return replace(self.judgement, inputs=given)
        detail, probe = self._with(given), self._probe
        read: set[str] = set()
        answer = run_probe(detail, lambda inputs: probe(_RecordedInputs(inputs, read)))
        if answer.observed is not None:
            who = f"the probe of {self.adapter.full_name}, scope {self.scope},"
            self._check_read(changed, read, who)
            self._check_read(changed, _read_by_formulas(detail), "the catalogue's formulas")
        return replace(answer, inputs=given)

    def _check_read(self, changed: Sequence[str], read: set[str], who: str) -> None:
        """An input that is not read says nothing: what the test states would not be asked."""
        for name in changed:
            if name not in read:
                raise UserError(
                    f"{self.detail.id}: '{name}' is not read by {who} and has to stay as it is in "
                    f"the catalogue, {show_inputs({name: self.detail.inputs[name]})}"
                )

    def _input(self, name: str, value: Any) -> Any:
        """An input in the catalogue's form: lists as float64 arrays."""
        known = self.detail.inputs
        if name not in known:
            raise UserError(f"{self.detail.id} has no input '{name}'; {nearest(name, known)}")
        made = np.array(value, dtype=np.float64) if isinstance(value, list) else value
        if type(made) is not type(known[name]) or np.ndim(made) != np.ndim(known[name]):
            raise UserError(
                f"{self.detail.id}: input '{name}' is {value!r}; expected a value like the "
                f"catalogue's, {show_inputs({name: known[name]})}"
            )
        return made

    def _with(self, given: Mapping[str, Any]) -> catalogue.Detail:
        """The detail, asked with these inputs in place of the catalogue's."""
        return replace(self.detail, inputs=MappingProxyType({**self.detail.inputs, **given}))

    def assert_documented_variant(self) -> None:
        """Of all variants that the catalogue knows, the code does the documented one.

        Raises:
            AssertionError: names the detail, what was found, what is documented, and the numbers.
            UserError: the code is none that the suite knows, and could not be probed.
        """
        __tracebackhide__ = True
        judgement = self.judgement
        documented = self._expectation(judgement)
        self.judgements.append(judgement)
        if judgement.variant != documented.variant:
            raise AssertionError(self._report(judgement, documented))

    def assert_documented(self, answer: Judgement, /, **variants: Any) -> None:
        """The answer has the stated numbers of the documented variant, and of no other one.

        Args:
            answer: of ``ask``.
            variants: variant -> the number, or the list [k], that it gives for the inputs of
                ``answer``. All that are documented of the framework, at any version, are stated.

        Raises:
            AssertionError: names the detail, what was found, what is documented, and the numbers.
            UserError: the test is wrong: a variant is unknown, a documented one is missing, or a
                number is not what the catalogue's formula gives. Or the code could not be probed.
        """
        __tracebackhide__ = True
        if answer.detail != self.detail.id:
            raise UserError(f"{self.detail.id}: this is an answer to {answer.detail}")
        documented = self._expectation(answer)
        probe_inputs = self._with(answer.inputs)
        numbers = self._numbers(answer, variants, probe_inputs.error_scales())
        judged = judge_among(probe_inputs, answer, numbers)
        self.judgements.append(judged)
        if judged.variant != documented.variant:
            # a variant of the catalogue that the test does not state is named too
            named = judged if answer.variant in (None, documented.variant) else answer
            raise AssertionError(self._report(named, documented))
        if answer.variant is None:
            raise UserError(
                f"{self.detail.id}: the inputs do not tell '{judged.variant}' from every other "
                f"variant ({answer.reason}); choose some that do"
            )

    def _expectation(self, answer: Judgement) -> Expectation:
        """What is documented; raises if there is nothing, or if the code could not be probed."""
        __tracebackhide__ = True
        if answer.lacking:
            raise MissingPackage(answer.lacking)
        if answer.unprobed:
            raise UserError(
                f"{self.detail.id}, {self.adapter.full_name}, scope {self.scope}: {answer.reason}"
            )
        if self.documented is None:
            raise AssertionError(
                f"{self.detail.id}: {variant_words(answer.found)} (documented: nothing for "
                f"{self.adapter.name} {self.version}, scope {self.scope}); add an entry to "
                f"baselines/details/{self.adapter.name}/"
            )
        return self.documented

    def _numbers(
        self, answer: Judgement, variants: Mapping[str, Any], scales: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The stated numbers as vectors, once each has been found to be the catalogue's."""
        id, expected = self.detail.id, answer.expected
        numbers: dict[str, np.ndarray] = {}
        for name, value in variants.items():
            if name not in expected:
                raise UserError(f"{id} has no variant '{name}'; {nearest(name, expected)}")
            vector = np.atleast_1d(np.asarray(value, dtype=np.float64))
            right = expected[name]
            if vector.shape != right.shape or not (
                scaled_error(vector, right, scales) <= self.detail.tolerance
            ):
                raise UserError(
                    f"{id}: the test states {show(vector)} for '{name}', but the catalogue's "
                    f"formula gives {show(right)}"
                )
            numbers[name] = vector
        for variant, since in self._known_variants():
            if variant not in numbers:
                if self.adapter.framework.expectations is None:
                    raise UserError(
                        f"{id}: '{variant}' is documented of {self.adapter.name}, scope "
                        f"{self.scope}, since {since}, but the test does not state it; its numbers "
                        f"are {show(expected[variant])}"
                    )
                # another party's framework may do what none of this suite's does
                numbers[variant] = expected[variant]
        return numbers

    def _known_variants(self) -> list[tuple[str, str]]:
        """Every variant that is documented, at any version, with the first version."""
        cell = (self.detail.id, self.scope)
        return [(e.variant, e.since) for e in stated(self.adapter) if e.cell == cell]

    def _report(self, judgement: Judgement, documented: Expectation) -> str:
        return report(self.detail, judgement, documented, self.adapter.name, self.version)


@cache
def _loaded(path: Path) -> tuple[Expectation, ...]:
    return expectations.load(path)


@cache
def _of_version(path: Path, version: str) -> Mapping[expectations.Cell, Expectation]:
    return MappingProxyType(expectations.for_version(_loaded(path), version))


def expectations_path(adapter: Adapter) -> Path:
    """The file or folder of what is documented of a framework."""
    return adapter.framework.expectations or suite.baselines() / "details" / adapter.name


def stated(adapter: Adapter) -> tuple[Expectation, ...]:
    """Everything that is documented of a framework, at whatever version."""
    return _loaded(expectations_path(adapter))


def documented(adapter: Adapter) -> Mapping[expectations.Cell, Expectation]:
    """What is documented of the installed version; UserError if the file does not fit."""
    return _of_version(expectations_path(adapter), adapter.code.version())


def absent(adapter: Adapter) -> Mapping[str, str]:
    """What a framework states that it does not have: detail id -> the reason.

    A family that it names stands for those of its details that it is not asked.
    """
    named = adapter.observe.absent()
    probed = {id for id, _ in adapter.observe.probes()}
    found = {id: named[id] for id in catalogue.ids() if id in named}
    for detail in catalogue.all_details():
        if detail.family in named and detail.id not in probed:
            found.setdefault(detail.id, named[detail.family])
    return found


def implementations(adapter: Adapter, detail_id: str) -> list[Implementation]:
    """The implementations of a detail that ``adapter`` probes, one per scope."""
    detail = catalogue.get(detail_id)
    known = documented(adapter)
    return [
        Implementation(adapter, detail, scope, known.get((detail_id, scope)))
        for scope in sorted(scope for id, scope in adapter.observe.probes() if id == detail_id)
    ]
