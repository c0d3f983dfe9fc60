"""Workers: one process and one thread per run; what a death leaves behind."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.inside import checkpoint, machine
from rlregress.inside.identity import source_digest
from rlregress.training import job_plan, worker_launch
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.store import Store

# but the run that ends well is a process that is new in every respect: a fixture of the module
pytestmark = pytest.mark.usefixtures("warm_python")


@pytest.fixture(scope="module")
def job() -> Job:
    """A very short run of some installed framework that can go on with one."""
    trained = [found for found in frameworks.installed() if "ppo" in found.algorithms]
    adapter = next(found for found in trained if not found.no_resume_reason)
    cell = Cell(adapter.name, "ppo", "InvertedPendulum-v4", adapter.name, "smoke")
    made = job_plan.jobs(cell, [0])[0]
    return replace(made, protocol=Protocol(512, 256, 2))


@pytest.fixture(scope="module")
def finished(job, tmp_path_factory):
    """The store, the record and the elapsed seconds of a finished run."""
    store = Store(tmp_path_factory.mktemp("runs"))
    return store, worker_launch.run(job, store)


def test_a_run_leaves_one_record(finished, job):
    """A finished run leaves its record and nothing else."""
    store, found = finished
    assert found["status"] == "finished", found["failure"]
    assert list(store.path(job).parent.iterdir()) == [store.path(job)]


def test_a_record_says_everything_that_it_rests_on(finished, job):
    """Versions, seed, hyperparameters, processor, Python, times and the curve are in the record.

    So are the return of the training's last third, and how well the critic predicts its episodes.
    """
    _, found = finished
    assert found["job"]["versions"] == dict(job.versions)
    assert found["job"]["seed"] == job.seed
    assert found["job"]["hyperparameters"] == dict(job.hyperparameters)
    assert set(found["platform"]) == set(machine.FIELDS)
    assert all(found["platform"].values())
    assert found["time"]["cpu_seconds"] > 0
    assert [steps for steps, _ in found["curve"]] == [256, 512]
    assert found["final_return"] == pytest.approx(sum(found["curve"][-1][1]) / 2)
    late = [each for at, *each in found["episodes"] if at > found["steps"] * 2 / 3]
    assert found["training_return"] == pytest.approx(sum(each[0] for each in late) / len(late))
    # a reward of 1 a step: as many states as the lengths of the last ten episodes say
    assert found["critic"]["states"] == sum(length for _, length in late[-10:])
    assert {"bias", "bootstrapped", "explained_variance"} < set(found["critic"])


def test_a_worker_has_one_thread(finished):
    """The process trains with one thread."""
    assert finished[1]["platform"]["torch_threads"] == 1


def test_a_run_that_is_done_is_not_done_again(finished, job):
    """The second request reads the record of the first."""
    store, found = finished
    started = time.monotonic()
    assert worker_launch.run(job, store) == found
    assert time.monotonic() - started < 1.0


def test_a_training_that_raises_is_a_failed_run(job, tmp_path):
    """An error in the framework is recorded with its text, not raised and not dropped."""
    broken = replace(job, hyperparameters={**job.hyperparameters, "learning_rate": "fast"})
    found = worker_launch.run(broken, Store(tmp_path))
    assert found["status"] == "failed"
    assert re.search(r"(?m)^\w+Error: .+", found["failure"])
    assert found["final_return"] is None


ACCIDENTS = """
import os, signal, gymnasium

class Accident(gymnasium.Wrapper):
    def step(self, action):
        exec(os.environ.get("IN_TRAINING", ""))
        return super().step(action)

def make():
    exec(os.environ.get("BEFORE", ""))
    return Accident(gymnasium.make("InvertedPendulum-v4"))

