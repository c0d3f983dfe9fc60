"""The details of policies with memory, each measured by small trainings of any framework.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rlregress.measurements.loss_minimum import require_one_number
from rlregress.measurements.named_settings import Inputs, NamedSettings

#: ratios, means and values that differ by less are the same
_NEGLIGIBLE = 1e-4
#: an order that is drawn in each of so many epochs is that of the rollout once in 10^11
_EPOCHS = 9


@dataclass(frozen=True)
class Settings(NamedSettings):
    """A training of PPO in which nothing is learnt; policy and value network have memory.

    Attributes:
        scripts: of each environment, what ``probing.scripted.Scripted`` is made with.
        steps: of a rollout, in each environment.
        rollouts: their number.
        minibatches: of each epoch.
        epochs: of each rollout.
        discount: of rewards; None: as by default.
        forgets: the rollout after which the recurrent layers of the policy output zeros; 0: none.
        constant: the value is 0 and the memory of the policy changes no ratio.
        advantage: of the first step in the first environment; others are 0. None: what the
            framework makes of the rewards, with its own normalisation.
        ratio: of new to old probability, of the same step.
        value_coefficient: weight of the loss of the value.
        entropy_coefficient: weight of the entropy.
    """

    scripts: Sequence[Mapping[str, Any]]
    steps: int
    rollouts: int = 1
    minibatches: int = 1
    epochs: int = 1
    discount: float | None = None
    forgets: int = 0
    constant: bool = False
    advantage: float | None = None
    ratio: float = 1.0
    value_coefficient: float | None = None
    entropy_coefficient: float | None = None

    @property
    def steps_of_all_environments(self) -> int:
        """Steps of a rollout in all environments."""
        return self.steps * len(self.scripts)


class Rollout(NamedTuple):
    """Stored numbers of a rollout before its update, [steps, environments] each.

    Attributes:
        means: of the action.
        values: of the observation.
        rewards: with what was added at truncations.
        returns: targets of the value network.
    """

    means: np.ndarray
    values: np.ndarray
    rewards: np.ndarray
    returns: np.ndarray


@dataclass
class Record:
    """The rollouts, minibatches and losses of a training.

    Attributes:
        rollouts: in their order.
        minibatches: first number of the observation of each step, without those that pad; sequences
            one behind the other.
        changes: log-ratios and changes of the value in the last update, where it has one minibatch,
            [2, steps, environments].
        losses: that each step of the optimiser follows.
        entropies: mean entropy of the policy at each of them.
    """

    rollouts: list[Rollout] = field(default_factory=list)
    minibatches: list[np.ndarray] = field(default_factory=list)
    changes: np.ndarray = field(default_factory=lambda: np.zeros((2, 0, 0)))
    losses: Sequence[float] = ()
    entropies: Sequence[float] = ()


#: makes an agent of PPO with memory and runs the framework's own loop
Train = Callable[[Settings], Record]
Measurement = Callable[[Train, Inputs], np.ndarray]


def make_probe_averaged_over_agents(
    measurement: Measurement, *trains: Train
) -> Callable[[Inputs], np.ndarray]:
    """Return a probe: the mean of a measurement over agents. If they differ, no variant fits."""
    return lambda inputs: np.mean([measurement(train, inputs) for train in trains], axis=0)


def _make_script_of_ends(steps: int, period: int = 0) -> list[float]:
    """Return the flags of steps that an environment plays repeatedly: 1.0 where an episode ends.

    An end comes after ``steps`` steps, then every ``steps`` or, if longer, ``period`` steps.
    """
    script = [0.0] * max(steps, period)
    script[steps - 1] = 1.0
    return script


def flag_memory_resets_in_rollout(train: Train, inputs: Inputs) -> np.ndarray:
    """Return four flags: the action mean after an end equals that of the first step; so does that
    at the start of the next rollout; then both for values.
    """
    episode = inputs["episode"]
    scripts = [{"terminated": _make_script_of_ends(episode)}]
    first, second = train(Settings(scripts, inputs["rollout"], rollouts=2)).rollouts
    same = [
        abs(then - now[0, 0]) < _NEGLIGIBLE
        for now, later in ((first.means, second.means), (first.values, second.values))
        for then in (now[episode, 0], later[0, 0])
    ]
    return np.array(same)


def flag_changed_outputs_in_update(train: Train, inputs: Inputs) -> np.ndarray:
    """Return flags [4]: recomputed ratios are not 1 before an end, after it; values likewise."""
    steps, episodes = inputs["rollout"], [int(episode) for episode in inputs["episodes"]]
    ends = ["terminated"] * (len(episodes) - 1) + ["truncated"]
    # the observation says which environment and step it is of
    numbers = np.arange(2.0 * steps + 1.0) / steps
    scripts: list[Mapping[str, Any]] = [
        {
            "observations": 4.0 * count + numbers,
            "next_observations": 4.0 * count + numbers[1:],
            end: _make_script_of_ends(own),
        }
        for count, (end, own) in enumerate(zip(ends, episodes, strict=False))
    ]
    changes = train(Settings(scripts, steps, rollouts=2)).changes
    # steps of the second rollout before the first end in it
    before = np.arange(steps)[:, None] < -steps % np.array(episodes)
    has_moved = np.abs(changes) > _NEGLIGIBLE
    return np.array([own[rows].any() for own in has_moved for rows in (before, ~before)])


def measure_recurrent_minibatches(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the steps of a minibatch over those of a rollout, the environments that an epoch
    uses, whether epochs are sorted, and whether they are equal.
    """
    scripts = [
        {"observations": float(number), "next_observations": float(number)}
        for number in range(inputs["environments"])
    ]
    settings = Settings(
        scripts, inputs["rollout"], minibatches=inputs["minibatches"], epochs=_EPOCHS
    )
    rows = train(settings).minibatches
    epochs = np.concatenate(rows).reshape(_EPOCHS, -1)
    ordered = [np.array_equal(epochs, np.sort(epochs)), bool((epochs == epochs[0]).all())]
    share = len(rows[0]) / settings.steps
    return np.array([share, len(np.unique(epochs[0])), *ordered])


