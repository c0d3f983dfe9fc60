"""Probes of symmetries: the update of PPO with a mirror."""

from __future__ import annotations

from typing import Any, Mapping, Tuple

import numpy as np
import torch

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.probes.helpers.trainings import (
    FROZEN,
    LINEAR,
    NO_CLIP,
    AgentTraining,
    feed,
    make_linear,
    only,
    train,
    trained_bias_gradient,
)
from rlregress.frameworks.scripted import Scripted


def _mirror(obs: Any = None, actions: Any = None, **_: Any) -> Tuple[Any, Any]:
    """Observations and actions, then those of the other sign, in one."""

    def both(tensors: Any) -> Any:
        return None if tensors is None else torch.cat([tensors, tensors.apply(torch.neg)])

    mirrored = None if actions is None else torch.cat([actions, -actions])
    if isinstance(obs, torch.Tensor):
        return torch.cat([obs, -obs]), mirrored
    return both(obs), mirrored


def _update(bias: float, observation: float, change: Any, **algorithm: Any) -> AgentTraining:
    settings = {"data_augmentation_func": _mirror, "mirror_loss_coeff": 0.0, **algorithm}
    names = ("use_data_augmentation", "use_mirror_loss")
    symmetry = {name: settings.pop(name, False) for name in names}
    for name in ("data_augmentation_func", "mirror_loss_coeff"):
        symmetry[name] = settings.pop(name)
    return train(
        Scripted(observations=observation, next_observations=observation),
        1,
        steps=4,
        networks=LINEAR,
        prepare=lambda agent: make_linear(compat.network(agent, "actor"), bias),
        change=change,
        symmetry_cfg=symmetry,
        learning_rate=FROZEN,
        entropy_coef=0.0,
        max_grad_norm=NO_CLIP,
        **settings,
    )


def _loss(inputs: Inputs) -> np.ndarray:
    weight = float(inputs["weight"])
    training = _update(
        float(inputs["bias"]),
        0.5,
        lambda storage: feed(storage, advantages=0.0, returns=storage.values.numpy()),
        use_mirror_loss=True,
        mirror_loss_coeff=weight,
    )
    slope = trained_bias_gradient(compat.network(training.algorithm, "actor"))
    return np.array([only(training.losses), slope]) / weight


def _samples(inputs: Inputs) -> np.ndarray:
    action, mean = float(inputs["action"]), float(inputs["observation"]) + float(inputs["bias"])

    def change(storage: Any) -> None:
        log_prob = torch.distributions.Normal(mean, 1.0).log_prob(torch.tensor(action)).item()
        feed(storage, advantages=1.0, actions=action, actions_log_prob=log_prob)

    training = _update(
        float(inputs["bias"]),
        float(inputs["observation"]),
        change,
        use_data_augmentation=True,
        value_loss_coef=0.0,
        clip_param=1e3,
    )
    return -np.array(training.losses)


PROBES: Mapping[str, Probe] = {"symmetry.loss": _loss, "symmetry.samples": _samples}
