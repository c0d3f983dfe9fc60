"""Counts the probes of a framework."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.catalogue.implementation import (
    list_implementations,
    load_expectations_of_installed_version,
    load_reasons_of_absent_details,
)
from rlregress.faults import fault_tables
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import MissingCheck, ProbeCounts
from rlregress.model.fault_results import DETAILS


def count_probes_of_framework(adapter: Adapter) -> ProbeCounts:
    """Count a framework's probed details, their documented variants and deviations, and faults.

    Raises:
        UserError: its files in ``baselines`` cannot be read.
    """
    probe_keys = set(adapter.observe.list_probes())
    entries = [
        entry
        for key, entry in load_expectations_of_installed_version(adapter).items()
        if key in probe_keys
    ]
    return ProbeCounts(
        framework=adapter.full_name,
        version=adapter.code.version(),
        details=len({id for id, _ in probe_keys}),
        scopes=len(probe_keys),
        variants=len({(entry.id, entry.variant) for entry in entries}),
        deviations=sum(bool(entry.deviation) for entry in entries),
        absent=len(load_reasons_of_absent_details(adapter)),
        faults=len(fault_tables.load_faults(DETAILS, [adapter.name])),
    )


def find_missing_checks_of_details(
    adapter: Adapter, detail_ids: Collection[str]
) -> list[MissingCheck]:
    """List the gaps in a framework's details, in the order of the catalogue.

    Args:
        detail_ids: ids of details; those that the framework lacks are left out.

    Raises:
        UserError: its files in ``baselines`` cannot be read.
    """
    probes, entries, absent_details = (
        set(adapter.observe.list_probes()),
        load_expectations_of_installed_version(adapter),
        load_reasons_of_absent_details(adapter),
    )
    probes_elsewhere = defaultdict(list)
    for other_adapter in frameworks.list_installed_adapters():
        if other_adapter.name != adapter.name:
            for (id, _), probe in other_adapter.observe.list_probes().items():
                probes_elsewhere[id].append(_unwrap_function(probe))
    faults = fault_tables.load_faults(DETAILS, [adapter.name])
    details_with_fault = {id for fault in faults for id in (*fault.turns, *fault.also)}
    details_with_fault |= fault_tables.load_details_without_fault(adapter.name).keys()
    gaps = []
    for id in (detail.id for detail in registry.list_details() if detail.id in detail_ids):
        detail_keys = {key for key in probes if key[0] == id}
        if not detail_keys and id not in absent_details:
            gaps.append(
                MissingCheck(
                    detail=id,
                    lacks="probe",
                    example=_suggest_example_of_probe(probes_elsewhere[id]),
                )
            )
        elif detail_keys - entries.keys():
            gaps.append(MissingCheck(detail=id, lacks="expectation"))
        elif detail_keys and id not in details_with_fault:
            gaps.append(MissingCheck(detail=id, lacks="fault"))
    return gaps


def _suggest_example_of_probe(functions: Sequence[Any]) -> str:
    """Return an example of a probe: the shared measurement, else modules of other probes."""
    for function in functions:
        if function.__module__.startswith("rlregress.measurements."):
            return f"{function.__module__}.{function.__name__}, on a driver"
    modules = {function.__module__.removeprefix("rlregress.frameworks.") for function in functions}
    return ", ".join(sorted(modules))


def _unwrap_function(function: Any) -> Any:
    """Return the function below partial applications and wrappers."""
    while inner := getattr(function, "func", None) or getattr(function, "__wrapped__", None):
        function = inner
    return function


def probe_all_details(adapters: Sequence[Adapter], on_answer: Callable[[], None]) -> None:
    """Probe every detail of every framework in every scope; call ``on_answer`` after each."""
    for adapter in adapters:
        for implementation in list_implementations(adapter, *registry.list_detail_ids()):
            _ = implementation.judgement
            on_answer()
