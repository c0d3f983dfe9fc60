"""Probes of RecurrentPPO: its own ``learn``, ``predict`` and evaluation."""

from __future__ import annotations

from typing import Any, List, Mapping

import gymnasium
import numpy as np
import torch

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.contrib.probes.helpers.on_policy_classes import KINDS
from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.collection import AtRolloutEnd
from rlregress.frameworks.sb3.probes.helpers import constant_agents, ppo_trainings
from rlregress.frameworks.scripted import Scripted, end_after

_KIND = KINDS["RecurrentPPO"]
#: a size in which no shape takes the place of another
_LAYERS: Mapping[str, Any] = {"lstm_hidden_size": 16, "n_lstm_layers": 2}
#: ratios, actions and values that differ by less are the same
_NEGLIGIBLE = 1e-4
#: values of the same networks that differ by less are the same: only rounding is in them
_SAME_VALUE = 1e-5
#: an order from a step by lot is in each of so many epochs that of the rollout once in 10^11
_EPOCHS = 9


def _learn(
    environment: Any, rollouts: int, steps: int, rows: int = 0, **keywords: Any
) -> ppo_trainings.AgentTraining:
    """Rollouts of ``steps`` steps, in minibatches of ``rows``; nothing is learnt."""
    rows = rows or steps
    environments = getattr(environment, "num_envs", 1)
    return ppo_trainings.train(
        _KIND,
        environment,
        rollouts * steps * environments,
        n_steps=steps,
        batch_size=rows,
        learning_rate=constant_agents.FROZEN,
        policy_kwargs=dict(_LAYERS),
        **{"prepare": _speak_up, **keywords},
    )


def _speak_up(agent: Any) -> None:
    """Let means and values depend on what is remembered: those of new networks hardly do."""
    with torch.no_grad():
        agent.policy.action_net.weight.mul_(1000.0)
        agent.policy.value_net.weight.mul_(100.0)


