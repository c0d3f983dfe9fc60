"""Deep Q-networks: Mnih et al. 2015 and van Hasselt et al. 2016.

The observed text of an entry is the docstring of its measurement, shared by all frameworks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue import critics
from rlregress.catalogue.measured import make_measured_detail
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula
from rlregress.formulas import critics as distances
from rlregress.formulas import dqn
from rlregress.measurements import dqn as measured

_MNIH = "Mnih et al. 2015, algorithm 1"
_SETTINGS = "Mnih et al. 2015, extended data table 1"


def _make_double_q_detail() -> Detail:
    def make_target_formula(chooser: str, evaluator: str) -> Formula:
        return lambda i: (
            i["reward"]
            + i["discount"] * dqn.compute_next_value(i["online"], i["target"], chooser, evaluator)
        )

    def make_reduced_target_formula(reduce_target_values: Callable[..., Any]) -> Formula:
        return lambda i: i["reward"] + i["discount"] * reduce_target_values(i["target"])

    return make_measured_detail(
        "dqn.target.double",
        measured.measure_double_q_target,
        "Which network chooses the next action, and which one values it?",
        ("Mnih et al. 2015, equation 2", "van Hasselt et al. 2016, equations 3 and 4"),
        {"online": [-0.5, 0.5, 0.4], "target": [0.1, 0.25, 0.6], "reward": 0.1, "discount": 0.5},
        {
            "max_target": (
                "the target network does both: plain DQN",
                make_target_formula("target", "target"),
            ),
            "double": (
                "the Q network chooses, the target network values: double DQN",
                make_target_formula("online", "target"),
            ),
            "double_reversed": (
                "the target network chooses, the Q network values",
                make_target_formula("target", "online"),
            ),
            "max_online": (
                "the Q network does both: no target network",
                make_target_formula("online", "online"),
            ),
            "mean_target": (
                "the mean over the target network's values",
                make_reduced_target_formula(np.mean),
            ),
            "min_target": (
                "the smallest value of the target network",
                make_reduced_target_formula(np.min),
            ),
        },
        """The maximum of noisy values is too large; double Q-learning takes most of that away, so
        values, and where they are wrong the policy, differ.""",
    )


def _make_tied_actions_detail() -> Detail:
    def make_target_formula(count_added_values: Callable[[Inputs], float]) -> Formula:
        return lambda i: i["reward"] + i["discount"] * count_added_values(i) * np.max(i["target"])

    return make_measured_detail(
        "dqn.target.ties",
        measured.measure_target_of_tied_actions,
        "Where several actions are the best in the next state, what is it worth?",
        ("Mnih et al. 2015, equation 2",),
        {"target": [0.1, 0.3, 0.3], "reward": 0.05, "discount": 0.5},
        {
            "one_of_them": ("as much as one of them", make_target_formula(lambda i: 1.0)),
            "sum_of_them": (
                "as much as all of them together",
                make_target_formula(lambda i: float(np.sum(i["target"] == np.max(i["target"])))),
            ),
        },
        """Values that are equal to the bit, of a network whose last hidden layer is dead or whose
        last layer starts at zero, are then bootstrapped as their sum, which grows without end.""",
    )


def _make_loss_detail() -> Detail:
    def make_losses_formula(
        distance: str, compute_factor: Callable[[Inputs], float] = lambda i: 1.0
    ) -> Formula:
        return lambda i: compute_factor(i) * distances.DISTANCES[distance](i["errors"])

    return make_measured_detail(
        "dqn.loss.kind",
        measured.measure_loss_kind,
        "Which distance between prediction and target is minimised?",
        (
            "Mnih et al. 2015, equation 3 (squared), methods (error clipped to [-1, 1])",
            "documentation of each framework",
        ),
        {"errors": [0.5, 2.0, 4.0], "reward": 0.25, "batch_size": 4},
        {
            "huber": (
                "Huber's with threshold 1: e^2 / 2 within 1, |e| - 1/2",
                make_losses_formula("smooth_l1"),
            ),
            "squared": ("e^2", make_losses_formula("squared")),
            "half_squared": ("e^2 / 2", make_losses_formula("squared", lambda i: 0.5)),
            "absolute": ("|e|", make_losses_formula("absolute")),
            "huber_batch_sum": (
                "Huber's, summed over the batch",
                make_losses_formula("smooth_l1", lambda i: i["batch_size"]),
            ),
            "squared_batch_sum": (
                "e^2, summed over the batch",
                make_losses_formula("squared", lambda i: i["batch_size"]),
            ),
        },
        """Large errors pull with their size or all alike: with rewards that are not clipped the
        same learning rate is another one.""",
    )


def _make_vectorised_target_update_detail() -> Detail:
    def make_environments_and_interval_formula(
        count_transitions: Callable[[Inputs], float],
    ) -> Formula:
        return lambda i: [i["environments"], count_transitions(i)]

    return make_measured_detail(
        "dqn.target_update.environments",
        measured.measure_target_update_interval_of_several_environments,
        "With several environments, after how many transitions is the target network updated?",
        (_SETTINGS, "documentation of each framework"),
        {"environments": 3, "every": 6, "interval": 12, "steps": 450},
        {
            "transitions": (
                "as many as are asked for, over all environments",
                make_environments_and_interval_formula(lambda i: i["interval"]),
            ),
            "vector_steps": (
                "a step of all environments counts once",
                make_environments_and_interval_formula(lambda i: i["interval"] * i["environments"]),
            ),
            "updates": (
                "updates count, and each comes after as many transitions as are asked for",
                make_environments_and_interval_formula(lambda i: i["interval"] * i["every"]),
            ),
            "updates_and_one": (
                "as before, one update more than is asked for",
                make_environments_and_interval_formula(lambda i: (i["interval"] + 1) * i["every"]),
            ),
            "updates_of_vector_steps": (
                "updates count, and each comes after as many steps of all environments",
                make_environments_and_interval_formula(
                    lambda i: i["interval"] * i["every"] * i["environments"]
                ),
            ),
            "every_vector_step": (
                "it moves at every step of all environments",
                make_environments_and_interval_formula(lambda i: i["environments"]),
            ),
            "one_environment": (
                "there can be one environment only",
                lambda i: [1.0, i["interval"]],
            ),
            "never": ("it does not move", make_environments_and_interval_formula(lambda i: 0.0)),
        },
        """Whoever adds environments also changes how long the target stands still, unless the
        framework takes it into account.""",
    )


def _make_epsilon_schedule_detail() -> Detail:
    def make_linear_schedule_formula(delay: int = 0) -> Formula:
        def count_random_steps_by_draw(inputs: Inputs) -> np.ndarray:
            count = int(inputs["steps"])
            epsilon = dqn.compute_linear_epsilon(
                inputs["first"], inputs["last"], inputs["falls"], count, delay
            )
            return dqn.count_random_steps_per_draw(epsilon, inputs["draws"])

        return count_random_steps_by_draw

    def count_random_steps_after_greedy_step(inputs: Inputs) -> np.ndarray:
        count = int(inputs["steps"])
        epsilon = dqn.compute_linear_epsilon(
            inputs["first"], inputs["last"], inputs["falls"], count
        )
        return dqn.count_random_steps_per_draw(epsilon[1:], inputs["draws"])

    def make_constant_schedule_formula(epsilon_name: str) -> Formula:
        return lambda i: dqn.count_random_steps_per_draw(
            np.full(int(i["steps"]), i[epsilon_name]), i["draws"]
        )

    return make_measured_detail(
        "dqn.epsilon.schedule",
        measured.count_random_actions_per_draw,
        "How does epsilon fall from its first to its last value?",
        ("Mnih et al. 2015, methods, Training details",),
        {
            "first": 0.9,
            "last": 0.1,
            "falls": 8,
            "steps": 14,
            "draws": [0.95, 0.85, 0.52, 0.15, 0.05],
        },
        {
            "linear": (
                "linearly from the first step on, and stays at the last value",
                make_linear_schedule_formula(),
            ),
            "linear_one_ahead": (
                "linearly, one step ahead of the count",
                make_linear_schedule_formula(-1),
            ),
            "linear_one_late": (
                "linearly, one step behind the count",
                make_linear_schedule_formula(1),
            ),
            "linear_first_greedy": (
                "linearly, but the very first action is greedy",
                count_random_steps_after_greedy_step,
            ),
            "exponential": (
                "exponentially towards the last value, of which it is never",
                lambda i: dqn.count_random_steps_per_draw(
                    dqn.compute_exponential_epsilon(
                        i["first"], i["last"], i["falls"], int(i["steps"])
                    ),
                    i["draws"],
                ),
            ),
            "stays_first": (
                "not at all: it stays at the first value",
                make_constant_schedule_formula("first"),
            ),
            "stays_last": (
                "not at all: it is at the last value at once",
                make_constant_schedule_formula("last"),
            ),
            "never_random": ("there are no random actions", lambda i: 0.0 * i["draws"]),
        },
        """How long, and how much, an agent tries at random decides what its buffer holds; a
        schedule that stands still keeps half of a policy's actions random for ever.""",
    )


