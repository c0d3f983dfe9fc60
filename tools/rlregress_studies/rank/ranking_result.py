"""Rankings of implementations, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rlregress_studies.rank.adastop import GREATER, SMALLER, UNDECIDED, AdastopPlan

_MIRRORED = {GREATER: SMALLER, SMALLER: GREATER}


@dataclass(frozen=True, kw_only=True)
class RankedImplementation:
    """One implementation on one task.

    Attributes:
        returns: returns of the used runs, by seed; a failed run counts as the worst of the task.
        available: number of runs, used or not.
        failed: number of used runs that failed.
    """

    implementation: str
    returns: tuple[float, ...]
    available: int
    failed: int

    @property
    def mean(self) -> float:
        """Mean return of the used runs."""
        return float(np.mean(self.returns))


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One pair of implementations on one task.

    Attributes:
        decision: decision about the first: greater, smaller, not separated or undecided.
        look: the deciding look, from 1; 0 while it is undecided.
    """

    first: str
    second: str
    decision: str
    look: int


@dataclass(frozen=True, kw_only=True)
class TaskRanking:
    """The ranking of one task: implementations by falling mean, and all pairs."""

    name: str
    standings: tuple[RankedImplementation, ...]
    decisions: tuple[Decision, ...]

    def get_decision(self, first: str, second: str) -> str:
        """Return the decision about ``first`` against ``second``, in either order."""
        if (first, second) in self._decisions_by_pair:
            return self._decisions_by_pair[first, second]
        decision = self._decisions_by_pair[second, first]
        return _MIRRORED.get(decision, decision)

    @cached_property
    def _decisions_by_pair(self) -> dict[tuple[str, str], str]:
        return {(pair.first, pair.second): pair.decision for pair in self.decisions}


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """All tasks, decided as one family.

    Attributes:
        looks: number of looks taken.
        boundaries: lower and upper boundary of each look, in sums of returns over the standard
            deviation of the pair's returns so far.
        alone: tasks that are not ranked because only one implementation has runs.
    """

    plan: AdastopPlan
    tasks: tuple[TaskRanking, ...]
    looks: int
    boundaries: tuple[tuple[float, float], ...]
    alone: tuple[str, ...] = field(default=())

    @property
    def undecided_count(self) -> int:
        """Number of pairs that need more runs."""
        return sum(pair.decision == UNDECIDED for task in self.tasks for pair in task.decisions)
