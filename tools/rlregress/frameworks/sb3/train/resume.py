"""Trainings in two halves: ``learn`` again, or ``save``, ``load`` and ``learn``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress.frameworks.sb3.train.training import (
    OWN,
    Library,
    make_agent_of_request,
    make_trained_agent,
)
from rlregress.probing.interface import Trained, TrainingRequest
from rlregress.probing.isolation import isolate_random_generators


def train_and_resume(request: TrainingRequest, restored: bool, library: Library = OWN) -> Trained:
    """Call ``learn`` for half of the steps, twice; the second call continues to count steps."""
    model = make_agent_of_request(request, library)
    model.learn(request.total_steps // 2)
    if restored:
        with isolate_random_generators():
            model = _save_and_load_agent(model)
    model.learn(request.total_steps // 2, reset_num_timesteps=False)
    return make_trained_agent(model, {})


def _save_and_load_agent(model: Any) -> Any:
    """Save the agent and load it, with its buffer and the same environment, which is not reset."""
    with TemporaryDirectory(prefix="rlregress-") as folder:
        agent, rows = Path(folder) / "agent.zip", Path(folder) / "rows.pkl"
        model.save(agent)
        restored = type(model).load(agent, env=model.get_env(), device="cpu", force_reset=False)
        if getattr(model, "replay_buffer", None) is not None:
            model.save_replay_buffer(rows)
            restored.load_replay_buffer(rows)
    return restored
