"""How an environment reports the end of an episode at its time limit."""

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

    def make_flags(self, at_limit: bool) -> tuple[bool, bool]:
        """Return (terminated, truncated) of a step; ``at_limit``: it reaches the limit."""
        return (
            at_limit and self is not LimitIs.TRUNCATION,
            at_limit and self is not LimitIs.TERMINATION,
        )
