"""The state of a run store: finished and remaining runs, and damaged records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: states of a run that is not done
LEFT = ("running", "stuck", "stopped", "waiting")
STATES = ("done", "failed", *LEFT)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A run that somebody does, or has left undone.

    Attributes:
        silent: seconds since its last heartbeat.
        share: of its steps that are trained, by what it reports, or by the checkpoint that it
            was continued from or has left; 0 where nothing says it.
        wall_seconds: of these steps, also by attempts before it.
        why: it was stopped; empty for one that goes on.
        where: host, process, task of Slurm.
        state: ``running``, ``stuck`` or ``stopped``.
    """

    run: str
    silent: float
    share: float
    wall_seconds: float
    why: str
    where: str
    restarts: int
    state: str


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The state of a store.

    Attributes:
        counts: group -> state -> how many runs; those that failed are not counted as done.
        attempts: what is running, stuck or stopped.
        reasons: why runs failed -> how many, of the ``read`` failed runs.
        duplicates, damaged: files.
        unbegun: of the stopped runs, those that Slurm was given and that it ended before an attempt
            began.
        own_clock: ages are by the clock of this machine, as the store cannot be written.
        seconds_left: until all that is listed is done, with as many at a time as are running; None
            if none is, or no run tells how long it takes.
    """

    counts: Mapping[str, Counter[str]]
    attempts: Sequence[Attempt]
    reasons: Counter[str]
    read: int
    duplicates: Sequence[str]
    damaged: Sequence[str]
    unbegun: int
    own_clock: bool
    seconds_left: float | None

    @property
    def total(self) -> Counter[str]:
        """State -> how many runs of all groups."""
        return sum(self.counts.values(), Counter())


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The result of reading every record of a store.

    Attributes:
        records, failed: how many can be read; of them, how many of failed runs.
        damaged: records that cannot be used, and why.
        wrong: what else is wrong, a sentence each.
        notes: what is no fault, and is to be known before runs are judged together.
        missing: how many runs of the manifest have no record; None: no manifest was given.
    """

    records: int
    failed: int
    damaged: Mapping[Path, str]
    wrong: Sequence[str]
    notes: Sequence[str]
    missing: int | None


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The result of a merge.

    Attributes:
        new, equal: records that were copied; that were there with the same result.
        differing: that were there with another result, and which files.
        damaged: that were left out, and why.
    """

    new: int
    equal: int
    differing: Sequence[str]
    damaged: Mapping[Path, str]
