"""A training under the suite is the training that a user starts by hand, to the last bit."""

from __future__ import annotations

import functools

import gymnasium
import pytest
import torch
from stable_baselines3 import PPO, SAC, TD3

from rlregress.inside import worker
from rlregress.training import job_plan, worker_launch
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.store import Store

ENVIRONMENT = "InvertedPendulum-v4"
CASES = [("ppo", PPO, 2048), ("sac", SAC, 120), ("td3", TD3, 120)]


@functools.cache
def bare_digest(algorithm: type, steps: int, seed: int) -> str:
    """Digest of the parameters after ``learn`` with the framework's own defaults."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = algorithm("MlpPolicy", gymnasium.make(ENVIRONMENT), seed=seed, device="cpu")
    model.learn(steps)
    torch.set_num_threads(threads)
    parameters = {name: value.numpy() for name, value in model.policy.state_dict().items()}
    if getattr(model, "log_ent_coef", None) is not None:
        parameters["log_ent_coef"] = model.log_ent_coef.detach().numpy()
    return worker.digest_parameters(parameters)


def job_of(algorithm: str, steps: int, seed: int) -> Job:
    """Return a run that is evaluated twice on the way and once at the end."""
    cell = Cell("sb3", algorithm, ENVIRONMENT, "sb3", "short")
    planned = job_plan.plan_jobs_of_cell(cell, [seed])[0]
    protocol = Protocol(steps, steps // 3, evaluation_episodes=3)
    return Job(
        planned.cell, seed, protocol, planned.hyperparameters, planned.versions, planned.sources
    )


@pytest.mark.parametrize(
    ("name", "algorithm", "steps"),
    [
        # all three go one way through the suite
        pytest.param(*case, id=case[0], marks=() if case[0] == "sac" else pytest.mark.nightly)
        for case in CASES
    ],
)
def test_the_weights_are_those_of_a_bare_call(name, algorithm, steps, tmp_path, request):
    """Worker, evaluations, progress and record change no bit of any parameter."""
    if name != CASES[0][0]:  # whose process is new in every respect
        request.getfixturevalue("warm_python")
    record = worker_launch.do_run_unless_recorded(job_of(name, steps, seed=7), Store(tmp_path))
    assert record["status"] == "finished", record["failure"]
    assert len(record["curve"]) >= 3
    assert record["parameters_sha256"] == bare_digest(algorithm, steps, seed=7)


def test_another_seed_has_other_weights():
    """Control: the digest tells two trainings apart."""
    name, algorithm, steps = CASES[1]
    assert bare_digest(algorithm, steps, seed=7) != bare_digest(algorithm, steps, seed=8), name
