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
MEASUREMENTS = {
    **dqn.MEASUREMENTS,
    # asked by a probe of each framework, as one of the traps
    "target.hard_update_period": dqn.measure_hard_update_period,
}
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
    "dqn.target.ties": {"one_of_them": {}, "sum_of_them": {"ties": "sum"}},
    "dqn.target.terminal": {
        "truncation_bootstrapped": {},
        "truncation_is_terminal": {"mask": "done"},
        "never": {"mask": "everything"},
    },
    "dqn.loss.kind": {
        "huber": {"distance": "smooth_l1"},
        "squared": {},
        "half_squared": {"factor": 0.5},
        "squared_batch_sum": {"sum_batch": True},
    },
    "dqn.gradient.clip": {
        "none": {},
        "ten": {"clip": 10.0},
    },
    "dqn.target_update.interval": {
        name: {"interval_counts": name}
        for name in (
            "environment_steps",
            "updates",
            "every_update",
            "never",
        )
    },
    "dqn.target_update.environments": {
        "transitions": {},
        "vector_steps": {"interval_counts": "vector_steps"},
        "updates": {"interval_counts": "updates"},
        "one_environment": {"one_environment": True},
    },
    "dqn.target_update.share": {
        "copy": {},
        "0.005": {"share": 0.005},
        "flipped": {"share": 0.995},
        "not_updated": {"interval_counts": "never"},
    },
    "target.hard_update_period": {
        "interval": {},
        "interval_plus_one": {"interval_counts": "steps_and_one"},
        "always": {"interval_counts": "every_step"},
    },
    "dqn.epsilon.schedule": {
        "linear": {},
        "linear_one_ahead": {"late": -1},
        "linear_one_late": {"late": 1},
        "linear_first_greedy": {"epsilon_is": "first_greedy"},
        "exponential": {"epsilon_is": "exponential"},
    },
    "dqn.epsilon.deterministic": {
        "greedy": {},
        "explores": {"deterministic": "explores"},
        "no_evaluation": {"deterministic": "none"},
    },
    "dqn.learning_starts": {
        "at_start": {},
        "one_step_later": {"first_update_later": 1},
        "only_epsilon": {"random_until": "never"},
        "updates_from_first_step": {"first_update_later": -1},
    },
    "dqn.train_frequency": {
        "vector_steps": {"every_counts": "vector_steps"},
        "transitions": {},
        "one_environment": {"one_environment": True},
        "every_step": {"every_counts": "step"},
    },
}
