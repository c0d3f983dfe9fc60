"""The variants of proximal policy optimisation, and an agent that can be each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

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
    clip: str = "elementwise_max"
    clips_by_default: bool = False
    value_range: str = "value_clip"

    def _value_loss(self, s, value):
        returns, old = (np.broadcast_to(x, s.count) for x in (s.returns, s.old_values))
        bound = getattr(s, self.value_range)
        if s.value_clip is None:
            bound = 0.2 if self.clips_by_default else 0.0
        clip = self.clip if bound else "off"
        loss = formulas.compute_value_loss(np.full(s.count, value), old, returns, bound, clip)
        return self.factor * loss * (s.count if self.batch_sum else 1.0)

    def _loss(self, s):
        ratios, advantages = (np.broadcast_to(x, s.count) for x in (s.ratios, s.advantages))
        policy = self.policy_sign * self.policy(ratios, advantages, s.clip_range or 0.2)
        c1 = 0.5 if s.value_coefficient is None else s.value_coefficient
        c2 = s.entropy_coefficient or 0.0
        return float(
            np.dot(self.signs, [policy, c1 * self._value_loss(s, s.value), c2 * s.log_deviation])
        )

    def __call__(self, s):
        step = 1e-6
        ends = [self._loss(replace(s, log_deviation=s.log_deviation + d)) for d in (step, -step)]
        slope = (ends[0] - ends[1]) / (2.0 * step)
        return ppo.Effects(self._loss(s), np.nan, np.nan, slope)


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
        "no_clip": {"policy": formulas.compute_loss_without_clip},
        "optimistic": {"policy": formulas.compute_optimistic_loss},
        "ascent": {"policy_sign": -1.0},
    },
    "ppo.value_loss.scale": {
        "half": {"factor": 0.5},
        "batch_sum": {"batch_sum": True},
    },
    "ppo.value_clip.default": {
        name: {**options, "clips_by_default": True} for name, options in CLIPS.items()
    },
    "ppo.value_clip.range": {
        "policy": {"value_range": "clip_range"},
        "none": {"clip": "off"},
    },
    "ppo.entropy.bonus": {
        "penalty": {"signs": (1.0, 1.0, 1.0)},
        "none": {"signs": (1.0, 1.0, 0.0)},
    },
    "ppo.loss.sign": {
        "minus_policy_loss": {"policy_sign": -1.0},
        "entropy_added": {"signs": (1.0, 1.0, 1.0)},
        "value_subtracted": {"signs": (1.0, -1.0, -1.0)},
        "no_entropy": {"signs": (1.0, 1.0, 0.0)},
    },
}
