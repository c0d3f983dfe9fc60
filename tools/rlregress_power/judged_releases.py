"""Verdicts of checks on real releases."""

from __future__ import annotations

from dataclasses import dataclass

from rlregress.model.differences import AS_DOCUMENTED, CHANGED, NEW_FAILS
from rlregress.model.verdict import INCONCLUSIVE, REGRESSED

#: outcomes for a change
CAUSE, FLAGGED, UNREACHED = "flagged with the cause", "flagged without", "named as not reached"
MISSED, NOT_JUDGED = "missed", "not judged"
OUTCOMES = (CAUSE, FLAGGED, UNREACHED, MISSED, NOT_JUDGED)
#: verdicts that state a change
RED = frozenset({REGRESSED, NEW_FAILS, CHANGED, INCONCLUSIVE, AS_DOCUMENTED})


@dataclass(frozen=True, kw_only=True)
class JudgedChange:
    """The verdict of a check on one change.

    Attributes:
        outcome: one of ``OUTCOMES``.
        by: the detail, default or culprit by which the report names it.
        later: whether a later upgrade with selected scenarios named it.
    """

    id: str
    outcome: str
    by: str = ""
    later: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgedPair:
    """One pair of releases, judged.

    Attributes:
        headline: the headline of the report.
        seconds: seconds from command to verdict.
        changes: results for the known changes in scope.
    """

    before: str
    release: str
    verdict: str
    headline: str
    seconds: float
    changes: tuple[JudgedChange, ...]

    @property
    def has_no_known_changes(self) -> bool:
        """Return whether no known change in scope lies between the two releases."""
        return not self.changes

    @property
    def would_stop_upgrade(self) -> bool:
        """Return whether the check would have stopped the upgrade."""
        return self.verdict in RED - {AS_DOCUMENTED}
