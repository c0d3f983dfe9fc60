"""Workers: one process and one thread per run; what a death leaves behind."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import gymnasium
import pytest
import torch
from stable_baselines3 import SAC

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.inside import checkpoint, machine, worker
from rlregress.inside.identity import digest_module_sources
from rlregress.training import job_plan, worker_launch
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.store import Store

pytestmark = pytest.mark.usefixtures("warm_python")

ENVIRONMENT, STEPS = "InvertedPendulum-v4", 120


@pytest.fixture(scope="module")
def job() -> Job:
    """Return a very short run of some installed framework that can go on with one."""
    trained = [a for a in frameworks.list_installed_adapters() if "ppo" in a.framework.algorithms]
    adapter = next(adapter for adapter in trained if not adapter.train.explain_why_not_resumable())
    cell = Cell(adapter.name, "ppo", ENVIRONMENT, adapter.name, "smoke")
    planned = job_plan.plan_jobs_of_cell(cell, [0])[0]
    return replace(planned, protocol=Protocol(512, 256, 2))


# nightly in a process that is new in every respect, too
@pytest.fixture(scope="module", params=["warm", pytest.param("new", marks=pytest.mark.nightly)])
def finished(request, tmp_path_factory, warm_executable):
    """Return store, run and record of SAC, evaluated twice on the way and at its end."""
    cell = Cell("sb3", "sac", ENVIRONMENT, "sb3", "short")
    protocol = Protocol(STEPS, STEPS // 3, evaluation_episodes=3)
    run = replace(job_plan.plan_jobs_of_cell(cell, [7])[0], protocol=protocol)
    store = Store(tmp_path_factory.mktemp("runs"))
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "warm":
            patch.setattr(sys, "executable", warm_executable)
        return store, run, worker_launch.do_run_unless_recorded(run, store)


def test_a_run_leaves_one_record_with_all_that_it_rests_on(finished):
    """Job, machine, times, curve, training return and accuracy of the critic, and nothing else."""
    store, run, record = finished
    assert record["status"] == "finished", record["failure"]
    assert list(store.locate_record(run).parent.iterdir()) == [store.locate_record(run)]
    _, run, record = finished
    assert record["job"]["versions"] == dict(run.versions)
    assert record["job"]["seed"] == run.seed
    assert record["job"]["hyperparameters"] == dict(run.hyperparameters)
    assert set(record["platform"]) == set(machine.FIELDS)
    assert all(record["platform"].values())
    assert record["platform"]["torch_threads"] == 1
    assert record["time"]["cpu_seconds"] > 0
    assert [steps for steps, _ in record["curve"]] == [40, 80, 120]
    assert record["final_return"] == pytest.approx(sum(record["curve"][-1][1]) / 3)
    late = [row for at, *row in record["episodes"] if at > record["steps"] * 2 / 3]
    assert record["training_return"] == pytest.approx(sum(row[0] for row in late) / len(late))
    # a reward of 1 a step: as many states as the lengths of the last ten episodes say
    assert record["critic"]["states"] == sum(length for _, length in late[-10:])
    assert {"bias", "bootstrapped", "explained_variance"} < set(record["critic"])


def digest_bare_training(seed: int) -> str:
    """Return the digest of the parameters after ``learn`` with the framework's own defaults."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = SAC("MlpPolicy", gymnasium.make(ENVIRONMENT), seed=seed, device="cpu")
    model.learn(STEPS)
    torch.set_num_threads(threads)
    parameters = {name: value.numpy() for name, value in model.policy.state_dict().items()}
    parameters["log_ent_coef"] = model.log_ent_coef.detach().numpy()
    return worker.digest_parameters(parameters)


