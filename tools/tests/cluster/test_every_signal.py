"""Signals of people, schedulers and limits, again and again: every run is done once, none failed.

40 runs are hit on one machine and 40 on a real Slurm, at any moment and in either of their two
processes. Then two launchers do runs for half an hour while processes are ended at random.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import cycle, product

import pytest

from rlregress.cluster.manifest import Manifest
from rlregress.training import worker_launch
from rlregress.training.cell import Job, Protocol
from rlregress.training.store import Store

from . import slurm_daemons
from .short_runs import has_ended, jobs, listed, rlregress, workers
from .slurm_daemons import Site, until
from .tasks import launched, logs

HIT = 40
MINUTES = float(os.environ.get("RLREGRESS_SOAK_MINUTES", "30"))
SIGNALS = (
    signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGXFSZ,
)  # fmt: skip
#: of a run there are two processes; in the soak its launcher is hit as well.
RUN, WORKER, LAUNCHER = "run", "worker", "launcher"
#: what is launched again and again has to end.
MOST_LAUNCHES = 12
#: some seconds of training, with networks as small as they can be.
_PROTOCOL = Protocol(1000, 500, 1)
_SMALL = {"hidden_sizes": [8, 8], "minibatch_size": 8, "steps_per_collection": 4}
#: seconds between the begin of a process and its signal, or between two of the soak, at most.
_MOMENT, _PAUSE = 3.0, 4.0
#: runs that two launchers are given at a time.
_BATCH = 10
_STARTING = r"Traceback .*\n(?:  .*<frozen runpy>.*\n)+(?:  .*\n)*KeyboardInterrupt\n"

pytestmark = pytest.mark.nightly


@pytest.fixture
def store(tmp_path) -> Store:
    """A store without records."""
    return Store(tmp_path / "runs")


def made(seeds: range) -> list[Job]:
    """Runs that can be continued."""
    return [
        replace(job, hyperparameters={**job.hyperparameters, **_SMALL})
        for job in jobs(seeds, _PROTOCOL)
    ]


def process_of(store: Store, job: Job, target: str) -> int:
    """One of the processes of a run; 0 if it is not there."""
    with suppress(OSError):
        of, _ = store.holder(job.name)
        if of is not None and not of.ended and not has_ended(of.process):
            return of.process if target == RUN else next(iter(workers(store, job)), 0)
    return 0


class Hits:
    """Signals that were sent, each run hit at most once; all of them in turn.

    Attributes:
        counted: signal, process -> how many.
    """

    def __init__(self, store: Store, every: Sequence[Job]) -> None:
        self.store, self.left = store, list(every)
        self.counted = Counter[tuple[str, str]]()
        self._planned = cycle(product(SIGNALS, (RUN, WORKER)))
        self._next = next(self._planned)

    def go_on(self, busy: Callable[[], bool]) -> None:
        """Hit runs at any moment of theirs for as long as they are done."""
        while busy():
            time.sleep(random.uniform(0.0, 0.3))
            number, target = self._next
            there = [job for job in self.left if process_of(self.store, job, target)]
            if not there:
                continue
            job = random.choice(there)
            time.sleep(random.uniform(0.0, _MOMENT))
            process = process_of(self.store, job, target)
            with suppress(ProcessLookupError):
                if process:
                    os.kill(process, number)
                    self.counted[number.name, target] += 1
                    self.left.remove(job)
                    self._next = next(self._planned)

    def tell(self, launches: int) -> None:
        """Print what was done."""
        text = ", ".join(f"{name} to the {of}: {n}" for (name, of), n in self.counted.items())
        records = [self.store.folder / f"{name}.json" for name in self.store.contents().done]
        continued = sum('"continued": []' not in path.read_text() for path in records)
        print(
            f"\n{self.counted.total()} signals ({text}); {launches} launches; {len(records)} "
            f"records, {continued} of trainings that were continued"
        )


def check(store: Store, runs: set[str]) -> None:
    """Each of the runs has one record, of a training that has finished; nothing else is left."""
    there = store.contents()
    assert there.done == runs
    assert (there.failed, there.duplicates, there.damaged, there.leases) == (set(), [], [], set())
    assert not [*store.folder.rglob("*.checkpoint*"), *store.folder.rglob("*.attempts")]
    verified = rlregress("runs", "status", "--verify", "--store", str(store.folder))
    assert f"{len(runs)} records are whole, 0 of them of failed runs" in verified.stdout


def launched_here(store: Store, manifest: Manifest, workers: int) -> subprocess.Popen[bytes]:
    """``launch --local``, which goes on; what it says is in a file of the store."""
    command = [sys.executable, "-m", "rlregress", "runs", "launch", "--local", "-j", str(workers)]
    with open(store.folder / "said", "ab") as text:
        return subprocess.Popen(
            [*command, "--manifest", str(manifest.path), "--store", str(store.folder)],
            env=worker_launch.environment(),
            stdout=text,
            stderr=text,
        )


def test_runs_on_one_machine_that_are_hit_are_done_once(store):
    """By ``launch --local``, which takes none for a run that could not be done."""
    every = made(range(HIT))
    manifest, hits, launches = listed(store, every), Hits(store, every), 0
    while len(store.contents().done) < HIT and launches < MOST_LAUNCHES:
        launches += 1
        launcher = launched_here(store, manifest, 2)
        hits.go_on(lambda of=launcher: of.poll() is None)
        assert launcher.returncode in (0, 75), (store.folder / "said").read_text()
    hits.tell(launches)
    output = (store.folder / "said").read_text()
    assert not re.findall(r"[1-9]\d* could not be done|Traceback.*", output)
    check(store, {job.name for job in every})


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Iterator[None]:
    """A Slurm that runs; its commands are found."""
    if slurm_daemons.missing():
        pytest.skip(slurm_daemons.missing())
    (tmp_path / "slurm").mkdir()
    with slurm_daemons.running(tmp_path / "slurm", Site(nodes=2, cores=4, kill_wait=30)) as running:
        for name in ("PATH", "SLURM_CONF"):
            monkeypatch.setenv(name, running.environment[name])
        yield


@pytest.mark.usefixtures("cluster")
def test_runs_on_slurm_that_are_hit_are_done_once(store):
    """Tasks that a warning has stopped are requeued, the others are launched again."""
    every = made(range(HIT))
    manifest, hits, launches = listed(store, every), Hits(store, every), 0

    def queued() -> bool:
        ended = subprocess.run(["squeue", "-h"], check=True, capture_output=True)
        return bool(ended.stdout.strip())

    while len(store.contents().done) < HIT and launches < MOST_LAUNCHES:
        launches += 1
        launched(manifest, store, "--max", "2")
        hits.go_on(queued)
    hits.tell(launches)
    assert "Traceback" not in logs(store)
    check(store, {job.name for job in every})


def test_two_launchers_and_random_kills_leave_every_run_done_once(store):
    """Launchers, runs and workers end at any moment, also by KILL; runs are launched again."""
    end = time.monotonic() + 60 * MINUTES
    runs: list[Job] = []
    launchers: list[subprocess.Popen[bytes]] = []
    counted, launches = Counter[str](), 0
    while time.monotonic() < end or len(store.contents().done) < len(runs):
        soaking = time.monotonic() < end
        assert time.monotonic() < end + 600, "it does not end"
        if soaking and len(store.contents().done) == len(runs):
            runs += made(range(len(runs), len(runs) + _BATCH))
            manifest = listed(store, runs)
        launchers = [each for each in launchers if each.poll() is None]
        while len(launchers) < 2:
            launchers.append(launched_here(store, manifest, 1))
            launches += 1
        time.sleep(random.uniform(0.0, _PAUSE))
        target = random.choice((LAUNCHER, RUN, RUN, WORKER, WORKER))
        processes = [process_of(store, job, target) for job in runs if target != LAUNCHER]
        of = [*filter(None, processes)] or [each.pid for each in launchers]
        if soaking:
            number = random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, *SIGNALS))
            with suppress(ProcessLookupError):
                os.kill(random.choice(of), number)
                counted[number.name] += 1
    for launcher in launchers:
        launcher.wait(120)
    until(lambda: not store.contents().leases, 60, "a lease is left")
    print(
        f"\n{MINUTES:g} minutes: {counted.total()} signals ({dict(counted)}), {launches} launches"
    )
    print(f"{launches} launches; {len(runs)} runs, {len(store.contents().done)} records")
    # an interpreter that is interrupted while it starts says so itself
    text = (store.folder / "said").read_text()
    assert "Traceback" not in re.sub(_STARTING, "", text), text
    check(store, {job.name for job in runs})
