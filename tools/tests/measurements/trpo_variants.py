"""The variants of trust region policy optimisation, and an agent that can be each."""

from __future__ import annotations

from rlregress.measurements import trpo

from .reference import GaussianAgent

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
