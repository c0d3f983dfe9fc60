"""Values as distributions: QR-DQN (Dabney et al. 2018) and TQC (Kuznetsov et al. 2020).

The observed text of an entry on a loss or an action is the docstring of its measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue.measured import make_measured_detail
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import quantiles
from rlregress.measurements import quantiles as measured

_DABNEY = "Dabney et al. 2018"
_KUZNETSOV = "Kuznetsov et al. 2020"
#: quantiles [quantiles, actions]: action 0 has the best mean, 1 the best median, 2 the largest
#: maximum, 3 the largest minimum, 4 nothing
_TABLE = [
    [0.1, -0.3, -0.8, 0.15, -0.5],
    [0.2, 0.5, 0.0, 0.16, -0.2],
    [0.9, 0.55, 1.1, 0.17, 0.1],
]


def _make_distance_detail(id: str, paper: str) -> Detail:
    def make_huber_formula(threshold: float, fraction: float = 0.5) -> Formula:
        return lambda i: fraction * quantiles.compute_huber(i["errors"], threshold)

    return make_measured_detail(
        id,
        measured.measure_loss_distance,
        "Which distance between a quantile and its target is minimised?",
        (paper, f"{_DABNEY}, equation 9"),
        {"errors": [0.4, 2.0, 5.0]},
        {
            "huber": ("Huber's with threshold 1, times the fraction", make_huber_formula(1.0)),
            "huber_half": (
                "Huber's with threshold 0.5, times the fraction",
                make_huber_formula(0.5),
            ),
            "squared": ("e^2 / 2, times the fraction", make_huber_formula(np.inf)),
            "absolute": (
                "|e|, times the fraction: threshold 0",
                lambda i: 0.5 * np.abs(i["errors"]),
            ),
            "huber_unweighted": (
                "Huber's with threshold 1, without the fraction",
                make_huber_formula(1.0, 1.0),
            ),
        },
        """Another threshold, or none, makes quantiles of it that are more, or less, like
        expectiles: their mean, by which the policy acts, moves with the spread of returns.""",
    )


def _make_fractions_detail(id: str, paper: str) -> Detail:
    def make_loss_shares_formula(compute_weights: Callable[[int], np.ndarray]) -> Formula:
        def compute_loss_shares(inputs: Inputs) -> np.ndarray:
            fractions = compute_weights(int(inputs["quantiles"]))
            return fractions / fractions.sum()

        return compute_loss_shares

    def make_shares_formula_of_position(position: float) -> Formula:
        return make_loss_shares_formula(
            lambda n: quantiles.compute_quantile_weight(
                quantiles.compute_quantile_fractions(n, position), np.ones(n)
            )
        )

    return make_measured_detail(
        id,
        measured.measure_loss_shares_of_quantiles,
        "Which fraction does each quantile stand for?",
        (paper, f"{_DABNEY}, lemma 2"),
        {"quantiles": 4, "error": 0.5},
        {
            "midpoints": (
                "the midpoint of its interval: (k + 1/2) / n",
                make_shares_formula_of_position(0.5),
            ),
            "upper": (
                "the upper end of its interval: (k + 1) / n",
                make_shares_formula_of_position(1.0),
            ),
            "lower": ("the lower end of its interval: k / n", make_shares_formula_of_position(0.0)),
            "flipped": (
                "one minus the midpoint: targets below and above are exchanged",
                make_loss_shares_formula(
                    lambda n: quantiles.compute_quantile_weight(
                        quantiles.compute_quantile_fractions(n), -np.ones(n)
                    )
                ),
            ),
            "equal": ("none: all weigh the same", make_loss_shares_formula(np.ones)),
        },
        """Quantiles off the midpoints are a biased picture of the distribution, and so is their
        mean, by which actions are chosen.""",
    )


def _make_reduction_detail(id: str, paper: str) -> Detail:
    def make_factors_formula(
        count_pairs: Callable[[int], int], sums_batch: bool = False
    ) -> Formula:
        return lambda i: [count_pairs(int(i["quantiles"])), i["batch_size"] if sums_batch else 1]

    return make_measured_detail(
        id,
        measured.measure_loss_reduction,
        "Is the loss summed or averaged over the quantiles, and over the minibatch?",
        (paper,),
        {"quantiles": 4, "error": 0.5, "batch_size": 8},
        {
            "sum": (
                "summed over the quantiles, a mean over the targets",
                make_factors_formula(lambda n: n),
            ),
            "mean": (
                "a mean over all pairs of quantile and target",
                make_factors_formula(lambda n: 1),
            ),
            "sum_of_pairs": ("summed over all pairs", make_factors_formula(lambda n: n * n)),
            "sum_batch_sum": (
                "summed over the quantiles and over the minibatch",
                make_factors_formula(lambda n: n, sums_batch=True),
            ),
            "mean_batch_sum": (
                "a mean over all pairs, summed over the minibatch",
                make_factors_formula(lambda n: 1, sums_batch=True),
            ),
        },
        """The number of quantiles, or the size of a minibatch, is then a factor of the gradient: it
        matters where gradients are clipped, and to the epsilon of Adam.""",
    )


def _make_target_action_detail() -> Detail:
    def make_target_of_action_formula(choose_action: Callable[[Inputs], int]) -> Formula:
        return lambda i: i["reward"] + i["discount"] * np.mean(i["target"][:, choose_action(i)])

    def make_target_of_best_action_formula(statistic: Callable[..., Any]) -> Formula:
        return make_target_of_action_formula(
            lambda i: quantiles.choose_greedy_action(i["target"], statistic)
        )

    return make_measured_detail(
        "qrdqn.target.action",
        measured.measure_mean_target_quantile,
        "Which next action is the target the distribution of, and which network chooses it?",
        (f"{_DABNEY}, algorithm 1", "van Hasselt et al. 2016, equation 4"),
        {"online": [-0.5, -0.4, -0.3, -0.2, 0.5], "target": _TABLE, "reward": 0.1, "discount": 0.5},
        {
            "mean": (
                "the one with the best mean, by the target network",
                make_target_of_best_action_formula(np.mean),
            ),
            "median": (
                "the one with the best median, by the target network",
                make_target_of_best_action_formula(np.median),
            ),
            "maximum": (
                "the one with the largest maximum, by the target network",
                make_target_of_best_action_formula(np.max),
            ),
            "minimum": (
                "the one with the largest minimum, by the target network",
                make_target_of_best_action_formula(np.min),
            ),
            "double": (
                "the one with the best mean, by the Q network: double Q-learning",
                make_target_of_action_formula(lambda i: int(np.argmax(i["online"]))),
            ),
            "each_quantile": (
                "each quantile has its own best action",
                lambda i: i["reward"] + i["discount"] * np.mean(np.max(i["target"], axis=1)),
            ),
        },
        """Values are those of another policy: one that seeks or avoids risk, or of none at all.""",
    )


def _make_greedy_action_detail() -> Detail:
    def make_best_action_formula(statistic: Callable[..., Any]) -> Formula:
        return lambda i: float(quantiles.choose_greedy_action(i["values"], statistic))

    return make_measured_detail(
        "qrdqn.policy.action",
        measured.measure_greedy_action,
        "By what is an action chosen?",
        (f"{_DABNEY}, algorithm 1",),
        {"values": _TABLE},
        {
            "mean": ("by the mean of its quantiles", make_best_action_formula(np.mean)),
            "median": ("by their median", make_best_action_formula(np.median)),
            "maximum": ("by their maximum", make_best_action_formula(np.max)),
            "minimum": ("by their minimum", make_best_action_formula(np.min)),
        },
        "A policy that goes by anything but the mean seeks or avoids risk.",
    )


def _make_kept_quantiles_detail() -> Detail:
    def make_kept_formula(**options: Any) -> Formula:
        def summarise_kept_quantiles(inputs: Inputs) -> list[float]:
            quantiles_left = quantiles.drop_extreme_quantiles(
                inputs["quantiles"], int(inputs["dropped"]), **options
            )
            return [
                len(quantiles_left),
                quantiles_left[0],
                quantiles_left[-1],
                float(np.mean(quantiles_left)),
            ]

        return summarise_kept_quantiles

    def summarise_without_largest(inputs: Inputs) -> list[float]:
        quantiles_left = np.sort(np.ravel(inputs["quantiles"]))[: -int(inputs["dropped"])]
        return [
            len(quantiles_left),
            quantiles_left[0],
            quantiles_left[-1],
            float(np.mean(quantiles_left)),
        ]

    def summarise_all_quantiles(inputs: Inputs) -> list[float]:
        quantiles_left = inputs["quantiles"]
        return [
            quantiles_left.size,
            np.min(quantiles_left),
            np.max(quantiles_left),
            float(np.mean(quantiles_left)),
        ]

    return make_detail(
        "tqc.target.dropped",
        "Which quantiles are left out of the target?",
        """Target Q network n says the quantiles quantiles[n] everywhere; ``dropped`` are to be left
        out for each network. Equal transitions that neither terminate nor truncate, reward 0,
        discount ``discount``, and a policy that reports log-probability 0. Observed, [4]: of the
        target's quantiles divided by the discount how many there are, the smallest, the largest and
        the mean.""",
        (f"{_KUZNETSOV}, algorithm 1; section 3, Computation of the target distribution",),
        # neither quantiles nor networks are in order
        {"quantiles": [[7.0, 5.0, 11.0], [1.0, 0.5, 2.0]], "dropped": 1, "discount": 0.5},
        {
            "top_of_all": ("the largest of all networks together", make_kept_formula()),
            "top_of_each": ("the largest of each network", make_kept_formula(pooled=False)),
            "bottom_of_all": (
                "the smallest of all networks together",
                make_kept_formula(top=False),
            ),
            "bottom_of_each": (
                "the smallest of each network",
                make_kept_formula(pooled=False, top=False),
            ),
            "top_once": ("of all networks together as many as for one", summarise_without_largest),
            "none": ("none", summarise_all_quantiles),
        },
        consequence="""The largest quantiles are what overestimation comes from: what is left out,
        and from which end, decides whether values are too large or too small.""",
    )


def _make_actor_loss_detail() -> Detail:
    def make_loss_formula(select_quantiles: Callable[[Inputs], np.ndarray]) -> Formula:
        return lambda i: -float(np.mean(select_quantiles(i)))

    def select_kept_quantiles(inputs: Inputs) -> np.ndarray:
        return quantiles.drop_extreme_quantiles(inputs["quantiles"], int(inputs["dropped"]))

    return make_detail(
        "tqc.actor_loss.quantiles",
        "Which quantiles does the policy maximise the mean of?",
        """Q network n says the quantiles quantiles[n] everywhere; ``dropped`` are to be left out of
        targets for each network. The policy reports log-probability 0, so that no entropy enters.
        Observed, [1]: the loss of the policy.""",
        (f"{_KUZNETSOV}, algorithm 1; section 3, Loss functions",),
        {"quantiles": [[7.0, 5.0, 11.0], [1.0, 0.5, 2.0]], "dropped": 1},
        {
            "all": ("all of all networks", make_loss_formula(lambda i: i["quantiles"])),
            "truncated": (
                "those that targets are made of",
                make_loss_formula(select_kept_quantiles),
            ),
            "lowest_network": (
                "all of the network with the lowest mean",
                lambda i: -float(np.min(np.mean(i["quantiles"], axis=1))),
            ),
            "first_network": (
                "all of the first network",
                make_loss_formula(lambda i: i["quantiles"][0]),
            ),
        },
        consequence="""The policy climbs another estimate of the value; targets alone have to be
        truncated to hold overestimation back.""",
    )


DETAILS: tuple[Detail, ...] = (
    _make_distance_detail("qrdqn.loss.distance", f"{_DABNEY}, equation 10"),
    _make_fractions_detail("qrdqn.loss.fractions", f"{_DABNEY}, equation 10"),
    _make_reduction_detail("qrdqn.loss.reduction", f"{_DABNEY}, algorithm 1"),
    _make_target_action_detail(),
    _make_greedy_action_detail(),
    make_detail(
        "qrdqn.quantiles.default",
        "How many quantiles stand for a value by default?",
        "Observed, [1]: the number of quantiles that the Q network says of each action.",
        (f"{_DABNEY}, section on Atari",),
        {},
        {
            "200": ("200", make_constant_formula(200.0)),
            "51": ("51", make_constant_formula(51.0)),
            "50": ("50", make_constant_formula(50.0)),
            "32": ("32", make_constant_formula(32.0)),
        },
        consequence="""Fewer quantiles are a coarser distribution; a loss that is summed over them
        has smaller gradients.""",
    ),
    make_detail(
        "qrdqn.adam.epsilon",
        "Which epsilon has the optimiser by default?",
        """Observed, [2]: the logarithm to base 10 of the epsilon of the optimiser of the Q network,
        for a minibatch of 32, and for one of ``batch_size``, transitions.""",
        (f"{_DABNEY}, section on Atari (0.01 / 32)",),
        {"batch_size": 8},
        {
            "of_batch": (
                "0.01 / size of a minibatch",
                lambda i: np.log10([0.01 / 32, 0.01 / i["batch_size"]]),
            ),
            "of_paper": (
                "0.01 / 32, whatever the minibatch",
                make_constant_formula(*np.log10([0.01 / 32] * 2)),
            ),
            "torch_default": ("1e-8, as PyTorch has it", make_constant_formula(-8.0, -8.0)),
            "1e-5": ("1e-5", make_constant_formula(-5.0, -5.0)),
        },
        consequence="""An epsilon as large as the root of the mean squared gradient makes steps
        smaller where gradients are small: it acts as another learning rate.""",
    ),
    _make_distance_detail("tqc.critic_loss.distance", f"{_KUZNETSOV}, section 3, Loss functions"),
    _make_fractions_detail("tqc.critic_loss.fractions", f"{_KUZNETSOV}, section 3, Loss functions"),
    _make_reduction_detail("tqc.critic_loss.reduction", f"{_KUZNETSOV}, section 3, Loss functions"),
    make_measured_detail(
        "tqc.critic_loss.networks",
        measured.measure_loss_of_several_networks,
        "Is the loss of the critics summed or averaged over the networks?",
        (f"{_KUZNETSOV}, section 3, Loss functions",),
        {"error": 0.5, "networks": 3},
        {
            "mean": ("a mean over the networks", make_constant_formula(1.0)),
            "sum": ("summed over the networks", lambda i: i["networks"]),
        },
        """Summed, more networks are larger gradients of a shared feature extractor, and of the
        norm where gradients are clipped.""",
    ),
    _make_kept_quantiles_detail(),
    _make_actor_loss_detail(),
    make_detail(
        "tqc.quantiles.default",
        "How many networks and quantiles are there by default, and how many are left out?",
        """Observed, [3]: the number of Q networks, the number of quantiles of each, and the number
        of those that are left out of targets for each network.""",
        (f"{_KUZNETSOV}, appendix on hyperparameters (5, 25, 2 for most environments)",),
        {},
        {
            "five_networks": (
                "5 networks of 25 quantiles, 2 left out",
                make_constant_formula(5.0, 25.0, 2.0),
            ),
            "two_networks": (
                "2 networks of 25 quantiles, 2 left out",
                make_constant_formula(2.0, 25.0, 2.0),
            ),
            "two_networks_untruncated": (
                "2 networks of 25 quantiles, none left out",
                make_constant_formula(2.0, 25.0, 0.0),
            ),
        },
        consequence="""Fewer networks are faster, and their quantiles spread less: the same number
        left out holds overestimation back less.""",
    ),
)
