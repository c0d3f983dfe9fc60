"""Estimates time and memory limits of runs from recorded runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress.check import stored_throughput
from rlregress.cluster.manifest import Manifest, ManifestRun
from rlregress.training.store import Store

#: number of records that are read for a group
_MAX_RECORDS = 8
#: time limit: a multiple of the longest run, plus minutes for the start
_TIME_FACTOR, _START_MINUTES = 2, 10
#: memory limit: a multiple of the largest peak, rounded up to steps of MiB
_MEMORY_FACTOR, _STEP_MIB = 1.3, 256


@dataclass(frozen=True)
class ResourceNeeds:
    """The limits for runs of one framework and algorithm.

    Attributes:
        minutes, mib: None: nothing is recorded, and the site's own limits apply.
        explanation: the source of both numbers, in words.
    """

    minutes: int | None
    mib: int | None
    explanation: str


def estimate_resource_needs(
    manifest: Manifest, runs: Sequence[ManifestRun], done: Collection[str], store: Store
) -> ResourceNeeds:
    """Estimate the limits for runs of one group.

    Args:
        runs: all runs of the group in the manifest.
        done: names of runs that have a record.
    """
    records = _read_finished_records(manifest, [run for run in runs if run.name in done], store)
    expected = max(run.seconds for run in runs)
    walls = [record["time"].get("wall_seconds", 0.0) for record in records]
    peaks = [record["memory"]["peak_mib"] for record in records if record.get("memory")]
    peaks_source = f"{len(peaks)} records of this store"
    # before the first run of a group, measurements of throughput know its memory
    if not peaks:
        stored = stored_throughput.load_all_throughput()
        peaks = [
            process.peak_mib
            for (framework, algorithm), measured in stored.items()
            if f"{framework}-{algorithm}" == runs[0].group
            for process in measured.process
        ]
        peaks_source = f"{len(peaks)} stored processes of its throughput"
    notes, minutes, mib = [], None, None
    longest = max([expected, *walls])
    if longest:
        minutes = estimate_time_limit_minutes(longest)
        source = f"{len(walls)} records of this store" if longest in walls else "its stored runs"
        notes.append(
            f"time: {_TIME_FACTOR} times the {longest / 60:.1f} min of {source}, and "
            f"{_START_MINUTES} min"
        )
    else:
        notes.append("time: the site's, because no run of it is recorded")
    if peaks:
        mib = math.ceil(_MEMORY_FACTOR * max(peaks) / _STEP_MIB) * _STEP_MIB
        notes.append(f"memory: {_MEMORY_FACTOR} times the {max(peaks):.0f} MiB of {peaks_source}")
    else:
        notes.append("memory: the site's, because no run of it is recorded")
    return ResourceNeeds(minutes, mib, "; ".join(notes))


def estimate_time_limit_minutes(longest_seconds: float) -> int:
    """Return the time limit of a run in minutes.

    Args:
        longest_seconds: seconds of the longest_seconds run of its group.
    """
    return math.ceil(_TIME_FACTOR * longest_seconds / 60) + _START_MINUTES


def _read_finished_records(
    manifest: Manifest, runs: Sequence[ManifestRun], store: Store
) -> list[Mapping[str, Any]]:
    # spread over the list, which has the longest runs first
    step = max(1, len(runs) // _MAX_RECORDS)
    stored_records = [
        store.find_record(manifest.read_job_at(run.number)) for run in runs[::step][:_MAX_RECORDS]
    ]
    # a failed run may have ended early, and says nothing about the limits
    return [
        record for record in stored_records if record is not None and record["status"] == "finished"
    ]
