"""What TorchRL's trainers store in their replay buffer, which PPO refills for every update."""

from __future__ import annotations

import warnings
from typing import Any, List

import numpy as np
import torch

from rlregress.frameworks.base import TrainingRequest, Transitions
from rlregress.frameworks.torchrl.api import GymWrapper, SerialEnv
from rlregress.frameworks.torchrl.training import BUILDERS, Space, single_precision


def transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train with the framework's trainer; more than one environment are in a ``SerialEnv``."""
    torch.manual_seed(request.seed)
    np.random.seed(request.seed)
    on_policy = request.algorithm == "ppo"
    given = dict(request.hyperparameters)
    # the builders count the steps of all environments together
    key = "rollout_steps" if on_policy else "steps_per_collection"
    steps = given[key]
    given[key] = steps * environments

    def make():
        return GymWrapper(request.make_env(), device="cpu")

    environment = single_precision(make() if environments == 1 else SerialEnv(environments, make))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*experimental/prototype feature.*")
        trainer, _ = BUILDERS[request.algorithm](request, environment, Space(environment), given)
    stored: List[Any] = []
    if on_policy:
        trainer.register_op("post_steps", lambda: stored.append(trainer.replay_buffer[:].clone()))
    trainer.train()
    if not on_policy:
        stored.append(trainer.replay_buffer[:].clone())
    # a batch is written environment by environment
    rows: Any = torch.cat(stored).reshape(-1, environments, steps).transpose(1, 2)
    return Transitions(
        observations=rows["observation"].numpy(),
        next_observations=rows["next", "observation"].numpy(),
        rewards=rows["next", "reward"].squeeze(-1).numpy(),
        done=rows["next", "done"].squeeze(-1).numpy(),
        terminated=rows["next", "terminated"].squeeze(-1).numpy(),
    )
