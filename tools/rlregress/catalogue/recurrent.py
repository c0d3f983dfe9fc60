"""Policies with memory: hidden states in rollouts and in updates."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail

_SOURCES = ("documentation of each framework", "The 32 details of PPO, LSTM 1 to 5")
_MEMORY = """Policy and value network have recurrent layers, two each where there may be two. """


def _make_padding_formula(
    in_policy_loss: bool = False, in_value_loss: bool = False, in_statistics: bool = False
) -> Formula:
    """Return a formula: the steps that each mean is over; true arguments count padding, too."""

    def count_steps_in_means(inputs: Inputs) -> list[float]:
        # three sequences: one is whole, the other has an end in it
        rows = {False: 2 * int(inputs["rollout"]), True: 3 * int(inputs["rollout"])}
        advantages = np.zeros(rows[in_statistics])
        advantages[0] = inputs["advantage"]
        scaled = (advantages - advantages.mean()) / advantages.std(ddof=1)
        weighted_sum = scaled[: rows[False]].sum() + (inputs["ratio"] - 1.0) * scaled[0]
        means = [float(rows[is_counted]) for is_counted in (in_policy_loss, in_value_loss, False)]
        return [*means, float(rows[False] * weighted_sum / rows[in_policy_loss])]

    return count_steps_in_means


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "recurrent.rollout",
        "What becomes of the hidden state at the end of an episode, and at that of a rollout?",
        _MEMORY
        + """Every observation is the same; an episode ends after ``episode`` steps, a rollout after
        ``rollout``; nothing is learnt. Observed, [4]: 1 if the mean of the action is that of the
        very first step in the first step after the end of the episode, else 0; the same for the
        first step of the second rollout, which is inside of an episode; both for the value.""",
        _SOURCES,
        {"episode": 3, "rollout": 4},
        {
            "reset_at_ends": (
                "begun anew at the end of an episode alone",
                make_constant_formula(1.0, 0.0, 1.0, 0.0),
            ),
            "never_reset": ("never begun anew", make_constant_formula(0.0, 0.0, 0.0, 0.0)),
            "reset_at_rollouts": (
                "begun anew with a rollout alone",
                make_constant_formula(0.0, 1.0, 0.0, 1.0),
            ),
            "reset_at_both": ("begun anew at both", make_constant_formula(1.0, 1.0, 1.0, 1.0)),
            "critic_never_reset": (
                "begun anew at the end of an episode; that of the value network never",
                make_constant_formula(1.0, 0.0, 0.0, 0.0),
            ),
        },
        consequence="""A memory of the episode before is noise, and one that is lost within an
        episode is none.""",
    ),
    make_detail(
        "recurrent.update",
        "Does an update begin each memory as the rollout did, and anew where episodes end?",
        _MEMORY
        + """Environments side by side, in which episodes end after each of ``episodes`` steps, in
        the last of them by truncation; a rollout ends after ``rollout``. Nothing is learnt, so that
        an update that repeats the rollout gives ratios of 1 and the values that are stored. The
        second rollout begins within episodes. Observed, [4]: 1 if a ratio differs from 1 by more
        than 1e-4 in the steps before the first end of an episode in the second rollout, else 0; the
        same for the steps after it; both for values that differ from the stored ones.""",
        _SOURCES,
        {"episodes": [5, 6, 7], "rollout": 8},
        {
            "as_collected": ("both", make_constant_formula(0.0, 0.0, 0.0, 0.0)),
            "zeros": (
                "sequences begin with others, such as zeros, whatever the rollout did",
                make_constant_formula(1.0, 0.0, 1.0, 0.0),
            ),
            "through_ends": (
                "with the rollout's, which go on through ends",
                make_constant_formula(0.0, 1.0, 0.0, 1.0),
            ),
            "otherwise": ("neither", make_constant_formula(1.0, 1.0, 1.0, 1.0)),
            "policy_zeros": (
                "both for the value network; those of the policy begin with others",
                make_constant_formula(1.0, 0.0, 0.0, 0.0),
            ),
            "policy_otherwise": (
                "both for the value network, neither for the policy",
                make_constant_formula(1.0, 1.0, 0.0, 0.0),
            ),
            "critic_zeros": (
                "both for the policy; those of the value network begin with others",
                make_constant_formula(0.0, 0.0, 1.0, 0.0),
            ),
            "critic_otherwise": (
                "both for the policy, neither for the value network",
                make_constant_formula(0.0, 0.0, 1.0, 1.0),
            ),
        },
        consequence="""Ratios of a policy that has not moved are not 1: the clip takes gradients
        away, and others are those of actions that were never likely. Values move towards targets of
        another history.""",
    ),
    make_detail(
        "recurrent.minibatches",
        "How are sequences put into minibatches, and are all of them used?",
        _MEMORY
        + """``environments`` environments whose observation is their number, ``minibatches``
        minibatches, two epochs or more. Observed, [4]: steps in the first minibatch over
        ``rollout``; environments that an epoch uses; 1 if every epoch has them in their order, else
        0; 1 if every epoch has the order of the first, else 0.""",
        _SOURCES,
        {"environments": 5, "minibatches": 2, "rollout": 4},
        {
            "in_order_last_dropped": (
                "whole environments in their order; those that are left over are never used",
                make_constant_formula(2.0, 4.0, 1.0, 1.0),
            ),
            "in_order": (
                "whole environments in their order",
                make_constant_formula(2.0, 5.0, 1.0, 1.0),
            ),
            "permutation_last_dropped": (
                "whole environments, drawn anew in each epoch; what is left over is not used",
                make_constant_formula(2.0, 4.0, 0.0, 0.0),
            ),
            "permutation": (
                "whole environments, drawn anew",
                make_constant_formula(2.0, 5.0, 0.0, 0.0),
            ),
            "rotated_cut": (
                "steps in their order from one that is drawn anew in each epoch, cut where a "
                "minibatch is full",
                make_constant_formula(2.5, 5.0, 0.0, 0.0),
            ),
            "in_order_cut": (
                "steps in their order, cut where a minibatch is full",
                make_constant_formula(2.5, 5.0, 1.0, 1.0),
            ),
        },
        consequence="""Environments that are left over are simulated for nothing, and minibatches
        that never change are more correlated.""",
    ),
    make_detail(
        "recurrent.padding",
        "Do steps that only pad short sequences enter a loss, or the scale of advantages?",
        _MEMORY
        + """Two environments; in one of them an episode ends after ``episode`` steps, a rollout of
        both after ``rollout``. Advantages are 0 but one, of ``advantage``; values are 0, and so are
        their targets but that one; ratios are 1. Each loss in turn is the only one with a weight,
        of 1. Observed, [4]: the steps that these are means of: ``advantage`` over minus the loss of
        the policy; its square over that of the value; steps of the rollout times the mean entropy
        in them over minus the loss of entropy. Last, these steps times minus the loss of the policy
        where advantages are normalised and the ratio of that one is ``ratio``.""",
        _SOURCES,
        {"episode": 3, "rollout": 8, "advantage": 24.0, "ratio": 1.1},
        {
            "left_out": ("they do not", _make_padding_formula()),
            "counted": ("they do", _make_padding_formula(True, True, True)),
            "counted_by_policy": (
                "that of the policy alone",
                _make_padding_formula(in_policy_loss=True),
            ),
            "counted_by_critic": (
                "that of the value alone",
                _make_padding_formula(in_value_loss=True),
            ),
            "counted_in_statistics": (
                "the scale of advantages",
                _make_padding_formula(in_statistics=True),
            ),
        },
        # means of float32 numbers that cancel
        tolerance=1e-4,
        consequence="""The loss is smaller the shorter episodes are: the same learning rate makes
        smaller steps where the agent falls early.""",
    ),
    make_detail(
        "recurrent.padding.divergence",
        "Do steps that only pad short sequences enter the divergence of an update?",
        _MEMORY
        + """The rollout of recurrent.padding, with ratios of 1, and a threshold of ``target`` for
        the divergence. Observed, [3]: 1 if the reported divergence is above 1e-4, else 0; the
        reported share of clipped ratios; steps of the optimiser in one epoch of one minibatch.""",
        _SOURCES,
        {"episode": 3, "rollout": 8, "target": 1e-3},
        {
            "left_out": ("they do not", make_constant_formula(0.0, 0.0, 1.0)),
            "counted": ("they do, and stop the update", make_constant_formula(1.0, 1.0 / 3.0, 0.0)),
            "counted_as_clipped": (
                "only in the share that is clipped",
                make_constant_formula(0.0, 1 / 3, 1.0),
            ),
            "counted_in_divergence": (
                "only in the divergence",
                make_constant_formula(1.0, 0.0, 0.0),
            ),
        },
        consequence="""Updates stop early where episodes are short, whatever the policy did; curves
        show a policy that moves where it stands still.""",
    ),
    make_detail(
        "recurrent.bootstrap",
        "With which hidden state is the value computed that a truncation, or a rollout, ends in?",
        _MEMORY
        + """Every observation is the same; the first episode is truncated after ``episode`` steps,
        the rollout ends after ``rollout``, inside of the second; in an environment beside this one,
        episodes end after ``beside`` steps; nothing is learnt. Observed, [5]:
        1 if the value added at the truncation is that of step ``episode`` of the second episode,
        else 0; 1 if it is that of the very first step, else 0; the same for the value at the end of
        the rollout, of which the next rollout begins with the right one; 1 if the value added at
        the truncation is that of the truncated step, else 0.""",
        _SOURCES,
        {"episode": 3, "rollout": 8, "beside": 2},
        {
            "carried": (
                "with that of the steps before, at both",
                make_constant_formula(1.0, 0.0, 1.0, 0.0, 0.0),
            ),
            "zeros": ("with zeros, at both", make_constant_formula(0.0, 1.0, 0.0, 1.0, 0.0)),
            "zeros_at_truncations": (
                "with zeros at truncations",
                make_constant_formula(0.0, 1.0, 1.0, 0.0, 0.0),
            ),
            "zeros_at_ends": (
                "with zeros at the end of a rollout",
                make_constant_formula(1.0, 0.0, 0.0, 1.0, 0.0),
            ),
            "value_before": (
                "with that of the steps before; at truncations it is the value before the step",
                make_constant_formula(0.0, 0.0, 1.0, 0.0, 1.0),
            ),
            "value_before_moved": (
                "the same, and the value at the end of a rollout moves the memory of the next one",
                make_constant_formula(0.0, 0.0, 0.0, 0.0, 1.0),
            ),
        },
        consequence="""The value is that of an observation without its history: advantages before it
        are wrong by the difference.""",
    ),
    make_detail(
        "recurrent.critic",
        "Does the value network have its own memory by default?",
        """The policy has a recurrent layer; every observation is the same. Observed, [2]: 1 if the
        values of the first ``rollout`` steps differ, else 0; 1 if they are others where the
        policy's recurrent layer has only zeros, else 0.""",
        _SOURCES,
        {"rollout": 4},
        {
            "own": ("yes", make_constant_formula(1.0, 0.0)),
            "shared": ("it shares that of the policy", make_constant_formula(1.0, 1.0)),
            "none": ("it has none", make_constant_formula(0.0, 0.0)),
        },
        consequence="""A value network without memory cannot tell histories apart; one that shares
        the policy's changes with it.""",
    ),
    make_detail(
        "recurrent.predict",
        "Is the hidden state carried where a user asks for actions, and in an evaluation?",
        _MEMORY
        + """Every observation is the same. Observed, [5]: 1 if the best action differs from that of
        a first step, else 0: with the state that the first step returned; with it and the flag of a
        new episode; without a state, once more; in the second step of the framework's evaluation;
        in the first step of its second episode; -1 for both where an evaluation ends in an
        error.""",
        ("documentation of each framework",),
        {"episode": 2},
        {
            "carried_and_reset": (
                "handed over, begun anew with an episode",
                make_constant_formula(1.0, 0.0, 0.0, 1.0, 0.0),
            ),
            "never_reset": (
                "handed over, never begun anew",
                make_constant_formula(1.0, 1.0, 0.0, 1.0, 1.0),
            ),
            "evaluation_not_reset": (
                "handed over, begun anew by users alone",
                make_constant_formula(1.0, 0.0, 0.0, 1.0, 1.0),
            ),
            "evaluation_forgets": (
                "handed over by users alone",
                make_constant_formula(1.0, 0.0, 0.0, 0.0, 0.0),
            ),
            "evaluation_fails": (
                "handed over by users; an evaluation ends in an error",
                make_constant_formula(1.0, 0.0, 0.0, -1.0, -1.0),
            ),
            "forgotten": ("no", make_constant_formula(0.0, 0.0, 0.0, 0.0, 0.0)),
        },
        consequence="""A policy with memory is evaluated as one without, or with that of the episode
        before: returns are of another policy.""",
    ),
)
