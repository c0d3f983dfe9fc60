"""Details that changed, connected by name with the traces that parted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from rlregress import suite
from rlregress.details.implementation import stated
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate import faults
from rlregress.gate.places import function
from rlregress.tracing.compare import Divergence
from rlregress.upgrade.fingerprints import ChangedDetail
from rlregress.upgrade.found import OfFramework, Upgrade
from rlregress.upgrade.traced import Traced

#: families of details that only some algorithms have to do with, by the first word of the name.
_ON_POLICY, _OFF_POLICY = frozenset({"gae", "advantage"}), frozenset({"replay", "nstep", "target"})
_ROLLOUTS = frozenset({"ppo", "a2c"})
_SHARED = frozenset({"normalisation"})


@dataclass(frozen=True)
class Link:
    """A changed detail that a diverged trace has to do with.

    Attributes:
        sure: the code of the detail is in a file where the trace parts, or that called it; in the
            function, if the detail is not about this algorithm alone.
    """

    detail: ChangedDetail
    sure: bool


@cache
def _fragments(adapter: Adapter) -> dict[str, frozenset[tuple[str, str, int]]]:
    """Detail -> file, fragment of code and its occurrence, of what is known to decide it."""
    found: dict[str, set[tuple[str, str, int]]] = {}
    if (suite.baselines() / "faults" / adapter.name).is_dir():
        for fault in faults.load(adapter.name):
            for detail in fault.turns:
                found.setdefault(detail, set()).add((fault.file, fault.old, fault.occurrence))
    with contextlib.suppress(UserError):
        for row in stated(adapter):
            if row.code:
                file, _, fragment = row.code.partition(": ")
                found.setdefault(row.id, set()).add((file, fragment, 0))
    return {detail: frozenset(places) for detail, places in found.items()}


def links(
    adapter: Adapter, algorithm: str, details: Iterable[ChangedDetail], first: Divergence | None
) -> list[Link]:
    """The changed details that a diverged trace may come from, surest first.

    Args:
        algorithm: of the training; empty for a script, whose algorithm nobody knows.
    """
    if first is None:
        return []
    events = [event for event in (first.a, first.b) if event is not None]
    frames = {(event.file, event.function) for event in events}
    frames |= {(caller.file, caller.function) for event in events for caller in event.callers}
    files = {file for file, _ in frames}
    found = []
    for detail in details:
        known = _fragments(adapter).get(detail.id, frozenset())
        if _concerns(detail.family, algorithm):
            found.append(Link(detail, any(file in files for file, _, _ in known)))
            continue
        if algorithm and _elsewhere(adapter, detail.family, algorithm):
            continue
        if any((place[0], function(adapter, *place)) in frames for place in known):
            found.append(Link(detail, True))
    return sorted(found, key=lambda link: (not link.sure, link.detail.id))


def of_training(of: OfFramework, traced: Traced) -> list[Link]:
    """The changed details that a built-in training's trace may come from."""
    if traced.comparison.verdict != "diverged":
        return []
    return links(of.adapter, traced.name, of.details, traced.comparison.first)


def of_script(found: Upgrade) -> list[Link]:
    """The changed details of all frameworks that a script's trace comes from."""
    if found.script is None or found.script.comparison.verdict != "diverged":
        return []
    first = found.script.comparison.first
    return [link for of in found.frameworks for link in links(of.adapter, "", of.details, first)]


def _concerns(family: str, algorithm: str) -> bool:
    """Whether a family of details is about what this algorithm does."""
    if not algorithm:
        return False
    shared = _SHARED | (_ON_POLICY if algorithm in _ROLLOUTS else {"replay", "target"})
    return family == algorithm or family in shared


def _elsewhere(adapter: Adapter, family: str, algorithm: str) -> bool:
    """Whether a family of details is about what other algorithms do."""
    others = _OFF_POLICY if algorithm in _ROLLOUTS else _ON_POLICY
    return family in others or family in adapter.trace_trainings()


def documented(adapter: Adapter, detail: ChangedDetail) -> list[str]:
    """What is documented of a changed detail: since when it is done so, why, and where."""
    found = []
    with contextlib.suppress(UserError):
        for row in stated(adapter):
            if (row.id, row.scope) == (detail.id, detail.scope) and row.variant in (
                detail.a,
                detail.b,
            ):
                until = f" until {row.until}" if row.until else ""
                rest = [part for part in (row.note or row.deviation, row.upstream) if part]
                after = f": {' '.join(rest).rstrip('.')}" if rest else ""
                found.append(f"{row.variant} since {row.since}{until}{after}")
    return found


def words(found: Sequence[Link]) -> str:
    """In words: what explains a trace, or what may."""
    sure = [link.detail for link in found if link.sure]
    named = sure or [link.detail for link in found]
    if not named:
        return ""
    text = "; ".join(f"{d.id} [{d.scope}]: {d.a} -> {d.b}" for d in named)
    return f"explained by {text}" if sure else f"may have to do with {text}"
