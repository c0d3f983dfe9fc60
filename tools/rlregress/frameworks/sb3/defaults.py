"""What Stable-Baselines3's PPO, SAC, TD3, DDPG and DQN are set to, read from constructed agents."""

from __future__ import annotations

import inspect
import math
from functools import partial
from typing import Any, Dict, List, Mapping, Tuple

import numpy as np
from torch import nn

from rlregress.frameworks.base import Unprobed
from rlregress.frameworks.families import read_each
from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.training import ALGORITHMS, ARGUMENTS, arguments_of
from rlregress.frameworks.scripted import Scripted

#: hyperparameters that are no keyword of their own -> the keyword that sets them.
_INSIDE = {
    "ppo": {"anneal_learning_rate": "learning_rate", "hidden_sizes": "policy_kwargs.net_arch"},
    "sac": {
        "critic_learning_rate": "learning_rate",
        "temperature_learning_rate": "learning_rate",
        "initial_temperature": "ent_coef",
        "hidden_sizes": "policy_kwargs.net_arch",
    },
    "td3": {"exploration_noise": "action_noise", "hidden_sizes": "policy_kwargs.net_arch"},
    "ddpg": {"exploration_noise": "action_noise", "hidden_sizes": "policy_kwargs.net_arch"},
    "dqn": {"hidden_sizes": "policy_kwargs.net_arch"},
}


def names() -> Dict[Tuple[str, str], Dict[str, str]]:
    """(algorithm, scope) -> hyperparameter -> keyword of the class that sets it.

    Raises:
        Unprobed: the class has no such keyword.
    """
    by_cell = {}
    for algorithm, made in ALGORITHMS.items():
        keywords = inspect.signature(made).parameters
        named = {**ARGUMENTS[algorithm], **_INSIDE[algorithm]}
        for own in named.values():
            if own.partition(".")[0] not in keywords:
                raise Unprobed(f"{made.__name__} has no keyword '{own}'", known=True)
        by_cell[algorithm, "library"] = named
    return by_cell


#: of two actions.
_BOUND = np.ones(2)


def construct(algorithm: str, **arguments: Any) -> Any:
    """An agent of three observations and two actions; DQN's are two to choose from."""
    discrete = len(_BOUND) if algorithm == "dqn" else 0
    # a buffer takes no memory before something is written to it
    return ALGORITHMS[algorithm](
        "MlpPolicy",
        gyms.native(Scripted(-_BOUND, _BOUND, observation_dimensions=3, discrete=discrete)),
        device="cpu",
        seed=0,
        **arguments,
    )


def values() -> Dict[Tuple[str, str], Dict[str, Any]]:
    """(algorithm, scope) -> hyperparameter -> value of an agent made without arguments."""
    return read_each(
        {(algorithm, "library"): partial(_values, algorithm) for algorithm in ALGORITHMS}
    )


def _values(algorithm: str) -> Dict[str, Any]:
    return values_of(algorithm, construct(algorithm))


def applied(algorithm: str, hyperparameters: Mapping[str, Any]) -> Dict[str, Any]:
    """Hyperparameters of an agent that is made with a set, as a training makes it."""
    arguments = arguments_of(algorithm, hyperparameters, _BOUND.shape)
    return values_of(algorithm, construct(algorithm, **arguments))


def _sizes(network: nn.Module) -> List[int]:
    return [layer.out_features for layer in network.modules() if isinstance(layer, nn.Linear)]


def _learning_rate(optimizer: Any) -> float:
    return optimizer.param_groups[0]["lr"]


def values_of(algorithm: str, model: Any) -> Dict[str, Any]:
    """Hyperparameters of an agent by the names of ``baselines/hyperparameters``."""
    return _READERS[algorithm](model)


def _ppo(model: Any) -> Dict[str, Any]:
    value_clip = model.clip_range_vf
    return {
        "learning_rate": model.lr_schedule(1.0),
        "anneal_learning_rate": model.lr_schedule(0.5) != model.lr_schedule(1.0),
        "rollout_steps": model.n_steps,
        "minibatch_size": model.batch_size,
        "epochs": model.n_epochs,
        "discount": model.gamma,
        "gae_lambda": model.gae_lambda,
        "clip_range": model.clip_range(1.0),
        "value_clip_range": value_clip(1.0) if callable(value_clip) else value_clip,
        **_normalisation(model),
        "entropy_coefficient": model.ent_coef,
        "value_coefficient": model.vf_coef,
        # an infinite bound clips nothing
        "max_gradient_norm": None if model.max_grad_norm == math.inf else model.max_grad_norm,
        "target_kl": model.target_kl,
        "hidden_sizes": _sizes(model.policy.mlp_extractor.policy_net),
    }


def _normalisation(model: Any) -> Dict[str, Any]:
    # until 1.4 nobody could choose
    if not hasattr(model, "normalize_advantage"):
        return {}
    return {"normalize_advantage": model.normalize_advantage}


def _off_policy(model: Any) -> Dict[str, Any]:
    return {
        "learning_rate": _learning_rate(getattr(model, "actor", model.policy).optimizer),
        "minibatch_size": model.batch_size,
        "replay_size": model.buffer_size,
        "learning_starts": model.learning_starts,
        "polyak_coefficient": model.tau,
        "discount": model.gamma,
        "steps_per_collection": compat.steps_per_collection(model),
        "updates_per_collection": model.gradient_steps,
    }


def _sac(model: Any) -> Dict[str, Any]:
    dimensions = float(np.prod(model.action_space.shape))
    automatic = float(model.target_entropy) == -dimensions
    return {
        **_off_policy(model),
        "critic_learning_rate": _learning_rate(model.critic.optimizer),
        "temperature_learning_rate": _learning_rate(model.ent_coef_optimizer),
        # of a logarithm of 32 bits
        "initial_temperature": round(float(model.log_ent_coef.detach().exp()), 6),
        "target_entropy": "auto" if automatic else float(model.target_entropy),
        "target_update_interval": model.target_update_interval,
        "hidden_sizes": _sizes(model.actor.latent_pi),
    }


def _ddpg(model: Any) -> Dict[str, Any]:
    noise = model.action_noise
    return {
        **_off_policy(model),
        # in single precision: without the digits of the nearest neighbour
        "exploration_noise": None if noise is None else float(f"{np.max(noise._sigma):.6g}"),
        "hidden_sizes": _sizes(model.actor.mu)[:-1],
    }


def _td3(model: Any) -> Dict[str, Any]:
    return {
        **_ddpg(model),
        "policy_delay": model.policy_delay,
        "target_noise": model.target_policy_noise,
        "target_noise_clip": model.target_noise_clip,
    }


def _dqn(model: Any) -> Dict[str, Any]:
    return {
        **_off_policy(model),
        "target_update_interval": model.target_update_interval,
        "max_gradient_norm": model.max_grad_norm,
        "exploration_initial": model.exploration_initial_eps,
        "exploration_final": model.exploration_final_eps,
        "exploration_fraction": model.exploration_fraction,
        "hidden_sizes": _sizes(model.q_net)[:-1],
    }


_READERS = {"ppo": _ppo, "sac": _sac, "td3": _td3, "ddpg": _ddpg, "dqn": _dqn}
