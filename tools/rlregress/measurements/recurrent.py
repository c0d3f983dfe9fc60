"""The details of policies with memory, each measured by small trainings of any framework.

Policy and value network have memory. What is recorded of a minibatch is in the order of its
sequences, without the steps that pad them. The text of a detail in the catalogue says what the
vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from rlregress.measurements.loss_minimum import require_one_number
from rlregress.measurements.named_settings import Inputs
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.measurements.ppo_trainings import Measurement, Settings, Train

#: ratios, means and values that differ by less are the same
_NEGLIGIBLE = 1e-4
#: an order that is drawn in each of so many epochs is that of the rollout once in 10^11
_EPOCHS = 9


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


def _list_rollouts(train: Train, settings: Settings) -> list[Rollout]:
    """Train with these settings, and return the rollouts."""
    return [
        Rollout(*(getattr(own, name).reshape(settings.steps, -1) for name in Rollout._fields))
        for own in train(settings).rollouts
    ]


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
    first, second = _list_rollouts(train, Settings(scripts, inputs["rollout"], rollouts=2))
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
    training = train(Settings(scripts, steps, rollouts=2))
    # observations are numbered in the order of collection, one environment after the other
    order = np.argsort(training.evaluated[-1])
    last = np.array([training.log_ratios[-1], training.value_changes[-1]])[:, order]
    changes = last.reshape(2, -1, steps).swapaxes(1, 2)
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
    rows = train(settings).evaluated
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
    advantage, is_first = inputs["advantage"], np.zeros((inputs["rollout"], 2))
    is_first[0, 0] = 1.0

    def run_padded_update(**options: Any) -> RecordedTraining:
        weights = {"value_coefficient": 0.0, "entropy_coefficient": 0.0}
        fixed = {"value": 0.0, "forgets": 0}
        return train(make_padded_settings(inputs, **{**weights, **fixed, **options}))

    def run_update_with_advantage(number: float, **options: Any) -> RecordedTraining:
        stored = {"advantages": number * is_first}
        return run_padded_update(stored=stored, normalize_advantage=False, **options)

    spread = run_update_with_advantage(0.0, entropy_coefficient=1.0)
    trained = (
        run_update_with_advantage(advantage),
        run_update_with_advantage(0.0, value_coefficient=1.0),
        spread,
        # what the framework makes of the rewards, with its own normalisation
        run_padded_update(ratios=[inputs["ratio"] ** is_first]),
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
    first, second = _list_rollouts(train, settings)
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
    _, second, third = _list_rollouts(train, Settings(scripts, steps, rollouts=3, forgets=2))
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


def make_probe_averaged_over_agents(
    measurement: Measurement, *trains: Train
) -> Callable[[Inputs], np.ndarray]:
    """Return a probe: the mean of a measurement over agents. If they differ, no variant fits."""
    return lambda inputs: np.mean([measurement(train, inputs) for train in trains], axis=0)


def make_probes(
    *trains: Train, of_first: Collection[str]
) -> dict[str, Callable[[Inputs], np.ndarray]]:
    """Return detail -> probe, averaged over agents; those ``of_first`` have the first one alone."""
    return {
        id: make_probe_averaged_over_agents(measure, *(trains[:1] if id in of_first else trains))
        for id, measure in MEASUREMENTS.items()
    }
