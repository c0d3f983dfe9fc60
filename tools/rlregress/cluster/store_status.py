"""Status of a run store, from file names, leases and progress reports.

No record is opened, so a store of 100 000 runs is surveyed in a second.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from rlregress.cluster.manifest import NAME_LENGTH, Manifest, ManifestRun
from rlregress.model.store_state import Attempt, StoreStatus
from rlregress.training.lease import (
    BEAT_SECONDS,
    STALE_SECONDS,
    Holder,
    describe_this_process,
    explain_ended_attempt,
    read_file_server_time,
)
from rlregress.training.store import Store

#: an attempt that missed two beats is stuck; it is stopped when its lease is over
STUCK_SECONDS = 3 * BEAT_SECONDS
#: number of failed runs whose reasons are read
_MAX_REASONS = 200
#: group of runs that no manifest lists
UNLISTED = "not listed"


def survey_store(
    store: Store,
    manifests: Iterable[Manifest],
    gone: Mapping[str, Collection[int]] | None = None,
    queued: Collection[str] = (),
) -> StoreStatus:
    """Return the state of a store: numbers of runs by group and state, attempts, and damage.

    Args:
        manifests: lists of runs to do; a run in several counts once.
        gone, queued: earlier answers of Slurm; see ``gone`` and ``runs`` of ``slurm_arrays.Queue``.
    """
    contents = store.list_runs_by_state()
    attempts = _read_attempts_in_progress(store, contents.leases)
    states = {attempt.run: attempt.state for attempt in attempts}
    unbegun = 0
    counts: dict[str, Counter[str]] = {}
    remaining: list[ManifestRun] = []
    listed_names: set[str] = set()
    for manifest in manifests:
        without_task = (gone or {}).get(manifest.digest[:NAME_LENGTH], ())
        for run in manifest.iterate_runs():
            if run.name in listed_names:
                continue
            listed_names.add(run.name)
            state = "done"
            if run.name in contents.failed:
                state = "failed"
            elif run.name not in contents.done:
                state = states.get(run.name, "waiting")
                if state == "waiting" and run.name not in queued:
                    has_begun = run.name in contents.checkpoints
                    # Slurm no longer has its task: it stopped before its first checkpoint
                    if not has_begun and run.number in without_task:
                        unbegun += 1
                        has_begun = True
                    state = "stopped" if has_begun else state
                remaining.append(run)
            counts.setdefault(run.group, Counter())[state] += 1
    unlisted = Counter(
        "failed" if name in contents.failed else "done" for name in contents.done - listed_names
    )
    unlisted += Counter(states[name] for name in states.keys() - listed_names)
    if unlisted:
        counts[UNLISTED] = unlisted
    read = sorted(contents.failed)[:_MAX_REASONS]
    return StoreStatus(
        counts=counts,
        attempts=attempts,
        reasons=Counter(map(store.read_failure_reason, read)),
        read=len(read),
        duplicates=contents.duplicates,
        damaged=contents.damaged,
        unbegun=unbegun,
        own_clock=bool(attempts) and not os.access(store.folder, os.W_OK),
        seconds_left=_estimate_seconds_left(remaining, attempts),
    )


def _read_attempts_in_progress(store: Store, names: Iterable[str]) -> list[Attempt]:
    attempts = []
    server_time, machine = read_file_server_time(store.folder), describe_this_process().machine
    for name in sorted(names):
        try:
            holder, touched = store.read_lease_holder(name)
        except OSError:
            # the attempt has ended meanwhile
            continue
        silent = server_time - touched
        reason = _find_stop_reason(holder, silent, machine)
        progress = None
        if holder is not None:
            # a stopped attempt continues from its checkpoint, so later progress does not count
            reported = None if reason else store.read_progress_of_attempt(name, holder.attempt)
            progress = reported or store.read_checkpoint_progress(name)
        attempts.append(
            Attempt(
                run=name,
                silent=silent,
                share=progress.steps / progress.total_steps if progress else 0.0,
                wall_seconds=progress.wall_seconds if progress else 0.0,
                why=reason,
                where=_describe_holder(holder) if holder is not None else "?",
                restarts=holder.restarts if holder is not None else 0,
                state=_name_state_of_attempt(silent, reason),
            )
        )
    return attempts


def _describe_holder(holder: Holder) -> str:
    task = holder.slurm.get("SLURM_ARRAY_TASK_ID")
    job = holder.slurm.get("SLURM_ARRAY_JOB_ID") or holder.slurm.get("SLURM_JOB_ID", "")
    node = holder.slurm.get("SLURMD_NODENAME", holder.host)
    slurm = f" (Slurm {job}{task and f'_{task}' or ''})" if job else ""
    return f"{node} process {holder.process}{slurm}"


def _find_stop_reason(holder: Holder | None, silent_seconds: float, machine: str) -> str:
    """Return why an attempt has stopped, as in ``lease.is_lease_over``; empty if it has not."""
    reason = explain_ended_attempt(holder) if holder is not None else ""
    is_on_this_machine = holder is not None and holder.machine == machine != ""
    # a process of this machine that has not ended holds its lease, however silent it is
    if not reason and silent_seconds > STALE_SECONDS and not is_on_this_machine:
        return f"it has given no sign for more than {STALE_SECONDS / 60:.0f} min"
    return reason


def _name_state_of_attempt(silent_seconds: float, reason: str) -> str:
    if reason:
        return "stopped"
    return "stuck" if silent_seconds > STUCK_SECONDS else "running"


def _estimate_seconds_left(
    remaining: Sequence[ManifestRun], attempts: Sequence[Attempt]
) -> float | None:
    running = {attempt.run: attempt for attempt in attempts if attempt.state == "running"}
    measured = [attempt for attempt in running.values() if attempt.share > 0]
    seconds: Mapping[str, float] = {run.name: run.seconds for run in remaining}
    # slowdown of runs here relative to the expected time
    expected = sum(seconds.get(attempt.run, 0.0) * attempt.share for attempt in measured)
    pace = sum(attempt.wall_seconds for attempt in measured) / expected if expected else 1.0
    # unrecorded runs are expected to take as long as the running ones
    usual_seconds = (
        statistics.mean(attempt.wall_seconds / attempt.share for attempt in measured)
        if measured
        else 0
    )
    lengths = {
        name: run_seconds * pace if run_seconds else usual_seconds
        for name, run_seconds in seconds.items()
    }
    if not running or (lengths and not all(lengths.values())):
        return None
    # a stuck attempt may have to start again
    done = {attempt.run: attempt.share for attempt in attempts if attempt.state != "stuck"}
    remaining_seconds = {
        name: run_seconds * (1 - done.get(name, 0.0)) for name, run_seconds in lengths.items()
    }
    # not before the longest run ends
    return max(sum(remaining_seconds.values()) / len(running), *remaining_seconds.values(), 0.0)
