"""Built-in trainings for traces: "<algorithm>", and "<algorithm> <scenario>" with options on.

Those of an algorithm are the library's trainers on settings that reach their rare branches. Each
trains twice: on one environment with an evaluation, and on two side by side. Those of scenarios are
loops of the library's own parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.frameworks.torchrl.train.collection import collect_transitions
from rlregress.frameworks.torchrl.train.recorded_training import (
    OffPolicyLoop,
    OnPolicyLoop,
    make_correlated_exploration,
    make_gaussian_exploration,
    make_greedy_exploration,
    train_in_loop,
)
from rlregress.frameworks.torchrl.train.trace_environments import (
    VECNORM,
    Environments,
    make_lazy_transform,
)
from rlregress.frameworks.torchrl.train.trainers import SETTINGS
from rlregress.frameworks.torchrl.train.training import train
from rlregress.probing import memory_sizes
from rlregress.probing.interface import TraceTraining, TrainingRequest
from rlregress.probing.trace_trainings import LazyValue


def _train_algorithm(algorithm: str, make_env: Callable[..., Any], seed: int) -> None:
    settings = memory_sizes.enlarge_memory_if_requested(SETTINGS[algorithm])
    steps = 3 * settings["rollout_steps"] if algorithm == "ppo" else 100
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
    collect_transitions(replace(request, hyperparameters=all_rows), 2)


def warm_up_before_fork() -> None:
    """Wrap an environment, so that the first training does not pay for imports."""
    wrap_environment(gymnasium.make("CartPole-v1")).close()


# -- in loops ---------------------------------------------------------------------------------

#: algorithm -> its loop, and what that takes.
_LOOPS: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "ppo": (OnPolicyLoop, {"loss": "ClipPPOLoss"}),
    "a2c": (OnPolicyLoop, {"loss": "A2CLoss"}),
    "reinforce": (OnPolicyLoop, {"loss": "ReinforceLoss"}),
    "sac": (OffPolicyLoop, {"loss": "SACLoss", "distribution": "TanhNormal"}),
    "td3": (OffPolicyLoop, {"loss": "TD3Loss"}),
    "ddpg": (OffPolicyLoop, {"loss": "DDPGLoss"}),
    "dqn": (OffPolicyLoop, {"loss": "DQNLoss", "exploration": make_greedy_exploration()}),
}
_ONE = Environments()


def make_trainings(
    algorithms: str, scenario: str, environments: Environments = _ONE, **options: Any
) -> dict[str, TraceTraining]:
    """Return the trainings of a scenario by title, one for each algorithm.

    Args:
        algorithms: their names, separated by blanks.
        **options: arguments of the loop, some of which replace those of the algorithm.
    """
    by_title: dict[str, TraceTraining] = {}
    for name in algorithms.split():
        loop, arguments = _LOOPS[name]
        own = replace(environments, actions="discrete") if name == "dqn" else environments
        by_title[f"{name} {scenario}"] = partial(
            train_in_loop, loop, own, **{**arguments, **options}
        )
    return by_title


def _make_lazy_frame_stack(frames: int, dimension: int) -> LazyValue:
    return make_lazy_transform("CatFrames", N=frames, dim=dimension, in_keys=["observation"])


_NORMALISED: Sequence[LazyValue] = (
    VECNORM,
    make_lazy_transform("VecNorm", in_keys=["reward"], decay=0.9),
)
_CLIPPED: Sequence[LazyValue] = (
    *_NORMALISED,
    make_lazy_transform("ClipTransform", in_keys=["observation"], low=-1.5, high=1.5),
    make_lazy_transform("RewardClipping", clamp_min=-1.0, clamp_max=1.0),
)
_DISCRETE = Environments(actions="discrete")
_ENDS = ("deterministic", "stochastic")

TRAININGS: Mapping[str, TraceTraining] = {
    **{algorithm: partial(_train_algorithm, algorithm) for algorithm in SETTINGS},
    **make_trainings("sac td3 ddpg", "vectorised-noise", Environments(3), learning_starts=12,
              exploration=make_correlated_exploration()),
    **make_trainings("sac", "temperature", arguments={"num_qvalue_nets": 1, "alpha_init": 0.1,
              "target_entropy": -1.0}, interval=3),
    **make_trainings("sac td3 ddpg", "n-step", Environments(2), gamma=0.9, n_steps=3),
    **make_trainings("dqn", "n-step", Environments(2), gamma=0.9, n_steps=3, interval=20),
    **make_trainings("sac td3 ddpg dqn", "n-step-of-two", gamma=0.9, n_steps=2),
    **make_trainings("sac td3 ddpg", "normalised", Environments(2, transforms=_CLIPPED),
              exploration=make_gaussian_exploration(), save_load=True,
              evaluations=("callback", "deterministic")),
    **make_trainings("ppo a2c", "normalised", Environments(2, transforms=_CLIPPED), gamma=0.9,
              arguments={"entropy_coeff": 0.01}, falling=True, save_load=True,
              evaluations=("callback", *_ENDS)),
    **make_trainings("ppo sac", "normalised-integers", Environments(observations="integer",
              transforms=_NORMALISED)),
    **make_trainings("sac td3", "integers", Environments(observations="integer")),
    **make_trainings("sac", "fixed-temperature-saved", steps=64, arguments={"alpha_init": 0.3,
              "fixed_alpha": True}, save_load=True),
    **make_trainings("sac", "target-between-updates", updates=3, interval=2),
    # the ratio leaves the clip range on both sides, the value its own, the gradient its norm
    **make_trainings("ppo", "clip-active", Environments(2), learning_rate=0.03, batch_size=24,
              max_norm=0.1, epochs=4, arguments={"clip_epsilon": 0.1, "clip_value": 0.1}),
    **make_trainings("ppo", "kl-penalty", Environments(2), loss="KLPENPPOLoss", learning_rate=0.01,
              arguments={"normalize_advantage": True, "loss_critic_type": "l2"}),
    **make_trainings("ppo", "truncated-normal", Environments(transforms=[
              make_lazy_transform("StepCounter", max_steps=8), make_lazy_transform("RewardSum"),
              make_lazy_transform("RewardScaling", loc=0.1, scale=0.5)]),
              loss="PPOLoss", distribution="TruncatedNormal",
              estimator_options={"vectorized": False, "average_gae": True},
              arguments={"entropy_coeff": 0.02, "loss_critic_type": "l1", "separate_losses": True}),
    # padded trajectories with masks, of environments that end at different steps
    **make_trainings("ppo a2c", "masked", Environments(2), masked=True),
    # advantages over batches of several trajectories
    **make_trainings("a2c reinforce", "td-lambda", Environments(2), estimator="TDLambda",
              distribution="IndependentNormal", estimator_options={"lmbda": 0.8}),
    # of a policy that has moved on
    **make_trainings("a2c ppo", "v-trace", Environments(actions="discrete", observations="float64",
              transforms=[make_lazy_transform("ObservationNorm", in_keys=["observation"],
              standard_normal=True)]), estimator="VTrace"),
    **make_trainings("a2c reinforce", "td", Environments(transforms=[
              VECNORM, make_lazy_transform("RewardClipping", clamp_min=-0.5, clamp_max=0.5)]),
              estimator="TD1"),
    **make_trainings("ppo", "one-step", Environments(transforms=[_make_lazy_frame_stack(3, -1)]),
              estimator="TD0", arguments={"clip_value": 0.1}),
    **make_trainings("sac", "choices", Environments(2, actions="discrete"), loss="DiscreteSACLoss",
              arguments={"alpha_init": 0.3}, evaluations=_ENDS),
    # the first version, with a network of state values
    **make_trainings("sac", "state-value", state_value=True, slice_length=4,
              arguments={"loss_function": "l1"}),
    **make_trainings("sac ddpg", "slices", slice_length=4, estimator="TDLambda",
              estimator_options={"lmbda": 0.8}),
    **make_trainings("sac ddpg", "delayed-actor", without_replacement=True, save_load=True,
              arguments={"loss_function": "smooth_l1", "reduction": "sum", "delay_actor": True}),
    **make_trainings("td3 ddpg", "one-point", distribution="TanhDelta", interval=3, max_norm=0.05,
              exploration=make_gaussian_exploration()),
    **make_trainings("dqn", "double", Environments(2, observations="dict"), tau=0.1, save_load=True,
              arguments={"loss_function": "l1", "double_dqn": True}),
    **make_trainings("dqn", "distributional", loss="DistributionalDQNLoss", atoms=11, estimator="",
              arguments={"gamma": 0.99}, interval=4),
    **make_trainings("dqn", "dueling", Environments(observations="image",
              transforms=[_make_lazy_frame_stack(2, -3)]), dueling=True, steps=60, interval=4),
    **make_trainings("dqn", "prioritised", prioritised=True, interval=4),
    **make_trainings("sac", "prioritised", _DISCRETE, loss="DiscreteSACLoss", prioritised=True,
              interval=4),
    **make_trainings("sac", "without-autotune", arguments={"alpha_init": 0.3, "fixed_alpha": True},
              policy_delay=3, interval=2),
    **make_trainings("td3 ddpg", "one-environment", tau=0.2, policy_delay=3,
              exploration=make_gaussian_exploration(0.8)),
    **make_trainings("dqn", "one-environment", per_collection=4, interval=10),
    **make_trainings("dqn", "target-interval", Environments(3), learning_rate=0.01, falling=True,
              max_norm=0.05, interval=10, exploration=make_greedy_exploration(0.8)),
    # more environments than steps of a collection
    **make_trainings("dqn", "target-at-every-step", Environments(3), per_collection=1, interval=2),
}  # fmt: skip


def list_builtin_trainings() -> Mapping[str, TraceTraining]:
    """Return title -> training."""
    return TRAININGS
