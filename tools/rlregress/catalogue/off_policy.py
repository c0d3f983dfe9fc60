"""Training loop that SAC and TD3 share: how often actions are random and networks updated."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import action_transforms, loops

LOOP = """The framework's own training loop, with small networks, on an environment of one action
    dimension whose episodes do not terminate within the run; settings that are not named stay at
    their defaults, learning rates may be 0. Steps are counted over all environments. Where a
    framework collects steps in batches, a batch has ``collected_at_once`` steps, with one update
    per step where that has to be said. Minibatches hold ``batch_size`` transitions. """

#: what a program that collects whole batches, or one that waits for a full minibatch, shows up by
COUNTS = {"collected_at_once": 4, "batch_size": 3}


def make_learning_starts_detail(id: str, sources: tuple[str, ...]) -> Detail:
    """Build the detail: how long actions are random, and when updates start."""

    def count_steps_of_whole_batches(inputs: Inputs) -> float:
        return loops.round_up_to_whole_batches(inputs["starts"], inputs["collected_at_once"])

    return make_detail(
        id,
        "How long are actions random, and after which step is the first update?",
        LOOP
        + """One environment; the framework's setting for the start of learning is ``starts``; the
        run has ``steps`` steps. The policy is constant at the upper bound of the actions, so that
        an action below it is a random one. Observed, [2]: steps taken with random actions; steps
        taken before the first update of the critics, the last one included.""",
        sources,
        {"starts": 10, "steps": 20} | COUNTS,
        {
            "at_start": (
                "as many as asked, and the first update after the last of them",
                lambda i: [i["starts"], i["starts"]],
            ),
            "one_step_later": (
                "as many as asked, the first update one step later (compared with >)",
                lambda i: [i["starts"], i["starts"] + 1],
            ),
            "two_steps_later": (
                "as many as asked, the first update two steps later (counted from 0, compared with "
                ">)",
                lambda i: [i["starts"], i["starts"] + 2],
            ),
            "whole_batches": (
                "both at the end of the collected batch in which the number is reached",
                lambda i: [count_steps_of_whole_batches(i)] * 2,
            ),
            "whole_batches_one_later": (
                "random until that end, the first update after one more batch",
                lambda i: [
                    count_steps_of_whole_batches(i),
                    count_steps_of_whole_batches(i) + i["collected_at_once"],
                ],
            ),
            "from_first_minibatch": (
                "random for one step less than asked, updates as soon as the buffer holds more "
                "than a minibatch",
                lambda i: [i["starts"] - 1, i["batch_size"] + 1],
            ),
            "random_then_from_first_minibatch": (
                "random as long as asked, updates as soon as the buffer holds more than a "
                "minibatch",
                lambda i: [i["starts"], i["batch_size"] + 1],
            ),
            "updates_from_first_step": (
                "random as long as asked, updates from the first step",
                lambda i: [i["starts"], 1],
            ),
            "policy_from_first_step": (
                "never random, the first update one step after the start",
                lambda i: [0, i["starts"] + 1],
            ),
        },
        consequence="""Updates that begin before the random phase is over train on a handful of
        transitions, so that the same setting means another cold start.""",
    )


def make_update_ratio_detail(
    id: str,
    counted_updates: str,
    update_kinds: int,
    sources: tuple[str, ...],
    extra_variants: dict[str, Formula],
) -> Detail:
    """Build the detail: updates per environment step, by default and as requested."""
    meanings = {
        "halved_settable": "one every second step, can be asked to be fewer and more",
        "policy_every_second_step": (
            "one update of the critics a step, of the policy every second step and settable"
        ),
    }

    def make_rates_formula(default: float, fewer: float, more: float) -> Formula:
        return lambda i: np.repeat([default, fewer, more], update_kinds)

    return make_detail(
        id,
        "How many updates are made per environment step, and can that be changed?",
        LOOP
        + f"""One environment, learning starts at once, a run of ``steps`` steps of which the last
        ``counted`` are looked at. Three runs: the defaults; the framework's own setting for fewer
        updates per step such that they should be halved; its setting for more such that they should
        be doubled. Where there is no such setting, the nearest one that there is (the policy's
        frequency) is doubled, or set to 1, in its place. Observed, [{3 * update_kinds}]:
        {counted_updates} over steps, for each of the three runs.""",
        sources,
        {"steps": 8, "counted": 4} | COUNTS,
        {
            "one_to_one_settable": (
                "one a step by default, fewer and more can be asked for",
                make_rates_formula(1.0, 0.5, 2.0),
            ),
            "one_to_one_fixed": (
                "one a step whatever is asked for",
                make_rates_formula(1.0, 1.0, 1.0),
            ),
            "one_to_one_fewer": (
                "one a step, only fewer can be asked for",
                make_rates_formula(1.0, 0.5, 1.0),
            ),
            "one_to_one_more": (
                "one a step, only more can be asked for",
                make_rates_formula(1.0, 1.0, 2.0),
            ),
            "halved_settable": (meanings["halved_settable"], make_rates_formula(0.5, 0.25, 1.0)),
            "doubled_settable": (
                "two a step by default, settable",
                make_rates_formula(2.0, 1.0, 4.0),
            ),
            **{name: (meanings[name], formula) for name, formula in extra_variants.items()},
        },
        consequence="""The number of updates per environment step is the largest lever on sample
        efficiency and on wall-clock time: runs with another ratio are not comparable.""",
    )


def make_vectorisation_detail(id: str, sources: tuple[str, ...]) -> Detail:
    """Build the detail: transitions and updates of a run with several environments."""
    return make_detail(
        id,
        "With n environments, how many transitions and updates does a run of T steps make?",
        LOOP
        + """A run of ``steps`` steps is asked for on ``environments`` parallel environments (on one
        where a program has no setting for more); learning starts at once. Observed, [3]:
        transitions collected over steps asked for; updates of the critics over transitions, in the
        second half of the run; environments that were stepped.""",
        sources,
        {"steps": 8, "environments": 4} | COUNTS,
        {
            "counted_update_per_vector_step": (
                "every environment's step counts; one update per step of all environments",
                lambda i: [1.0, 1.0 / i["environments"], i["environments"]],
            ),
            "counted_update_per_transition": (
                "every environment's step counts; one update per transition",
                lambda i: [1.0, 1.0, i["environments"]],
            ),
            "not_counted_update_per_vector_step": (
                "a step of all environments counts once: n times as many transitions; one update "
                "per step of all environments",
                lambda i: [i["environments"], 1.0 / i["environments"], i["environments"]],
            ),
            "not_counted_update_per_transition": (
                "a step of all environments counts once; one update per transition",
                lambda i: [i["environments"], 1.0, i["environments"]],
            ),
            "one_environment": ("there can be one environment only", lambda i: [1.0, 1.0, 1.0]),
        },
        consequence="""The same number of timesteps collects n times as much data in one
        implementation as in the other, and n times fewer updates fall on each transition.""",
    )


def make_replay_action_detail(
    id: str, description: str, sources: tuple[str, ...], inputs: Inputs, consequence: str
) -> Detail:
    """Build the detail: whether stored actions are scaled.

    Args:
        inputs: ``low``, ``high`` and ``pre_tanh``, and others that measurements need.
    """

    def compute_executed_action(inputs: Inputs) -> Any:
        return action_transforms.squash_and_unscale(
            inputs["pre_tanh"], inputs["low"], inputs["high"]
        )

    return make_detail(
        id,
        "Does the replay buffer hold actions scaled to [-1, 1] or in the environment's units?",
        description,
        sources,
        inputs,
        {
            "scaled": (
                "stored in [-1, 1]",
                lambda i: [compute_executed_action(i), np.tanh(i["pre_tanh"])],
            ),
            "environment": ("stored as executed", lambda i: [compute_executed_action(i)] * 2),
            "pre_tanh": (
                "stored before the tanh",
                lambda i: [compute_executed_action(i), i["pre_tanh"]],
            ),
            "never_unscaled": (
                "the environment receives the tanh itself",
                lambda i: [np.tanh(i["pre_tanh"])] * 2,
            ),
        },
        tolerance=1e-4,
        consequence=consequence,
    )
