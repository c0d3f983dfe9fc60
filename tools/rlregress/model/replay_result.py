"""Replays: stored runs that were trained again here, compared to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlregress.model.verdict import REPRODUCED

#: another state than ``REPRODUCED``: other numbers, or nothing could be compared
DIFFERS, NOT_REPLAYED = "differs", "not replayed"
#: what a row of digests (``inside.trail``) is of, in its order
KINDS = ("environment", "random draws", "gradients", "parameters")


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The result of the replay of a cell.

    Attributes:
        cell: id of the cell whose fresh seeds it stands for.
        replayed: id of the cell that was trained.
        seed: of the stored run.
        state: ``REPRODUCED``, ``DIFFERS`` or ``NOT_REPLAYED``.
        reason: what was found, in a sentence.
        first: where the two runs differ first.
        moved: versions and code that are not those of the stored run, in words.
        not_checked: what the replay says nothing of, in words.
        steps: environment steps that have the same numbers.
        lines: file of the algorithm -> lines of its functions that ran, and all of them.
        seconds: of CPU time.
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
    def from_start(self) -> bool:
        """Return whether the numbers differ from the first update on."""
        return self.first.startswith("update 1,")

    @property
    def is_reproduced(self) -> bool:
        """Return whether every number is that of the stored run."""
        return self.state == REPRODUCED
