"""The details of PPO's loop, each measured by small trainings of any framework.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlregress.measurements.named_settings import Inputs, NamedSettings

#: ratios of new to old probability, and advantages, that differ by less are the same
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class Settings(NamedSettings):
    """A training in environments whose observation is the number of steps since their reset.

    Attributes:
        steps: of a rollout, in each environment.
        minibatch_size: where a framework is configured with it.
        minibatches: their number, where it is configured with that.
        total: steps that are requested, as the framework counts them.
        environments: how many are stepped side by side.
        epochs: of each rollout.
        rewards: of the steps [steps]; None: the advantage, or any that differ.
        learning_rate: 0 where nothing has to move.
        monte_carlo: the last of ``steps`` terminates, V(s) is 0 until the update, and discount and
            lambda are 1.
        ratio: of new to old probability, of every sample.
        ratios: the ratios of the samples of the first rollout, [steps], in place of ``ratio``; 1 in
            later rollouts.
        target: divergence at which an update stops early; None: as by default.
        advantage: of every sample, not normalised; value loss and, unless it has a coefficient,
            entropy have no weight in the loss, and gradients are not clipped.
        clip_range, entropy_coefficient: None: as by default.
        falling: the settings that are annealed linearly to 0, as far as the framework offers it;
            None: as by default.
    """

    steps: int
    minibatch_size: int
    minibatches: int
    total: int
    environments: int = 1
    epochs: int = 1
    rewards: Sequence[float] | None = None
    learning_rate: float = 0.0
    monte_carlo: bool = False
    ratio: float = 1.0
    ratios: Sequence[np.ndarray] = ()
    target: float | None = None
    advantage: float | None = None
    clip_range: float | None = None
    entropy_coefficient: float | None = None
    falling: Collection[str] | None = None

    def is_annealed(self, name: str) -> bool:
        return name in (self.falling or ())

    def select_ratios_of_rollout(self, rollout: int) -> Any:
        """Return the ratio of all samples of a rollout, or one ratio for each."""
        if not self.ratios:
            return self.ratio
        return self.ratios[rollout] if rollout < len(self.ratios) else 1.0

    def make_environment_script(self) -> dict[str, Any]:
        """Return the scripts of rewards and terminations, which repeat."""
        ends = [0.0] * (self.steps - 1) + [float(self.monte_carlo)]
        by_default = (1.0, -1.0) if self.advantage is None else (self.advantage,)
        rewards = by_default if self.rewards is None else self.rewards
        return {"rewards": rewards, "terminated": ends}


@dataclass
class RecordedTraining:
    """The record of a training; adapters add fields of their own.

    Attributes:
        environments: that were stepped; each has the actions that it ``received``.
        stored: observations of each rollout, [steps].
        evaluated: observations of each minibatch that the policy was evaluated for, or its values
            where these are learnt apart from it, [b] each.
        advantages: of minibatches, before they are normalised by themselves, [b] each.
        log_ratios: log of new over old probability, of each minibatch, [b] each; or a divergence,
            where a framework reports that alone.
        value_changes: new minus stored value, of each minibatch, [b] each.
        rates: learning rate at each step of the optimiser.
        losses: the total loss that each step of the optimiser follows.
        gradient_norms: of all gradients together, at each of these steps.
        log_std_gradients: derivative of the total loss with respect to the log standard deviation.
        value_gradients: the same with respect to V(s).
        entropies: mean entropy of the policy at each of these steps, where it is known.
        rollouts: of each the arrays that are stored when its update begins, as attributes,
            [steps, environments, ..]: "actions", "advantages", "returns", "values", "rewards",
            "means" of the actions, and whatever else is stored, by the framework's own names: next
            observations above all, which tell where a rollout ends.
        reported: the losses that each update reports, of all kinds.
    """

    environments: Sequence[Any] = ()
    stored: list[np.ndarray] = field(default_factory=list)
    evaluated: list[np.ndarray] = field(default_factory=list)
    advantages: list[np.ndarray] = field(default_factory=list)
    log_ratios: list[Any] = field(default_factory=list)
    value_changes: list[np.ndarray] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)
    log_std_gradients: list[float] = field(default_factory=list)
    value_gradients: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    rollouts: list[Any] = field(default_factory=list)
    reported: Sequence[np.ndarray] = ()

    def order_advantages_by_sample(self, steps: int) -> np.ndarray:
        """Return advantages in the order of collection, [epochs, steps]."""
        order = np.argsort(np.concatenate(self.evaluated).reshape(-1, steps), axis=1)
        advantages = np.concatenate(self.advantages).reshape(-1, steps)
        return np.take_along_axis(advantages, order, axis=1)

    def flag_policy_changes(self) -> list[bool]:
        """Return for each minibatch whether the policy differs from that of the rollout."""
        return [bool(np.abs(ratios).max() > _NEGLIGIBLE) for ratios in self.log_ratios]

    def flag_policy_changes_at_start(self, rollouts: int) -> np.ndarray:
        """Return whether the first minibatch of each rollout has a changed policy, [rollouts]."""
        return np.array(
            self.flag_policy_changes()[:: len(self.log_ratios) // rollouts], dtype=np.float64
        )


#: makes an agent of PPO and runs the framework's own loop
Train = Callable[[Settings], RecordedTraining]


def _make_settings(
    inputs: Inputs, steps: int, total: int | None = None, **options: Any
) -> Settings:
    minibatches = int(inputs.get("minibatches", 2))
    size = int(inputs.get("minibatch_size", steps // minibatches))
    return Settings(steps, size, minibatches, steps if total is None else total, **options)


def measure_minibatch_sizes(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the sizes of the first four minibatches of an epoch, then the most (at most 2) and
    the fewest uses of a sample.
    """
    steps = inputs["rollout_steps"]
    evaluated = train(_make_settings(inputs, steps)).evaluated
    sizes = [len(minibatch) for minibatch in evaluated]
    used = np.bincount(np.concatenate(evaluated).astype(int), minlength=steps)
    return np.array([*(sizes + [0] * 4)[:4], min(used.max(), 2), used.min()])