def _make_learning_starts_detail() -> Detail:
    def make_warmup_and_start_formula(
        count_random_steps: Callable[[Inputs], float], update_delay: int
    ) -> Formula:
        return lambda i: [count_random_steps(i), i["starts"] + update_delay]

    def get_requested_steps(inputs: Inputs) -> float:
        return inputs["starts"]

    def return_zero_steps(inputs: Inputs) -> float:
        return 0.0

    return make_measured_detail(
        "dqn.learning_starts",
        measured.measure_random_steps_and_first_update,
        "How long are actions random, and after which step is the first update?",
        (_SETTINGS + " (replay start size)",),
        {"starts": 10, "steps": 24},
        {
            "at_start": (
                "as many as asked, and the first update after the last of them",
                make_warmup_and_start_formula(get_requested_steps, 0),
            ),
            "one_step_later": (
                "as many as asked, the first update one step later (compared with >)",
                make_warmup_and_start_formula(get_requested_steps, 1),
            ),
            "only_epsilon": (
                "none but those of epsilon, the first update after as many steps as asked",
                make_warmup_and_start_formula(return_zero_steps, 0),
            ),
            "only_epsilon_one_step_later": (
                "none but those of epsilon, the first update one step later",
                make_warmup_and_start_formula(return_zero_steps, 1),
            ),
            "only_epsilon_two_steps_later": (
                "none but those of epsilon, the first update two steps later (counted from 0, "
                "compared with >)",
                make_warmup_and_start_formula(return_zero_steps, 2),
            ),
            "updates_from_first_step": (
                "random as long as asked, updates from the first step",
                lambda i: [i["starts"], 1],
            ),
        },
        """Where the start of learning sets epsilon aside, the buffer begins with a uniform policy;
        where it does not, with whatever epsilon is at first.""",
    )


