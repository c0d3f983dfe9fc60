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
            "double_reversed",
            "max_online",
            "mean_target",
            "min_target",
        )
    },
    "dqn.target.ties": {"one_of_them": {}, "sum_of_them": {"ties": "sum"}},
    "dqn.target.terminal": {
        "truncation_bootstrapped": {},
        "truncation_is_terminal": {"mask": "done"},
        "bootstrap_everything": {"mask": "nothing"},
        "never": {"mask": "everything"},
        "flags_exchanged": {"mask": "truncated"},
    },
    "dqn.loss.kind": {
        "huber": {"distance": "smooth_l1"},
        "squared": {},
        "half_squared": {"factor": 0.5},
        "absolute": {"distance": "absolute"},
        "huber_batch_sum": {"distance": "smooth_l1", "sum_batch": True},
        "squared_batch_sum": {"sum_batch": True},
    },
    "dqn.gradient.clip": {
        "none": {},
        "ten": {"clip": 10.0},
        "one": {"clip": 1.0},
        "half": {"clip": 0.5},
        "forty": {"clip": 40.0},
    },
    "dqn.target_update.interval": {
        name: {"interval_counts": name}
        for name in (
            "environment_steps",
            "updates",
            "updates_and_one",
            "every_update",
            "every_step",
            "never",
        )
    },
    "dqn.target_update.environments": {
        "transitions": {},
        "vector_steps": {"interval_counts": "vector_steps"},
        "updates": {"interval_counts": "updates"},
        "updates_of_vector_steps": {"interval_counts": "updates", "every_counts": "vector_steps"},
        "updates_and_one": {"interval_counts": "updates_and_one"},
        "every_vector_step": {"interval_counts": "every_step"},
        "one_environment": {"one_environment": True},
        "never": {"interval_counts": "never"},
    },
    "dqn.target_update.share": {
        "copy": {},
        "0.005": {"share": 0.005},
        "0.01": {"share": 0.01},
        "0.001": {"share": 0.001},
        "flipped": {"share": 0.995},
        "not_updated": {"interval_counts": "never"},
    },
    "target.hard_update_period": {
        "interval": {},
        "interval_plus_one": {"interval_counts": "steps_and_one"},
        "interval_minus_one": {"interval_counts": "steps_less_one"},
        "always": {"interval_counts": "every_step"},
    },
    "dqn.epsilon.schedule": {
        "linear": {},
        "linear_one_ahead": {"late": -1},
        "linear_one_late": {"late": 1},
        "linear_first_greedy": {"epsilon_is": "first_greedy"},
        "exponential": {"epsilon_is": "exponential"},
        "stays_first": {"epsilon_is": "stays_first"},
        "stays_last": {"epsilon_is": "stays_last"},
        "never_random": {"epsilon_is": "never"},
    },
    "dqn.epsilon.deterministic": {
        "greedy": {},
        "explores": {"deterministic": "explores"},
        "no_evaluation": {"deterministic": "none"},
        "never_random": {"epsilon_is": "never"},
    },
    "dqn.learning_starts": {
        "at_start": {},
        "one_step_later": {"first_update_later": 1},
        "only_epsilon": {"random_until": "never"},
        "only_epsilon_one_step_later": {"random_until": "never", "first_update_later": 1},
        "only_epsilon_two_steps_later": {"random_until": "never", "first_update_later": 2},
        "updates_from_first_step": {"first_update_later": -1},
    },
    "dqn.train_frequency": {
        "vector_steps": {"every_counts": "vector_steps"},
        "transitions": {},
        "one_environment": {"one_environment": True},
        "every_step": {"every_counts": "step"},
    },
}