def make_padded_settings(inputs: Inputs, **options: Any) -> Settings:
    """Return settings of a rollout of two environments; in the second one an episode ends."""
    steps = inputs["rollout"]
    rewards = [float(inputs.get("advantage", 0.0))] + [0.0] * (steps - 1)
    ending = {
        "rewards": 0.0,
        "terminated": _make_script_of_ends(inputs["episode"], period=steps),
    }
    # without a discount the reward is the advantage, and the target of the value
    return Settings([{"rewards": rewards}, ending], steps, discount=0.0, **options)


def count_steps_in_loss_means(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the number of steps in the mean of the policy, value and entropy loss, and in the
    normalisation of advantages.
    """

    def run_padded_update(**options: Any) -> Record:
        weights = {"value_coefficient": 0.0, "entropy_coefficient": 0.0}
        return train(make_padded_settings(inputs, constant=True, **{**weights, **options}))

    advantage = inputs["advantage"]
    spread = run_padded_update(advantage=0.0, entropy_coefficient=1.0)
    trained = (
        run_padded_update(advantage=advantage),
        run_padded_update(advantage=0.0, value_coefficient=1.0),
        spread,
        run_padded_update(ratio=inputs["ratio"]),
    )
    policy, value, entropy, scaled = (require_one_number(record.losses) for record in trained)
    rows = 2.0 * inputs["rollout"]
    entropies = rows * require_one_number(spread.entropies)
    means = [-advantage / policy, advantage**2 / value, -entropies / entropy]
    return np.array([*means, -rows * scaled])


def flag_bootstrapped_values(train: Train, inputs: Inputs) -> np.ndarray:
    """Return five flags: a truncation bootstraps from the next value with memory, without memory;
    the end of a rollout from the same two; a truncation from the value of its own step.
    """
    episode, steps = inputs["episode"], inputs["rollout"]
    reward, discount = 1.0, 0.9
    scripts: list[Mapping[str, Any]] = [
        {"terminated": _make_script_of_ends(inputs["beside"])},
        {"rewards": reward, "truncated": _make_script_of_ends(episode, period=2 * steps)},
    ]
    settings = Settings(scripts, steps, rollouts=2, discount=discount)
    first, second = train(settings).rollouts
    values = first.values[:, 1]
    added = (first.rewards[episode - 1, 1] - reward) / discount
    bootstrapped = (first.returns[-1, 1] - reward) / discount
    pairs = [
        (added, values[2 * episode]),
        (added, values[0]),
        (bootstrapped, second.values[0, 1]),
        (bootstrapped, values[0]),
        (added, values[episode - 1]),
    ]
    return np.array([abs(a - b) < _NEGLIGIBLE for a, b in pairs])


def flag_memory_of_critic(train: Train, inputs: Inputs) -> np.ndarray:
    """Return whether values differ between steps, and whether they change without policy memory."""
    steps = inputs["rollout"]
    # rollouts are whole episodes; the policy's memory is off in the third, and the second begins
    # like it, where the value after a rollout changes the memory of the next one, too
    scripts = [{"terminated": _make_script_of_ends(steps)}]
    _, second, third = train(Settings(scripts, steps, rollouts=3, forgets=2)).rollouts
    changes = [np.ptp(second.values), np.abs(third.values - second.values).max()]
    return np.array([change > _NEGLIGIBLE for change in changes])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measurement] = {
    "recurrent.rollout": flag_memory_resets_in_rollout,
    "recurrent.update": flag_changed_outputs_in_update,
    "recurrent.minibatches": measure_recurrent_minibatches,
    "recurrent.padding": count_steps_in_loss_means,
    "recurrent.bootstrap": flag_bootstrapped_values,
    "recurrent.critic": flag_memory_of_critic,
}
