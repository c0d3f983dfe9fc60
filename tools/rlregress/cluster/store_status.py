"""What is done of a store, what is going on in it, and what is left: from names, leases, progress.

No record is opened: a store of 100 000 runs is surveyed in a second.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from rlregress.cluster.manifest import NAMED, Manifest, ManifestRun
from rlregress.model.store_state import Attempt, Survey
from rlregress.training.lease import (
    BEAT_SECONDS,
    STALE_SECONDS,
    Holder,
    describe_this_process,
    find_end_reason,
    read_server_time,
)
from rlregress.training.store import Store

#: an attempt that has missed two beats is stuck, and when its lease is over it is stopped.
STUCK_SECONDS = 3 * BEAT_SECONDS
#: of so many failed runs it is read why.
_READ = 200
#: in place of the group of runs that no manifest lists.
UNLISTED = "not listed"


def survey(
    store: Store,
    manifests: Iterable[Manifest],
    gone: Mapping[str, Collection[int]] | None = None,
    queued: Collection[str] = (),
) -> Survey:
    """Look at a store.

    Args:
        manifests: what is to be done; a run that several list counts once.
        gone, queued: what Slurm has said before; see ``slurm_arrays.Queue``.
    """
    there = store.list_contents()
    attempts = _attempts(store, there.leases)
    states = {attempt.run: attempt.state for attempt in attempts}
    unbegun = 0
    counts: dict[str, Counter[str]] = {}
    left: list[ManifestRun] = []
    known: set[str] = set()
    for manifest in manifests:
        without_task = (gone or {}).get(manifest.digest[:NAMED], ())
        for run in manifest.runs():
            if run.name in known:
                continue
            known.add(run.name)
            state = "done"
            if run.name in there.failed:
                state = "failed"
            elif run.name not in there.done:
                state = states.get(run.name, "waiting")
                if state == "waiting" and run.name not in queued:
                    begun = run.name in there.checkpoints
                    if not begun and run.number in without_task:
                        unbegun += 1
                        begun = True
                    state = "stopped" if begun else state
                left.append(run)
            counts.setdefault(run.group, Counter())[state] += 1
    unlisted = Counter("failed" if name in there.failed else "done" for name in there.done - known)
    unlisted += Counter(states[name] for name in states.keys() - known)
    if unlisted:
        counts[UNLISTED] = unlisted
    read = sorted(there.failed)[:_READ]
    return Survey(
        counts=counts,
        attempts=attempts,
        reasons=Counter(map(store.failure_reason, read)),
        read=len(read),
        duplicates=there.duplicates,
        damaged=there.damaged,
        unbegun=unbegun,
        own_clock=bool(attempts) and not os.access(store.folder, os.W_OK),
        seconds_left=_seconds_left(left, attempts),
    )


def _attempts(store: Store, names: Iterable[str]) -> list[Attempt]:
    attempts = []
    now, machine = read_server_time(store.folder), describe_this_process().machine
    for name in sorted(names):
        try:
            of, touched = store.read_lease_holder(name)
        except OSError:
            # it has ended meanwhile
            continue
        silent = now - touched
        if of is None:
            attempts.append(
                Attempt(
                    run=name,
                    silent=silent,
                    share=0.0,
                    wall_seconds=0.0,
                    why=_why_stopped(None, silent, machine),
                    where="?",
                    restarts=0,
                    state=_state(silent, _why_stopped(None, silent, machine)),
                )
            )
            continue
        why = _why_stopped(of, silent, machine)
        # one that has ended is continued from its checkpoint, however far it came after that
        reported = None if why else store.read_progress(name, of.attempt)
        progress = reported or store.read_checkpoint_progress(name)
        task = of.slurm.get("SLURM_ARRAY_TASK_ID")
        job = of.slurm.get("SLURM_ARRAY_JOB_ID") or of.slurm.get("SLURM_JOB_ID", "")
        slurm = f" (Slurm {job}{task and f'_{task}' or ''})" if job else ""
        attempts.append(
            Attempt(
                run=name,
                silent=silent,
                share=progress.steps / progress.total_steps if progress else 0.0,
                wall_seconds=progress.wall_seconds if progress else 0.0,
                why=why,
                where=f"{of.slurm.get('SLURMD_NODENAME', of.host)} process {of.process}{slurm}",
                restarts=of.restarts,
                state=_state(silent, why),
            )
        )
    return attempts


def _why_stopped(of: Holder | None, silent: float, machine: str) -> str:
    """Why an attempt goes on no more, as ``lease.is_over`` finds it; empty: it does."""
    why = find_end_reason(of) if of is not None else ""
    here = of is not None and of.machine == machine != ""
    if not why and silent > STALE_SECONDS and not here:
        return f"it has given no sign for more than {STALE_SECONDS / 60:.0f} min"
    return why


def _state(silent: float, why: str) -> str:
    if why:
        return "stopped"
    return "stuck" if silent > STUCK_SECONDS else "running"


def _seconds_left(left: Sequence[ManifestRun], attempts: Sequence[Attempt]) -> float | None:
    running = {attempt.run: attempt for attempt in attempts if attempt.state == "running"}
    measured = [attempt for attempt in running.values() if attempt.share > 0]
    seconds: Mapping[str, float] = {run.name: run.seconds for run in left}
    # how much longer runs take here than is expected
    expected = sum(seconds.get(attempt.run, 0.0) * attempt.share for attempt in measured)
    pace = sum(attempt.wall_seconds for attempt in measured) / expected if expected else 1.0
    # of what nobody has recorded, as long as those that are running
    usual = (
        statistics.mean(attempt.wall_seconds / attempt.share for attempt in measured)
        if measured
        else 0
    )
    lengths = {name: of * pace if of else usual for name, of in seconds.items()}
    if not running or (lengths and not all(lengths.values())):
        return None
    # one that is stuck may not go on from where it is
    done = {attempt.run: attempt.share for attempt in attempts if attempt.state != "stuck"}
    rest = {name: of * (1 - done.get(name, 0.0)) for name, of in lengths.items()}
    # no sooner than the longest
    return max(sum(rest.values()) / len(running), *rest.values(), 0.0)
