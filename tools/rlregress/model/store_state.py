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
    """An attempt at a run that is in progress, stuck or stopped.

    Attributes:
        silent: seconds since its last heartbeat.
        share: trained share of its steps, from its progress report or its checkpoint; 0: unknown.
        wall_seconds: seconds of these steps, in earlier attempts too.
        why: why it was stopped; empty: it continues.
        where: host, process, task of Slurm.
        restarts: number of earlier attempts.
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
class StoreStatus:
    """The state of a store of runs: numbers of runs by state, and attempts in progress.

    Attributes:
        counts: group -> state -> number of runs; failed runs do not count as done.
        attempts: attempts that are running, stuck or stopped.
        reasons: reason of a failure -> number of runs, among the ``read`` failed runs.
        read: number of failed runs whose reasons were read.
        duplicates, damaged: files with duplicates and damaged records.
        unbegun: number of stopped runs whose Slurm tasks ended before an attempt began.
        own_clock: whether ages are by this machine's clock, because the store is not writable.
        seconds_left: seconds until all listed runs are done, with as many at a time as now; None:
            no run is running, or its length is unknown.
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
    def total_counts(self) -> Counter[str]:
        """State -> number of runs of all groups."""
        return sum(self.counts.values(), Counter())


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """The result of reading every record of a store.

    Attributes:
        records: number of intact records.
        failed: number of these of failed runs.
        damaged: unusable record -> why.
        wrong: other problems, a sentence each.
        notes: sentences that are no problems but matter if runs are judged together.
        missing: number of runs of the manifest without a record; None: there is no manifest.
    """

    records: int
    failed: int
    damaged: Mapping[Path, str]
    wrong: Sequence[str]
    notes: Sequence[str]
    missing: int | None


@dataclass(frozen=True, kw_only=True)
class MergeResult:
    """The result of copying the records of several stores into one.

    Attributes:
        new: number of copied records.
        equal: number of records that existed with the same result.
        differing: sentences on records that existed with another result.
        damaged: record that was left out -> why.
    """

    new: int
    equal: int
    differing: Sequence[str]
    damaged: Mapping[Path, str]
