"""``rlregress runs launch --local`` does the remaining runs when it is launched again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from rlregress.cluster import local, run_one
from rlregress.training.store import Store

from .short_runs import begin, has_ended, holder, jobs, write_listed
from .slurm_daemons import until


def start_launch(store: Store, manifest, workers: int = 2) -> subprocess.Popen[str]:
    """Start a launch of a manifest."""
    command = [sys.executable, "-m", "rlregress", "runs", "launch", "--local", "-j", str(workers)]
    return begin([*command, "--manifest", str(manifest.path), "--store", str(store.folder)])


@pytest.mark.usefixtures("warm_python")
@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_launch_that_is_ended_goes_on_when_it_is_launched_again(tmp_path, number):
    """Its processes end with the launch, whatever ends it; finished runs are not repeated."""
    all_jobs = jobs(range(3) if number == signal.SIGKILL else range(2))
    store = Store(tmp_path)
    manifest = write_listed(store, all_jobs)
    first = start_launch(store, manifest)
    processes = [holder(store, job).process for job in all_jobs[:2]]
    first.send_signal(number)
    first.wait(60)
    until(lambda: all(map(has_ended, processes)), 60, "what it started goes on")
    done = {path: path.stat() for path in store.folder.glob("sb3*/*.json")}
    assert len(done) < len(all_jobs)

    second_launch = start_launch(store, manifest)
    text, _ = second_launch.communicate(timeout=300)
    assert second_launch.returncode == 0, text
    assert f"{len(all_jobs)} runs, {len(all_jobs) - len(done)} of them to do" in text
    contents = store.list_runs_by_state()
    assert contents.done == {job.name for job in all_jobs}
    assert (contents.leases, contents.duplicates) == (set(), [])
    assert {path: path.stat() for path in done} == done


@pytest.mark.parametrize(
    ("code", "result"),
    [
        (0, "done"), (75, "unfinished"), (1, "failed"), (-signal.SIGTERM, "unfinished"),
        (-signal.SIGKILL, "unfinished"), (128 + signal.SIGINT, "unfinished"),
        (-signal.SIGSEGV, "failed"),
    ],
)  # fmt: skip
def test_a_run_ended_by_a_signal_is_unfinished(tmp_path, monkeypatch, code, result):
    """A run that a signal ends is unfinished; a crash of its own code is a failure."""
    end = f"exit({code})"
    if code < 0:
        default = f"signal.signal({-code}, signal.SIG_DFL)" if code != -signal.SIGKILL else ""
        end = f"import os, signal; {default}; os.kill(os.getpid(), {-code})"
    started = []

    def build_command(*_):
        started.append(1)
        return [sys.executable, "-c", end.replace("; ;", ";")]

    monkeypatch.setattr(run_one, "build_command_of_run", build_command)
    monkeypatch.setattr(local, "_PAUSE_SECONDS", 0.0)
    store = Store(tmp_path)
    manifest = write_listed(store, jobs([0]))
    counts = local.run_on_this_machine(
        manifest, list(manifest.iterate_runs()), store, 1, lambda _: None
    )
    assert counts == local.Counts(**{result: 1})
    # what another attempt does is tried once more, after the others
    assert len(started) == (2 if code == run_one.RESUMABLE else 1)


def test_a_signal_is_not_lost_while_a_run_is_started(tmp_path, monkeypatch):
    """Python ignores what a handler raises in the hooks that run around a fork."""
    forks = []

    def interrupt():
        if not forks:
            forks.append(1)
            signal.raise_signal(signal.SIGINT)

    # a process of a parallel test run has another handler
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    os.register_at_fork(after_in_parent=interrupt)
    monkeypatch.setattr(run_one, "build_command_of_run", lambda *_: [sys.executable, "-c", "pass"])
    store = Store(tmp_path)
    manifest = write_listed(store, jobs([0]))
    try:
        with pytest.raises(KeyboardInterrupt):
            local.run_on_this_machine(
                manifest, list(manifest.iterate_runs()), store, 1, lambda _: None
            )
    finally:
        signal.signal(signal.SIGINT, before)
