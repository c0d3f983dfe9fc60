"""Signals of people, schedulers and limits, again and again: every run is done once, none failed.

Two launchers do runs for half an hour while launchers, runs and workers are ended at random.
``RLREGRESS_SOAK_MINUTES=2`` takes less time. What was done is printed: ``pytest -m nightly -s``.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from rlregress.cluster.manifest import Manifest
from rlregress.training import worker_launch
from rlregress.training.cell import Job, Protocol
from rlregress.training.store import Store

from .short_runs import has_ended, jobs, rlregress, workers, write_listed
from .slurm_daemons import until

MINUTES = float(os.environ.get("RLREGRESS_SOAK_MINUTES", "30"))
SIGNALS = (
    signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGXFSZ,
)  # fmt: skip
RUN, WORKER, LAUNCHER = "run", "worker", "launcher"
#: some seconds of training, with networks as small as they can be.
_PROTOCOL = Protocol(1000, 500, 1)
_SMALL = {"hidden_sizes": [8, 8], "minibatch_size": 8, "steps_per_collection": 4}
#: seconds between two signals, at most.
_PAUSE = 4.0
#: runs that two launchers are given at a time.
_BATCH = 10
_STARTING = r"Traceback .*\n(?:  .*<frozen runpy>.*\n)+(?:  .*\n)*KeyboardInterrupt\n"

pytestmark = pytest.mark.nightly


def make_runs(seeds: range) -> list[Job]:
    """Return runs that can be continued."""
    return [
        replace(job, hyperparameters={**job.hyperparameters, **_SMALL})
        for job in jobs(seeds, _PROTOCOL)
    ]


def process_of(store: Store, job: Job, target: str) -> int:
    """Return one of the processes of a run; 0 if it is not there."""
    with suppress(OSError):
        attempt_holder, _ = store.read_lease_holder(job.name)
        if attempt_holder is None or attempt_holder.ended:
            return 0
        if not has_ended(attempt_holder.process):
            return attempt_holder.process if target == RUN else next(iter(workers(store, job)), 0)
    return 0


def check(store: Store, runs: set[str]) -> None:
    """Each of the runs has one record, of a training that has finished; nothing else is left."""
    contents = store.list_runs_by_state()
    assert contents.done == runs
    assert contents.failed == contents.leases == set()
    assert contents.duplicates == contents.damaged == []
    assert not [*store.folder.rglob("*.checkpoint*"), *store.folder.rglob("*.attempts")]
    verified = rlregress("runs", "status", "--verify", "--store", str(store.folder))
    assert f"{len(runs)} records are intact, 0 of them of failed runs" in verified.stdout


def start_launch(store: Store, manifest: Manifest, workers: int) -> subprocess.Popen[bytes]:
    """Start ``launch --local``; its output goes to a file of the store."""
    command = [sys.executable, "-m", "rlregress", "runs", "launch", "--local", "-j", str(workers)]
    with open(store.folder / "said", "ab") as text:
        command += ["--manifest", str(manifest.path), "--store", str(store.folder)]
        environment = worker_launch.make_worker_environment()
        return subprocess.Popen(command, env=environment, stdout=text, stderr=text)


def test_two_launchers_and_random_kills_leave_every_run_done_once(store):
    """Launchers, runs and workers end at any moment, also by KILL; runs are launched again."""
    end = time.monotonic() + 60 * MINUTES
    runs: list[Job] = []
    launchers: list[subprocess.Popen[bytes]] = []
    signals, launches = Counter[str](), 0
    while time.monotonic() < end or len(store.list_runs_by_state().done) < len(runs):
        soaking = time.monotonic() < end
        assert time.monotonic() < end + 600, "it does not end"
        if soaking and len(store.list_runs_by_state().done) == len(runs):
            runs += make_runs(range(len(runs), len(runs) + _BATCH))
            manifest = write_listed(store, runs)
        launchers = [launcher for launcher in launchers if launcher.poll() is None]
        while len(launchers) < 2:
            launchers.append(start_launch(store, manifest, 1))
            launches += 1
        time.sleep(random.uniform(0.0, _PAUSE))
        target = random.choice((LAUNCHER, RUN, RUN, WORKER, WORKER))
        processes = [process_of(store, job, target) for job in runs if target != LAUNCHER]
        attempt_holder = [*filter(None, processes)] or [launcher.pid for launcher in launchers]
        if soaking:
            number = random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, *SIGNALS))
            with suppress(ProcessLookupError):
                os.kill(random.choice(attempt_holder), number)
                signals[number.name] += 1
    for launcher in launchers:
        launcher.wait(120)
    until(lambda: not store.list_runs_by_state().leases, 60, "a lease is left")
    print(
        f"\n{MINUTES:g} minutes: {signals.total()} signals ({dict(signals)}), {launches} launches"
    )
    print(f"{launches} launches; {len(runs)} runs, {len(store.list_runs_by_state().done)} records")
    # an interpreter that is interrupted while it starts says so itself
    text = (store.folder / "said").read_text()
    assert "Traceback" not in re.sub(_STARTING, "", text), text
    check(store, {job.name for job in runs})
