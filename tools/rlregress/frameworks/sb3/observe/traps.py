"""Probes of behaviour that no source states."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from stable_baselines3 import DQN, PPO, SAC, TD3

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers import ppo_trainings
from rlregress.frameworks.sb3.observe.helpers.on_policy import (
    AlgorithmProbe,
    ProbedPPO,
    bind_probes_to_ppo,
)
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.isolation import shift_seed
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted

_ROWS = 8


def _make_agent_whose_value_is_observation(
    algorithm: ProbedPPO, environment: Any, steps: int, **arguments: Any
) -> Any:
    """Return an agent before any rollout, whose value of an observation equals the observation."""
    agent = algorithm.make_one_epoch_agent(
        environment,
        n_steps=steps,
        batch_size=steps,
        learning_rate=probe_agents.FROZEN,
        policy_kwargs=dict(algorithm.linear),
        **arguments,
    )
    algorithm.set_value_to_observation(agent)
    return agent


def _measure_lambda_zero(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    environment = algorithm.make_environment(
        observations=inputs["values"],
        next_observations=inputs["next_values"],
        rewards=inputs["rewards"],
    )
    steps = len(inputs["rewards"])
    agent = _make_agent_whose_value_is_observation(
        algorithm, environment, steps, gamma=inputs["discount"], gae_lambda=0.0
    )
    try:
        agent.learn(steps)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        if not was_raised_in(error, "stable_baselines3"):
            raise
        return np.array([1.0] + [0.0] * steps)
    return np.array([0.0, *agent.rollout_buffer.advantages.flatten()])


def _measure_advantage_after_value_change(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    environment = algorithm.make_environment(
        observations=inputs["value"],
        next_observations=inputs["value"],
        rewards=[0.0, inputs["reward"]],
        terminated=[0.0, 1.0],
    )
    agent = _make_agent_whose_value_is_observation(
        algorithm, environment, 2, gamma=inputs["discount"]
    )
    buffer = agent.rollout_buffer
    estimate = buffer.compute_returns_and_advantage

    def change_values_later(*arguments: Any, **keywords: Any) -> None:
        algorithm.set_value_to_number(agent, inputs["next_value"])
        estimate(*arguments, **keywords)

    with mock.patch.object(buffer, "compute_returns_and_advantage", change_values_later):
        agent.learn(2)
    return np.array([float(buffer.advantages.flatten()[-1])])


def _measure_deterministic_centre(inputs: Inputs) -> np.ndarray:
    agent = probe_agents.make_small_off_policy_agent(TD3, Scripted(inputs["low"], inputs["high"]))
    make_output_constant(agent.actor.mu, 0.0)
    return agent.predict(np.zeros((1, 1)), deterministic=True)[0].flatten()


def _measure_gaussian_centre(inputs: Inputs) -> np.ndarray:
    agent = probe_agents.make_small_off_policy_agent(SAC, Scripted(inputs["low"], inputs["high"]))
    make_output_constant(agent.actor.mu, 0.0)
    return agent.predict(np.zeros((1, 1)), deterministic=True)[0].flatten()


def _measure_executed_action_beyond_bounds(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    environment = algorithm.make_environment(inputs["low"], inputs["high"])
    agent = _make_agent_whose_value_is_observation(algorithm, environment, 2)
    make_output_constant(agent.policy.action_net, inputs["mean"])
    with torch.no_grad():
        agent.policy.log_std.fill_(-20.0)
    agent.learn(2)
    return np.array([environment.received[0].item()])


def _measure_share_of_wrong_log_probs(inputs: Inputs) -> np.ndarray:
    count = inputs["count"]
    agent = probe_agents.make_agent(PPO, Scripted(), n_steps=count, batch_size=count, n_epochs=1)
    make_output_constant(agent.policy.action_net, inputs["mean"])
    agent.train = lambda *_, **__: None
    agent.learn(count)
    (batch,) = list(agent.rollout_buffer.get(count))
    with torch.no_grad():
        _, now, _ = agent.policy.evaluate_actions(batch.observations, batch.actions)
    return np.array([float((torch.abs(now - batch.old_log_prob) > 0.01).double().mean())])


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


def _measure_reported_losses_by_minibatch_count(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    steps, minibatches = inputs["steps"], inputs["minibatches"]
    named = [f"train/{name}_loss" for name in ("policy_gradient", "value", "entropy")]

    def change_buffer(buffer: Any) -> None:
        buffer.advantages[:, 0], buffer.returns[:, 0] = inputs["advantages"], inputs["targets"]

    def list_reported_losses(epochs: int, rows: int) -> np.ndarray:
        training = ppo_trainings.train_and_record(
            algorithm,
            algorithm.make_environment(),
            steps,
            n_steps=steps,
            batch_size=rows,
            n_epochs=epochs,
            change_buffer=change_buffer,
            prepare_agent=lambda agent: algorithm.set_value_to_number(agent, 0.0),
            normalize_advantage=False,
            learning_rate=probe_agents.FROZEN,
        )
        return np.array([training.agent.logger.name_to_value[name] for name in named])

    losses = list_reported_losses(inputs["epochs"], steps // minibatches)
    ratios = losses / list_reported_losses(1, steps)
    return np.array([ratios.min(), ratios.max()])


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


#: detail -> probe of PPO, or of a class like it
PROBES_OF_ALGORITHM: Mapping[str, AlgorithmProbe] = {
    "gae.lambda_zero": _measure_lambda_zero,
    "gae.stored_values": _measure_advantage_after_value_change,
    "policy.out_of_bounds": _measure_executed_action_beyond_bounds,
    "logging.losses": _measure_reported_losses_by_minibatch_count,
}
PROBES: Mapping[str, Probe] = {
    **bind_probes_to_ppo(PROBES_OF_ALGORITHM),
    "policy.centre.deterministic": _measure_deterministic_centre,
    "policy.centre.gaussian": _measure_gaussian_centre,
    "policy.stored_log_prob": _measure_share_of_wrong_log_probs,
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
