"""``rlregress runs launch --waves``: does the runs of a check look by look, then judges them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rlregress.check import check_run
from rlregress.check.session import Session
from rlregress.check.session_waves import Wave, build_interim_verdicts, build_next_wave
from rlregress.check_options import CheckOptions
from rlregress.cli import check, many_runs
from rlregress.cluster import run_one, run_selection, slurm_arrays
from rlregress.inside.run_record import check_folder_is_writable
from rlregress.report import waves_text
from rlregress.training.lease import Lease, read_holder
from rlregress.training.store import MANIFESTS

#: pause between two reads of the store, and between two reads of Slurm's queue
_STORE_SECONDS, _QUEUE_SECONDS = 2.0, 30.0


@dataclass(frozen=True)
class WaveOptions:
    """Options for doing the runs of a check in waves: here, or on a Slurm cluster.

    Attributes:
        options: the options of the check; on this machine its ``workers`` do the runs.
        site: options of Slurm; None: this machine does the runs.
        wait: whether to wait for the verdict if other processes do the runs.
    """

    options: CheckOptions
    site: slurm_arrays.Site | None
    wait: bool


def run_waves_to_verdict(waves: WaveOptions) -> int:
    """Do or submit the runs of the next waves, and judge after each, until there is a verdict.

    Returns:
        The exit code of the check; 75 while a wave is not done; 1 if runs failed.
    """
    # before hours of training, not after them
    check_folder_is_writable(waves.options.report, "the report")
    session = check_run.open_check_session(waves.options)
    many_runs.print_line_at_once(f"waves: {session.describe_session()}")
    with _lock_waves_or_name_holder(session, waves.wait) as holder:
        if holder:
            many_runs.print_line_at_once(
                f"{holder} is doing these runs; run the command again for the verdict"
            )
            return run_one.RESUMABLE
        code = _do_waves_until_verdict(waves, session)
        return check.judge_and_report_check(waves.options) if code is None else code


def print_scripts_of_next_wave(waves: WaveOptions) -> None:
    """Print the scripts for Slurm of the next wave."""
    session = check_run.open_check_session(waves.options)
    wave = build_next_wave(session)
    if wave is None:
        many_runs.print_line_at_once("no runs are left to do: the check has a verdict")
    else:
        _submit_wave(waves, session, wave, dry_run=True)


@contextmanager
def _lock_waves_or_name_holder(session: Session, wait: bool) -> Iterator[str]:
    """Lock the waves of a session; yield the process that has the lock, or an empty text."""
    keys = " ".join(job.key for cell in session.cells for job in session.list_jobs_of_cell(cell))
    name = f"{hashlib.sha256(keys.encode()).hexdigest()[:12]}.lease"
    folder = run_selection.locate_or_create_folder_in_store(session.store, MANIFESTS, "manifests")
    lease = Lease(folder / name)
    while not lease.take_if_free():
        if not wait:
            holder = read_holder(lease.path)
            yield f"process {holder.process} on {holder.host}" if holder else "another process"
            return
        time.sleep(_STORE_SECONDS)
    try:
        yield ""
    finally:
        lease.release_lease()


def _do_waves_until_verdict(waves: WaveOptions, session: Session) -> int | None:
    """Do the runs that the verdict needs. Return None if all are done, else the exit code."""
    before: tuple[int, int] | None = None
    for line in waves_text.describe_verdicts_of_waves(build_interim_verdicts(session)):
        many_runs.print_line_at_once(line)
    wave = build_next_wave(session)
    while wave is not None:
        if waves.site is not None and before == (wave.number, len(wave.undone)):
            many_runs.print_line_at_once(
                f"wave {wave.number}: none of {len(wave.undone)} runs was done, and none is in the "
                f"queue; read the logs in {session.store.folder / 'slurm'}"
            )
            return 1
        before = wave.number, len(wave.undone)
        remaining = len(wave.undone)
        many_runs.print_line_at_once(
            waves_text.describe_next_wave(
                wave.number, wave.total, len(wave.jobs), wave.cells, remaining
            )
        )
        code = _do_runs_of_wave(waves, session, wave)
        if code is not None:
            return code
        following = build_next_wave(session)
        if following is None or following.number > wave.number:
            for line in waves_text.describe_verdicts_of_waves(build_interim_verdicts(session)):
                many_runs.print_line_at_once(line)
        # kept, because finding a wave reads every record of it
        wave = following
    return None


def _do_runs_of_wave(waves: WaveOptions, session: Session, wave: Wave) -> int | None:
    """Do the runs of a wave here, or submit them to the cluster and, if requested, wait for them.

    Returns:
        An exit code that ends the command; None to continue with the next wave.
    """
    if waves.site is not None:
        _submit_wave(waves, session, wave)
        if not waves.wait:
            many_runs.print_line_at_once(
                f"wave {wave.number} is not done; run the command again for the verdict"
            )
            return run_one.RESUMABLE
        _wait_for_wave(session, wave)
        return None
    done = {job.name for job in wave.jobs} - {job.name for job in wave.undone}
    manifest = run_selection.write_wave_manifest(wave, session)
    code = many_runs.do_runs_here(manifest, session.store, waves.options.workers, done)
    if code == run_one.RESUMABLE and waves.wait:
        time.sleep(_STORE_SECONDS)
        return None
    return code or None


def _submit_wave(waves: WaveOptions, session: Session, wave: Wave, dry_run: bool = False) -> None:
    def list_finished_runs() -> set[str]:
        # records are read, not only listed: the run of a damaged record is done again
        return {job.name for job in wave.jobs if session.store.find_record(job) is not None}

    manifest = run_selection.write_wave_manifest(wave, session)
    site = waves.site or slurm_arrays.Site()
    many_runs.submit_runs_to_slurm(manifest, session.store, site, dry_run, list_finished_runs)


def _wait_for_wave(session: Session, wave: Wave) -> None:
    """Wait until the runs of a wave are done, or no more of them are in Slurm's queue."""
    names = {job.name for job in wave.undone}
    queue_read_at = time.monotonic()
    while not all(session.store.locate_record(job).exists() for job in wave.undone):
        time.sleep(_STORE_SECONDS)
        if time.monotonic() - queue_read_at < _QUEUE_SECONDS:
            continue
        queue = slurm_arrays.read_queued_tasks(session.store)
        # an error of Slurm may pass
        if not queue.error and names.isdisjoint(queue.runs):
            return
        queue_read_at = time.monotonic()
