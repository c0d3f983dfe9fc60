"""Probes of policies with memory: their own rollouts and updates."""

from __future__ import annotations

from typing import Any, Callable, List, Mapping

import numpy as np
import torch

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.layers import linear_layers, make_constant
from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.probes.helpers import trainings
from rlregress.frameworks.scripted import Scripted, end_after

#: a state of one tensor, and one of two, are stored and reset by different lines
_KINDS = ("gru", "lstm")
#: ratios, means and values that differ by less are the same
_NEGLIGIBLE = 1e-4


def _speak_up(agent: Any) -> None:
    """Let means and values depend on what is remembered: those of new networks hardly do."""
    with torch.no_grad():
        for name in ("actor", "critic"):
            linear_layers(compat.network(agent, name))[-1].weight.mul_(100.0)


def _remembering(
    kind: str, environment: Any, rollouts: int, steps: int, **keywords: Any
) -> trainings.AgentTraining:
    return trainings.train(
        environment,
        rollouts,
        steps=steps,
        networks=Networks(hidden=[16], memory=kind),
        learning_rate=trainings.FROZEN,
        **{"prepare": _speak_up, **keywords},
    )


def _forget(agent: Any, name: str) -> None:
    """Let the recurrent layers of "actor" or "critic" output zeros."""
    with torch.no_grad():
        for parameter in compat.recurrent_layers(agent, name).parameters():
            parameter.zero_()


def _of_both_kinds(probe: Callable[[str, Inputs], np.ndarray]) -> Probe:
    """A probe that gives the answer of both kinds of memory: no known one where they differ."""
    return lambda inputs: np.mean([probe(kind, inputs) for kind in _KINDS], axis=0)


def _rollout(kind: str, inputs: Inputs) -> np.ndarray:
    episode = int(inputs["episode"])
    rollouts: List[np.ndarray] = []

    def look(storage: Any) -> None:
        made = compat.old_distribution(storage)[0], storage.values
        rollouts.append(np.stack([numbers.numpy().flatten() for numbers in made]))

    environment = Scripted(terminated=end_after(episode))
    _remembering(kind, environment, 2, int(inputs["rollout"]), change=look)
    first, second = rollouts
    same = [np.abs(step - first[:, 0]) < _NEGLIGIBLE for step in (first[:, episode], second[:, 0])]
    return np.array(same, dtype=np.float64).T.ravel()


def _ending(name: str, steps: int) -> Mapping[str, Any]:
    """The script of an end of this name after every ``steps`` steps."""
    return {name: end_after(steps)}


