"""Stored transitions of TorchRL's trainers: their replay buffer, which PPO refills each time."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    GymWrapper,
    MultiStep,
    ObservationNorm,
    SerialEnv,
    TransformedEnv,
    VecNorm,
)
from rlregress.frameworks.torchrl.train import trainers
from rlregress.frameworks.torchrl.train.trainers import use_single_precision
from rlregress.probing.interface import PLAIN, TrainingRequest, TrainingVariant, Transitions


def _make_environment(request: TrainingRequest, environments: int, variant: TrainingVariant) -> Any:
    def make_one_environment() -> Any:
        environment = GymWrapper(request.make_env(), device="cpu")
        if not variant.running:
            return environment
        with warnings.catch_warnings():
            # that another class is to take its name
            warnings.filterwarnings("ignore", category=FutureWarning)
            normalising = VecNorm(in_keys=["observation"])
        # within each environment, as where they are in processes of their own
        return TransformedEnv(use_single_precision(environment), normalising)

    if variant.autoreset:
        mode = gymnasium.vector.AutoresetMode[variant.autoreset.upper()]
        makers = [request.make_env] * environments
        vectorised = gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=mode)
        environment = GymWrapper(vectorised, device="cpu")
    else:
        environment = (
            make_one_environment()
            if environments == 1
            else SerialEnv(environments, make_one_environment)
        )
    environment = use_single_precision(environment)
    if variant.statistics is None:
        return environment
    mean, deviation = (
        torch.as_tensor(statistic, dtype=torch.float32) for statistic in variant.statistics
    )
    fixed = ObservationNorm(mean, deviation, in_keys=["observation"], standard_normal=True)
    if not isinstance(environment, TransformedEnv):
        return TransformedEnv(environment, fixed)
    return environment.append_transform(fixed)


def make_trainer_and_loss(
    request: TrainingRequest, environments: int, variant: TrainingVariant = PLAIN
) -> tuple[Any, Any]:
    """Return the framework's trainer and its loss; several environments are in a ``SerialEnv``."""
    torch.manual_seed(request.seed)
    np.random.seed(request.seed)
    settings = dict(request.hyperparameters)
    # the builders count the steps of all environments together
    settings[_get_segment_length_name(request)] *= environments

    environment = _make_environment(request, environments, variant)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*experimental/prototype feature.*")
        trainer, loss = trainers.make_trainer_and_loss(request, environment, settings)
    if variant.n_steps > 1:
        trainer.collector.postproc = MultiStep(gamma=settings["discount"], n_steps=variant.n_steps)
    return trainer, loss


def _get_segment_length_name(request: TrainingRequest) -> str:
    """Return the hyperparameter that says how many steps a segment has."""
    return "rollout_steps" if request.algorithm == "ppo" else "steps_per_collection"


def collect_transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train on ``environments`` copies; return the transitions that the trainer collects."""
    trainer, _ = make_trainer_and_loss(request, environments)
    on_policy = request.algorithm == "ppo"
    stored: list[Any] = []
    if on_policy:
        trainer.register_op("post_steps", lambda: stored.append(trainer.replay_buffer[:].clone()))
    trainer.train()
    if not on_policy:
        stored.append(trainer.replay_buffer[:].clone())
    # a batch is written environment by environment
    steps = request.hyperparameters[_get_segment_length_name(request)]
    rows: Any = torch.cat(stored).reshape(-1, environments, steps).transpose(1, 2)
    return Transitions(
        observations=rows["observation"].numpy(),
        next_observations=rows["next", "observation"].numpy(),
        rewards=rows["next", "reward"].squeeze(-1).numpy(),
        done=rows["next", "done"].squeeze(-1).numpy(),
        terminated=rows["next", "terminated"].squeeze(-1).numpy(),
    )
