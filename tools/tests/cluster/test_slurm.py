"""Against a real Slurm: launched again after every accident, each run has exactly one result."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from rlregress.cluster import run_selection, slurm_arrays, store_status
from rlregress.training.cell import Job
from rlregress.training.lease import Holder
from rlregress.training.store import Store

from . import slurm_daemons
from .short_runs import ENDLESS, PACKAGE, find_holder, jobs, other_code, rlregress, write_listed
from .slurm_daemons import Site, until
from .tasks import ask, go_on, launch, logs, task_of, wait_for_tasks

#: arrays are small, so that few runs are split; a frozen task is not killed before it goes on.
SITE = Site(nodes=2, cores=8, max_array_size=3, kill_wait=30)

pytestmark = [
    pytest.mark.usefixtures("warm_python"),
    pytest.mark.skipif(bool(slurm_daemons.missing()), reason=slurm_daemons.missing()),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[dict[str, str]]:
    """Yield a Slurm that runs: the environment of its commands."""
    with slurm_daemons.running(tmp_path_factory.mktemp("slurm"), SITE) as running:
        yield running.environment


@pytest.fixture(autouse=True)
def slurm_commands(cluster, monkeypatch):
    """Let commands find the Slurm of these tests."""
    for name in ("PATH", "SLURM_CONF"):
        monkeypatch.setenv(name, cluster[name])


def freeze(store: Store, runs: Sequence[Job]) -> dict[str, Holder]:
    """Stop the processes of runs as soon as they do them; who they are."""
    frozen: dict[str, Holder] = {}

    def caught() -> bool:
        for job in runs:
            attempt_holder = find_holder(store, job)
            if attempt_holder is not None and job.key not in frozen:
                os.kill(attempt_holder.process, signal.SIGSTOP)
                frozen[job.key] = attempt_holder
        return len(frozen) == len(runs)

    until(caught, 120, "not all of the runs have begun")
    return frozen


def test_after_every_accident_a_launch_completes_the_runs(store):
    """Arrays beyond MaxArraySize, two launches at once, a warned, a killed and a cancelled task."""
    number = 5
    all_jobs = jobs(range(number))
    manifest = write_listed(store, all_jobs)
    warned, killed, cancelled = all_jobs[0], all_jobs[1], all_jobs[4]

    # two launches at once submit everything once, in arrays as small as this site has them
    with ThreadPoolExecutor(2) as threads:
        text = "".join(threads.map(lambda _: launch(manifest, store), range(2)))
    assert sorted(re.findall(r"submitted: (\d+) runs", text)) == sorted(["0", str(number)])
    pieces = re.findall(r"^job \d+: (\d+) runs from (\d+) on", text, re.MULTILINE)
    firsts = range(0, number, SITE.max_array_size)
    assert pieces == [(str(min(SITE.max_array_size, number - n)), str(n)) for n in firsts]

    # each is hit while it is at it
    frozen = freeze(store, [warned, killed, cancelled])
    os.kill(frozen[killed.key].process, signal.SIGKILL)
    ask("scancel", "--batch", "--signal=USR1", task_of(frozen[warned.key]))
    ask("scancel", task_of(frozen[cancelled.key]))
    for job in (warned, cancelled):
        go_on(frozen[job.key].process)
    wait_for_tasks()
    remaining = [
        run.name
        for run in manifest.iterate_runs()
        if run.name not in store.list_runs_by_state().done
    ]
    assert set(remaining) == {killed.name, cancelled.name}
    stored = store.find_record(warned)
    assert stored is not None
    assert stored["attempt"]["slurm"]["SLURM_RESTART_COUNT"] == "1"

    # what is undone, and nothing else
    second_launch = launch(manifest, store)
    assert f"{number} runs, 2 of them to do" in second_launch
    assert re.findall(r"(\d+) runs from (\d+) on", second_launch) == [("1", "1"), ("1", "4")]
    wait_for_tasks()
    contents = store.list_runs_by_state()
    assert contents.done == {job.name for job in all_jobs}
    assert (contents.duplicates, contents.damaged, contents.leases) == ([], [], set())
    finished = Counter(re.findall(r"seed (\d+): finished", logs(store)))
    assert finished == Counter({str(seed): 1 for seed in range(number)})
    verified = rlregress("runs", "status", "--verify", "--store", str(store.folder))
    assert f"{number} records are intact, 0 of them of failed runs" in verified.stdout


def states(store: Store) -> dict[str, int]:
    """How many runs of a store are in which state."""
    queue = slurm_arrays.read_queued_tasks(store)
    manifests = run_selection.list_manifests_of_store(store)
    return dict(store_status.survey_store(store, manifests, queue.gone, queue.runs).total_counts)


@pytest.mark.nightly
def test_a_run_that_is_cancelled_is_stopped(store):
    """While it waits for a node, while its process starts, and while it trains."""
    all_jobs = jobs(range(3), ENDLESS)
    manifest = write_listed(store, all_jobs)
    assert states(store) == {"waiting": 3}
    for begin, running in (("now+1hour", False), ("now", False), ("now", True)):
        launch(manifest, store, "--sbatch", f"begin={begin}")
        if begin == "now":
            until(lambda: "RUNNING" in ask("squeue", "-h", "-o", "%T"), 60, "no task starts")
        else:
            assert states(store) == {"waiting": 3}
        if running:
            for job in all_jobs:
                until(lambda job=job: find_holder(store, job), 120, "not all have begun")
            assert states(store) == {"running": 3}
        ask("scancel", "--user", str(os.getuid()))
        wait_for_tasks(60)
        assert states(store) == {"stopped": 3}
    output = rlregress("runs", "status", "--store", str(store.folder)).stdout
    assert re.search(r"^stopped: .* \(Slurm \d+_\d\): stopped by SIGTERM", output, re.MULTILINE)


@pytest.mark.nightly
def test_a_store_may_lie_anywhere(tmp_path):
    """A path with characters of shell and sbatch works, and is found in the queue."""
    store = Store(tmp_path / "a b%A%j%%$HOME'\"`#;&ü INDEX" / "runs")
    all_jobs = jobs(range(4))
    manifest = write_listed(store, all_jobs)
    launch(manifest, store, "--sbatch", "begin=now+1hour")
    assert slurm_arrays.read_queued_tasks(store).runs == {job.name for job in all_jobs}
    for task in ask("squeue", "-h", "-o", "%A").split():
        ask("scontrol", "update", f"jobid={task}", "StartTime=now")
    wait_for_tasks()
    assert store.list_runs_by_state().done == {job.name for job in all_jobs}
    finished = re.findall(r"seed (\d+): finished", logs(store))
    assert sorted(finished) == ["0", "1", "2", "3"]
    error = Store(tmp_path / "a\\b")
    where = ("--manifest", str(manifest.path), "--store", str(error.folder))
    text = rlregress("runs", "launch", "--slurm", *where)
    assert text.returncode == 2
    assert "and Slurm takes no path with a backslash" in text.stderr
    assert not list((error.folder / "slurm").glob("*.sh"))


@pytest.mark.nightly
def test_tasks_of_a_launch_with_another_version_find_it(store, tmp_path):
    """They are told where it is, as the environment of the launch is not theirs."""
    tree = other_code(tmp_path / "tree")
    options = ("--budget", "smoke", "--framework", "sb3", "--algorithm", "ppo", "--seeds", "2")
    where = ("--environment", "InvertedPendulum-v4", "--store", str(store.folder))
    with_it = ("--with", str(tree), "--sbatch", "mem=100M", "--sbatch", "export=NONE")
    text = rlregress("runs", "launch", "--slurm", *with_it, *options, *where)
    assert text.returncode == 0, text.stderr
    wait_for_tasks()
    records = [
        json.loads((store.folder / f"{n}.json").read_text())
        for n in store.list_runs_by_state().done
    ]
    assert [record["status"] for record in records] == ["finished"] * 2, logs(store)
    (digest_here,) = {job.sources[PACKAGE] for job in jobs([0])}
    assert digest_here not in {record["job"]["sources"][PACKAGE] for record in records}
