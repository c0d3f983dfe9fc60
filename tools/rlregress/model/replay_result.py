"""Replays: stored runs that were trained again here, compared to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlregress.model.verdict import REPRODUCED

#: states besides ``REPRODUCED``: other numbers, or nothing could be compared
DIFFERS, NOT_REPLAYED = "differs", "not replayed"
#: kinds of the digests in a row (``inside.trail``), in its order
KINDS = ("environment", "random draws", "gradients", "parameters")


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The result of the replay of a cell.

    Attributes:
        cell: id of the cell whose fresh seeds it replaces.
        replayed: id of the cell that was trained.
        seed: seed of the stored run.
        state: ``REPRODUCED``, ``DIFFERS`` or ``NOT_REPLAYED``.
        reason: the result in a sentence.
        first: place of the first difference.
        moved: versions and code that differ from those of the stored run, in words.
        not_checked: properties that the replay does not check, in words.
        steps: number of environment steps with the same numbers.
        lines: file of the algorithm -> executed lines of its functions, and all of them.
        seconds: CPU seconds.
    """

    cell: str
    replayed: str
    seed: int
    state: str
    reason: str
    first: str = ""
    moved: str = ""
    not_checked: str = ""
    steps: int = 0
    lines: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def differs_from_start(self) -> bool:
        """Return whether the numbers differ from the first update on."""
        return self.first.startswith("update 1,")

    @property
    def is_reproduced(self) -> bool:
        """Return whether every number is that of the stored run."""
        return self.state == REPRODUCED
