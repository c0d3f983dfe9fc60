"""Settings of a TorchRL trainer that was made with a hyperparameter set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from rlregress.frameworks.torchrl.api import GymWrapper
from rlregress.frameworks.torchrl.compat import read_attribute
from rlregress.frameworks.torchrl.quiet import silence_torchrl
from rlregress.frameworks.torchrl.train.training import (
    BUILDERS,
    Space,
    check_and_select_hyperparameters,
    use_single_precision,
)
from rlregress.probing.interface import TrainingRequest
from rlregress.probing.isolation import isolate_random_generators


def read_applied_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return hyperparameters of a trainer that is made with a set, as a training makes it.

    Raises:
        UserError: the trainers cannot be set to it.
    """
    settings = check_and_select_hyperparameters(algorithm, hyperparameters)
    request = TrainingRequest(
        algorithm, lambda: gymnasium.make("Pendulum-v1"), settings, total_steps=10**9, seed=0
    )
    with isolate_random_generators(), silence_torchrl():
        environment = use_single_precision(GymWrapper(request.make_env(), device="cpu"))
        parts = BUILDERS[algorithm](request, environment, Space(environment), settings)
        used = _READERS[algorithm](*parts)
        parts[0].collector.shutdown()
    return used


def shorten_float32(value: Any) -> float:
    """Return the number that a float32 buffer was given: rounded to six digits."""
    return float(f"{float(value):.6g}")


def _read_shared_settings(trainer: Any, loss: Any, optimizer: Any) -> dict[str, Any]:
    return {
        "learning_rate": optimizer.param_groups[0]["lr"],
        "adam_epsilon": optimizer.param_groups[0]["eps"],
        "minibatch_size": trainer.replay_buffer.batch_size,
        "discount": shorten_float32(loss.value_estimator.gamma),
    }


def _read_ppo_settings(trainer: Any, loss: Any) -> dict[str, Any]:
    clip_value = loss.clip_value
    shared = _read_shared_settings(trainer, loss, trainer.optimizer)
    # the trainer's own estimator is the one that counts: the loss keeps its default
    return {
        **{name: value for name, value in shared.items() if name != "discount"},
        "rollout_steps": trainer.collector.frames_per_batch,
        "epochs": trainer.num_epochs,
        "clip_range": shorten_float32(loss.clip_epsilon),
        "value_clip_range": None if clip_value is None else shorten_float32(clip_value),
        "normalize_advantage": loss.normalize_advantage,
        "entropy_coefficient": shorten_float32(read_attribute(loss, "entropy_coeff")),
        "value_coefficient": shorten_float32(read_attribute(loss, "critic_coeff")),
        "value_loss": loss.loss_critic_type,
        "max_gradient_norm": trainer.clip_norm,
    }


def _read_off_policy_settings(trainer: Any, loss: Any, optimizer: Any) -> dict[str, Any]:
    return {
        **_read_shared_settings(trainer, loss, optimizer),
        "replay_size": trainer.replay_buffer._storage.max_size,
        "learning_starts": trainer.collector.init_random_frames,
        "steps_per_collection": trainer.collector.frames_per_batch,
        "updates_per_collection": trainer.optim_steps_per_batch,
        "critic_loss": loss.loss_function,
    }


def _read_sac_settings(trainer: Any, loss: Any) -> dict[str, Any]:
    automatic = float(loss.target_entropy) == -1.0
    return {
        **_read_off_policy_settings(trainer, loss, trainer.optimizer),
        "initial_temperature": shorten_float32(loss.log_alpha.detach().exp()),
        "target_entropy": "auto" if automatic else float(loss.target_entropy),
    }


def _read_td3_settings(trainer: Any, loss: Any) -> dict[str, Any]:
    stepper, noise = trainer.optimization_stepper, trainer.exploration_module
    return {
        **_read_off_policy_settings(trainer, loss, stepper.optimizer_actor),
        "exploration_noise": shorten_float32(noise.sigma * noise.std),
        "policy_delay": stepper.policy_update_delay,
        "target_noise": shorten_float32(loss.policy_noise),
        "target_noise_clip": shorten_float32(loss.noise_clip),
    }


_READERS = {"ppo": _read_ppo_settings, "sac": _read_sac_settings, "td3": _read_td3_settings}
