"""CrossQ: critics with batch normalisation and no target networks (Bhatt et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail

_BHATT = "Bhatt et al. 2024"
_DOCUMENTED = "documentation of each framework"
_BATCH = """A batch of ``batch_size`` transitions from the observation ``current`` to ``next``. """
#: observations of a transition, and statistics that a normalisation is given
_TRANSITION = {"current": 1.0, "next": 4.0, "batch_size": 64}
_RUNNING = {"mean": 3.0, "variance": 4.0}


def _normalise_by_running_statistics(inputs: Inputs, number: float) -> float:
    """Normalise a number with the running statistics."""
    return float((number - inputs["mean"]) / np.sqrt(inputs["variance"]))


def _normalise_both_observations_jointly(inputs: Inputs) -> tuple[float, float]:
    """Return current and next observation, normalised by their joint mean and deviation."""
    away = (inputs["next"] - inputs["current"]) / 2.0
    return -away / abs(away), away / abs(away)


def _make_formula_of_acting_step(normalise_observation: Formula, moved_share: float) -> Formula:
    return lambda i: (normalise_observation(i), normalise_observation(i), moved_share)


def _make_update_inputs_formula(**uses_running_statistics: bool) -> Formula:
    """Return a formula: normalised inputs of the policy for next actions, the policy, the critic.

    Each is normalised by running statistics if its argument is true. Otherwise it is normalised by
    those of the batch, half of which is ``current`` and half ``other``: the larger number becomes
    1; the next observation is constant, and becomes 0.
    """

    def compute_normalised_inputs(inputs: Inputs) -> np.ndarray:
        next_one, larger = (
            _normalise_by_running_statistics(inputs, inputs["next"]),
            _normalise_by_running_statistics(inputs, inputs["other"]),
        )
        return np.array(
            [
                next_one if uses_running_statistics["next_action"] else 0.0,
                larger if uses_running_statistics["policy"] else 1.0,
                larger if uses_running_statistics["critic"] else 1.0,
            ]
        )

    return compute_normalised_inputs


def _compute_unbiased_variance(inputs: Inputs) -> float:
    return float(inputs["away"] ** 2 * inputs["batch_size"] / (inputs["batch_size"] - 1.0))


def _compute_biased_variance(inputs: Inputs) -> float:
    return float(inputs["away"] ** 2)


def _make_averaged_std_variance_formula(share: float) -> Callable[[Inputs], float]:
    """Return a formula: the batch variance that has the effect of averaging deviations instead."""
    return lambda i: (
        ((1.0 + share * (_compute_unbiased_variance(i) ** 0.5 - 1.0)) ** 2 - 1.0) / share + 1.0
    )


def _make_running_statistics_formula(share: float, variance: Callable[[Inputs], float]) -> Formula:
    """Return a formula: running mean and variance of both networks after one update, [4]."""
    return lambda i: (share * i["batch_mean"], 1.0 + share * (variance(i) - 1.0)) * 2


_STATISTICS: Mapping[str, Any] = {**_TRANSITION, **_RUNNING, "other": 2.0}

DETAILS: tuple[Detail, ...] = (
    make_detail(
        "crossq.critic.batch",
        "Which statistics normalise the current pairs, and which the next ones, in a critic?",
        _BATCH
        + """One update. Observed, [2]: what the first normalisation of a Q network makes of
        ``current``, and of ``next``, in the loss of the critics; the running statistics are 0 and
        1.""",
        (f"{_BHATT}, figure 3",),
        _TRANSITION,
        {
            "joint": (
                "those of both together, in one forward pass",
                _normalise_both_observations_jointly,
            ),
            "separate": ("each its own", make_constant_formula(0.0, 0.0)),
            "running": ("the running ones", lambda i: (i["current"], i["next"])),
            "next_running": (
                "the current pairs their own, the next ones the running ones",
                lambda i: (0.0, i["next"]),
            ),
        },
        # statistics of 128 numbers, with or without Bessel's correction
        tolerance=0.01,
        scales=(1.0, 1.0),
        consequence="""With separate statistics the value of the next pair is that of another
        function: without target networks values diverge.""",
    ),
    make_detail(
        "crossq.running_statistics",
        "How far do running statistics move towards those of a batch, and of which variance?",
        """The first normalisation of a network, in training, with running statistics 0 and 1, gets
        ``batch_size`` numbers with the mean ``batch_mean``: half of them are ``away`` above it, and
        half below. Observed, [4]: its running mean and running variance after that, of a Q network
        and of the policy.""",
        ("Ioffe 2017, algorithm 1 (alpha)", _DOCUMENTED),
        {"batch_mean": 100.0, "away": 100.0, "batch_size": 4},
        {
            "hundredth": (
                "a hundredth, of the unbiased one",
                _make_running_statistics_formula(0.01, _compute_unbiased_variance),
            ),
            "hundredth_biased": (
                "a hundredth, of the biased one",
                _make_running_statistics_formula(0.01, _compute_biased_variance),
            ),
            "hundredth_of_deviation": (
                "a hundredth, of the square root of the unbiased one",
                _make_running_statistics_formula(0.01, _make_averaged_std_variance_formula(0.01)),
            ),
            "tenth": (
                "a tenth, of the unbiased one",
                _make_running_statistics_formula(0.1, _compute_unbiased_variance),
            ),
            "mean_alone": (
                "a hundredth, of the mean alone",
                _make_running_statistics_formula(0.01, lambda i: 1.0),
            ),
        },
        scales=(1.0, 100.0, 1.0, 100.0),
        consequence="""The policy acts with these statistics: where they lag, it acts on other
        numbers than it has learnt with.""",
    ),
    make_detail(
        "crossq.target",
        "Do values of the next pair come from the networks that learn, and without a gradient?",
        _BATCH
        + """Steps do not terminate, the reward is ``reward``. Every Q network is made to output
        ``before`` in every state, then those that learn are made to output ``value``; the
        temperature is 0. Observed, [2]: the target less the reward, over ``discount``; the
        derivative of the loss of the critics with respect to the output of a Q network, their
        mean, over that of a target without a gradient.""",
        (f"{_BHATT}, figure 3",),
        {"reward": 0.5, "before": -3.0, "value": 2.0, "discount": 0.9, "batch_size": 64},
        {
            "without_target_networks": (
                "from those that learn, without a gradient",
                lambda i: (i["value"], 1.0),
            ),
            "with_gradient": (
                "from those that learn, with a gradient through the target too",
                lambda i: (i["value"], 1.0 - i["discount"]),
            ),
            "target_networks": ("from networks that lag", lambda i: (i["before"], 1.0)),
        },
        tolerance=1e-4,
        consequence="""Networks that lag are what the algorithm does without; a gradient through the
        target moves the next value as well.""",
    ),
    make_detail(
        "crossq.renormalisation",
        "What are the limits of batch renormalisation, and after how many updates does it begin?",
        """The first normalisation of a Q network, in training, with running statistics 0 and 1.
        Observed, [3]: the standard deviation of what it makes, after the warm-up, of numbers whose
        own is ``far``; the mean of what it makes of numbers with deviation ``deviation`` and mean
        ``far``; the number of updates with the statistics of the batch alone.""",
        (_BHATT, "Ioffe 2017, section 3 (r_max, d_max)"),
        {"far": 100.0, "deviation": 2.0, "batch_size": 64},
        {
            "3_5_after_100000": (
                "r_max 3, d_max 5, after 100000",
                make_constant_formula(3.0, 5.0, 1e5),
            ),
            "3_5_after_10000": (
                "r_max 3, d_max 5, after 10000",
                make_constant_formula(3.0, 5.0, 1e4),
            ),
            "3_5_at_once": (
                "r_max 3, d_max 5, from the first",
                make_constant_formula(3.0, 5.0, 0.0),
            ),
            "no_limits": (
                "none, after 100000: the running statistics",
                lambda i: (i["far"], i["far"], 1e5),
            ),
            "2_5_after_100000": (
                "r_max 2, d_max 5, after 100000",
                make_constant_formula(2.0, 5.0, 1e5),
            ),
            "3_3_after_100000": (
                "r_max 3, d_max 3, after 100000",
                make_constant_formula(3.0, 3.0, 1e5),
            ),
        },
        tolerance=1e-3,
        scales=(3.0, 5.0, 1e5),
        consequence="""Batch normalisation that goes on for ever ties values to the other rows of
        the batch; one that ends early uses statistics that are not settled.""",
    ),
    make_detail(
        "crossq.acting",
        "Which statistics normalise observations while the agent acts, and do these move?",
        """After an update the running statistics of the policy's first normalisation are made
        ``mean`` and ``variance``. Observed, [3]: what it makes of the observation ``current`` while
        steps are collected; the same for the action that a user asks for; 1 if its running mean has
        moved since, else 0.""",
        (_BHATT, _DOCUMENTED),
        {**_TRANSITION, **_RUNNING},
        {
            "running": (
                "the running ones, which stay",
                _make_formula_of_acting_step(
                    lambda i: _normalise_by_running_statistics(i, i["current"]), 0.0
                ),
            ),
            "running_moving": (
                "the running ones, which move",
                _make_formula_of_acting_step(
                    lambda i: _normalise_by_running_statistics(i, i["current"]), 1.0
                ),
            ),
            "none": ("none", _make_formula_of_acting_step(lambda i: i["current"], 0.0)),
            "of_its_batch": (
                "those of the observations it acts on",
                make_constant_formula(0.0, 0.0, 1.0),
            ),
        },
        tolerance=1e-3,
        scales=(1.0, 1.0, 1.0),
        consequence="""Actions of a policy that normalises with what it acts on depend on how many
        environments there are.""",
    ),
    make_detail(
        "crossq.policy.statistics",
        "Which statistics normalise the next actions, and the policy and critics as it learns?",
        _BATCH
        + """Half of the current observations are ``other`` instead; running statistics are
        ``mean`` and ``variance``. One update, of the policy too. Observed, [3]: what the policy's
        first normalisation makes of ``next``; what it makes of ``other`` in the loss of the policy;
        what that of a Q network, with the same running statistics, makes of ``other`` there.""",
        (_BHATT, _DOCUMENTED),
        _STATISTICS,
        {
            "policy_of_its_batch": (
                "of the batch for the policy as it learns, else the running ones",
                _make_update_inputs_formula(next_action=True, policy=False, critic=True),
            ),
            "running": (
                "the running ones, always",
                _make_update_inputs_formula(next_action=True, policy=True, critic=True),
            ),
            "next_action_too": (
                "of the batch for the policy and for the next actions",
                _make_update_inputs_formula(next_action=False, policy=False, critic=True),
            ),
            "critic_too": (
                "of the batch for the policy and the critics in its loss",
                _make_update_inputs_formula(next_action=True, policy=False, critic=False),
            ),
        },
        tolerance=0.012,
        scales=(1.0, 1.0, 1.0),
        consequence="""Statistics of a batch of the policy's own actions alone are not those that
        the critics have learnt with: it climbs another function.""",
    ),
    make_detail(
        "crossq.policy_delay",
        "How many updates of the critics come with one of the policy, and of the temperature?",
        """A training of ``steps`` steps with an update each. Observed, [2]: updates of the critics
        over those of the policy; over those of the temperature.""",
        (_BHATT, _DOCUMENTED),
        {"steps": 24, "batch_size": 8},
        {
            "three": ("3 with one of both", make_constant_formula(3.0, 3.0)),
            "three_temperature_each": (
                "3 with one of the policy, and one of the temperature with each",
                make_constant_formula(3.0, 1.0),
            ),
            "two": ("2 with one of both", make_constant_formula(2.0, 2.0)),
            "one": ("one of each", make_constant_formula(1.0, 1.0)),
        },
        consequence="A policy that learns more often climbs values that are not settled.",
    ),
    make_detail(
        "crossq.adam.beta1",
        "What is the first decay rate of Adam?",
        "Observed, [3]: of the critics, of the policy, and of the temperature.",
        (_BHATT, _DOCUMENTED),
        {},
        {
            "half_of_networks": (
                "0.5 for the networks alone",
                make_constant_formula(0.5, 0.5, 0.9),
            ),
            "half": ("0.5", make_constant_formula(0.5, 0.5, 0.5)),
            "torch_default": ("0.9", make_constant_formula(0.9, 0.9, 0.9)),
        },
        consequence="A longer memory of gradients makes critics without targets less stable.",
    ),
    make_detail(
        "crossq.networks",
        "How wide are the default networks, and how many normalisations are in them?",
        """Observed, [6]: widths of the two hidden layers of the policy; of a Q network;
        normalisations in the policy; in a Q network.""",
        (_BHATT, _DOCUMENTED),
        {},
        {
            "1024_normalised_before_each": (
                "256 and 1024, before every layer and, in the policy, before its heads",
                make_constant_formula(256.0, 256.0, 1024.0, 1024.0, 3.0, 3.0),
            ),
            "2048_normalised_before_each": (
                "256 and 2048, before every layer",
                make_constant_formula(256.0, 256.0, 2048.0, 2048.0, 3.0, 3.0),
            ),
            "256_normalised_before_each": (
                "256 and 256, before every layer",
                make_constant_formula(256.0, 256.0, 256.0, 256.0, 3.0, 3.0),
            ),
            "1024_critics_alone": (
                "256 and 1024, in the critics alone",
                make_constant_formula(256.0, 256.0, 1024.0, 1024.0, 0.0, 3.0),
            ),
        },
        consequence="""The paper's returns are those of critics of 2048: narrower ones learn less
        from as many steps.""",
    ),
)
