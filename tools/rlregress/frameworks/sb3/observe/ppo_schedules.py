"""Probes of what PPO changes over a training, for ``ppo_loop``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.frameworks.sb3.observe.helpers import ppo_trainings
from rlregress.frameworks.sb3.observe.helpers.on_policy import OF_PPO, OnPolicy
from rlregress.frameworks.sb3.observe.helpers.ppo_updates import NO_CLIP
from rlregress.measurements.ppo_loop import diverging
from rlregress.probing.interface import Inputs, Probe


def _falling(start: float) -> Callable[[float], float]:
    """A schedule as SB3 wants it: of the share of the training that is left, which falls from 1."""
    return lambda progress: progress * start


def _training(
    kind: OnPolicy,
    inputs: Inputs,
    change: Callable[[Any], None] | None = None,
    **arguments: Any,
) -> ppo_trainings.AgentTraining:
    n = int(inputs["rollout_steps"])
    return ppo_trainings.train(
        kind,
        kind.environment(),
        n * int(inputs["rollouts"]),
        n_steps=n,
        batch_size=n // int(inputs["minibatches"]),
        change=change,
        **arguments,
    )


def _rates(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    start = float(inputs["learning_rate"])
    return np.array(_training(kind, inputs, learning_rate=start).rates) / start


def _requested_rates(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    start = float(inputs["learning_rate"])
    return np.array(_training(kind, inputs, learning_rate=_falling(start)).rates) / start


def _negative(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    start, n = float(inputs["learning_rate"]), int(inputs["rollout_steps"])
    training = ppo_trainings.train(
        kind,
        kind.environment(),
        int(inputs["total_steps"]),
        n_steps=n,
        batch_size=n,
        learning_rate=_falling(start),
    )
    return np.array([min(training.rates) / start])


def _adaptive(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    n = 2
    start = float(inputs["learning_rate"])
    divergences_left = list(inputs["divergences"])

    def lower(buffer: Any) -> None:
        buffer.log_probs -= np.log(diverging(divergences_left.pop(0)))[:, None].astype(np.float32)

    training = ppo_trainings.train(
        kind,
        kind.environment(),
        n * (len(divergences_left) + 1),
        n_steps=n,
        batch_size=n,
        learning_rate=start,
        # one update more shows what the last divergence did; its own does not matter
        change=lambda buffer: lower(buffer) if divergences_left else None,
    )
    return np.array(training.rates[1:]) / start


def _clip_ranges(kind: OnPolicy, inputs: Inputs, **arguments: Any) -> np.ndarray:
    def feed(buffer: Any) -> None:
        buffer.advantages[:] = 1.0
        buffer.log_probs -= float(np.log(2.0))

    arguments.setdefault("learning_rate", constant_agents.FROZEN)
    training = _training(
        kind, inputs, feed, normalize_advantage=False, vf_coef=0.0, ent_coef=0.0, **arguments
    )
    return (-np.array(training.losses) - 1.0) / float(inputs["clip_range"])


def _clip_range(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    return _clip_ranges(kind, inputs, clip_range=float(inputs["clip_range"]))


def _requested_clip_range(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    schedule = _falling(float(inputs["clip_range"]))
    alone = _clip_ranges(kind, inputs, clip_range=schedule)
    # steps so small that the ratio stays what the feed makes it
    both = _clip_ranges(kind, inputs, clip_range=schedule, learning_rate=_falling(1e-12))
    return np.concatenate([alone, both])


def _entropy(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    start = float(inputs["coefficient"])

    def feed(buffer: Any) -> None:
        buffer.advantages[:] = 0.0

    def coefficients(coefficient: Any) -> np.ndarray:
        training = _training(
            kind,
            inputs,
            feed,
            normalize_advantage=False,
            max_grad_norm=NO_CLIP,
            learning_rate=constant_agents.FROZEN,
            ent_coef=coefficient,
        )
        return -np.array(training.log_std_gradients) / start

    try:
        return coefficients(_falling(start))
    except TypeError:
        # a function is refused when the update multiplies with it
        return coefficients(start)


def _adam_epsilon_custom(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    del inputs
    agent = kind.make(
        kind.environment(),
        n_steps=8,
        batch_size=8,
        policy_kwargs={"optimizer_kwargs": {"weight_decay": 0.0}},
    )
    return np.log10([agent.policy.optimizer.param_groups[0]["eps"]])


PROBES: Mapping[str, Probe] = {
    "ppo.learning_rate.schedule": partial(_rates, OF_PPO),
    "ppo.learning_rate.schedule.asked": partial(_requested_rates, OF_PPO),
    "ppo.learning_rate.negative": partial(_negative, OF_PPO),
    "ppo.learning_rate.adaptive": partial(_adaptive, OF_PPO),
    "ppo.clip_range.schedule": partial(_clip_range, OF_PPO),
    "ppo.clip_range.schedule.asked": partial(_requested_clip_range, OF_PPO),
    "ppo.entropy.schedule": partial(_entropy, OF_PPO),
    "ppo.adam.epsilon.custom": partial(_adam_epsilon_custom, OF_PPO),
}
