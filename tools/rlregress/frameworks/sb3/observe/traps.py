"""Probes of behaviour that no source states."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from stable_baselines3 import DQN, PPO, SAC, TD3

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.isolation import shift_seed
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted

_ROWS = 8


def _measure_centre(algorithm_class: Any, inputs: Inputs) -> np.ndarray:
    environment = Scripted(inputs["low"], inputs["high"])
    agent = probe_agents.make_small_off_policy_agent(algorithm_class, environment)
    make_output_constant(agent.actor.mu, 0.0)
    return agent.predict(np.zeros((1, 1)), deterministic=True)[0].flatten()


def measure_share_of_mixed_exploration(algorithm_class: Any, inputs: Inputs) -> np.ndarray:
    """Return the share of calls of ``predict`` in which only some environments act at random."""
    environment = Scripted(discrete=inputs["actions"])
    agent = probe_agents.make_small_off_policy_agent(
        algorithm_class, environment, seed=shift_seed(inputs["seed"])
    )
    agent.exploration_rate = inputs["epsilon"]
    observations = np.zeros((inputs["environments"], 1), np.float32)
    greedy, _ = agent.predict(observations, deterministic=True)
    mixed = []
    for _ in range(inputs["calls"]):
        same = agent.predict(observations)[0] == greedy
        mixed.append(bool(same.any()) and not bool(same.all()))
    return np.array([np.mean(mixed)])


def _measure_truncated_flags(inputs: Inputs) -> np.ndarray:
    steps = inputs["steps"]
    agent = probe_agents.make_small_off_policy_agent(
        TD3, Scripted(), train_freq=steps, gradient_steps=0
    )
    agent.learn(steps)
    if not hasattr(agent.replay_buffer, "timeouts"):
        raise Unsupported("the replay buffer of this version stores one flag, done")
    return agent.replay_buffer.timeouts[:steps].flatten()


def _measure_share_of_reset_steps(inputs: Inputs) -> np.ndarray:
    ends = [0.0] * (inputs["episode"] - 1) + [1.0]
    agent = probe_agents.make_small_off_policy_agent(
        TD3, Scripted(rewards=1.0, terminated=ends), gradient_steps=0
    )
    steps = inputs["steps"]
    agent.learn(steps)
    return np.array([0.0, np.mean(agent.replay_buffer.rewards[:steps] == 0.0)])


def _make_agent_with_full_rollout(inputs: Inputs) -> Any:
    """Return a PPO agent with a full rollout buffer, whose updates change no parameter."""
    epochs, minibatches = inputs["epochs"], inputs["minibatches"]
    rows = minibatches * _ROWS
    agent = probe_agents.make_agent(
        PPO,
        Scripted(),
        n_steps=rows,
        batch_size=_ROWS,
        n_epochs=epochs,
        learning_rate=probe_agents.FROZEN,
    )
    train = agent.train
    agent.train = lambda *_, **__: None
    agent.learn(rows)
    agent.train = train
    return agent


def _measure_ratios_of_logged_kl(inputs: Inputs) -> np.ndarray:
    agent = _make_agent_with_full_rollout(inputs)
    evaluate = agent.policy.evaluate_actions
    steps = inputs["epochs"] * inputs["minibatches"]
    calls = 0

    def evaluate_shifted(*arguments: Any) -> Any:
        nonlocal calls
        values, log_prob, entropy = evaluate(*arguments)
        update, step = divmod(calls, steps)
        calls += 1
        shift = inputs["log_ratio"] if step == update or update == steps else 0.0
        return values, log_prob + shift, entropy

    logged = []
    with mock.patch.object(agent.policy, "evaluate_actions", evaluate_shifted):
        for _ in range(steps + 1):
            agent.train()
            logged.append(float(agent.logger.name_to_value["train/approx_kl"]))
    return np.array(logged[:-1]) / logged[-1]


def _measure_update_count(inputs: Inputs) -> np.ndarray:
    agent = _make_agent_with_full_rollout(inputs)
    agent.train()
    return np.array([float(agent.logger.name_to_value["train/n_updates"])])


def _flag_failure_before_policy_update(inputs: Inputs) -> np.ndarray:
    agent = probe_agents.make_small_off_policy_agent(
        TD3, Scripted(), policy_delay=inputs["delay"], gradient_steps=0
    )
    agent.learn(_ROWS)
    update = partial(agent.train, gradient_steps=1, batch_size=_ROWS)
    try:
        update()
        agent.logger.dump(1)
    except (IndexError, KeyError, NameError, ValueError) as error:
        if not was_raised_in(error, "stable_baselines3"):
            raise
        return np.array([1.0])
    return np.array([0.0])


PROBES: Mapping[str, Probe] = {
    "policy.centre.deterministic": partial(_measure_centre, TD3),
    "policy.centre.gaussian": partial(_measure_centre, SAC),
    "dqn.exploration.draw": partial(measure_share_of_mixed_exploration, DQN),
    "collection.truncated_flags": _measure_truncated_flags,
    "collection.autoreset": _measure_share_of_reset_steps,
    "logging.approx_kl": _measure_ratios_of_logged_kl,
    "logging.update_count": _measure_update_count,
    "logging.before_policy_update": _flag_failure_before_policy_update,
}
_ONE_ESTIMATOR = "advantages are estimated in one place, without switches"
ABSENT: Mapping[str, str] = {
    "gae.reset_env": _ONE_ESTIMATOR,
    "gae.truncation.asked": "always bootstraps at time limits",
    "gae.kernel": _ONE_ESTIMATOR,
    "advantage.masked_normalisation": "minibatches have no mask of valid steps",
    "networks.single_critic": "an agent makes its Q networks itself; none can be passed in",
    "optimizer.gradient_clip.switch": "there is one number, max_grad_norm, and no switch",
    "optimizer.config_epsilon": "there are no classes that configure optimisers",
}
