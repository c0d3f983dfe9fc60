"""Implementations, ranked on tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rlregress_studies.rank.adastop import GREATER, SMALLER, UNDECIDED, AdastopPlan

_MIRRORED = {GREATER: SMALLER, SMALLER: GREATER}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One implementation on one task.

    Attributes:
        returns: of its runs by seed, as many as were looked at. A run that failed counts as the
            worst return of the task.
        available: how many runs there are.
        failed: how many of those that were looked at failed.
    """

    implementation: str
    returns: tuple[float, ...]
    available: int
    failed: int

    @property
    def mean(self) -> float:
        """Mean return of the runs that were looked at."""
        return float(np.mean(self.returns))


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One pair of implementations on one task.

    Attributes:
        decision: of the first against the second: greater, smaller, not separated or undecided.
        look: at which it was decided, from 1; 0 while it is undecided.
    """

    first: str
    second: str
    decision: str
    look: int


@dataclass(frozen=True, kw_only=True)
class TaskRanking:
    """One task: implementations by falling mean, and every pair of them."""

    name: str
    standings: tuple[Standing, ...]
    decisions: tuple[Decision, ...]

    def decision(self, first: str, second: str) -> str:
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
        looks: how many of the plan's looks there were runs for, or were needed.
        boundaries: lower and upper boundary of each look, in sums of returns over the standard
            deviation of the pair's returns so far.
        alone: tasks of which only one implementation has runs; they are not ranked.
    """

    plan: AdastopPlan
    tasks: tuple[TaskRanking, ...]
    looks: int
    boundaries: tuple[tuple[float, float], ...]
    alone: tuple[str, ...] = field(default=())

    @property
    def undecided(self) -> int:
        """Pairs that need more runs."""
        return sum(pair.decision == UNDECIDED for task in self.tasks for pair in task.decisions)
