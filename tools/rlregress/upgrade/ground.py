"""Both sides on common ground: where they pin the same packages, nothing else need differ.

An environment is made for one side because its packages cap what is installed. The other side is
put on it as an overlay if it fits, or both on one that meets the needs of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side
from rlregress.upgrade import environments, interpreters, making, needs
from rlregress.upgrade.environments import Prepared
from rlregress.upgrade.wanted import Wanted


def prepare(
    one: Wanted, other: Wanted, adapters: Sequence[Adapter], say: making.Say
) -> tuple[Prepared, Prepared]:
    """Sides A and B, with as little difference beside what they pin as can be.

    Raises:
        UserError: a side cannot be made.
    """
    a = environments.prepare("A", one, adapters, say)
    found = _common(a, "B", other, adapters, say)
    if found is None:
        b = environments.prepare("B", other, adapters, say)
        found = _common(b, "A", one, adapters, say) or (b, a)
        return found[1], found[0]
    return found


def _common(
    first: Prepared, label: str, wanted: Wanted, adapters: Sequence[Adapter], say: making.Say
) -> tuple[Prepared, Prepared] | None:
    """Another side on the environment of the first, or both on one for both; None: neither."""
    pinned = wanted.requirements and wanted.lock is None and first.how == "environment"
    if not pinned or wanted.packages != first.wanted.packages or "torch" in wanted.packages:
        return None
    second = on(label, wanted, first, say)
    if second is not None:
        return first, second
    folder, _ = environments.overlay(wanted.requirements, say)
    also = needs.required(folder, wanted.packages)
    capped = needs.unmet(folder).names | first.capped
    try:
        joint, cached = environments.environment(first.wanted, adapters, capped, say, also)
    except making.Unreachable:
        raise
    except UserError:
        return None
    python = str(joint / "bin" / "python")
    moved = replace(first, side=Side(first.side.label, python=python), cached=cached)
    second = on(label, wanted, moved, say)
    return None if second is None else (moved, second)


def on(label: str, wanted: Wanted, ground: Prepared, say: making.Say) -> Prepared | None:
    """A side as an overlay on the environment of the other one; None: it does not fit."""
    folder, cached = environments.overlay(wanted.requirements, say, ground.side.python)
    unmet = needs.unmet(folder, interpreters.distributions(ground.side.python))
    if unmet.capped or unmet.missing:
        return None
    side = Side(label, python=ground.side.python, paths=(str(folder),))
    return Prepared(wanted, side, f"overlay on the environment of side {ground.side.label}", cached)