gymnasium.register("Accident-v0", make)
"""
#: what happens to a worker -> what is left: the error that is raised, or the end of the failure
KILLED = "os.kill(os.getpid(), signal.SIG{})"
LEFT: dict[tuple[str, str], type[Exception] | str] = {
    ("IN_TRAINING", KILLED.format("HUP")): worker_launch.Interrupted,
    ("IN_TRAINING", "raise MemoryError"): UserError,
    ("IN_TRAINING", KILLED.format("SEGV")): "ended with status -11; its last words:\n",
    ("IN_TRAINING", "raise ValueError('nan')"): "ValueError: nan\n",
    ("BEFORE", KILLED.format("USR1")): worker_launch.Interrupted,
    ("BEFORE", "raise ValueError('no display')"): UserError,
}
MORE_LEFT: dict[tuple[str, str], type[Exception] | str] = {
    **{
        (when, KILLED.format(name)): worker_launch.Interrupted
        for when in ("IN_TRAINING", "BEFORE")
        for name in ("TERM", "INT", "QUIT", "USR2", "XCPU", "KILL", "ALRM")
    },
    **{
        ("IN_TRAINING", KILLED.format(name)): f"ended with status -{number}; its last words:\n"
        for name, number in (("ABRT", 6), ("BUS", 7), ("FPE", 8), ("ILL", 4))
    },
    **{
        ("IN_TRAINING", f"raise OSError({number}, '')"): UserError for number in (5, 11, 27, 28, 30)
    },
    ("IN_TRAINING", 'raise RuntimeError("can\'t start new thread")'): UserError,
    ("IN_TRAINING", "raise ValueError('x') from OSError(28, 'No space left')"): UserError,
    ("IN_TRAINING", "os.kill(os.getpid(), 40)"): worker_launch.Interrupted,
    ("IN_TRAINING", "raise RuntimeError('[enforce fail] can\\'t allocate memory')"): UserError,
    ("IN_TRAINING", "raise FileNotFoundError(2, 'no such asset')"): "no such asset\n",
    ("BEFORE", KILLED.format("SEGV")): UserError,
}


@pytest.mark.parametrize(
    ("what", "left"),
    [
        *(pytest.param(*of, id=" ".join(of[0])) for of in LEFT.items()),
        *(
            pytest.param(*of, id=" ".join(of[0]), marks=pytest.mark.nightly)
            for of in MORE_LEFT.items()
        ),
    ],
)
def test_a_failed_run_is_one_whose_framework_failed(job, tmp_path, monkeypatch, what, left):
    """What people, schedulers, limits and the machine do to a worker leaves the run undone."""
    (tmp_path / "accidents.py").write_text(ACCIDENTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(*what)
    other = replace(job, cell=replace(job.cell, environment="accidents:Accident-v0"))
    store = Store(tmp_path / "runs")
    if isinstance(left, str):
        found = worker_launch.run(other, store)
        assert found["status"] == "failed"
        assert left in found["failure"]
        return
    with pytest.raises(left):
        worker_launch.run(other, store)
    assert not store.contents().done
    assert not store.contents().failed


def test_a_training_that_fails_after_it_was_continued_is_begun_anew(job, tmp_path):
    """What a checkpoint holds may be at fault: the run is done from its beginning, and says why."""
    short = replace(job, protocol=Protocol(256, 128, 1))
    store = Store(tmp_path)
    kept = store.path(short).with_suffix(".checkpoint")
    kept.parent.mkdir()
    suite = source_digest("rlregress.inside")
    wrong = {"episodes": None, "watch": None, "story": None, "training": None, "random": None}
    values = {"steps": 1, "attempt": "a", "host": "h", "total_steps": 256, "wall_seconds": 1.0}
    head = {**checkpoint.identity(short.key, suite), **values}
    checkpoint.write(kept, tmp_path / "draft", head, wrong)
    found = worker_launch.run(short, store)
    assert found["status"] == "finished", found["failure"]
    assert "continued from its checkpoint it failed" in found["attempt"]["begun_anew"]
    assert kept.with_name(f"{kept.name}.damaged").exists()


def test_a_worker_refuses_other_code_than_planned(job, tmp_path):
    """A worker that would train other code than the job is about says so and leaves no record."""
    module = next(iter(job.sources))
    other = replace(job, sources={**job.sources, module: "0123456789abcdef"})
    with pytest.raises(UserError, match=f"other code than planned: '{module}' has the digest"):
        worker_launch.run(other, Store(tmp_path))
    assert not Store(tmp_path).path(other).exists()


def test_a_worker_imports_what_its_parent_imports(monkeypatch, tmp_path):
    """A relative entry of the path means the same folder in a worker."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("copy")
    assert worker_launch.environment()["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path / "copy")


def _worker_of(store: Store, job: Job) -> int:
    folder = str(store.path(job).with_suffix(".attempts")).encode()
    for _ in range(200):
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as stream:
                    words = stream.read().split(b"\0")
            except OSError:
                continue
            if b"rlregress.inside.worker" in words and words[-2].startswith(folder):
                return int(process)
        time.sleep(0.05)
    raise AssertionError("no worker process appeared")


def test_a_worker_that_is_killed_leaves_the_run_undone(job, tmp_path):
    """A run that is killed from outside leaves no record: the next session does it."""
    store = Store(tmp_path)
    long = replace(job, protocol=Protocol(10_000_000, 10_000_000, 1))
    raised: list[BaseException] = []

    def target() -> None:
        try:
            worker_launch.run(long, store)
        except worker_launch.Interrupted as error:
            raised.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    os.kill(_worker_of(store, long), signal.SIGKILL)
    thread.join(timeout=20)
    assert len(raised) == 1
    assert "SIGKILL" in str(raised[0])
    assert store.find(long) is None
    assert not store.path(long).exists()


def test_an_unpinned_worker_keeps_the_machine_default():
    """Without pinning no thread limit is set; with it every library has the limit of one."""
    limits = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
    assert {worker_launch.environment(pinned=True)[name] for name in limits} == {"1"}
    assert limits & set(worker_launch.environment(pinned=False)) == set()
