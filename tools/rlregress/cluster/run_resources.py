"""The time and memory that a run is given, from runs that are recorded."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress.cluster.manifest import Manifest, ManifestRun
from rlregress.gate import stored_throughput
from rlregress.training.store import Store

#: of the records of a group, so many are read.
_READ = 8
#: the time is so many times the longest, and so many minutes for the start.
_TIMES, _START_MINUTES = 2, 10
#: the memory is so many times the largest, in whole steps of so many MiB.
_LARGER, _STEP_MIB = 1.3, 256


@dataclass(frozen=True)
class Needs:
    """What runs of one framework and algorithm are given.

    Attributes:
        minutes, mib: None: no run tells, and the site's own limits hold.
        why: what both rest on, in words.
    """

    minutes: int | None
    mib: int | None
    why: str


def needs(
    manifest: Manifest, runs: Sequence[ManifestRun], done: Collection[str], store: Store
) -> Needs:
    """The needs of runs of one group.

    Args:
        runs: all of the group that the manifest lists.
        done: names of runs that have a record.
    """
    records = _records(manifest, [run for run in runs if run.name in done], store)
    expected = max(run.seconds for run in runs)
    walls = [record["time"].get("wall_seconds", 0.0) for record in records]
    peaks = [record["memory"]["peak_mib"] for record in records if record.get("memory")]
    of_peaks = f"{len(peaks)} records of this store"
    if not peaks:
        stored = stored_throughput.load_all_throughput()
        peaks = [
            process.peak_mib
            for (framework, algorithm), measured in stored.items()
            if f"{framework}-{algorithm}" == runs[0].group
            for process in measured.process
        ]
        of_peaks = f"{len(peaks)} stored processes of its throughput"
    notes, minutes, mib = [], None, None
    longest = max([expected, *walls])
    if longest:
        minutes = time_of(longest)
        source = f"{len(walls)} records of this store" if longest in walls else "its stored runs"
        notes.append(
            f"time: {_TIMES} times the {longest / 60:.1f} min of {source}, and {_START_MINUTES} min"
        )
    else:
        notes.append("time: the site's, as no run of it is recorded")
    if peaks:
        mib = math.ceil(_LARGER * max(peaks) / _STEP_MIB) * _STEP_MIB
        notes.append(f"memory: {_LARGER} times the {max(peaks):.0f} MiB of {of_peaks}")
    else:
        notes.append("memory: the site's, as no run of it is recorded")
    return Needs(minutes, mib, "; ".join(notes))


def time_of(longest: float) -> int:
    """Minutes that a run is given.

    Args:
        longest: seconds of the longest run of its group.
    """
    return math.ceil(_TIMES * longest / 60) + _START_MINUTES


def _records(
    manifest: Manifest, runs: Sequence[ManifestRun], store: Store
) -> list[Mapping[str, Any]]:
    every = max(1, len(runs) // _READ)
    found = [store.find_record(manifest.job(run.number)) for run in runs[::every][:_READ]]
    return [record for record in found if record is not None and record["status"] == "finished"]
