"""Entries that SAC and TD3 share: critic loss, regression target, target networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.catalogue.measured import make_measured_detail
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import critics

_BATCH = 8
_TERMINAL = """The update is fed ``batch_size`` equal transitions with reward ``reward`` that
    terminate (terminated = done = true, not truncated), so that the target y is the reward
    whatever the target networks and the policy say. """
_CONSTANT_Q = """Each trained action-value network i outputs {name}[i] for the stored observation
    and action; for others it may output other numbers. """
TARGET_OBSERVED = """y is the number that the critics regress towards, in reward units; all
    samples of the batch are equal, so it is one number per case. Intercept it where the
    framework's code hands it to its distance function, or read it from the framework's own
    target method. """


def _compute_critic_loss_of_terminal_steps(
    inputs: Inputs, q_values_name: str, network_count: int | None = None, **options: Any
) -> float:
    q = np.asarray(inputs[q_values_name])[:network_count]
    tiled = np.repeat(q[:, None], int(inputs["batch_size"]), axis=1)
    return critics.compute_critic_loss(tiled, np.full(tiled.shape[1], inputs["reward"]), **options)


def make_scale_detail(id: str, sources: tuple[str, ...]) -> Detail:
    """Build the detail: the factor before the critic loss."""

    def make_loss_formula(**options: Any) -> Formula:
        return lambda i: _compute_critic_loss_of_terminal_steps(i, "q_values", **options)

    return make_detail(
        id,
        "Which factor stands before the sum of the squared errors of the two Q networks?",
        _TERMINAL
        + _CONSTANT_Q.format(name="q_values")
        + """The squared distance is chosen where there is a choice. Observed, [1]: the critic
        loss whose gradient trains the networks, before any coefficient of another loss; the
        sum of the two where each network has its own.""",
        sources,
        {"q_values": [3.0, -1.0], "reward": 0.5, "batch_size": _BATCH, "discount": 0.9},
        {
            "half": (
                "1/2 of the sum over networks of the mean squared error",
                make_loss_formula(factor=0.5),
            ),
            "none": ("sum over networks of the mean squared error", make_loss_formula()),
            "quarter": (
                "1/4 of the sum: halved and averaged over networks",
                make_loss_formula(factor=0.25),
            ),
            "batch_sum": ("summed, not averaged, over the batch", make_loss_formula(samples="sum")),
            "double": (
                "twice the sum: one network or loss counted twice",
                make_loss_formula(factor=2.0),
            ),
        },
        consequence="""The critics' gradients differ by a constant factor: Adam hides most of it,
        gradient clipping, a shared optimiser and SGD do not.""",
    )


def make_reduction_detail(id: str, sources: tuple[str, ...]) -> Detail:
    """Build the detail: how the losses of several Q networks become one."""

    def make_three_over_two_networks_formula(network_reduction: str) -> Formula:
        return lambda i: (
            _compute_critic_loss_of_terminal_steps(i, "q_values", networks=network_reduction)
            / _compute_critic_loss_of_terminal_steps(i, "q_values", 2, networks=network_reduction)
        )

    return make_detail(
        id,
        "Are the losses of several Q networks summed or averaged?",
        _TERMINAL
        + _CONSTANT_Q.format(name="q_values")
        + """The squared distance is chosen where there is a choice. Observed, [1]: the critic
        loss with three networks (all of ``q_values``) divided by the critic loss with two (the
        first two of ``q_values``), so that a constant factor drops out. Where the code names
        its networks one by one, the third stands beside the two by the next name.""",
        sources,
        {"q_values": [2.0, 2.5, 3.5], "reward": 0.5, "batch_size": _BATCH, "discount": 0.9},
        {
            "sum": ("sum over networks", make_three_over_two_networks_formula("sum")),
            "mean": ("mean over networks", make_three_over_two_networks_formula("mean")),
            "max": ("largest over networks", make_three_over_two_networks_formula("max")),
            "two_only": ("two networks by name: a third one does not enter", lambda i: 1.0),
        },
        consequence="""With more than one critic the gradients differ by the number of networks,
        which matters wherever a learning rate or a gradient norm is tuned.""",
    )


def make_distance_detail(id: str, sources: tuple[str, ...]) -> Detail:
    """Build the detail: the distance between Q and the target in the critic loss."""

    def make_losses_over_first(distance: str) -> Formula:
        def divide_losses_by_first(inputs: Inputs) -> np.ndarray:
            loss = critics.DISTANCES[distance](np.asarray(inputs["errors"]))
            return loss[1:] / loss[0]

        return divide_losses_by_first

    return make_detail(
        id,
        "Which distance between Q and the target does the critic loss use by default?",
        _TERMINAL
        + """The distance is left as it is by default in this scope. For each of ``errors`` in
        turn, all trained Q networks are made constant at ``reward`` + error and the critic
        loss is read: L_0, L_1, L_2. Observed, [2]: L_1 / L_0, L_2 / L_0.""",
        sources,
        {"errors": [0.5, 2.0, 4.0], "reward": 0.5, "batch_size": _BATCH, "discount": 0.9},
        {
            "squared": ("squared error", make_losses_over_first("squared")),
            "smooth_l1": ("Huber's distance with threshold 1", make_losses_over_first("smooth_l1")),
            "absolute": ("absolute error", make_losses_over_first("absolute")),
        },
        consequence="""Large errors pull linearly instead of quadratically, so that outliers and
        early training weigh less.""",
    )


def make_target_minimum_detail(
    id: str, sources: tuple[str, ...], extra_description: str, inputs: Mapping[str, Any]
) -> Detail:
    """Build the detail: how the outputs of two target networks become one value.

    Args:
        extra_description: inserted into its description.
    """

    def make_target_formula(reduction: str) -> Formula:
        return lambda i: (
            i["reward"] + i["discount"] * critics.reduce_over_networks(i["target_q"].T, reduction)
        )

    return make_detail(
        id,
        "How are the two target Q networks combined in the target?",
        """Two cases. In case k the target network i outputs target_q[k, i] for the next observation
        and the next action; for others it may output other numbers. The update is fed
        ``batch_size`` equal transitions with reward ``reward`` that neither terminate nor truncate,
        discounted with ``discount``. """
        + extra_description
        + TARGET_OBSERVED
        + "Observed, [2]: y of case 0, y of case 1.",
        sources,
        {"target_q": [[4.0, 1.0], [1.0, 4.0]], "reward": 0.25, "discount": 0.5}
        | {"batch_size": _BATCH}
        | dict(inputs),
        {
            "min": ("pessimistic: the smaller of the two", make_target_formula("min")),
            "first": ("the first network", make_target_formula("first")),
            "second": ("the second network", make_target_formula("second")),
            "mean": ("mean of the two", make_target_formula("mean")),
            "max": ("the larger of the two", make_target_formula("max")),
        },
        consequence="Anything but the minimum gives up the remedy against overestimated values.",
    )


BOOTSTRAP_INPUTS = {
    "terminated": [0.0, 1.0, 0.0],
    "truncated": [0.0, 0.0, 1.0],
    "target_q": 2.0,
    "reward": 0.25,
    "discount": 0.5,
    "batch_size": _BATCH,
}
BOOTSTRAP_OBSERVED = (
    """Three cases k: a step inside an episode, a terminated one, a truncated one (flags
    terminated[k], truncated[k]; done is their disjunction). The flags enter where the framework
    receives them when it stores a transition. All target Q networks are constant at ``target_q``;
    ``batch_size`` equal transitions with reward ``reward``, discount ``discount``. """
    + TARGET_OBSERVED
)
BOOTSTRAP_MASKS = {
    "truncation_bootstrapped": ("only a termination stops the bootstrap", "terminated"),
    "truncation_is_terminal": ("a truncation stops the bootstrap as a termination does", "done"),
    "bootstrap_everything": ("terminations are bootstrapped too", "nothing"),
    "never": ("no step is bootstrapped", "everything"),
    "flags_exchanged": ("truncations stop the bootstrap, terminations do not", "truncated"),
}


def compute_masked_targets(inputs: Inputs, next_value: float, mask: str) -> np.ndarray:
    """Return the TD targets of a step inside an episode, a terminated and a truncated one, [3]."""
    terminated = np.asarray(inputs["terminated"])
    return critics.compute_td_target(
        np.full(terminated.shape, inputs["reward"]),
        np.full(terminated.shape, next_value),
        float(inputs["discount"]),
        terminated,
        np.asarray(inputs["truncated"]),
        mask,
    )


#: of the first network, the second one and, where there is a third number, the policy
TARGETS_OF_CRITICS = {"source": [1.0, 3.0], "target": [0.0, -1.0]}
TARGETS_OF_ALL = {"source": [1.0, 3.0, -2.0], "target": [0.0, -1.0, 2.0]}
_FILLED = """All parameters of the network k are set to source[k], and those of its target to
    target[k]. The networks: """
FILLED_CRITICS = _FILLED + "the two Q networks. "
FILLED_ALL = _FILLED + "the two Q networks, and the policy. "


def make_soft_update_detail(
    id: str, sources: tuple[str, ...], description: str, inputs: Mapping[str, Any], count: int
) -> Detail:
    """Build the detail: direction and coefficient of the soft update of each target."""
    return make_detail(
        id,
        "In which direction, and by which fraction, do the target networks follow?",
        description
        + """One target update of the framework runs, with the coefficient that is the default in
        this scope; where there is none, the fraction that moves is ``tau`` (a parameter that means
        the fraction kept is 1 - tau). """
        + f"Observed, [{count}]: a parameter of each target network after the update.",
        sources,
        {**inputs, "tau": 0.005},
        {
            "towards_source": (
                "target <- (1 - tau) target + tau source, tau 0.005",
                lambda i: critics.update_target_softly(i["source"], i["target"], i["tau"]),
            ),
            "flipped": (
                "target <- tau target + (1 - tau) source, tau 0.005",
                lambda i: critics.update_target_with_flipped_tau(
                    i["source"], i["target"], i["tau"]
                ),
            ),
            "tau_0.001": (
                "towards the source, tau 0.001",
                lambda i: critics.update_target_softly(i["source"], i["target"], 0.001),
            ),
            "tau_0.01": (
                "towards the source, tau 0.01",
                lambda i: critics.update_target_softly(i["source"], i["target"], 0.01),
            ),
            "copy": ("target <- source", lambda i: i["source"]),
            "not_updated": ("the target does not move", lambda i: i["target"]),
        },
        consequence="""A flipped coefficient copies the networks nearly whole at every update: the
        targets move as fast as the critics.""",
    )


def make_bootstrap_detail(id: str, measurement: Callable[..., np.ndarray], source: str) -> Detail:
    """Build the detail: whether targets bootstrap after a termination and after a truncation."""

    def make_masked_targets_formula(mask: str) -> Formula:
        return lambda i: compute_masked_targets(i, i["target_q"], mask)

    return make_measured_detail(
        id,
        measurement,
        "Does a truncated step bootstrap from the next value, and a terminated one not?",
        (source, "Pardo et al. 2018"),
        {
            "terminated": [0.0, 1.0, 0.0],
            "truncated": [0.0, 0.0, 1.0],
            "target_q": 0.5,
            "reward": 0.25,
            "discount": 0.5,
        },
        {
            name: (meaning, make_masked_targets_formula(mask))
            for name, (meaning, mask) in BOOTSTRAP_MASKS.items()
        },
        """Values near a time limit are wrong by everything that would have followed: the agent
        learns to fear the limit.""",
    )
