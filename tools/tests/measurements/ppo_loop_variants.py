"""The variants of the loop of proximal policy optimisation, and an agent that can be each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np

from rlregress.formulas import schedules
from rlregress.measurements import ppo_loop


@dataclass
class Loop:
    """A loop that learns nothing; the options are the ways to do it."""

    configured_by: str = "size"
    replaces: bool = False
    drops_last: bool = False
    shuffles: str = "each_epoch"
    sums_over: str = "rollout"
    ratios_move: bool = True
    steps: str = "whole_rollouts_more"
    counts_all: bool = True
    stops: str = "never"
    by_default: float = np.inf
    fall: object = None
    falls_by_default: bool = False

    def _parts(self, s, order):
        sizes = s.minibatch_size
        if self.configured_by == "number":
            return np.array_split(order, s.minibatches)
        if self.configured_by == "nothing":
            return [order]
        whole = len(order) // sizes * sizes if self.drops_last else len(order)
        return [order[k : k + sizes] for k in range(0, whole, sizes)]

    def _epochs(self, s, rng):
        ordered = np.arange(s.steps)
        once = rng.permutation(s.steps) if self.shuffles == "once" else ordered
        for epoch in range(s.epochs):
            if self.replaces:
                yield rng.integers(s.steps - 1, size=s.steps).repeat(2)[: s.steps]
            elif self.shuffles == "each_epoch" or (self.shuffles == "after_the_first" and epoch):
                yield rng.permutation(s.steps)
            else:
                yield once

    def _advantages(self, s, part):
        rewards = np.resize(s.make_environment_script()["rewards"], s.steps)
        summed = np.cumsum(rewards[::-1])[::-1]
        if self.sums_over == "minibatch":
            pairs = rewards.reshape(-1, 2)
            summed = np.cumsum(pairs[:, ::-1], axis=1)[:, ::-1].ravel()
        return (rewards if self.sums_over == "step" else summed)[part].astype(float)

    def _counted(self, s):
        """Steps in each environment, and rollouts that are used."""
        total = s.total // s.environments if self.counts_all else s.total
        whole, rest = divmod(total, s.steps)
        if self.steps == "whole_rollouts_more":
            return (whole + bool(rest)) * s.steps, whole + bool(rest)
        return {
            "remainder_dropped": (whole * s.steps, whole),
            "exact": (total, whole + bool(rest)),
            "remainder_unused": (total, whole),
        }[self.steps]

    def __call__(self, s):
        rng = np.random.default_rng(1)
        done, rollouts = self._counted(s)
        played = [SimpleNamespace(received=[0] * done) for _ in range(s.environments)]
        training = ppo_loop.RecordedTraining(environments=played)
        exceeded = schedules.estimate_kl(np.array([s.ratio]), "k3") > self.by_default
        for _ in range(rollouts):
            parts = [part for order in self._epochs(s, rng) for part in self._parts(s, order)]
            for step, part in enumerate(parts):
                training.evaluated.append(part)
                training.advantages.append(self._advantages(s, part))
                training.log_ratios.append([0.1 * step * self.ratios_move])
            training.rates += [0.0] * len(parts)
            steps, seen = schedules.count_updates_until_early_stop(
                exceeded, s.epochs, s.minibatches, self.stops
            )
            if exceeded:
                del training.rates[steps:], training.evaluated[seen:]
        self._schedule(s, training, rollouts)
        return training

    def _schedule(self, s, training, rollouts):
        def factors(name):
            if self.fall and (self.falls_by_default if s.falling is None else s.must_fall(name)):
                return self.fall(rollouts, len(training.rates) // rollouts)
            return np.ones(len(training.rates))

        training.rates = list(s.learning_rate * factors("learning_rate"))
        if s.advantage is not None and s.clip_range is not None:
            clipped = np.minimum(s.ratio, 1.0 + s.clip_range * factors("clip_range"))
            training.losses = list(-s.advantage * clipped)
        if s.entropy_coefficient is not None:
            coefficients = s.entropy_coefficient * factors("entropy_coefficient")
            training.log_std_gradients = list(-coefficients)


FALLING = {
    name: {"fall": fall}
    for name, fall in {
        "by_rollout": schedules.make_linear_schedule_by_rollout,
        "by_rollout_after_collection": partial(
            schedules.make_linear_schedule_by_rollout, done_before=1.0
        ),
        "by_update": schedules.make_linear_schedule_by_update,
    }.items()
}
FALLING_BY_DEFAULT = {
    "constant": {},
    **{name: {**options, "falls_by_default": True} for name, options in FALLING.items()},
}
#: none, as other details of the family have probes of each framework
FAMILIES = []
make_agent = Loop
PROBED = set()
MEASUREMENTS = ppo_loop.MEASUREMENTS
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    "ppo.minibatches": {
        "permutation_last_dropped": {"drops_last": True},
        "equal_parts": {"configured_by": "number"},
        "with_replacement": {"replaces": True},
        "whole_rollout": {"configured_by": "nothing"},
    },
    "ppo.minibatches.parameter": {"size": {}, "number": {"configured_by": "number"}},
    "ppo.epochs.shuffle": {
        name: {"shuffles": name} for name in ("each_epoch", "once", "never", "after_the_first")
    },
    "ppo.early_stop.default": {
        **{name: {"stops": name, "by_default": 0.01} for name in ("before_step", "after_epoch")},
    },
    "ppo.advantage.granularity": {
        "both_rollout": {"ratios_move": False},
        "both_minibatch": {"sums_over": "minibatch"},
        "one_step": {"sums_over": "step"},
    },
    "ppo.iterations": {
        name: {"steps": name}
        for name in ("whole_rollouts_more", "remainder_dropped", "exact", "remainder_unused")
    },
    "ppo.vectorisation": {"all_environments": {}, "per_environment": {"counts_all": False}},
    "ppo.learning_rate.schedule": FALLING_BY_DEFAULT,
    "ppo.clip_range.schedule": FALLING_BY_DEFAULT,
    "ppo.entropy.schedule": {"absent": {}, **FALLING},
}
