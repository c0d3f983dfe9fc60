"""Built-in trainings for traces: "<algorithm>", and "<algorithm> <scenario>" with options on.

Those of an algorithm are the library's trainers on settings that reach their rare branches. Each
trains twice: on one environment with an evaluation, and on two side by side. Those of scenarios are
loops of the library's own parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from torchrl.envs import GymWrapper

from rlregress.frameworks.torchrl.train.collection import transitions
from rlregress.frameworks.torchrl.train.recorded_training import (
    OffPolicy,
    OnPolicy,
    correlated,
    gaussian,
    greedy,
)
from rlregress.frameworks.torchrl.train.recorded_training import train as train_in_loop
from rlregress.frameworks.torchrl.train.trace_environments import VECNORM, Environments, transform
from rlregress.frameworks.torchrl.train.training import train
from rlregress.probing import memory_sizes
from rlregress.probing.interface import TraceTraining, TrainingRequest
from rlregress.probing.trace_trainings import Late

_SHARED = {"learning_rate": 1e-3, "adam_epsilon": 1e-8, "discount": 0.99, "hidden_sizes": [16, 16]}
_OFF_POLICY = {
    **_SHARED,
    "minibatch_size": 16,
    # full after two thirds of the training; the first collection is followed by no update
    "replay_size": 60,
    "learning_starts": 40,
    "polyak_coefficient": 0.05,
    "steps_per_collection": 20,
    "updates_per_collection": 10,
    "critic_loss": "l2",
    "duplicate_critic": True,
}
SETTINGS: dict[str, dict[str, Any]] = {
    # 32 samples in minibatches of 24: the last one is incomplete
    "ppo": {
        **_SHARED,
        "rollout_steps": 32,
        "minibatch_size": 24,
        "epochs": 3,
        "gae_lambda": 0.95,
        "clip_range": 0.2,
        "value_clip_range": 0.2,
        "normalize_advantage": True,
        "entropy_coefficient": 0.01,
        "value_coefficient": 0.5,
        "value_loss": "l2",
        "max_gradient_norm": 0.5,
        "policy_gain": 1.0,
        "value_gain": 0.01,
    },
    "sac": {**_OFF_POLICY, "initial_temperature": 0.5, "target_entropy": "auto"},
    "td3": {
        **_OFF_POLICY,
        "exploration_noise": 0.1,
        "policy_delay": 2,
        "target_noise": 0.2,
        "target_noise_clip": 0.5,
    },
}


def _training(algorithm: str) -> Any:
    def training(make_env: Callable[..., Any], seed: int) -> None:
        settings = memory_sizes.set_memory_size(SETTINGS[algorithm])
        steps = 3 * settings.get("rollout_steps", 0) or 100
        request = TrainingRequest(algorithm, make_env, settings, total_steps=steps, seed=seed)
        trained = train(request)
        environment = make_env()
        observation, _ = environment.reset()
        done = False
        while not done:
            (action,) = trained.policy(np.asarray(observation, dtype=np.float32)[None])
            observation, _, terminated, truncated, _ = environment.step(action)
            done = terminated or truncated
        all_rows = {**settings, "replay_size": 10 * steps} if algorithm != "ppo" else settings
        transitions(TrainingRequest(algorithm, make_env, all_rows, steps, seed), 2)

    return training


def warm_up() -> None:
    """Wrap an environment."""
    GymWrapper(gymnasium.make("CartPole-v1"), device="cpu").close()


# -- in loops ---------------------------------------------------------------------------------

#: algorithm -> its loop, and what that takes.
_LOOPS: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "ppo": (OnPolicy, {"loss": "ClipPPOLoss"}),
    "a2c": (OnPolicy, {"loss": "A2CLoss"}),
    "reinforce": (OnPolicy, {"loss": "ReinforceLoss"}),
    "sac": (OffPolicy, {"loss": "SACLoss", "distribution": "TanhNormal"}),
    "td3": (OffPolicy, {"loss": "TD3Loss"}),
    "ddpg": (OffPolicy, {"loss": "DDPGLoss"}),
    "dqn": (OffPolicy, {"loss": "DQNLoss", "exploration": greedy()}),
}
_ONE = Environments()


def entries(
    algorithms: str, scenario: str, environments: Environments = _ONE, **options: Any
) -> dict[str, TraceTraining]:
    """Return the trainings of a scenario by title, one for each algorithm.

    Args:
        algorithms: their names, separated by blanks.
        **options: arguments of the loop, some of which replace those of the algorithm.
    """
    by_title = {}
    for name in algorithms.split():
        loop, arguments = _LOOPS[name]
        own_environments = (
            replace(environments, actions="discrete") if name == "dqn" else environments
        )
        by_title[f"{name} {scenario}"] = train_in_loop(
            loop, own_environments, **{**arguments, **options}
        )
    return by_title


def _stacked(frames: int, dimension: int) -> Late:
    return transform("CatFrames", N=frames, dim=dimension, in_keys=["observation"])


_NORMALISED: Sequence[Late] = (VECNORM, transform("VecNorm", in_keys=["reward"], decay=0.9))
_CLIPPED: Sequence[Late] = (
    *_NORMALISED,
    transform("ClipTransform", in_keys=["observation"], low=-1.5, high=1.5),
    transform("RewardClipping", clamp_min=-1.0, clamp_max=1.0),
)
_DISCRETE = Environments(actions="discrete")
_ENDS = ("deterministic", "stochastic")

TRAININGS: Mapping[str, TraceTraining] = {
    **{algorithm: _training(algorithm) for algorithm in SETTINGS},
    **entries("sac td3 ddpg", "vectorised-noise", Environments(3), exploration=correlated(0.4),
              learning_starts=12),
    **entries("sac", "temperature", arguments={"num_qvalue_nets": 1, "alpha_init": 0.1,
              "target_entropy": -1.0}, interval=3),
    **entries("sac td3 ddpg", "n-step", Environments(2), gamma=0.9, n_steps=3),
    **entries("dqn", "n-step", Environments(2), gamma=0.9, n_steps=3, interval=20),
    **entries("sac td3 ddpg dqn", "n-step-of-two", gamma=0.9, n_steps=2),
    **entries("sac td3 ddpg", "normalised", Environments(2, transforms=_CLIPPED),
              exploration=gaussian(), save_load=True, evaluations=("callback", "deterministic")),
    **entries("ppo a2c", "normalised", Environments(2, transforms=_CLIPPED), gamma=0.9,
              arguments={"entropy_coeff": 0.01}, falling=True, save_load=True,
              evaluations=("callback", *_ENDS)),
    **entries("ppo sac", "normalised-integers", Environments(observations="integer",
              transforms=_NORMALISED)),
    **entries("sac td3", "integers", Environments(observations="integer")),
    **entries("sac", "fixed-temperature-saved", steps=64, arguments={"alpha_init": 0.3,
              "fixed_alpha": True}, save_load=True),
    **entries("sac", "target-between-updates", updates=3, interval=2),
    # the ratio leaves the clip range on both sides, the value its own, the gradient its norm
    **entries("ppo", "clip-active", Environments(2), learning_rate=0.03, batch_size=24,
              max_norm=0.1, epochs=4, arguments={"clip_epsilon": 0.1, "clip_value": 0.1}),
    **entries("ppo", "kl-penalty", Environments(2), loss="KLPENPPOLoss", learning_rate=0.01,
              arguments={"normalize_advantage": True, "loss_critic_type": "l2"}),
    **entries("ppo", "truncated-normal", Environments(transforms=[transform("StepCounter",
              max_steps=8), transform("RewardSum"), transform("RewardScaling", loc=0.1,
              scale=0.5)]), loss="PPOLoss", distribution="TruncatedNormal",
              estimator_options={"vectorized": False, "average_gae": True},
              arguments={"entropy_coeff": 0.02, "loss_critic_type": "l1", "separate_losses": True}),
    # padded trajectories with masks, of environments that end at different steps
    **entries("ppo a2c", "masked", Environments(2), masked=True),
    # advantages over batches of several trajectories
    **entries("a2c reinforce", "td-lambda", Environments(2), distribution="IndependentNormal",
              estimator="TDLambda", estimator_options={"lmbda": 0.8}),
    # of a policy that has moved on
    **entries("a2c ppo", "v-trace", Environments(actions="discrete", observations="float64",
              transforms=[transform("ObservationNorm", in_keys=["observation"],
              standard_normal=True)]), estimator="VTrace"),
    **entries("a2c reinforce", "td", Environments(transforms=[VECNORM, transform("RewardClipping",
              clamp_min=-0.5, clamp_max=0.5)]), estimator="TD1"),
    **entries("ppo", "one-step", Environments(transforms=[_stacked(3, -1)]), estimator="TD0",
              arguments={"clip_value": 0.1}),
    **entries("sac", "choices", Environments(2, actions="discrete"), loss="DiscreteSACLoss",
              arguments={"alpha_init": 0.3}, evaluations=_ENDS),
    # the first version, with a network of state values
    **entries("sac", "state-value", state_value=True, slice_length=4,
              arguments={"loss_function": "l1"}),
    **entries("sac ddpg", "slices", slice_length=4, estimator="TDLambda",
              estimator_options={"lmbda": 0.8}),
    **entries("sac ddpg", "delayed-actor", without_replacement=True, save_load=True,
              arguments={"loss_function": "smooth_l1", "reduction": "sum", "delay_actor": True}),
    **entries("td3 ddpg", "one-point", distribution="TanhDelta", exploration=gaussian(), interval=3,
              max_norm=0.05),
    **entries("dqn", "double", Environments(2, observations="dict"), tau=0.1, save_load=True,
              arguments={"loss_function": "l1", "double_dqn": True}),
    **entries("dqn", "distributional", loss="DistributionalDQNLoss", arguments={"gamma": 0.99},
              atoms=11, estimator="", interval=4),
    **entries("dqn", "dueling", Environments(observations="image", transforms=[_stacked(2, -3)]),
              dueling=True, steps=60, interval=4),
    **entries("dqn", "prioritised", prioritised=True, interval=4),
    **entries("sac", "prioritised", _DISCRETE, loss="DiscreteSACLoss", prioritised=True,
              interval=4),
    **entries("sac", "without-autotune", arguments={"alpha_init": 0.3, "fixed_alpha": True},
              policy_delay=3, interval=2),
    **entries("td3 ddpg", "one-environment", tau=0.2, policy_delay=3, exploration=gaussian(0.8)),
    **entries("dqn", "one-environment", per_collection=4, interval=10),
    **entries("dqn", "target-interval", Environments(3), learning_rate=0.01, falling=True,
              max_norm=0.05, interval=10, exploration=greedy(0.8)),
    # more environments than steps of a collection
    **entries("dqn", "target-at-every-step", Environments(3), per_collection=1, interval=2),
}  # fmt: skip


def trainings() -> Mapping[str, TraceTraining]:
    """Return title -> training."""
    return TRAININGS
