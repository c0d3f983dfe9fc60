"""Trainings in two halves: ``learn`` again, or ``save``, ``load`` and ``learn``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress.frameworks.rsl_rl.train.training import configured, learn, make_runner, new, trained
from rlregress.probing.interface import Trained, TrainingRequest
from rlregress.probing.isolation import isolated


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """``learn`` of half of the steps, twice."""
    runner = new(request)
    half = request.total_steps // 2
    steps = learn(runner, half)
    if restored:
        with isolated():
            runner = _restored(runner, request)
    return trained(runner, steps + learn(runner, half), {})


def _restored(runner: Any, request: TrainingRequest) -> Any:
    """The agent as it comes back from its file, in the same environment, which is not reset."""
    restored = make_runner(runner.env, configured(request.hyperparameters, runner.env.num_envs))
    with TemporaryDirectory(prefix="rlregress-") as folder:
        path = str(Path(folder) / "agent.pt")
        runner.save(path)
        restored.load(path)
    return restored
