"""Probes of RecurrentPPO: its own ``learn``, ``predict`` and evaluation."""

from __future__ import annotations

from typing import Any, List, Mapping

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
        **keywords,
    )


def _speak_up(agent: Any) -> None:
    """Let the mean of the action depend on what is remembered: a new policy hardly does."""
    with torch.no_grad():
        agent.policy.action_net.weight.mul_(100.0)


def _rollout(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    means: List[float] = []

    def prepare(agent: Any) -> None:
        _speak_up(agent)

        def look(layer: Any, _: Any, made: torch.Tensor) -> None:
            # updates repeat what was collected
            if not agent.policy.training:
                means.append(float(made[0, 0].detach()))

        agent.policy.action_net.register_forward_hook(look)

    _learn(Scripted(terminated=end_after(episode)), 2, steps, prepare=prepare)
    same = [abs(means[step] - means[0]) < _NEGLIGIBLE for step in (episode, steps)]
    return np.array(same, dtype=np.float64)


def _update(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    # the observation says which step it is
    numbers = np.arange(2.0 * steps + 1.0) / steps
    environment = Scripted(
        observations=numbers, next_observations=numbers[1:], terminated=end_after(episode)
    )
    training = _learn(environment, 2, steps, prepare=_speak_up)
    order = np.argsort(training.evaluated[-1])
    moved = np.abs(training.log_ratios[-1][order]) > _NEGLIGIBLE
    end = 2 * episode - steps
    return np.array([moved[:end].any(), moved[end:].any()], dtype=np.float64)


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


def _padding(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    ends = [0.0] * steps
    ends[episode - 1] = 1.0

    def change(buffer: Any) -> None:
        buffer.advantages[:] = 0.0
        buffer.advantages[0, 0] = float(inputs["advantage"])

    training = _learn(
        gyms.side_by_side(Scripted(), Scripted(terminated=ends)),
        1,
        steps,
        rows=2 * steps,
        change=change,
        normalize_advantage=False,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    return np.array([-float(inputs["advantage"]) / watched_updates.only(training.losses)])


def _bootstrap(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    reward, discount = 1.0, 0.9
    truncated = [0.0] * (2 * steps)
    truncated[episode - 1] = 1.0
    stored: List[Mapping[str, np.ndarray]] = []

    def look(buffer: Any) -> None:
        names = ("values", "rewards", "advantages")
        stored.append({name: getattr(buffer, name)[:, 0].astype(np.float64) for name in names})

    _learn(Scripted(rewards=reward, truncated=truncated), 2, steps, change=look, gamma=discount)
    first, second = stored
    values = first["values"]
    added = (first["rewards"][episode - 1] - reward) / discount
    ended = (first["advantages"][-1] + values[-1] - reward) / discount
    right = [(added, values[2 * episode]), (ended, second["values"][0])]
    pairs = [pair for found, expected in right for pair in ((found, expected), (found, values[0]))]
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
    "recurrent.bootstrap": _bootstrap,
    "recurrent.critic": _critic,
    "recurrent.predict": _predict,
}
