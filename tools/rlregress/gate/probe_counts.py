"""How much a framework is asked, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rlregress.details import catalogue
from rlregress.details.expectations import Cell
from rlregress.details.implementation import documented, implementations
from rlregress.faults import fault_tables
from rlregress.frameworks.base import Adapter
from rlregress.gate import cell_selection
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
        absent=len(adapter.absent()),
        faults=len(fault_tables.load(DETAILS, [adapter.name])),
    )


def everything(adapters: Sequence[Adapter], done: Callable[[], None]) -> None:
    """Ask every detail of every framework, in every scope, and call ``done`` after each answer."""
    for detail in catalogue.all_details():
        for adapter in adapters:
            for implementation in implementations(adapter, detail.id):
                _ = implementation.judgement
                done()


def to_probe(adapter: Adapter, algorithms: Sequence[str] = ()) -> frozenset[Cell]:
    """Every (detail, scope) that the tests have to ask of the installed version.

    Args:
        algorithms: as ``--algorithm`` names them; none: all.

    Raises:
        UserError: what is documented of the framework cannot be read.
    """
    others = cell_selection.other_algorithms(algorithms)
    every = set(documented(adapter)) | set(adapter.probes())
    return frozenset(cell for cell in every if cell[0].partition(".")[0] not in others)


def not_probed(wanted: Collection[Cell], answered: Collection[Cell]) -> tuple[str, ...]:
    """The details that have no answer in some scope, sorted, with these scopes."""
    scopes: dict[str, list[str]] = {}
    for detail, scope in sorted(set(wanted) - set(answered)):
        scopes.setdefault(detail, []).append(scope)
    return tuple(f"{detail} ({', '.join(names)})" for detail, names in scopes.items())
