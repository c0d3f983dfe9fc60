"""One detail on one framework in one scope, with its expectation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rlregress import suite
from rlregress.catalogue import expectations, registry
from rlregress.catalogue.expectations import Expectation
from rlregress.catalogue.fingerprint import run_and_judge_probe
from rlregress.catalogue.judge import (
    Judgement,
    compute_scaled_error,
    format_deviation_report,
    format_inputs,
    format_vector,
    judge_against_stated_variants,
)
from rlregress.errors import UserError, suggest_names
from rlregress.missing_packages import MissingPackage
from rlregress.model.detail_answers import describe_variant

if TYPE_CHECKING:
    from rlregress.frameworks.base import Adapter
    from rlregress.probing.interface import Probe


#: identifies the code of an adapter among all that this process may probe
AdapterKey = tuple[type, str, str, str | None]

_JUDGED: dict[tuple[AdapterKey, str, str], Judgement] = {}


def make_adapter_key(adapter: Adapter) -> AdapterKey:
    """Return class, full name and version of an adapter, and its checkout if the user set one."""
    checkout = os.environ.get(adapter.framework.checkout)
    return type(adapter), adapter.full_name, adapter.code.version(), checkout


class _RecordedInputs(Mapping[str, Any]):
    """Inputs of a detail that add each name that is read to ``read_names``."""

    def __init__(self, inputs: Mapping[str, Any], read_names: set[str]) -> None:
        self._inputs, self._read = inputs, read_names

    def __getitem__(self, name: str) -> Any:
        self._read.add(name)
        return self._inputs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)


def _find_inputs_read_by_formulas(detail: registry.Detail) -> set[str]:
    read: set[str] = set()
    for variant in detail.variants.values():
        variant.formula(_RecordedInputs(detail.inputs, read))
    return read


@dataclass(frozen=True, repr=False)
class Implementation:
    """A detail that ``adapter`` probes in one scope, with its documented expectation.

    Attributes:
        documented: the entry for the installed version, or None if there is none.
        judgements: the asserted judgements, in order.
    """

    adapter: Adapter
    detail: registry.Detail
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
        return self.adapter.code.version()

    @property
    def judgement(self) -> Judgement:
        """The variant that the framework's real code shows for the catalogue's inputs.

        Computed once per process: tests, claims and comparisons share it.
        """
        adapter = self.adapter
        key = (make_adapter_key(adapter), self.detail.id, self.scope)
        if key not in _JUDGED:
            _JUDGED[key] = run_and_judge_probe(self.detail, self._probe, adapter.code)
        return _JUDGED[key]

    @property
    def _probe(self) -> Probe:
        return self.adapter.observe.list_probes()[self.detail.id, self.scope]

    def probe(self, /, **inputs: Any) -> Judgement:
        """Probe the framework's real code with these inputs; return the variant that it shows.

        Args:
            inputs: replacements for the catalogue's inputs of these names. If they are the
                catalogue's own numbers, the cached answer is returned.

        Raises:
            UserError: the detail has no input of that name, or one of another kind or dimension;
                or a changed number is not read by the probe or by the formulas.
        """
        replaced = {name: self._convert_input(name, value) for name, value in inputs.items()}
        own = self.detail.inputs
        changed = [n for n, value in replaced.items() if not np.array_equal(value, own[n])]
        if not changed:
            return replace(self.judgement, inputs=replaced)
        detail, probe = self._replace_inputs(replaced), self._probe
        read: set[str] = set()
        answer = run_and_judge_probe(
            detail, lambda inputs: probe(_RecordedInputs(inputs, read)), self.adapter.code
        )
        if answer.observed is not None:
            reader = f"the probe of {self.adapter.full_name}, scope {self.scope},"
            self._check_changed_inputs_are_read(changed, read, reader)
            # an unread input would make the changed test as strong as the unchanged one
            self._check_changed_inputs_are_read(
                changed, _find_inputs_read_by_formulas(detail), "the catalogue's formulas"
            )
        return replace(answer, inputs=replaced)

    def _check_changed_inputs_are_read(
        self, changed: Sequence[str], read_names: set[str], reader: str
    ) -> None:
        """Raise UserError if the probe or the formulas ignore an input that a test changed."""
        for name in changed:
            if name not in read_names:
                raise UserError(
                    f"{self.detail.id}: '{name}' is not read by {reader} and has to stay as it is "
                    f"in the catalogue, {format_inputs({name: self.detail.inputs[name]})}"
                )

    def _convert_input(self, name: str, value: Any) -> Any:
        """Convert an input to the catalogue's form: lists become float64 arrays."""
        catalogue_inputs = self.detail.inputs
        if name not in catalogue_inputs:
            raise UserError(
                f"{self.detail.id} has no input '{name}'; {suggest_names(name, catalogue_inputs)}"
            )
        converted = np.array(value, dtype=np.float64) if isinstance(value, list) else value
        if type(converted) is not type(catalogue_inputs[name]) or np.ndim(converted) != np.ndim(
            catalogue_inputs[name]
        ):
            raise UserError(
                f"{self.detail.id}: input '{name}' is {value!r}; expected a value like the "
                f"catalogue's, {format_inputs({name: catalogue_inputs[name]})}"
            )
        return converted

    def _replace_inputs(self, replaced: Mapping[str, Any]) -> registry.Detail:
        """Return the detail with these inputs in place of the catalogue's."""
        return replace(self.detail, inputs=MappingProxyType({**self.detail.inputs, **replaced}))

    def assert_documented_variant(self) -> None:
        """Assert that the code shows the documented variant, out of all in the catalogue.

        Raises:
            AssertionError: names the detail, the found and the documented variant, and the numbers.
            UserError: the code is unknown to the suite and could not be probed.
        """
        __tracebackhide__ = True
        judgement = self.judgement
        documented = self._require_expectation(judgement)
        self.judgements.append(judgement)
        if judgement.variant != documented.variant:
            raise AssertionError(self._format_report(judgement, documented))

    def assert_documented(self, judgement: Judgement, /, **variants: Any) -> None:
        """Assert that a probe's result has the numbers of the documented variant and of no other.

        Args:
            judgement: result of ``probe``.
            variants: variant -> its number, or list [k], for the inputs of ``judgement``. All
                documented variants of the framework, at any version, must be stated.

        Raises:
            AssertionError: names the detail, the found and the documented variant, and the numbers.
            UserError: the test is wrong: a variant is unknown, a documented one is missing, or a
                number is not what the catalogue's formula gives. Or the code could not be probed.
        """
        __tracebackhide__ = True
        if judgement.detail != self.detail.id:
            raise UserError(
                f"{self.detail.id}: the judgement is about {judgement.detail}; "
                "pass one of this detail"
            )
        documented = self._require_expectation(judgement)
        probe_inputs = self._replace_inputs(judgement.inputs)
        numbers = self._convert_and_check_stated_numbers(
            judgement, variants, probe_inputs.make_error_scales()
        )
        judged = judge_against_stated_variants(probe_inputs, judgement, numbers)
        self.judgements.append(judged)
        if judged.variant != documented.variant:
            # a variant of the catalogue that the test does not state is named too
            named = judged if judgement.variant in (None, documented.variant) else judgement
            raise AssertionError(self._format_report(named, documented))
        if judgement.variant is None:
            raise UserError(
                f"{self.detail.id}: the inputs do not tell '{judged.variant}' from every other "
                f"variant ({judgement.reason}); choose some that do"
            )

    def _require_expectation(self, judgement: Judgement) -> Expectation:
        """Return the expectation; raises if there is none or the code could not be probed."""
        __tracebackhide__ = True
        if judgement.lacking:
            raise MissingPackage(judgement.lacking)
        if judgement.unprobed:
            place = f"{self.detail.id}, {self.adapter.full_name}, scope {self.scope}"
            raise UserError(f"{place}: {judgement.reason}")
        if self.documented is None:
            raise AssertionError(
                f"{self.detail.id}: {describe_variant(judgement.variant_or_reason)} (documented: "
                f"nothing for {self.adapter.name} {self.version}, scope {self.scope}); "
                f"add an entry to {locate_expectations(self.adapter)}"
            )
        return self.documented

    def _convert_and_check_stated_numbers(
        self, judgement: Judgement, variants: Mapping[str, Any], scales: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return the numbers that a test states as vectors; UserError if the catalogue differs."""
        id, expected = self.detail.id, judgement.expected
        numbers: dict[str, np.ndarray] = {}
        for name, value in variants.items():
            if name not in expected:
                raise UserError(f"{id} has no variant '{name}'; {suggest_names(name, expected)}")
            vector = np.atleast_1d(np.asarray(value, dtype=np.float64))
            right = expected[name]
            if vector.shape != right.shape or not (
                compute_scaled_error(vector, right, scales) <= self.detail.tolerance
            ):
                raise UserError(
                    f"{id}: the test states {format_vector(vector)} for '{name}', but the "
                    f"catalogue's formula gives {format_vector(right)}"
                )
            numbers[name] = vector
        for variant, since in self._list_variants_with_first_versions():
            if variant not in numbers:
                if self.adapter.framework.expectations is None:
                    raise UserError(
                        f"{id}: the expectations of {self.adapter.name} (scope {self.scope}) list "
                        f"'{variant}' since {since}, but this test has no numbers for it; add "
                        f"'{variant}': {format_vector(expected[variant])} to the variants that the "
                        "test states"
                    )
                # an external framework may show a variant that none of this suite's shows
                numbers[variant] = expected[variant]
        return numbers

    def _list_variants_with_first_versions(self) -> list[tuple[str, str]]:
        """Return every documented variant, at any version, with its first version."""
        key = (self.detail.id, self.scope)
        return [(e.variant, e.since) for e in load_all_expectations(self.adapter) if e.key == key]

    def _format_report(self, judgement: Judgement, documented: Expectation) -> str:
        return format_deviation_report(
            self.detail, judgement, documented, self.adapter.name, self.version
        )


@cache
def _load_expectations_once(path: Path) -> tuple[Expectation, ...]:
    return expectations.load_expectations(path)


@cache
def _load_expectations_of_version(
    path: Path, version: str
) -> Mapping[expectations.DetailScope, Expectation]:
    return MappingProxyType(expectations.filter_by_version(_load_expectations_once(path), version))


def locate_expectations(adapter: Adapter) -> Path:
    """Return the file or folder of a framework's expectations.

    Raises:
        UserError: an adapter from outside of this suite names none.
    """
    path = adapter.framework.expectations or suite.locate_baselines() / "details" / adapter.name
    if adapter.framework.expectations is None and not path.exists():
        raise UserError(
            f"the adapter '{adapter.name}' names no file of expectations; expected one in its "
            "Framework, such as expectations=Path(__file__).with_name('expectations.toml')"
        )
    return path


def load_all_expectations(adapter: Adapter) -> tuple[Expectation, ...]:
    """Return all expectations of a framework, at any version."""
    return _load_expectations_once(locate_expectations(adapter))


def load_expectations_of_installed_version(
    adapter: Adapter,
) -> Mapping[expectations.DetailScope, Expectation]:
    """Return by (detail, scope) the expectations for the installed version; UserError: bad file."""
    return _load_expectations_of_version(locate_expectations(adapter), adapter.code.version())


def load_reasons_of_absent_details(adapter: Adapter) -> Mapping[str, str]:
    """Return the details that a framework declares that it lacks: detail id -> the reason.

    If it declares a family, the reason holds for each detail of the family that has no probe.
    """
    declared = adapter.observe.list_absent_details()
    families = {detail.family for detail in registry.list_details()}
    _require_known_details(adapter, "list_absent_details()", declared.keys() - families)
    probed = {id for id, _ in adapter.observe.list_probes()}
    reasons = {id: declared[id] for id in registry.list_detail_ids() if id in declared}
    for detail in registry.list_details():
        if detail.family in declared and detail.id not in probed:
            reasons.setdefault(detail.id, declared[detail.family])
    return reasons


def list_implementations(adapter: Adapter, *detail_ids: str) -> list[Implementation]:
    """List the implementations of details that ``adapter`` probes, one per scope."""
    scopes: dict[str, list[str]] = {}
    for id, scope in adapter.observe.list_probes():
        scopes.setdefault(id, []).append(scope)
    _require_known_details(adapter, "list_probes()", scopes)
    expectations_by_cell = load_expectations_of_installed_version(adapter)
    own = {scope for names in scopes.values() for scope in names}
    _require_known_scopes(adapter, f"list_probes() of the adapter '{adapter.name}'", own)
    documented = {scope for _, scope in expectations_by_cell}
    _require_known_scopes(adapter, str(locate_expectations(adapter)), documented)
    return [
        Implementation(
            adapter, registry.get_detail(id), scope, expectations_by_cell.get((id, scope))
        )
        for id in detail_ids
        for scope in sorted(scopes.get(id, ()))
    ]


def _require_known_details(adapter: Adapter, function: str, ids: Iterable[str]) -> None:
    """Raise UserError for an id that the catalogue does not have: its probe would never run."""
    for id in ids:
        try:
            registry.get_detail(id)
        except UserError as error:
            raise UserError(f"{function} of the adapter '{adapter.name}': {error}") from None


def _require_known_scopes(adapter: Adapter, where: str, scopes: Iterable[str]) -> None:
    """Raise UserError for a scope that the framework has not: a mistyped one would be a new one."""
    known = adapter.framework.scopes
    for scope in sorted(scopes):
        if scope not in known:
            raise UserError(
                f"{where}: unknown scope '{scope}'; {suggest_names(scope, known)}; correct it, or "
                "add it to the scopes of the framework's description"
            )
