"""Learning rates that follow the divergence of a policy, and the deviation that is trained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import gaussians, schedules

_SCHULMAN = "Schulman et al. 2017, section 4 (adaptive KL)"
_RUDIN = "Rudin et al. 2022, appendix A (adaptive learning rate)"
_OFTEN = """An adaptive learning rate is asked for, with target ``target``, where it is not there by
    default. Nothing moves: advantages are 0, returns are the values, entropy has no weight. """


def _make_rate_factors_formula(divergence_target: float) -> Formula:
    return lambda i: schedules.compute_adaptive_learning_rate_factors(
        i["divergences"], divergence_target, 1.5, 2.0
    )


def _make_extreme_rates_formula(min_rate: float, max_rate: float) -> Formula:
    def compute_log10_of_extreme_rates(inputs: Inputs) -> np.ndarray:
        far = 1.5 ** inputs["updates"]
        ends = inputs["learning_rate"] / far, inputs["learning_rate"] * far
        return np.log10([max(min_rate, ends[0]), min(max_rate, ends[1])])

    return compute_log10_of_extreme_rates


def _make_kl_above_twice_target_formula(
    reduce_over_samples: Callable[[np.ndarray], float], is_reverse_kl: bool
) -> Formula:
    """Return a formula: 1 for each KL target below half the reduced divergence, else 0."""

    def flag_kl_above_twice_target(inputs: Inputs) -> np.ndarray:
        old = np.stack([inputs["old_means"], inputs["old_deviations"]])
        new = np.array([[0.0], [1.0]])
        samples = gaussians.compute_kl_divergence(*((new, old) if is_reverse_kl else (old, new)))
        return np.asarray(reduce_over_samples(samples) > 2.0 * inputs["targets"], np.float64)

    return flag_kl_above_twice_target


def _make_divided_rates_formula(*divisions_by_1_5: int) -> Formula:
    return lambda i: 1.5 ** -np.array(divisions_by_1_5, dtype=np.float64)


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "adaptive.default",
        "Does the learning rate follow the divergence by default, and which one is aimed at?",
        """Updates in a row; in update k the divergence KL(old policy, new policy) is
        divergences[k]. Schedule and target are as they are by default. Observed, [3]: the learning
        rate after each update, divided by ``learning_rate``.""",
        (_RUDIN, "documentation of each framework"),
        {"divergences": [0.03, 0.015, 0.004], "learning_rate": 1e-3},
        {
            "0.01": ("it does, with target 0.01", _make_rate_factors_formula(0.01)),
            "0.02": ("it does, with target 0.02", _make_rate_factors_formula(0.02)),
            "0.005": ("it does, with target 0.005", _make_rate_factors_formula(0.005)),
            "off": ("it stays what it is", make_constant_formula(1.0, 1.0, 1.0)),
        },
        consequence="""A learning rate that was tuned is gone after a few updates in one version,
        and stays in the other.""",
    ),
    make_detail(
        "adaptive.bounds",
        "Between which bounds does the learning rate follow the divergence?",
        _OFTEN
        + """``updates`` updates, in which the divergence is large; in another training ``updates``
        in which it is small, but not 0. Observed, [2]: log10 of the learning rate that is reached,
        from ``learning_rate``.""",
        (_RUDIN,),
        {"updates": 24, "learning_rate": 1e-3, "target": 0.01},
        {
            "1e-5_1e-2": ("1e-5 and 1e-2", _make_extreme_rates_formula(1e-5, 1e-2)),
            "1e-6_1e-2": ("1e-6 and 1e-2", _make_extreme_rates_formula(1e-6, 1e-2)),
            "1e-5_1e-1": ("1e-5 and 1e-1", _make_extreme_rates_formula(1e-5, 1e-1)),
            "1e-5_none": ("1e-5, none above", _make_extreme_rates_formula(1e-5, np.inf)),
            "none_1e-2": ("none below, 1e-2", _make_extreme_rates_formula(0.0, 1e-2)),
            "none": ("none", _make_extreme_rates_formula(0.0, np.inf)),
        },
        consequence="""Without a bound a policy that hardly moves gets steps that break it, or one
        that moves far gets none any more.""",
    ),
    make_detail(
        "adaptive.divergence",
        "Which divergence does the learning rate follow?",
        """Two samples. The present policy is a Gaussian of mean 0 and deviation 1; for sample k the
        one of the rollout had mean old_means[k] and deviation old_deviations[k], while all ratios
        are 1. One update for each of ``targets``. Observed, [5]: 1 if the learning rate falls, as
        it does above twice the target, else 0.""",
        (_SCHULMAN, _RUDIN),
        {
            "old_means": [0.8, 1.0],
            "old_deviations": [1.0, 2.0],
            "targets": [0.08, 0.175, 0.3, 0.525, 0.725],
        },
        {
            "mean": (
                "the mean of KL(old, new) over the samples",
                _make_kl_above_twice_target_formula(np.mean, False),
            ),
            "sum": ("the sum of KL(old, new)", _make_kl_above_twice_target_formula(np.sum, False)),
            "largest": (
                "the largest KL(old, new)",
                _make_kl_above_twice_target_formula(np.max, False),
            ),
            "reversed": (
                "the mean of KL(new, old)",
                _make_kl_above_twice_target_formula(np.mean, True),
            ),
            "least": (
                "the smallest KL(old, new)",
                _make_kl_above_twice_target_formula(np.min, False),
            ),
            "estimate": (
                "one that is estimated from the ratios",
                make_constant_formula(*[0.0] * 5),
            ),
        },
        consequence="""The same target allows steps of another size: the largest divergence, or a
        sum over a minibatch, stops a policy that its mean lets go on.""",
    ),
    make_detail(
        "adaptive.moment",
        "Which step of the optimiser is the first with a changed learning rate?",
        _OFTEN
        + """Two rollouts of ``minibatches`` minibatches, whose divergence is always large.
        Observed, [4]: the learning rate at each step of the optimiser, over ``learning_rate``.""",
        (_RUDIN,),
        {"minibatches": 2, "learning_rate": 1e-3, "target": 0.01},
        {
            "before_step": (
                "that of the minibatch that diverges",
                _make_divided_rates_formula(1, 2, 3, 4),
            ),
            "after_step": ("the next one", _make_divided_rates_formula(0, 1, 2, 3)),
            "before_rollout": (
                "all of the rollout that diverges",
                _make_divided_rates_formula(1, 1, 2, 2),
            ),
            "after_rollout": ("those of the next rollout", _make_divided_rates_formula(0, 0, 1, 1)),
        },
        consequence="""With twenty minibatches in a rollout the rate can move by 1.5^20 within one
        update, or not at all.""",
    ),
    make_detail(
        "adaptive.unchanged",
        "What becomes of the learning rate while the policy has not moved yet?",
        _OFTEN
        + """One update of one minibatch, by the policy that collected it. Observed, [1]: the
        learning rate at its step, over ``learning_rate``.""",
        (_RUDIN,),
        {"learning_rate": 1e-3, "target": 0.01},
        {
            "kept": ("it stays: a divergence of 0 is none", make_constant_formula(1.0)),
            "raised": (
                "it is multiplied by 1.5: the divergence is below the band",
                _make_divided_rates_formula(-1),
            ),
        },
        consequence="""The first minibatch of every rollout is one by an unchanged policy: it raises
        the rate each time, or does not count.""",
    ),
    make_detail(
        "deviation.parameter",
        "Is the standard deviation trained, or its logarithm?",
        """A Gaussian policy whose deviation is one number for all states, made to be ``deviation``
        first. Advantages are 0, returns are the values, the entropy has the weight 1: one step of
        Adam moves a parameter by ``learning_rate``. Observed, [1]: the deviation after it.""",
        ("documentation of each framework",),
        {"deviation": 2.0, "learning_rate": 0.5},
        {
            "deviation": ("the deviation", lambda i: i["deviation"] + i["learning_rate"]),
            "logarithm": ("its logarithm", lambda i: i["deviation"] * np.exp(i["learning_rate"])),
            "neither": ("neither: it stays as it is", lambda i: i["deviation"]),
        },
        consequence="""Steps of a logarithm are relative to the deviation, and it cannot become
        negative; those of the deviation are as large near 0, and can.""",
    ),
    make_detail(
        "deviation.negative",
        "What becomes of a trained standard deviation below 0?",
        """The parameter of a policy's deviation, as it is trained by default, is set to
        ``parameter``. Then a rollout is collected. Observed, [2]: 1 if that raises an error, else
        0; log10 of the deviation with which the policy acts, rounded (0 after an error).""",
        ("documentation of each framework",),
        {"parameter": -4.0},
        {
            "bounded_1e-6": ("it counts as 1e-6", make_constant_formula(0.0, -6.0)),
            "error": ("the training ends with an error", make_constant_formula(1.0, 0.0)),
            "mirrored": (
                "its sign does not count",
                lambda i: [0.0, round(np.log10(-i["parameter"]))],
            ),
            "logarithm": ("it is a logarithm", lambda i: [0.0, round(i["parameter"] / np.log(10))]),
        },
        consequence="""A long training that lowers its deviation ends with an error about a normal
        distribution, hours after its start.""",
    ),
)
