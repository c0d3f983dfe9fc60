"""A training under the suite is the training that a user starts by hand, to the last bit."""

from __future__ import annotations

import functools
from dataclasses import replace

import gymnasium
import pytest
import torch
from stable_baselines3 import SAC

from rlregress.inside import worker
from rlregress.training import job_plan, worker_launch
from rlregress.training.cell import Cell, Protocol
from rlregress.training.store import Store

pytestmark = pytest.mark.usefixtures("warm_python")

ENVIRONMENT, STEPS = "InvertedPendulum-v4", 120


@functools.cache
def bare_digest(seed: int) -> str:
    """Digest of the parameters after ``learn`` with the framework's own defaults."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = SAC("MlpPolicy", gymnasium.make(ENVIRONMENT), seed=seed, device="cpu")
    model.learn(STEPS)
    torch.set_num_threads(threads)
    parameters = {name: value.numpy() for name, value in model.policy.state_dict().items()}
    parameters["log_ent_coef"] = model.log_ent_coef.detach().numpy()
    return worker.digest_parameters(parameters)


def test_the_weights_are_those_of_a_bare_call(tmp_path):
    """Worker, evaluations, progress and record change no bit of any parameter."""
    cell = Cell("sb3", "sac", ENVIRONMENT, "sb3", "short")
    # evaluated twice on the way and once at the end
    protocol = Protocol(STEPS, STEPS // 3, evaluation_episodes=3)
    job = replace(job_plan.plan_jobs_of_cell(cell, [7])[0], protocol=protocol)
    record = worker_launch.do_run_unless_recorded(job, Store(tmp_path))
    assert record["status"] == "finished", record["failure"]
    assert len(record["curve"]) >= 3
    assert record["parameters_sha256"] == bare_digest(seed=7)


def test_another_seed_has_other_weights():
    """Control: the digest tells two trainings apart."""
    assert bare_digest(seed=7) != bare_digest(seed=8)
