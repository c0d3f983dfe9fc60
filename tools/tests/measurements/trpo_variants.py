"""The variants of trust region policy optimisation, and an agent that can be each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlregress.formulas import trpo as formulas
from rlregress.measurements import trpo


@dataclass
class GaussianAgent:
    """A Gaussian that is updated by its trust region; the defaults are Schulman et al. 2015.

    The options are the ways to do it. Of a mean m and a log deviation d, from 0 both.
    """

    bound: float = 0.01
    damping: float = 0.1
    natural: bool = True
    factor: float = 0.8
    divergence: str = "new_old"
    improvement: str = "any"

    def _divergence(self, m, d):
        return {
            "new_old": 0.5 * (np.exp(2.0 * d) + m**2 - 1.0) - d,
            "old_new": 0.5 * ((1.0 + m**2) * np.exp(-2.0 * d) - 1.0) + d,
            "ignored": 0.0,
        }[self.divergence]

    def __call__(self, actions, advantages, bound=None, damping=None):
        x, advantages = np.array(actions), np.array(advantages)
        bound = self.bound if bound is None else bound
        damping = self.damping if damping is None else damping
        gradient = np.mean(advantages * [x, x**2 - 1.0], axis=1)
        fisher = formulas.compute_gaussian_fisher_information() + damping * np.eye(2)
        direction = np.linalg.solve(fisher, gradient) if self.natural else gradient
        longest = direction * np.sqrt(2.0 * bound / (direction @ fisher @ direction))
        share, promises = 1.0, {"half_proportional": 1.0, "half_compounded": 1.0, "any": 1e-9}
        for _ in range(30):
            m, d = share * longest
            ratios = np.exp(0.5 * (x**2 - ((x - m) / np.exp(d)) ** 2) - d)
            gain = np.mean(advantages * (ratios - 1.0)) / (gradient @ longest)
            enough = gain > 0.5 * promises.get(self.improvement, -np.inf)
            if enough and self._divergence(m, d) <= bound * (1.0 + 1e-9):
                return m, d
            share *= self.factor
            promises["half_proportional"] = share
            promises["half_compounded"] *= share
        return 0.0, 0.0


HALF = {"factor": 0.5, "divergence": "old_new", "improvement": "half_compounded"}
NONE = {"divergence": "ignored", "improvement": "none"}
#: whose details are all measured, but for those in ``PROBED``
FAMILIES = ["trpo"]
make_agent = GaussianAgent
MEASUREMENTS = trpo.MEASUREMENTS
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    "trpo.kl.bound": {name: {"bound": float(name)} for name in ("0.01", "0.001")},
    "trpo.damping": {"0.1": {}, "none": {"damping": 0.0}},
    "trpo.line_search": {
        "shrinks_0.8": {},
        "shrinks_0.5": {"factor": 0.5},
        "shrinks_0.5_half_expected": HALF,
        "bound_alone": {"improvement": "none"},
        "improvement_alone": {"divergence": "ignored"},
        "none": NONE,
    },
    "trpo.line_search.expected": {
        "any": {},
        "half_compounded": HALF,
        "half_proportional": {**HALF, "improvement": "half_proportional"},
        "none": NONE,
    },
    "trpo.direction": {"natural": {}, "gradient": {"natural": False}},
}
#: by a probe of each framework
PROBED = {"trpo.critic_updates"}
