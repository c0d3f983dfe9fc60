"""Trust region policy optimisation: Schulman et al. 2015."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import trpo

_SCHULMAN = "Schulman et al. 2015"
_GAUSSIAN = """The policy is a Gaussian whose mean and log deviation are one parameter each, and
    begin at 0. One update, without normalisation of advantages, """
_UP_AND_DOWN = "on the actions 1 and -1 with advantages 1 and -1, which moves the mean alone. "


def _make_damped_divergence_formula(damping: float) -> Formula:
    return lambda i: trpo.compute_divergence_share_of_damped_step(damping)


def _divide_log_std_by_mean_in_natural_gradient(inputs: Inputs) -> float:
    mean, log_std = np.linalg.solve(
        trpo.compute_gaussian_fisher_information(),
        trpo.compute_gaussian_log_prob_gradient(float(inputs["action"])),
    )
    return float(log_std / mean)


def _divide_log_std_by_mean_in_gradient(inputs: Inputs) -> float:
    mean, log_std = trpo.compute_gaussian_log_prob_gradient(float(inputs["action"]))
    return float(log_std / mean)


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "trpo.kl.bound",
        "Which KL divergence may an update have by default?",
        _GAUSSIAN
        + _UP_AND_DOWN
        + """Observed, [1]: the KL divergence that the update makes by default, over the one that it
        makes with a bound of ``bound``, times ``bound``.""",
        (f"{_SCHULMAN}, parameters of the experiments (0.01)",),
        {"bound": 0.04},
        {
            "0.01": ("0.01", make_constant_formula(0.01)),
            "0.001": ("0.001", make_constant_formula(0.001)),
            "0.02": ("0.02", make_constant_formula(0.02)),
            "0.05": ("0.05", make_constant_formula(0.05)),
        },
        tolerance=1e-3,
        consequence="It is the step size of the policy: a larger one learns faster, less surely.",
    ),
    make_detail(
        "trpo.damping",
        "Which multiple of the identity is added to the Fisher matrix by default?",
        _GAUSSIAN
        + _UP_AND_DOWN
        + """Observed, [1]: the KL divergence of the update over ``bound``, its bound; damping makes
        the step shorter.""",
        (f"{_SCHULMAN}, appendix C",),
        {"bound": 0.04},
        {
            "0.1": ("0.1", _make_damped_divergence_formula(0.1)),
            "0.01": ("0.01", _make_damped_divergence_formula(0.01)),
            "none": ("none", _make_damped_divergence_formula(0.0)),
        },
        tolerance=2e-4,
        consequence="""Damping shortens steps where the policy is flat; without it directions that
        hardly change the policy are followed without bound.""",
    ),
    make_detail(
        "trpo.line_search",
        "By what is a step shortened, and what has to hold for it to be taken?",
        _GAUSSIAN
        + """without damping and with the bound ``bound``, which moves the log deviation alone. Case
        0: the longest step exceeds the bound; case 1: it makes the surrogate objective worse, and
        so does its first shortening by 0.8. Observed, [2]: the change of the log deviation in each
        case, over the longest step sqrt(bound).""",
        (f"{_SCHULMAN}, appendix C",),
        {
            "bound": 0.04,
            "actions": [[1.5, -1.5, 0.0, 0.0], [0.93, -0.93, 0.93, -0.93]],
            "advantages": [[1.0, 1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0]],
        },
        {
            "shrinks_0.8": (
                "by 0.8, until bound and improvement hold",
                make_constant_formula(0.8, 0.64),
            ),
            "shrinks_0.5": (
                "by 0.5, until bound and improvement hold",
                make_constant_formula(0.5, 0.5),
            ),
            "shrinks_0.5_half_expected": (
                "by 0.5, until the bound on KL(old, new) and half of the expected improvement hold",
                make_constant_formula(1.0, 0.25),
            ),
            "shrinks_0.5_wrong_divergence": (
                "the same with a divergence in which old and new log deviation are exchanged",
                make_constant_formula(1.0, 0.0625),
            ),
            "bound_alone": ("by 0.8, until the bound holds", make_constant_formula(0.8, 1.0)),
            "improvement_alone": (
                "by 0.8, until the objective improves",
                make_constant_formula(1.0, 0.64),
            ),
            "none": ("by nothing: every step is taken", make_constant_formula(1.0, 1.0)),
        },
        tolerance=2e-3,
        consequence="""Without one of both a step can leave the trust region, or make the policy
        worse; a smaller factor gives more of the step away.""",
    ),
    make_detail(
        "trpo.line_search.expected",
        "Which improvement is expected of a step that was shortened?",
        _GAUSSIAN
        + """without damping and with the bound ``bound``, which moves the log deviation alone, on
        ``action`` and its negative with advantage 1: of a fourth of the longest step the objective
        improves by 0.39 of what its gradient promises, of an eighth by 0.70. Observed, [1]: the
        change of the log deviation over the longest step sqrt(bound).""",
        (f"{_SCHULMAN}, appendix C",),
        {"bound": 0.04, "action": 0.96},
        {
            "any": ("any, of steps that are shortened by 0.8", make_constant_formula(0.8**5)),
            "half_compounded": (
                "half of a promise that every shortening so far has made smaller by its own factor",
                make_constant_formula(0.25),
            ),
            "half_proportional": (
                "half of what the gradient promises of the shortened step",
                make_constant_formula(0.125),
            ),
            "wrong_divergence": (
                "a step is taken where a divergence with exchanged log deviations is below the "
                "bound, which is later",
                make_constant_formula(0.0625),
            ),
            "none": ("none: every step is taken", make_constant_formula(1.0)),
        },
        tolerance=2e-3,
        consequence="""A line search that expects too little of a shortened step takes steps that
        the setting for the accepted share of the improvement rules out.""",
    ),
    make_detail(
        "trpo.direction",
        "Does the policy follow the natural gradient?",
        _GAUSSIAN
        + """without damping, on the action ``action`` with advantage 1. Observed, [1]: the change
        of the log deviation over that of the mean.""",
        (f"{_SCHULMAN}, appendix C",),
        {"action": 2.0},
        {
            "natural": (
                "yes: the inverse Fisher matrix times the gradient",
                _divide_log_std_by_mean_in_natural_gradient,
            ),
            "gradient": ("no: the gradient itself", _divide_log_std_by_mean_in_gradient),
        },
        tolerance=1e-3,
        consequence="""Along the plain gradient the same bound allows less improvement, and depends
        on how the policy is parametrised.""",
    ),
    make_detail(
        "trpo.critic_updates",
        "How many epochs does the value network train on a rollout by default?",
        """A rollout of two minibatches of ``batch_size`` steps. Observed, [1]: steps of the value
        network's optimiser after it, over 2.""",
        ("documentation of each framework",),
        {"batch_size": 8},
        {
            "ten": ("10", make_constant_formula(10.0)),
            "eight": ("8", make_constant_formula(8.0)),
            "five": ("5", make_constant_formula(5.0)),
            "eighty": ("80", make_constant_formula(80.0)),
            "one": ("1", make_constant_formula(1.0)),
        },
        consequence="A value network that trains less lags behind the policy, as do advantages.",
    ),
)
