"""How much a framework is asked, in numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rlregress import frameworks
from rlregress.details import catalogue
from rlregress.details.implementation import absent, documented, implementations
from rlregress.faults import fault_tables
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import Missing, ProbeCounts
from rlregress.model.fault_results import DETAILS


def count(adapter: Adapter) -> ProbeCounts:
    """Count what is asked of a framework.

    Raises:
        UserError: its files in ``baselines`` cannot be read.
    """
    probe_keys = set(adapter.observe.probes())
    entries = [entry for key, entry in documented(adapter).items() if key in probe_keys]
    return ProbeCounts(
        framework=adapter.full_name,
        version=adapter.code.version(),
        details=len({id for id, _ in probe_keys}),
        scopes=len(probe_keys),
        variants=len({(entry.id, entry.variant) for entry in entries}),
        deviations=sum(bool(entry.deviation) for entry in entries),
        absent=len(absent(adapter)),
        faults=len(fault_tables.load(DETAILS, [adapter.name])),
    )


def missing(adapter: Adapter, chosen: Collection[str]) -> list[Missing]:
    """What a framework lacks to be checked for details, in the order of the catalogue.

    Args:
        chosen: ids of details; what the framework does not have is left out.

    Raises:
        UserError: its files in ``baselines`` cannot be read.
    """
    probes, entries, has_none = set(adapter.observe.probes()), documented(adapter), absent(adapter)
    elsewhere = defaultdict(list)
    for other in frameworks.installed():
        if other.name != adapter.name:
            for (id, _), probe in other.observe.probes().items():
                elsewhere[id].append(_innermost(probe))
    faults = fault_tables.load(DETAILS, [adapter.name])
    has_fault = {id for fault in faults for id in (*fault.turns, *fault.also)}
    has_fault |= fault_tables.without(adapter.name).keys()
    found = []
    for id in (detail.id for detail in catalogue.all_details() if detail.id in chosen):
        of_detail = {key for key in probes if key[0] == id}
        if not of_detail and id not in has_none:
            found.append(Missing(detail=id, lacks="probe", example=_example(elsewhere[id])))
        elif of_detail - entries.keys():
            found.append(Missing(detail=id, lacks="expectation"))
        elif of_detail and id not in has_fault:
            found.append(Missing(detail=id, lacks="fault"))
    return found


def _example(functions: Sequence[Any]) -> str:
    """What measures a detail on any driver; else the modules of other frameworks' probes."""
    for function in functions:
        if function.__module__.startswith("rlregress.measurements."):
            return f"{function.__module__}.{function.__name__}, on a driver"
    modules = {function.__module__.removeprefix("rlregress.frameworks.") for function in functions}
    return ", ".join(sorted(modules))


def _innermost(function: Any) -> Any:
    """The function below what binds its arguments, or wraps it."""
    while inner := getattr(function, "func", None) or getattr(function, "__wrapped__", None):
        function = inner
    return function


def everything(adapters: Sequence[Adapter], done: Callable[[], None]) -> None:
    """Ask every detail of every framework, in every scope, and call ``done`` after each answer."""
    for detail in catalogue.all_details():
        for adapter in adapters:
            for implementation in implementations(adapter, detail.id):
                _ = implementation.judgement
                done()
