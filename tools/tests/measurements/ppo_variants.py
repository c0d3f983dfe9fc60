"""The variants of proximal policy optimisation, and an agent that can be each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rlregress.formulas import critics
from rlregress.formulas import ppo as formulas
from rlregress.measurements import ppo


@dataclass
class Agent:
    """V(s) is one parameter and the log deviation another; the defaults are Schulman et al. 2017.

    The options are the ways to do it; signs are those of policy, value and entropy in the loss.
    """

    policy: object = formulas.compute_pessimistic_loss
    policy_sign: float = 1.0
    signs: tuple = (1.0, 1.0, -1.0)
    factor: float = 1.0
    batch_sum: bool = False
    distance: str = "squared"
    clip: str = "elementwise_max"
    clips_by_default: bool = False
    value_range: str = "value_clip"
    coefficient: float = 0.5
    entropy: float = 0.0
    norms: tuple = (0.5,)

    def _value_loss(self, s, value):
        returns, old = (np.broadcast_to(x, s.count) for x in (s.returns, s.old_values))
        bound = getattr(s, self.value_range)
        if s.value_clip is None:
            bound = 0.2 if self.clips_by_default else 0.0
        if self.distance != "squared":
            loss = np.mean(critics.DISTANCES[self.distance](value - returns))
        else:
            clips = (
                {"smaller": ("off", "forced")}.get(self.clip, (self.clip,)) if bound else ("off",)
            )
            values = np.full(s.count, value)
            loss = min(
                formulas.compute_value_loss(values, old, returns, bound, clip) for clip in clips
            )
        return self.factor * loss * (s.count if self.batch_sum else 1.0)

    def _loss(self, s):
        ratios, advantages = (np.broadcast_to(x, s.count) for x in (s.ratios, s.advantages))
        policy = self.policy_sign * self.policy(ratios, advantages, s.clip_range or 0.2)
        c1 = self.coefficient if s.value_coefficient is None else s.value_coefficient
        c2 = self.entropy if s.entropy_coefficient is None else s.entropy_coefficient
        return float(
            np.dot(self.signs, [policy, c1 * self._value_loss(s, s.value), c2 * s.log_deviation])
        )

    def _slope(self, s, name, step=1e-6):
        ends = [self._loss(replace(s, **{name: getattr(s, name) + d})) for d in (step, -step)]
        return (ends[0] - ends[1]) / (2.0 * step)

    def __call__(self, s):
        norm = float(np.sqrt(len(self.norms))) * self.norms[0]
        return ppo.Effects(
            self._loss(s), norm, self._slope(s, "value"), self._slope(s, "log_deviation")
        )


CLIPS = {name: {"clip": name} for name in ("off", "forced", "elementwise_max", "max_of_sums")}
CLIPS["thesis_box3"] = {"clip": "thesis_box3"}
#: none, as other details of the family have probes of each framework
FAMILIES = []
make_agent = Agent
PROBED = set()
MEASUREMENTS = ppo.MEASUREMENTS
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    "ppo.policy_loss.clip": {
        "pessimistic": {},
        "no_clip": {"policy": formulas.compute_loss_without_clip},
        "optimistic": {"policy": formulas.compute_optimistic_loss},
        "ascent": {"policy_sign": -1.0},
    },
    "ppo.value_loss.scale": {
        "none": {},
        "half": {"factor": 0.5},
        "batch_sum": {"batch_sum": True},
    },
    "ppo.value_loss.coefficient": {
        "half": {},
        "one": {"coefficient": 1.0},
    },
    "ppo.value_loss.distance": {name: {"distance": name} for name in ("squared", "smooth_l1")},
    "ppo.value_clip": CLIPS,
    "ppo.value_clip.default": {
        name: {**options, "clips_by_default": True} for name, options in CLIPS.items()
    },
    "ppo.value_clip.range": {
        "own": {},
        "policy": {"value_range": "clip_range"},
        "none": {"clip": "off"},
    },
    "ppo.value_clip.gradient": {
        "none_outside": {"clip": "forced"},
        "if_it_overshot": {},
        "always": {"clip": "off"},
        "if_it_falls_short": {"clip": "smaller"},
    },
    "ppo.entropy.bonus": {
        "bonus": {},
        "penalty": {"signs": (1.0, 1.0, 1.0)},
        "none": {"signs": (1.0, 1.0, 0.0)},
    },
    "ppo.entropy.coefficient": {"zero": {}, "0.01": {"entropy": 0.01}},
    "ppo.gradient_clip": {
        "joint_0.5": {},
        "separate_0.5": {"norms": (0.5, 0.5)},
        "none": {"norms": (np.inf,)},
    },
    "ppo.loss.sign": {
        "policy_value_entropy": {},
        "minus_policy_loss": {"policy_sign": -1.0},
        "entropy_added": {"signs": (1.0, 1.0, 1.0)},
        "value_subtracted": {"signs": (1.0, -1.0, -1.0)},
        "no_entropy": {"signs": (1.0, 1.0, 0.0)},
    },
}
