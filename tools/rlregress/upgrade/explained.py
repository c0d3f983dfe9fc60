"""Details that changed, connected by name with the traces that parted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from rlregress import suite
from rlregress.details.implementation import stated
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate import faults
from rlregress.tracing.compare import Divergence
from rlregress.upgrade.fingerprints import ChangedDetail

#: parts of a training that several algorithms share, as the first word of a detail's name.
_SHARED = ("normalisation", "replay")
_ON_POLICY = ("gae",)


@dataclass(frozen=True)
class Link:
    """A changed detail that a diverged trace has to do with.

    Attributes:
        sure: the code of the detail is in a file where the trace parts, or that called it, and the
            detail is about this algorithm or about what algorithms share.
    """

    detail: ChangedDetail
    sure: bool


@cache
def _files(framework: str) -> dict[str, frozenset[str]]:
    """Detail -> source files that are known to decide it."""
    found: dict[str, set[str]] = {}
    if (suite.baselines() / "faults" / framework).is_dir():
        for fault in faults.load(framework):
            for detail in fault.turns:
                found.setdefault(detail, set()).add(fault.file)
    return {detail: frozenset(files) for detail, files in found.items()}


@cache
def _stated(adapter: Adapter) -> dict[str, frozenset[str]]:
    try:
        rows = stated(adapter)
    except UserError:
        return {}
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.code:
            found.setdefault(row.id, set()).add(row.code.partition(": ")[0])
    return {detail: frozenset(files) for detail, files in found.items()}


def files(adapter: Adapter, detail: str) -> frozenset[str]:
    """Source files that decide a detail, below the folder of their package."""
    return _files(adapter.name).get(detail, frozenset()) | _stated(adapter).get(detail, frozenset())


def links(
    adapter: Adapter, algorithm: str, details: Iterable[ChangedDetail], first: Divergence | None
) -> list[Link]:
    """The changed details that a diverged trace of an algorithm may come from, surest first."""
    if first is None:
        return []
    events = [event for event in (first.a, first.b) if event is not None]
    places = {event.file for event in events}
    places |= {caller.file for event in events for caller in event.callers}
    found = []
    for detail in details:
        here = bool(places & files(adapter, detail.id))
        of_algorithm = _concerns(detail.family, algorithm)
        if of_algorithm or (here and detail.family not in adapter.trace_trainings()):
            found.append(Link(detail, here))
    return sorted(found, key=lambda link: (not link.sure, link.detail.id))


def _concerns(family: str, algorithm: str) -> bool:
    if family == algorithm or family in _SHARED:
        return True
    return family in _ON_POLICY and algorithm in ("ppo", "a2c")


def words(found: Sequence[Link]) -> str:
    """In words: what explains a trace, or what may."""
    sure = [link.detail for link in found if link.sure]
    named = sure or [link.detail for link in found]
    if not named:
        return ""
    text = "; ".join(f"{d.id} [{d.scope}]: {d.a} -> {d.b}" for d in named)
    return f"explained by {text}" if sure else f"may have to do with {text}"
