"""The loop of PPO: minibatches, epochs, early stopping, segments, counting of steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rlregress.catalogue import ppo_early_stop
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail


def _make_minibatches_details() -> list[Detail]:
    sources = ("thesis, section 3.2, Minibatches", "The 32 details of PPO, General 7")
    return [
        make_detail(
            "ppo.minibatches",
            "How is a rollout divided into minibatches, and is every sample used?",
            """One rollout of ``rollout_steps`` steps, one epoch. Where the size of a minibatch is
            a parameter it is ``minibatch_size``, where their number is one it is
            ``minibatches``. Observed, [6]: the number of samples of the first four minibatches,
            0 for each that there is not; the largest number of times that one sample is used
            in the epoch (2 if more), and the smallest.""",
            sources,
            {"rollout_steps": 11, "minibatch_size": 3, "minibatches": 3},
            {
                "permutation": (
                    "every sample once, the last minibatch may be smaller",
                    make_constant_formula(3, 3, 3, 2, 1, 1),
                ),
                "permutation_last_dropped": (
                    "without replacement, what does not fill a minibatch is not used",
                    make_constant_formula(3, 3, 3, 0, 1, 0),
                ),
                "equal_parts": (
                    "as many as asked, sizes as equal as possible",
                    make_constant_formula(4, 4, 3, 0, 1, 1),
                ),
                "with_replacement": (
                    "drawn with replacement",
                    make_constant_formula(3, 3, 3, 2, 2, 0),
                ),
                "with_replacement_last_dropped": (
                    "drawn with replacement, only whole minibatches",
                    make_constant_formula(3, 3, 3, 0, 2, 0),
                ),
                "whole_rollout": (
                    "one minibatch of everything",
                    make_constant_formula(11, 0, 0, 0, 1, 1),
                ),
            },
            consequence="""Samples that are left out or drawn twice make the update use other data
            than was collected, and a small last minibatch takes a full step on few samples.""",
        ),
        make_detail(
            "ppo.minibatches.remainder",
            "Does a training go on if the rollout is no multiple of the minibatch?",
            """As before, but three rollouts of ``rollout_steps`` steps, each ``epochs`` times.
            Observed, [2]: steps of the optimiser until the training ends, or stops with an
            IndexError; samples in all their minibatches.""",
            sources,
            {"rollout_steps": 11, "minibatch_size": 3, "minibatches": 3, "epochs": 2},
            {
                "goes_on": (
                    "every epoch gives a last, smaller minibatch",
                    make_constant_formula(24, 66),
                ),
                "last_dropped": ("only whole minibatches are used", make_constant_formula(18, 54)),
                "last_larger": (
                    "the last minibatch takes what does not fill another",
                    make_constant_formula(18, 66),
                ),
                "error": (
                    "it stops with an error after the first rollout",
                    make_constant_formula(4, 11),
                ),
            },
            consequence="""A training that was started with such a setting is lost at the end of
            its first rollout.""",
        ),
        make_detail(
            "ppo.minibatches.parameter",
            "Is the size of the minibatches a parameter, or their number?",
            """Two rollouts of different length, rollout_steps[0] and rollout_steps[1], all other
            parameters equal; ``minibatch_size`` or ``minibatches`` is set, whichever there is;
            one epoch each. Observed, [2]: size of the first minibatch of the second, divided by
            that of the first; number of minibatches of the second, divided by that of the
            first.""",
            ("thesis, section 5.1, Minibatch selection", "thesis, Table 6"),
            {"rollout_steps": [4.0, 8.0], "minibatch_size": 2, "minibatches": 2},
            {
                "size": (
                    "the size; a longer rollout gives more minibatches",
                    make_constant_formula(1, 2),
                ),
                "number": (
                    "the number; a longer rollout gives larger ones",
                    make_constant_formula(2, 1),
                ),
            },
            consequence="""Who doubles the number of environments doubles the steps of the
            optimiser in one implementation and the size of the minibatches in the other.""",
        ),
        make_detail(
            "ppo.epochs.shuffle",
            "Is the rollout shuffled anew for each epoch?",
            """One rollout of ``rollout_steps`` steps, ``epochs`` epochs in minibatches of
            ``minibatch_size`` (``minibatches`` of them). Observed, [2]: 1 if the samples of the
            first epoch come in the order of their collection, else 0; 1 if those of the second
            epoch come in the order of the first, else 0.""",
            ("thesis, section 3.2, Minibatches", "The 32 details of PPO, General 7"),
            {"rollout_steps": 8, "epochs": 2, "minibatch_size": 4, "minibatches": 2},
            {
                "each_epoch": ("a new permutation for each epoch", make_constant_formula(0, 0)),
                "once": ("one permutation for all epochs", make_constant_formula(0, 1)),
                "never": ("in the order of collection", make_constant_formula(1, 1)),
                "after_the_first": (
                    "the first epoch is in the order of collection",
                    make_constant_formula(1, 0),
                ),
            },
            consequence="""Minibatches that stay the same over all epochs, or hold neighbouring
            steps only, make updates with more correlated samples.""",
        ),
    ]


def _map_first_to_one_and_last_to_zero(numbers: ArrayLike) -> list[float]:
    """Map numbers linearly, such that the last becomes 0 and the first 1."""
    array = np.array(numbers, dtype=np.float64)
    return ((array - array[-1]) / (array[0] - array[-1])).tolist()


def _make_advantage_details() -> list[Detail]:
    def compute_scaled_rollout_advantages(inputs: Inputs) -> list[float]:
        return _map_first_to_one_and_last_to_zero(
            np.cumsum(np.asarray(inputs["rewards"])[::-1])[::-1]
        )

    def compute_scaled_pair_advantages(inputs: Inputs) -> list[float]:
        pairs = np.asarray(inputs["rewards"]).reshape(-1, 2)
        return _map_first_to_one_and_last_to_zero(
            np.cumsum(pairs[:, ::-1], axis=1)[:, ::-1].ravel()
        )

    return [
        make_detail(
            "ppo.advantages.recomputed",
            "Are advantages computed once per rollout or anew for each epoch?",
            """One rollout of 4 steps with ``rewards``, 3 epochs; the value network depends on the
            observation and moves between the epochs. Observed, [2]: 1 if the advantages with
            which samples enter the update differ between the first epoch and the second, else 0;
            the same for the first and the third.""",
            ("thesis, section 5.1, Minibatch selection", "Andrychowicz et al. 2020"),
            {"rewards": [1.0, 5.0, 2.0, 8.0]},
            {
                "once": ("once per rollout", make_constant_formula(0, 0)),
                "each_epoch": (
                    "anew for each epoch, with the value network as it is",
                    make_constant_formula(1, 1),
                ),
            },
            consequence="""Recomputed advantages follow the value network that is being trained:
            later epochs optimise something else than the first one did.""",
        ),
        make_detail(
            "ppo.advantage_normalisation.single",
            "What does the normalisation of advantages make of a minibatch of one sample?",
            """A minibatch of one sample with advantage ``advantage`` and ratio 1, normalisation
            over the minibatch switched on. Observed, [2]: 1 if its policy loss is a finite number,
            else 0; that number, 0 if there is none.""",
            ("thesis, equation 3", "The 32 details of PPO, General 3"),
            {"advantage": 3.0},
            {
                "not_normalised": ("the advantage as it is", lambda i: [1.0, -i["advantage"]]),
                "not_a_number": ("0 / 0", make_constant_formula(0.0, 0.0)),
                "zero": ("0, as the difference from the mean", make_constant_formula(1.0, 0.0)),
            },
            consequence="""Where a rollout leaves one sample for its last minibatch, a single step
            turns all parameters into not-a-number and ends the training.""",
        ),
        make_detail(
            "ppo.advantage.granularity",
            "Over which samples are advantages estimated, and over which are ratios?",
            """One episode of 4 steps with ``rewards`` that ends in a termination, one epoch of 2
            minibatches of 2; discount and lambda 1; V(s) = 0 for every state when the rollout
            ends; the policy moves at every step of the optimiser. A_k: the advantage with which
            sample k enters the update. Observed, [6]: (A_k - A_3) / (A_0 - A_3) for k = 0 to 3
            before any
            normalisation over the minibatch (one over the rollout drops out); 1 if the ratios of
            the first minibatch are not 1, else 0; the same for the second.""",
            ("thesis, section 5.1, Minibatch selection",),
            {"rewards": [1.0, 5.0, 2.0, 8.0]},
            {
                "rollout_and_minibatch": (
                    "advantages over the rollout, ratios with the policy at the minibatch's turn",
                    lambda i: [*compute_scaled_rollout_advantages(i), 0.0, 1.0],
                ),
                "both_rollout": (
                    "ratios with the policy from before the first step",
                    lambda i: [*compute_scaled_rollout_advantages(i), 0.0, 0.0],
                ),
                "both_minibatch": (
                    "advantages over pairs of steps",
                    lambda i: [*compute_scaled_pair_advantages(i), 0.0, 1.0],
                ),
                "one_step": (
                    "advantages of one step",
                    lambda i: [*_map_first_to_one_and_last_to_zero(i["rewards"]), 0.0, 1.0],
                ),
            },
            consequence="""Advantages over a minibatch lose what happened outside of it, and ratios
            from before the first step make the clip of the later ones meaningless.""",
        ),
    ]


def _make_step_count_and_segment_details() -> list[Detail]:
    return [
        make_detail(
            "ppo.iterations",
            "What happens if the steps asked for are no multiple of the rollout?",
            """A training asked for ``total_steps`` steps with rollouts of ``rollout_steps`` in one
            environment. Observed, [2]: steps done in the environment, rollouts used for
            updates.""",
            ("thesis, appendix C.2",),
            {"total_steps": 10, "rollout_steps": 4},
            {
                "whole_rollouts_more": (
                    "the last rollout is completed",
                    make_constant_formula(12, 3),
                ),
                "remainder_dropped": ("only whole rollouts that fit", make_constant_formula(8, 2)),
                "exact": ("the last rollout is cut", make_constant_formula(10, 3)),
                "remainder_unused": (
                    "collected, but not used for an update",
                    make_constant_formula(10, 2),
                ),
            },
            consequence="""Two trainings of equal length on paper differ by up to one rollout of
            experience and one round of updates.""",
        ),
        make_detail(
            "ppo.vectorisation",
            "Do the steps asked for count those of all environments?",
            """A training asked for ``total_steps`` steps with ``environments`` environments, side
            by side as this scope offers it, and rollouts of ``rollout_steps`` in each of them.
            Observed, [2]: steps done in all environments together, steps done in the first.""",
            ("thesis, appendix C.2", "The 32 details of PPO, General 10"),
            {"total_steps": 8, "environments": 2, "rollout_steps": 2},
            {
                "all_environments": ("those of all environments", make_constant_formula(8, 4)),
                "per_environment": (
                    "steps of the vectorised environment",
                    make_constant_formula(16, 8),
                ),
            },
            consequence="""With n environments one training sees n times the experience of the
            other at the same number of steps.""",
        ),
        make_detail(
            "ppo.parallel_gradient",
            "Is the gradient of a minibatch computed by several processes?",
            """A training with ``environments`` environments and two minibatches per rollout.
            Observed, [2]: the number of processes of the training while it steps its optimiser,
            and the number of backward passes for each of these steps.""",
            ("The 32 details of PPO, Auxiliary 2",),
            {"environments": 2},
            {
                "absent": ("one process, one backward pass", make_constant_formula(1, 1)),
                "one_process_each": (
                    "as many processes as environments",
                    make_constant_formula(2, 1),
                ),
                "accumulated": (
                    "one process, a backward pass for each environment",
                    make_constant_formula(1, 2),
                ),
            },
            consequence="""Averaging gradients of several processes multiplies the size of a
            minibatch, so that equal settings make other updates.""",
        ),
        _make_segments_detail(),
    ]


def _make_segments_detail() -> Detail:
    def make_stored_formula(observations: list[int], holds_terminal: int) -> Formula:
        return make_constant_formula(*observations, holds_terminal)

    going_on = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6]
    return make_detail(
        "ppo.segments",
        "Do rollouts go on across episodes, and where is the terminal observation?",
        """Rollouts of 5 steps in one environment whose observation is the number of steps since
        its reset, with a time limit of ``time_limit`` steps; no normalisation of observations.
        Observed, [16]: the observations of three rollouts as they are stored; 1 if the terminal
        observation ``time_limit`` is stored anywhere with them, else 0.""",
        ("The 32 details of PPO, General 10", "The 32 details of PPO, A dedicated note"),
        {"time_limit": 8},
        {
            "going_on": (
                "fixed-length segments across episodes; the terminal observation is nowhere",
                make_stored_formula(going_on, 0),
            ),
            "going_on_with_terminal": (
                "the same; the terminal observation is kept as the next one of its step",
                make_stored_formula(going_on, 1),
            ),
            "going_on_through_reset": (
                "the step from the terminal observation to the reset is stored as one more",
                make_stored_formula([*range(9), *range(6)], 1),
            ),
            "reset_each_rollout": (
                "every rollout begins anew",
                make_stored_formula([*range(5)] * 3, 0),
            ),
            "never_reset": ("the time limit is ignored", make_stored_formula([*range(15)], 1)),
        },
        consequence="""Rollouts that begin anew never see late states of an episode; a stored step
        from a terminal observation teaches a transition that does not exist.""",
    )


DETAILS: tuple[Detail, ...] = (
    *_make_minibatches_details(),
    *ppo_early_stop.make_early_stop_details(),
    *_make_advantage_details(),
    *_make_step_count_and_segment_details(),
)