def _update(kind: str, inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout"])
    episodes = [int(episode) for episode in inputs["episodes"]]
    ends = ["terminated"] * (len(episodes) - 1) + ["truncated"]
    environments = [Scripted(**_ending(end, own)) for end, own in zip(ends, episodes)]
    training = _remembering(kind, Vectorised(*environments), 2, steps)
    # steps of the second rollout before the first end in it
    before = np.arange(steps)[:, None] < -steps % np.array(episodes)
    changes = training.log_ratios[-1], training.value_changes[-1]
    moved = [np.abs(change).reshape(before.shape) > _NEGLIGIBLE for change in changes]
    return np.array([own[rows].any() for own in moved for rows in (before, ~before)], dtype=float)


def _minibatches(inputs: Inputs) -> np.ndarray:
    count, minibatches = int(inputs["environments"]), int(inputs["minibatches"])
    environments = [
        Scripted(observations=float(number), next_observations=float(number))
        for number in range(count)
    ]
    training = _remembering(
        _KINDS[0],
        Vectorised(*environments),
        1,
        int(inputs["rollout"]),
        num_mini_batches=minibatches,
        num_learning_epochs=2,
    )
    # [steps, sequences] each
    used = [minibatch[0] for minibatch in training.evaluated]
    first, second = (np.concatenate(epoch) for epoch in (used[:minibatches], used[minibatches:]))
    ordered = [np.array_equal(first, np.sort(first)), np.array_equal(first, second)]
    return np.array([len(used[0]), len(first), *ordered], dtype=np.float64)


def _padding(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    advantage, rows = float(inputs["advantage"]), 2.0 * int(inputs["rollout"])
    ends = [0.0] * steps
    ends[episode - 1] = 1.0
    rewards = [advantage] + [0.0] * (steps - 1)

    def prepare(agent: Any) -> None:
        make_constant(compat.network(agent, "critic"), 0.0)
        # what memory does to ratios is another question
        _forget(agent, "actor")

    def updated(change: Any = None, **weights: float) -> trainings.AgentTraining:
        named = {"value_loss_coef": 0.0, "entropy_coef": 0.0, **weights}
        return _remembering(
            _KINDS[0],
            # without a discount the reward is the advantage, and the target of the value
            Vectorised(Scripted(rewards=rewards), Scripted(rewards=0.0, terminated=ends)),
            1,
            steps,
            change=change,
            prepare=prepare,
            gamma=0.0,
            **named,
        )

    def one_advantage(storage: Any) -> None:
        trainings.feed(storage, advantages=0.0)
        storage.advantages[0, 0] = advantage

    def no_advantage(storage: Any) -> None:
        trainings.feed(storage, advantages=0.0)

    def one_ratio(storage: Any) -> None:
        storage.actions_log_prob[0, 0] -= float(np.log(inputs["ratio"]))

    valued = updated(no_advantage, value_loss_coef=1.0)
    spread = updated(no_advantage, entropy_coef=1.0)
    policy, value, entropy, scaled = (
        watched_updates.only(training.losses)
        for training in (updated(one_advantage), valued, spread, updated(one_ratio))
    )
    entropies = rows * watched_updates.only(spread.entropies)
    means = [-advantage / policy, advantage**2 / value, -entropies / entropy]
    return np.array([*means, -rows * scaled])


def _bootstrap(kind: str, inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    reward, discount = 1.0, 0.9
    truncated = [0.0] * (2 * steps)
    truncated[episode - 1] = 1.0
    stored: List[Mapping[str, np.ndarray]] = []

    def look(storage: Any) -> None:
        names = ("values", "rewards", "returns")
        stored.append({name: getattr(storage, name).numpy()[:, 1, 0].copy() for name in names})

    beside = Scripted(terminated=end_after(int(inputs["beside"])))
    environments = Vectorised(beside, Scripted(rewards=reward, truncated=truncated))
    _remembering(kind, environments, 2, steps, change=look, gamma=discount)
    first, second = stored
    values = first["values"]
    added = (first["rewards"][episode - 1] - reward) / discount
    ended = (first["returns"][-1] - reward) / discount
    pairs = [
        (added, values[2 * episode]),
        (added, values[0]),
        (ended, second["values"][0]),
        (ended, values[0]),
        (added, values[episode - 1]),
    ]
    return np.array([abs(a - b) < _NEGLIGIBLE for a, b in pairs], dtype=np.float64)


def _critic(kind: str, inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout"])
    rollouts: List[np.ndarray] = []
    agents: List[Any] = []

    def prepare(agent: Any) -> None:
        _speak_up(agent)
        agents.append(agent)

    def look(storage: Any) -> None:
        rollouts.append(storage.values.numpy().flatten().copy())
        if len(rollouts) == 2:
            _forget(agents[0], "actor")

    # rollouts are whole episodes; the third is without what the policy remembers, and the second
    # begins as it does, where the value after a rollout moves the memory of the next one, too
    environment = Scripted(terminated=end_after(steps))
    _remembering(kind, environment, 3, steps, change=look, prepare=prepare)
    _, values, without = rollouts
    changes = [np.ptp(values), np.abs(without - values).max()]
    return np.array([change > _NEGLIGIBLE for change in changes], dtype=np.float64)


PROBES: Mapping[str, Probe] = {
    "recurrent.rollout": _of_both_kinds(_rollout),
    "recurrent.update": _of_both_kinds(_update),
    "recurrent.minibatches": _minibatches,
    "recurrent.padding": _padding,
    "recurrent.bootstrap": _of_both_kinds(_bootstrap),
    "recurrent.critic": _of_both_kinds(_critic),
}
ABSENT: Mapping[str, str] = {
    "recurrent.padding.divergence": "reports neither divergence nor clipped ratios",
    "recurrent.predict": "has no evaluation, and leaves the memory to who asks for actions",
}