def _rollout(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    means: List[float] = []
    rollouts: List[np.ndarray] = []

    def prepare(agent: Any) -> None:
        _speak_up(agent)

        def look(layer: Any, _: Any, made: torch.Tensor) -> None:
            # updates repeat what was collected
            if not agent.policy.training:
                means.append(float(made[0, 0].detach()))

        agent.policy.action_net.register_forward_hook(look)

    def look(buffer: Any) -> None:
        rollouts.append(buffer.values.flatten().copy())

    environment = Scripted(terminated=end_after(episode))
    _learn(environment, 2, steps, prepare=prepare, change=look)
    kinds = np.array(means), np.concatenate(rollouts)
    same = [abs(own[step] - own[0]) < _NEGLIGIBLE for own in kinds for step in (episode, steps)]
    return np.array(same, dtype=np.float64)


class _InParts(gymnasium.ObservationWrapper):
    """Observations that are a dictionary: another rollout buffer holds them."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.observation_space = gymnasium.spaces.Dict({"numbers": environment.observation_space})

    def observation(self, observation: np.ndarray) -> Mapping[str, np.ndarray]:
        """The observation by name."""
        return {"numbers": observation}


def _ending(name: str, steps: int) -> Mapping[str, Any]:
    """The script of an end of this name after every ``steps`` steps."""
    return {name: end_after(steps)}


def _updated(inputs: Inputs, wrapped: Any = None) -> np.ndarray:
    steps = int(inputs["rollout"])
    episodes = [int(episode) for episode in inputs["episodes"]]
    ends = ["terminated"] * (len(episodes) - 1) + ["truncated"]
    # the observation says which environment and step it is of
    numbers = np.arange(2.0 * steps + 1.0) / steps
    environments: List[Any] = [
        Scripted(
            observations=4.0 * count + numbers,
            next_observations=4.0 * count + numbers[1:],
            **_ending(end, own),
        )
        for count, (end, own) in enumerate(zip(ends, episodes))
    ]
    given = environments if wrapped is None else map(wrapped, environments)
    training = _learn(gyms.side_by_side(*given), 2, steps, rows=len(episodes) * steps)
    order = np.argsort(training.evaluated[-1])
    # steps of the second rollout before the first end in it
    before = np.arange(steps) < (-steps % np.array(episodes))[:, None]
    changes = training.log_ratios[-1], training.value_changes[-1]
    moved = [np.abs(change[order]).reshape(before.shape) > _NEGLIGIBLE for change in changes]
    return np.array([own[rows].any() for own in moved for rows in (before, ~before)], dtype=float)


def _update(inputs: Inputs) -> np.ndarray:
    """The answer of both rollout buffers: no known one where they differ."""
    return np.mean([_updated(inputs), _updated(inputs, _InParts)], axis=0)


def _minibatches(inputs: Inputs) -> np.ndarray:
    count, steps = int(inputs["environments"]), int(inputs["rollout"])
    minibatches = int(inputs["minibatches"])
    environments = [
        Scripted(observations=float(number), next_observations=float(number))
        for number in range(count)
    ]
    training = _learn(
        gyms.side_by_side(*environments),
        1,
        steps,
        rows=count * steps // minibatches,
        n_epochs=_EPOCHS,
    )
    first = len(training.evaluated[0]) / steps
    epochs = np.concatenate(training.evaluated).reshape(_EPOCHS, -1)
    ordered = [np.array_equal(epochs, np.sort(epochs)), bool((epochs == epochs[0]).all())]
    return np.array([first, len(np.unique(epochs[0])), *ordered], dtype=np.float64)


def _padded(
    inputs: Inputs,
    change: Any = None,
    prepare: Any = _speak_up,
    wrapped: Any = None,
    **keywords: Any,
) -> ppo_trainings.AgentTraining:
    """A rollout and an update of two environments; in one of them an episode ends."""
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    ends = [0.0] * steps
    ends[episode - 1] = 1.0
    rewards = [float(inputs.get("advantage", 0.0))] + [0.0] * (steps - 1)
    environments = [
        # the entropy of a Gaussian is that of padding, too
        Scripted(rewards=rewards, discrete=2),
        Scripted(rewards=0.0, terminated=ends, discrete=2),
    ]
    given = environments if wrapped is None else map(wrapped, environments)
    return _learn(
        gyms.side_by_side(*given),
        1,
        steps,
        rows=2 * steps,
        change=change,
        prepare=prepare,
        # the reward is the advantage, and the target of the value
        gamma=0.0,
        **keywords,
    )


def _padding_of(inputs: Inputs, wrapped: Any = None) -> np.ndarray:
    advantage, rows = float(inputs["advantage"]), 2.0 * int(inputs["rollout"])

    def prepare(agent: Any) -> None:
        _speak_up(agent)
        _KIND.be_constant(agent, 0.0)

    def updated(change: Any = None, **weights: Any) -> ppo_trainings.AgentTraining:
        named = {"vf_coef": 0.0, "ent_coef": 0.0, "normalize_advantage": False, **weights}
        return _padded(inputs, change, prepare, wrapped, **named)

    def no_advantage(buffer: Any) -> None:
        buffer.advantages[:] = 0.0

    def one_ratio(buffer: Any) -> None:
        buffer.log_probs[0, 0] -= np.log(inputs["ratio"])

    valued = updated(no_advantage, vf_coef=1.0)
    spread = updated(no_advantage, ent_coef=1.0)
    policy, value, entropy, scaled = (
        watched_updates.only(training.losses)
        for training in (updated(), valued, spread, updated(one_ratio, normalize_advantage=True))
    )
    entropies = rows * watched_updates.only(spread.entropies)
    means = [-advantage / policy, advantage**2 / value, -entropies / entropy]
    return np.array([*means, -rows * scaled])


def _padding(inputs: Inputs) -> np.ndarray:
    """The answer of both rollout buffers: no known one where they differ."""
    return np.mean([_padding_of(inputs), _padding_of(inputs, _InParts)], axis=0)


def _divergence(inputs: Inputs) -> np.ndarray:
    training = _padded(inputs, target_kl=float(inputs["target"]))
    reported = training.agent.logger.name_to_value
    divergence = reported["train/approx_kl"] > _NEGLIGIBLE
    return np.array([divergence, reported["train/clip_fraction"], len(training.losses)])


def _bootstrap(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    reward, discount = 1.0, 0.9
    truncated = [0.0] * (2 * steps)
    truncated[episode - 1] = 1.0
    stored: List[Mapping[str, np.ndarray]] = []

    def look(buffer: Any) -> None:
        names = ("values", "rewards", "advantages")
        stored.append({name: getattr(buffer, name)[:, 1].astype(np.float64) for name in names})

    beside = Scripted(terminated=end_after(int(inputs["beside"])))
    environments = gyms.side_by_side(beside, Scripted(rewards=reward, truncated=truncated))
    _learn(environments, 2, steps, change=look, gamma=discount)
    first, second = stored
    values = first["values"]
    added = (first["rewards"][episode - 1] - reward) / discount
    ended = (first["advantages"][-1] + values[-1] - reward) / discount
    right = [(added, values[2 * episode]), (ended, second["values"][0])]
    pairs = [pair for found, expected in right for pair in ((found, expected), (found, values[0]))]
    pairs.append((added, values[episode - 1]))
    return np.array([abs(a - b) < _NEGLIGIBLE for a, b in pairs], dtype=np.float64)


def _critic(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout"])
    agent = _KIND.make_once(
        Scripted(), n_steps=steps, batch_size=steps, learning_rate=constant_agents.FROZEN
    )
    rollouts: List[np.ndarray] = []

    def look(agent: Any) -> None:
        rollouts.append(agent.rollout_buffer.values.flatten())

    for _ in range(2):
        agent.learn(steps, callback=AtRolloutEnd(look))
        # as at the very first step; then without what the policy remembers
        agent._last_lstm_states = agent._last_lstm_states.__class__(
            *(tuple(torch.zeros_like(s) for s in states) for states in agent._last_lstm_states)
        )
        with torch.no_grad():
            for parameter in agent.policy.lstm_actor.parameters():
                parameter.zero_()
    values, without = rollouts
    changes = [np.ptp(values), np.abs(without - values).max()]
    return np.array([change > _SAME_VALUE for change in changes], dtype=np.float64)


def _predict(inputs: Inputs) -> np.ndarray:
    agent = _KIND.make(Scripted(), n_steps=8, batch_size=8)
    _speak_up(agent)
    observation = np.full(1, 0.5, dtype=np.float32)

    def predicted(**given: Any) -> Any:
        return agent.predict(observation, deterministic=True, **given)

    first, state = predicted()
    later = [
        predicted(**given)[0]
        for given in (
            {"state": state, "episode_start": np.zeros(1, dtype=bool)},
            {"state": state, "episode_start": np.ones(1, dtype=bool)},
            {},
        )
    ]
    episode = int(inputs["episode"])
    environment = Scripted(terminated=end_after(episode))
    constant_agents.evaluate(agent, environment, episodes=2)
    evaluated = [environment.received[step] for step in (1, episode)]
    differ = [abs(float(action[0]) - float(first[0])) > _NEGLIGIBLE for action in later + evaluated]
    return np.array(differ, dtype=np.float64)


PROBES: Mapping[str, Probe] = {
    "recurrent.rollout": _rollout,
    "recurrent.update": _update,
    "recurrent.minibatches": _minibatches,
    "recurrent.padding": _padding,
    "recurrent.padding.divergence": _divergence,
    "recurrent.bootstrap": _bootstrap,
    "recurrent.critic": _critic,
    "recurrent.predict": _predict,
}