def _make_train_frequency_detail() -> Detail:
    def make_gap_formula(count_transitions: Callable[[Inputs], float]) -> Formula:
        return lambda i: [i["every"], i["environments"], count_transitions(i)]

    return make_measured_detail(
        "dqn.train_frequency",
        measured.measure_train_frequency,
        "With several environments, after how many transitions comes the next update?",
        (_SETTINGS + " (update frequency)", "documentation of each framework"),
        {"every": 8, "environments": 4, "steps": 72},
        {
            "vector_steps": (
                "a step of all environments counts once: n times as many transitions",
                make_gap_formula(lambda i: i["every"] * i["environments"]),
            ),
            "transitions": (
                "as many as with one environment",
                make_gap_formula(lambda i: i["every"]),
            ),
            "one_environment": (
                "there can be one environment only",
                lambda i: [i["every"], 1.0, i["every"]],
            ),
            "every_step": (
                "one after every step",
                lambda i: [1.0, i["environments"], i["environments"]],
            ),
        },
        """With n environments the same setting makes n times fewer updates for each transition, or
        as many: sample efficiency and speed change unasked.""",
    )


DETAILS: tuple[Detail, ...] = (
    _make_double_q_detail(),
    _make_tied_actions_detail(),
    critics.make_bootstrap_detail(
        "dqn.target.terminal", measured.measure_targets_at_episode_ends, _MNIH
    ),
    _make_loss_detail(),
    make_measured_detail(
        "dqn.gradient.clip",
        measured.measure_inverse_clipped_norm,
        "To which norm are gradients clipped by default before the optimiser sees them?",
        ("Wang et al. 2016, section 4.2 (10)", "documentation of each framework"),
        {"weight": 100.0},
        {
            "none": ("they are not", make_constant_formula(0.0)),
            "ten": ("to 10", make_constant_formula(0.1)),
            "one": ("to 1", make_constant_formula(1.0)),
            "half": ("to 0.5", make_constant_formula(2.0)),
            "forty": ("to 40", make_constant_formula(0.025)),
        },
        """Clipping bounds the damage of one bad batch; without it a distance that grows without
        bound needs a smaller learning rate.""",
        tolerance=1e-3,
        margin=4.0,
        scales=(1.0,),
    ),
    make_measured_detail(
        "dqn.target_update.interval",
        measured.measure_target_update_interval,
        "What does the interval between two updates of the target network count?",
        (_MNIH, _SETTINGS),
        {"every": 2, "interval": 4, "steps": 32},
        {
            "environment_steps": ("environment steps", lambda i: i["interval"]),
            "updates": ("updates of the Q network", lambda i: i["interval"] * i["every"]),
            "updates_and_one": (
                "updates of the Q network, one more than is asked for",
                lambda i: (i["interval"] + 1) * i["every"],
            ),
            "every_update": ("nothing: it moves at every update", lambda i: i["every"]),
            "every_step": ("nothing: it moves at every step", lambda i: 1.0),
            "never": ("it does not move", lambda i: 0.0),
        },
        """The same number holds the target still for another time: four times as long where
        updates are counted and one is made every four steps.""",
    ),
    _make_vectorised_target_update_detail(),
    make_measured_detail(
        "dqn.target_update.share",
        measured.measure_target_update_share,
        "Is the target network copied as a whole by default, or moved by a fraction?",
        (_MNIH, "Lillicrap et al. 2016, algorithm 1 (a fraction)"),
        {"interval": 4, "steps": 24},
        {
            "copy": ("it is copied", make_constant_formula(1.0)),
            "0.005": ("by a fraction of 0.005", make_constant_formula(0.005)),
            "0.01": ("by a fraction of 0.01", make_constant_formula(0.01)),
            "0.001": ("by a fraction of 0.001", make_constant_formula(0.001)),
            "flipped": (
                "by 0.995, the fraction that should have been kept",
                make_constant_formula(0.995),
            ),
            "not_updated": ("it does not move", make_constant_formula(0.0)),
        },
        """A target that is copied stands still for thousands of steps and then jumps; one that is
        moved never stands still.""",
        scales=(1.0,),
    ),
    _make_epsilon_schedule_detail(),
    make_measured_detail(
        "dqn.epsilon.deterministic",
        measured.measure_deterministic_exploration,
        "Is an action that is asked for without chance free of epsilon?",
        ("Mnih et al. 2015, methods, Evaluation procedure (epsilon 0.05)",),
        {"epsilon": 0.5},
        {
            "greedy": ("yes: it is the best one", make_constant_formula(1.0, 0.0)),
            "explores": (
                "no: it is random with probability epsilon",
                make_constant_formula(1.0, 1.0),
            ),
            "no_evaluation": (
                "nothing can be asked for without epsilon",
                make_constant_formula(1.0, -1.0),
            ),
            "never_random": (
                "nothing is random, in training either",
                make_constant_formula(0.0, 0.0),
            ),
        },
        """A policy that is evaluated with random actions returns less than it could: numbers of
        two frameworks are of two policies.""",
    ),
    _make_learning_starts_detail(),
    _make_train_frequency_detail(),
)
