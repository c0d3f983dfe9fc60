"""The ways in which an environment reports that its time is up."""

from __future__ import annotations

from enum import Enum

#: steps of an episode in the toy environments
TIME_LIMIT = 8


class LimitIs(Enum):
    """How the end of an episode at the time limit is reported."""

    #: the task goes on, only the recording stops: the value of what follows counts
    TRUNCATION = "truncation"
    #: the task is over: nothing follows
    TERMINATION = "termination"
    #: the task is over at the very moment of the limit: nothing follows
    BOTH = "both"

    def flags(self, at_limit: bool) -> tuple[bool, bool]:
        """(terminated, truncated) of a step that does or does not reach the limit."""
        return (
            at_limit and self is not LimitIs.TRUNCATION,
            at_limit and self is not LimitIs.TERMINATION,
        )
