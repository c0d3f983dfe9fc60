"""1440 short real trainings on a real Slurm, hit by every accident: each has exactly one result.

It takes about half an hour on two cores. What was done and what happened is printed:
``pytest -m nightly -s``. ``RLREGRESS_RUNS=100`` does it with fewer.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rlregress.training.lease import Holder
from rlregress.training.store import Store

from . import slurm_daemons
from .short_runs import has_ended, jobs, rlregress, write_listed
from .slurm_daemons import Cluster, Site, until
from .tasks import ask, catch_run, go_on, launch, logs, task_of, wait_for_tasks

RUNS = int(os.environ.get("RLREGRESS_RUNS", "1440"))
#: runs whose folder is on a disk that is full, and its size.
ON_FULL_DISK, DISK = 20, "64k"
#: tasks of an array that run at once, spread over the nodes; five are caught on one of them.
AT_ONCE = 24
#: what is launched again and again has to end.
MOST_LAUNCHES = 5

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.usefixtures("warm_python"),
    pytest.mark.skipif(bool(slurm_daemons.missing()), reason=slurm_daemons.missing()),
]


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Iterator[Cluster]:
    """Four nodes of 24 cores each; its commands find it."""
    (tmp_path / "slurm").mkdir()
    with slurm_daemons.running(tmp_path / "slurm", Site()) as running:
        for name in ("PATH", "SLURM_CONF"):
            monkeypatch.setenv(name, running.environment[name])
        yield running


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """A folder on a small disk that fills up; where it cannot be made, the test is skipped."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@dataclass
class Accidents:
    """Accidents of runs of a store, and the results that follow.

    Attributes:
        hit: runs that were caught; each has one accident.
        after: accident, run -> what has to be seen when no task is in the queue any more.
    """

    cluster: Cluster
    store: Store
    hit: set[str] = field(default_factory=set)
    after: list[tuple[str, str, str]] = field(default_factory=list)

    def cause_all(self) -> None:
        """Catch a run for each while tasks run, and do it to them."""
        planned = [
            (self.node_goes_down, "n2", "started again"),
            (self.node_is_preempted, "n3", "started again"),
            (self.daemon_of_a_node_crashes, "n4", "done once"),
            (self.task_is_killed, "n1", "left"),
            (self.task_is_cancelled, "n1", "left"),
            (self.step_is_killed, "n1", "done once"),
            (self.time_is_nearly_over, "n1", "started again"),
            (self.time_is_over, "n1", "left"),
        ]
        accidents = [
            (accident, *catch_run(self.store, self.hit, on), then) for accident, on, then in planned
        ]
        for accident, name, attempt_holder, then in accidents:
            accident(attempt_holder)
            self.after.append((accident.__name__.replace("_", " "), name, then))

    def task_is_killed(self, attempt_holder: Holder) -> None:
        """Slurm starts it again by itself only if a node is lost."""
        os.kill(attempt_holder.process, signal.SIGKILL)

    def task_is_cancelled(self, attempt_holder: Holder) -> None:
        """``scancel``: TERM, and time to give the run back."""
        ask("scancel", task_of(attempt_holder))
        go_on(attempt_holder.process)

    def time_is_nearly_over(self, attempt_holder: Holder) -> None:
        """Slurm itself warns it, looking at its limits every 30 s; it asks for another turn."""
        ask("scontrol", "update", f"jobid={task_of(attempt_holder)}", "EndTime=now+100")
        go_on(attempt_holder.process)

    def time_is_over(self, attempt_holder: Holder) -> None:
        """It does not answer a warning, and is killed."""
        ask("scontrol", "update", f"jobid={task_of(attempt_holder)}", "EndTime=now+3")
        requested = ("squeue", "-h", "-t", "all", "-j", task_of(attempt_holder), "-o", "%T")
        until(
            lambda: ask(*requested, check=False).strip() in ("TIMEOUT", ""),
            120,
            f"{attempt_holder} goes on",
        )

    def node_goes_down(self, _: Holder) -> None:
        """With all of its tasks."""
        ask("scontrol", "update", "nodename=n2", "state=down", "reason=test")

    def node_is_preempted(self, _: Holder) -> None:
        """Another partition takes it."""
        ask("sbatch", "-p", "urgent", "-w", "n3", "-c", str(Site().cores), "--wrap", "sleep 2",
            "-o", "/dev/null")  # fmt: skip

    def daemon_of_a_node_crashes(self, attempt_holder: Holder) -> None:
        """Its tasks go on."""
        self.cluster.crash("n4")
        os.kill(attempt_holder.process, signal.SIGCONT)

    def step_is_killed(self, attempt_holder: Holder) -> None:
        """Slurm takes the task for running until it is cancelled."""
        step = f"slurmstepd: [{attempt_holder.slurm['SLURM_JOB_ID']}.batch]"
        os.kill(int(ask("pgrep", "-f", re.escape(step), check=False)), signal.SIGKILL)
        os.kill(attempt_holder.process, signal.SIGCONT)
        until(lambda: has_ended(attempt_holder.process), 300, "a run does not end")
        ask("scancel", task_of(attempt_holder))

    def list_results(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield accident, run, expected and observed result."""
        contents = self.store.list_runs_by_state()
        for title, name, then in self.after:
            observed = "left"
            if name in contents.done:
                record = self.store.folder / f"{name}.json"
                restarted = '"SLURM_RESTART_COUNT": "1"' in record.read_text()
                observed = "started again" if restarted else "done once"
            yield title, name, then, observed


def test_1440_runs_have_one_result_each_after_every_accident(cluster, store):
    """Launched again after all of them, every run has its result, and none has two."""
    all_jobs = jobs(range(RUNS - ON_FULL_DISK))
    on_full_disk = jobs(range(ON_FULL_DISK), environment="InvertedDoublePendulum-v4")
    manifest = write_listed(store, [*all_jobs, *on_full_disk])
    accidents = Accidents(cluster, store)
    capped = ("--max", str(AT_ONCE))
    with full_disk(store.locate_record(on_full_disk[0]).parent):
        with ThreadPoolExecutor(2) as threads:
            text = "".join(threads.map(lambda _: launch(manifest, store, *capped), range(2)))
        assert sorted(re.findall(r"submitted: (\d+) runs", text)) == sorted(["0", str(RUNS)])
        accidents.cause_all()
        wait_for_tasks(5400)
    rows = list(accidents.list_results())
    for title, name, then, observed in rows:
        print(f"{title}: {name} is {observed} (expected: {then})")
    assert "make room in" in logs(store)
    done = store.list_runs_by_state().done
    assert not done & {job.name for job in on_full_disk}
    print(f"full disk: {ON_FULL_DISK} runs are left, with a sentence in their logs")

    (damaged,) = [job for job in all_jobs if job.name in done - accidents.hit][:1]
    store.locate_record(damaged).write_bytes(store.locate_record(damaged).read_bytes()[:500])
    verified = rlregress("runs", "status", "--verify", "--set-aside", "--store", str(store.folder))
    assert verified.returncode == 1
    print(f"damaged record: {verified.stdout.strip().splitlines()[-1]}")
    launches = []
    while len(store.list_runs_by_state().done) < RUNS and len(launches) < MOST_LAUNCHES:
        launches += re.findall(r"submitted: (\d+) runs", launch(manifest, store, *capped))
        if len(launches) == 1:
            # within seconds of a submission: tasks that have started may be started once more
            _, attempt_holder = catch_run(store, accidents.hit)
            cluster.crash("slurmctld")
            until(lambda: "UP" in ask("scontrol", "ping", check=False), 60, "it does not answer")
            os.kill(attempt_holder.process, signal.SIGCONT)
        wait_for_tasks(5400)
    print(f"controller crashes at the second launch; launched again: {', '.join(launches)} runs")

    contents = store.list_runs_by_state()
    assert contents.done == {run.name for run in manifest.iterate_runs()}
    assert (contents.failed, contents.duplicates, contents.leases) == (set(), [], set())
    verified = rlregress(
        "runs", "status", "--verify", "--store", str(store.folder), "--manifest", str(manifest.path)
    )
    assert verified.returncode == 1, "the protocol of these runs is not that of their budget"
    assert f"{RUNS} records are intact, 0 of them of failed runs" in verified.stdout
    assert "none of the manifest's runs without a record" in verified.stdout
    ends = Counter(Counter(re.findall(r"(\S+ seed \d+): finished", logs(store))).values())
    print(f"{RUNS} results; trainings that ended, a run: {dict(ends)}")
    print("\n".join(set(re.findall(r"of the manifest.*|wrong: .*", verified.stdout))))
    assert [(title, observed) for title, _, _, observed in rows] == [
        (title, then) for title, _, then, _ in rows
    ]