def measure_updates_with_incomplete_minibatch(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the numbers of optimizer steps and of samples in minibatches, of three rollouts."""
    steps = inputs["rollout_steps"]
    training = train(_make_settings(inputs, steps, 3 * steps, epochs=inputs["epochs"]))
    return np.array([len(training.rates), sum(map(len, training.evaluated))])


def measure_growth_of_minibatches_with_rollout(train: Train, inputs: Inputs) -> np.ndarray:
    """Return size and number of minibatches in a longer rollout, over those in a shorter one."""
    short, long = (train(_make_settings(inputs, int(n))).evaluated for n in inputs["rollout_steps"])
    return np.array([len(long[0]) / len(short[0]), len(long) / len(short)])


def flag_sorted_and_repeated_epochs(train: Train, inputs: Inputs) -> np.ndarray:
    """Return whether epoch 1 keeps the order of collection, and whether epoch 2 repeats epoch 1."""
    steps = inputs["rollout_steps"]
    evaluated = train(_make_settings(inputs, steps, epochs=inputs["epochs"])).evaluated
    first, second = np.concatenate(evaluated).reshape(2, steps)
    return np.array([np.array_equal(first, np.sort(first)), np.array_equal(second, first)])


def _train_at_ratio(train: Train, inputs: Inputs, ratio: float, **options: Any) -> RecordedTraining:
    return train(_make_settings(inputs, 4, epochs=inputs["epochs"], ratio=float(ratio), **options))


def measure_updates_at_large_divergence(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the number of optimiser steps in an update at a large divergence."""
    return np.array([len(_train_at_ratio(train, inputs, inputs["ratio"]).rates)])


def measure_updates_until_early_stop(train: Train, inputs: Inputs) -> np.ndarray:
    """Return for each ratio the optimiser steps and the evaluated minibatches of an update."""
    trainings = [
        _train_at_ratio(train, inputs, ratio, target=inputs["target"]) for ratio in inputs["ratios"]
    ]
    return np.ravel([[len(own.rates), len(own.evaluated)] for own in trainings])


def flag_recomputed_advantages(train: Train, inputs: Inputs) -> np.ndarray:
    """Return whether the advantages of later epochs differ from those of the first."""
    rewards = np.array(inputs["rewards"])
    settings = _make_settings(inputs, len(rewards), epochs=3, rewards=rewards, learning_rate=0.1)
    first, *later = train(settings).order_advantages_by_sample(len(rewards))
    return np.array([np.abs(own - first).max() > _NEGLIGIBLE for own in later])


def measure_advantages_and_policy_changes(train: Train, inputs: Inputs) -> np.ndarray:
    """Return scaled advantages (first 1, last 0), and per minibatch whether the policy changed."""
    rewards = np.array(inputs["rewards"])
    training = train(
        _make_settings(inputs, len(rewards), rewards=rewards, learning_rate=0.1, monte_carlo=True)
    )
    (a,) = training.order_advantages_by_sample(len(rewards))
    return np.array([*(a - a[-1]) / (a[0] - a[-1]), *training.flag_policy_changes()])


def measure_steps_and_updates(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the environment steps and the optimiser steps of a training of ``total_steps``."""
    steps = inputs["rollout_steps"]
    training = train(Settings(steps, steps, 1, inputs["total_steps"]))
    done = sum(len(environment.received) for environment in training.environments)
    return np.array([done, len(training.rates)])


def measure_steps_of_environments(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the steps of all environments together, and those of the first one."""
    steps, count = inputs["rollout_steps"], inputs["environments"]
    settings = Settings(steps, steps * count, 1, inputs["total_steps"], environments=count)
    done = [len(environment.received) for environment in train(settings).environments]
    return np.array([sum(done), done[0]])


def _train_with_schedule(train: Train, inputs: Inputs, **options: Any) -> RecordedTraining:
    steps = inputs["rollout_steps"]
    return train(_make_settings(inputs, steps, steps * inputs["rollouts"], **options))


def measure_learning_rates(
    train: Train, inputs: Inputs, falling: Collection[str] | None = None
) -> np.ndarray:
    """Return the learning rate at each optimiser step, divided by the configured one."""
    start = inputs["learning_rate"]
    return (
        np.array(_train_with_schedule(train, inputs, learning_rate=start, falling=falling).rates)
        / start
    )


def measure_falling_learning_rates(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the learning rates of a linear decay, divided by the configured one."""
    return measure_learning_rates(train, inputs, ("learning_rate",))


def measure_lowest_learning_rate(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the lowest rate of a linear decay over the configured one.

    Rollouts do not divide the steps.
    """
    start, steps = inputs["learning_rate"], inputs["rollout_steps"]
    settings = Settings(
        steps, steps, 1, inputs["total_steps"], learning_rate=start, falling=("learning_rate",)
    )
    return np.array([min(train(settings).rates) / start])


def measure_adaptive_learning_rate(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the learning rates after updates of known divergences, over the configured one."""
    start, ratios = (
        inputs["learning_rate"],
        list(map(make_diverging_ratios, inputs["divergences"])),
    )
    # one more update shows the effect of the last divergence
    total = 2 * (len(ratios) + 1)
    training = train(Settings(2, 2, 1, total, learning_rate=start, ratios=ratios, falling=()))
    return np.array(training.rates[1:]) / start


def make_diverging_ratios(divergence: float) -> np.ndarray:
    """Return probability ratios 1 - d and 1 + d whose mean negative logarithm is ``divergence``."""
    distance = np.sqrt(1.0 - np.exp(-2.0 * divergence))
    return np.array([1.0 - distance, 1.0 + distance])


def measure_clip_ranges(
    train: Train, inputs: Inputs, falling: Collection[str] | None = None
) -> np.ndarray:
    """Return the clip range at each optimiser step, over the configured one, from the losses."""
    start = inputs["clip_range"]
    training = _train_with_schedule(
        train, inputs, ratio=2.0, advantage=1.0, clip_range=start, falling=falling
    )
    return (-np.array(training.losses) - 1.0) / start


def measure_falling_clip_ranges(train: Train, inputs: Inputs) -> np.ndarray:
    """Return clip ranges with linear decay of the clip range, then also of the learning rate."""
    both = ("clip_range",), ("clip_range", "learning_rate")
    return np.concatenate([measure_clip_ranges(train, inputs, falling) for falling in both])


def measure_entropy_coefficients(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the entropy coefficients of a training with linear decay, divided by the first one."""
    start, falling = inputs["coefficient"], ("entropy_coefficient",)
    training = _train_with_schedule(
        train, inputs, advantage=0.0, entropy_coefficient=start, falling=falling
    )
    return -np.array(training.log_std_gradients) / start


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[Train, Inputs], np.ndarray]] = {
    "ppo.minibatches.remainder": measure_updates_with_incomplete_minibatch,
    "ppo.epochs.shuffle": flag_sorted_and_repeated_epochs,
    "ppo.advantages.recomputed": flag_recomputed_advantages,
    "ppo.advantage.granularity": measure_advantages_and_policy_changes,
    "ppo.iterations": measure_steps_and_updates,
    "ppo.minibatches": measure_minibatch_sizes,
    "ppo.minibatches.parameter": measure_growth_of_minibatches_with_rollout,
    "ppo.early_stop.default": measure_updates_at_large_divergence,
    "ppo.early_stop": measure_updates_until_early_stop,
    "ppo.vectorisation": measure_steps_of_environments,
    "ppo.learning_rate.schedule": measure_learning_rates,
    "ppo.learning_rate.schedule.asked": measure_falling_learning_rates,
    "ppo.learning_rate.negative": measure_lowest_learning_rate,
    "ppo.learning_rate.adaptive": measure_adaptive_learning_rate,
    "ppo.clip_range.schedule": measure_clip_ranges,
    "ppo.clip_range.schedule.asked": measure_falling_clip_ranges,
    "ppo.entropy.schedule": measure_entropy_coefficients,
}
