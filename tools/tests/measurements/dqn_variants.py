"""The variants of deep Q-networks, and an agent that can be each."""

from __future__ import annotations

from functools import partial

from rlregress.measurements import dqn

from .reference import DiscreteAgent

#: whose details are all measured, but for those in ``PROBED``
FAMILIES = ["dqn"]
make_agent = partial(partial, DiscreteAgent)
#: by a probe of each framework
PROBED = {"dqn.exploration.draw"}
MEASUREMENTS = dqn.MEASUREMENTS
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    "dqn.target.double": {
        name: {"next_value": name}
        for name in (
            "max_target",
            "double",
            "max_online",
        )
    },
    "dqn.target.terminal": {
        "truncation_is_terminal": {"mask": "done"},
        "never": {"mask": "everything"},
    },
    "dqn.target_update.share": {
        "0.005": {"share": 0.005},
        "flipped": {"share": 0.995},
        "not_updated": {"share": 0.0},
    },
    "dqn.epsilon.deterministic": {
        "explores": {"deterministic": "explores"},
        "no_evaluation": {"deterministic": "none"},
    },
}