def test_the_weights_are_those_of_a_bare_call(finished):
    """Worker, evaluations, progress and record change no bit of any parameter."""
    assert finished[2]["parameters_sha256"] == digest_bare_training(seed=7)
    # the digest tells two trainings apart
    assert finished[2]["parameters_sha256"] != digest_bare_training(seed=8)


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
#: when -> what happens to a worker, and what is left: the error that is raised, or the end of the
#: failure. Of each kind one at every commit.
KILLED = "os.kill(os.getpid(), signal.SIG{})"
UNDONE = worker_launch.Interrupted
ACCIDENTS_AND_RESULTS: list[tuple[str, str, type[Exception] | str]] = [
    ("IN_TRAINING", KILLED.format("HUP"), UNDONE),
    ("IN_TRAINING", "raise ValueError('nan')", "ValueError: nan\n"),
    ("BEFORE", "raise ValueError('no display')", UserError),
    ("IN_TRAINING", "raise MemoryError", UserError),
    ("IN_TRAINING", KILLED.format("SEGV"), "ended with status -11; its last output:\n"),
    ("BEFORE", KILLED.format("USR1"), UNDONE),
    *(("IN_TRAINING", KILLED.format(name), UNDONE) for name in ("TERM", "USR2", "KILL", "ALRM")),
    ("IN_TRAINING", KILLED.format("ILL"), "ended with status -4; its last output:\n"),
    *(("IN_TRAINING", f"raise OSError({number}, '')", UserError) for number in (5, 11, 27, 28, 30)),
    ("IN_TRAINING", 'raise RuntimeError("can\'t start new thread")', UserError),
    ("IN_TRAINING", "raise ValueError('x') from OSError(28, 'No space left')", UserError),
    ("IN_TRAINING", "os.kill(os.getpid(), 40)", UNDONE),
    ("IN_TRAINING", "raise RuntimeError('[enforce fail] can\\'t allocate memory')", UserError),
    ("IN_TRAINING", "raise FileNotFoundError(2, 'no such asset')", "no such asset\n"),
    ("BEFORE", KILLED.format("SEGV"), UserError),
]  # fmt: skip


@pytest.mark.parametrize(
    ("when", "code", "expected"),
    [
        pytest.param(*row, id=" ".join(row[:2]), marks=pytest.mark.nightly if number > 2 else ())
        for number, row in enumerate(ACCIDENTS_AND_RESULTS)
    ],
)
def test_only_errors_of_the_framework_fail_a_run(job, tmp_path, monkeypatch, when, code, expected):
    """Signals, limits and machine errors leave a run undone; errors of the framework fail it."""
    (tmp_path / "accidents.py").write_text(ACCIDENTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(when, code)
    other_job = replace(job, cell=replace(job.cell, environment="accidents:Accident-v0"))
    store = Store(tmp_path / "runs")
    if isinstance(expected, str):
        record = worker_launch.do_run_unless_recorded(other_job, store)
        assert record["status"] == "failed"
        assert expected in record["failure"]
        assert record["final_return"] is None
        return
    with pytest.raises(expected):
        worker_launch.do_run_unless_recorded(other_job, store)
    assert not store.list_runs_by_state().done
    assert not store.list_runs_by_state().failed


def test_a_training_that_fails_after_it_was_continued_is_begun_anew(job, tmp_path):
    """A run that fails after a checkpoint is done again from its beginning, and says why."""
    short = replace(job, protocol=Protocol(256, 128, 1))
    store = Store(tmp_path)
    checkpoint_path = store.locate_record(short).with_suffix(".checkpoint")
    checkpoint_path.parent.mkdir()
    suite = digest_module_sources("rlregress.inside")
    wrong = {"episodes": None, "watch": None, "story": None, "training": None, "random": None}
    values = {"steps": 1, "attempt": "a", "host": "h", "total_steps": 256, "wall_seconds": 1.0}
    head = {**checkpoint.make_checkpoint_identity(short.key, suite), **values}
    checkpoint.write_checkpoint(checkpoint_path, tmp_path / "draft", head, wrong)
    record = worker_launch.do_run_unless_recorded(short, store)
    assert record["status"] == "finished", record["failure"]
    assert "continued from its checkpoint it failed" in record["attempt"]["begun_anew"]
    assert checkpoint_path.with_name(f"{checkpoint_path.name}.damaged").exists()


def test_a_worker_refuses_other_code_than_planned(job, tmp_path):
    """A worker that would train other code than the job is about says so and leaves no record."""
    module = next(iter(job.sources))
    other_job = replace(job, sources={**job.sources, module: "0123456789abcdef"})
    with pytest.raises(UserError, match=f"other code than planned: '{module}' has the digest"):
        worker_launch.do_run_unless_recorded(other_job, Store(tmp_path))
    assert not Store(tmp_path).locate_record(other_job).exists()


def test_a_worker_imports_what_its_parent_imports(monkeypatch, tmp_path):
    """A relative entry of the path means the same folder in a worker."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("copy")
    path = worker_launch.make_worker_environment()["PYTHONPATH"]
    assert path.split(os.pathsep)[0] == str(tmp_path / "copy")


def test_an_unpinned_worker_keeps_the_machine_default():
    """Without pinning no thread limit is set; with it every library has the limit of one."""
    limits = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
    assert {worker_launch.make_worker_environment(pinned=True)[name] for name in limits} == {"1"}
    assert limits & set(worker_launch.make_worker_environment(pinned=False)) == set()
