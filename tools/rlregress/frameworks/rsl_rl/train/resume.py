"""Trainings in two halves: ``learn`` again, or ``save``, ``load`` and ``learn``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import (
    make_configuration_of_hyperparameters,
    make_runner_of_request,
    make_trained_agent,
    train_for_steps,
)
from rlregress.probing.interface import Trained, TrainingRequest
from rlregress.probing.isolation import isolate_random_generators


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """Train for half of the steps twice, the second time perhaps with an agent from a file."""
    runner = make_runner_of_request(request)
    half = request.total_steps // 2
    steps = train_for_steps(runner, half)
    if restored:
        with isolate_random_generators():
            runner = _copy_runner_through_file(runner, request)
    return make_trained_agent(runner, steps + train_for_steps(runner, half), {})


def _copy_runner_through_file(runner: Any, request: TrainingRequest) -> Any:
    """Save the agent and load it into a new runner, with the same environment, not reset."""
    restored = compat.make_silent_runner(
        runner.env,
        make_configuration_of_hyperparameters(request.hyperparameters, runner.env.num_envs),
    )
    with TemporaryDirectory(prefix="rlregress-") as folder:
        path = str(Path(folder) / "agent.pt")
        runner.save(path)
        restored.load(path)
    return restored
