"""How much a framework is asked, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rlregress.details import catalogue
from rlregress.details.implementation import absent, documented, implementations
from rlregress.faults import fault_tables
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import ProbeCounts
from rlregress.model.fault_results import DETAILS


def count(adapter: Adapter) -> ProbeCounts:
    """Count what is asked of a framework.

    Raises:
        UserError: its files in ``baselines`` cannot be read.
    """
    probe_keys = set(adapter.probes())
    entries = [entry for key, entry in documented(adapter).items() if key in probe_keys]
    return ProbeCounts(
        framework=adapter.full_name,
        version=adapter.version(),
        details=len({id for id, _ in probe_keys}),
        scopes=len(probe_keys),
        variants=len({(entry.id, entry.variant) for entry in entries}),
        deviations=sum(bool(entry.deviation) for entry in entries),
        absent=len(absent(adapter)),
        faults=len(fault_tables.load(DETAILS, [adapter.name])),
    )


def everything(adapters: Sequence[Adapter], done: Callable[[], None]) -> None:
    """Ask every detail of every framework, in every scope, and call ``done`` after each answer."""
    for detail in catalogue.all_details():
        for adapter in adapters:
            for implementation in implementations(adapter, detail.id):
                _ = implementation.judgement
                done()
