"""Normalisation of observations, and the wrappers around continuous tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import normalisation as formulas

#: numbers one after the other -> running mean and variance.
Running = Callable[[np.ndarray], formulas.Statistics]

_FEED = """One environment with an observation of one number: the reset gives observations[0],
    step t gives observations[t], no episode ends, rewards are 0 unless given. The component of
    the framework that normalises observations is around it, with its defaults. """
_PPO_1 = "The 32 details of PPO, MuJoCo 1"
_PPO_2 = "The 32 details of PPO, MuJoCo 2"
_WRAPPERS = "thesis, appendix C.1"
_TRICKS = "A Bag of Tricks, Observation Normalization and Clipping"

#: 250 numbers of spread 1 and two outliers: more than ten deviations from the mean, both ways.
_OUTLIERS = [*([1.0, -1.0] * 125), 1000.0, -1000.0]
#: after so many observations statistics are compared.
_OBSERVED_ROWS = [0, 1, 2, 50, 199]
#: how the statistics are taken does not matter where this tolerance is used.
_LOOSE = 2e-3


def _x(i: Inputs) -> np.ndarray:
    return np.asarray(i["observations"], dtype=np.float64)


def _standard(i: Inputs) -> np.ndarray:
    return formulas.standardise(_x(i), formulas.cumulative(_x(i)))


def _previous(i: Inputs) -> np.ndarray:
    return formulas.standardise(_x(i), formulas.lagged(formulas.cumulative(_x(i))))


def _before_update(i: Inputs) -> np.ndarray:
    # no prior: a young variance is 0
    moments = formulas.lagged(formulas.cumulative(_x(i), 0.0))
    return formulas.standardise(_x(i), moments, epsilon=0.0, std_epsilon=1e-2)


def _observation() -> Detail:
    def after_reset(formula: Formula) -> Formula:
        return lambda i: formula(i)[1:]

    def by_variance(i: Inputs) -> np.ndarray:
        moments = formulas.cumulative(_x(i))
        return (_x(i) - moments.mean) / (moments.variance + 1e-8)

    return make_detail(
        "normalisation.observation",
        "What is done to an observation before an agent sees it?",
        _FEED
        + """Observed, [5]: what the agent is given for observations[1:]. The tolerance is wide,
        so that it does not matter here how the running statistics are taken.""",
        (_PPO_1, _WRAPPERS, _TRICKS),
        {"observations": [2.0, 3.0, -1.0, 4.0, 0.5, 6.0]},
        {
            "standard_deviation": (
                "centred, divided by the standard deviation, after the statistics' update",
                after_reset(_standard),
            ),
            "variance": ("centred, divided by the variance", after_reset(by_variance)),
            "not_centred": (
                "divided by the standard deviation",
                after_reset(lambda i: formulas.scale(_x(i), formulas.cumulative(_x(i)))),
            ),
            "not_scaled": (
                "centred",
                after_reset(lambda i: _x(i) - formulas.cumulative(_x(i)).mean),
            ),
            "previous_statistics": (
                "standardised with the statistics before their update",
                after_reset(_previous),
            ),
            "before_update": (
                "the same, without a prior, 1e-2 added to the standard deviation",
                after_reset(_before_update),
            ),
            "reset_not_counted": (
                "standardised, but the observations of resets do not enter the statistics",
                lambda i: formulas.standardise(_x(i)[1:], formulas.cumulative(_x(i)[1:])),
            ),
            "rescaled": (
                "mapped to [0, 1] with the running range",
                after_reset(lambda i: formulas.running_range(_x(i))),
            ),
            "absent": ("nothing", lambda i: _x(i)[1:]),
        },
        tolerance=_LOOSE,
        consequence="""Networks see inputs of another size, so that learning rates and initial
        weights that suit one implementation do not suit the other.""",
    )


def _epsilon() -> Detail:
    def last(statistics: Running, **options: float) -> Formula:
        def formula(i: Inputs) -> np.ndarray:
            x = np.append(np.zeros(int(i["still"])), i["last"])
            moments = statistics(x)
            return formulas.standardise(x[-1], moments.at(-1), **options)

        return formula

    return make_detail(
        "normalisation.observation.epsilon",
        "What keeps the division away from zero when an observation hardly ever moves?",
        _FEED
        + """``still`` observations of 0 (the first of them at the reset), then one of ``last``.
        Observed, [1]: what the agent is given for the last one.""",
        (_WRAPPERS,),
        {"still": 100, "last": 1e-3},
        {
            "inside_1e-8": ("1e-8 is added to the variance", last(formulas.cumulative)),
            "inside_1e-5": (
                "1e-5 is added to the variance",
                last(formulas.cumulative, epsilon=1e-5),
            ),
            "negligible": (
                "nothing, or something that is small beside the standard deviation",
                last(formulas.cumulative, epsilon=0.0),
            ),
            "inside_1e-8_no_prior": (
                "1e-8 is added to a variance that starts without a prior",
                last(lambda x: formulas.cumulative(x, 0.0)),
            ),
            "variance_floor_1e-4": (
                "the variance is at least 1e-4, the standard deviation 0.01",
                last(lambda x: formulas.decayed(x, 0.9999), epsilon=0.0, least_variance=1e-4),
            ),
            "variance_floor_1e-2": (
                "the variance is at least 1e-2, the standard deviation 0.1",
                last(lambda x: formulas.decayed(x, 0.99999), epsilon=0.0, least_variance=1e-2),
            ),
            "deviation_floor_1e-4": (
                "the standard deviation is at least 1e-4",
                last(lambda x: formulas.decayed(x, 0.9999), epsilon=0.0, least_deviation=1e-4),
            ),
        },
        consequence="""A component of the observation that hardly moves reaches the networks at its
        own tiny size in one implementation and at full size in the other.""",
    )


def _clip() -> Detail:
    def limited(low: float, high: float) -> Formula:
        return lambda i: np.clip(_standard(i)[-2:], low, high)

    return make_detail(
        "normalisation.observation.clip",
        "To which range is a normalised observation clipped?",
        _FEED + "Observed, [2]: what the agent is given for the last two observations, outliers.",
        (_PPO_2, _WRAPPERS, _TRICKS),
        {"observations": _OUTLIERS},
        {
            "ten": ("[-10, 10]", limited(-10.0, 10.0)),
            "five": ("[-5, 5]", limited(-5.0, 5.0)),
            "upper_only": ("at most 10, no lower limit", limited(-np.inf, 10.0)),
            "none": ("not clipped", limited(-np.inf, np.inf)),
            "none_before_update": (
                "not clipped, and not in the statistics that it is normalised with",
                lambda i: _before_update(i)[-2:],
            ),
            "absent": ("not even normalised", lambda i: _x(i)[-2:]),
        },
        tolerance=0.02,
        margin=4.0,
        scales=(15.8, 11.2),
        consequence="""One outlier, such as a simulation that explodes, reaches the networks at full
        size in one implementation and limited in the other.""",
    )


def _statistics() -> Detail:
    def formula_for(statistics: Running) -> Formula:
        def formula(i: Inputs) -> np.ndarray:
            # a floor matters for the first observation only, whose variance may be 0: then its
            # distance from the mean is 0 too, or nearly so
            moments = statistics(_x(i))
            return formulas.standardise(_x(i), moments, epsilon=0.0, least_variance=1e-12)[
                _OBSERVED_ROWS
            ]

        return formula

    # a policy that improves: halfway the observations move by three standard deviations
    drift = [3.0 * np.sin(0.7 * t) + (5.0 if t >= 100 else -5.0) for t in range(200)]
    return make_detail(
        "normalisation.observation.statistics",
        "How do the running mean and variance weigh what was seen?",
        _FEED + "Observed, [5]: what the agent is given for observations 0, 1, 2, 50 and 199.",
        (_WRAPPERS, _TRICKS, "Welford 1962", "Chan et al. 1982"),
        {"observations": drift},
        {
            "cumulative_prior": (
                "all the same, next to 1e-4 samples of mean 0 and variance 1",
                formula_for(formulas.cumulative),
            ),
            "cumulative": ("all the same", formula_for(lambda x: formulas.cumulative(x, 0.0))),
            "cumulative_sample": (
                "all the same; the sample variance",
                formula_for(lambda x: formulas.cumulative(x, 0.0, freedom=1)),
            ),
            "cumulative_unit_prior": (
                "all the same, next to one sample of mean 0 and variance 1",
                formula_for(lambda x: formulas.cumulative(x, 1.0)),
            ),
            "decay_0.99999": (
                "0.99999 per step",
                formula_for(lambda x: formulas.decayed(x, 0.99999)),
            ),
            "decay_0.9999": ("0.9999 per step", formula_for(lambda x: formulas.decayed(x, 0.9999))),
            "decay_0.999": ("0.999 per step", formula_for(lambda x: formulas.decayed(x, 0.999))),
            "decay_0.99": ("0.99 per step", formula_for(lambda x: formulas.decayed(x, 0.99))),
            "uncorrected_0.9999": (
                "0.9999 per step, the variance not corrected for the start at 0",
                formula_for(lambda x: formulas.uncorrected(x, 0.9999)),
            ),
            "absent": ("no statistics: the observation itself", lambda i: _x(i)[_OBSERVED_ROWS]),
        },
        scales=(1.0, 1.0, 1.0, 1.0, 1.0),
        consequence="""The same observation has another value late in training: statistics that
        decay follow a policy that improves, cumulative ones freeze.""",
    )


def _clip_order() -> Detail:
    def clipped_first(i: Inputs) -> np.ndarray:
        x = np.clip(_x(i), -10.0, 10.0)
        return formulas.standardise(x, formulas.cumulative(x))[1:]

    return make_detail(
        "normalisation.order",
        "Are observations clipped before or after they are normalised?",
        _FEED
        + """All observations lie outside of any range that is usual for clipping. Observed, [4]:
        what the agent is given for observations[1:].""",
        (_PPO_2, _WRAPPERS),
        {"observations": [100.0, 130.0, 90.0, 110.0, 150.0]},
        {
            "normalised_first": ("normalised, then clipped", lambda i: _standard(i)[1:]),
            "clipped_first": ("clipped, then normalised", clipped_first),
            "not_normalised": ("clipped only", lambda i: np.clip(_x(i), -10.0, 10.0)[1:]),
            "absent": ("neither", lambda i: _x(i)[1:]),
        },
        tolerance=5e-3,
        scales=(2.0, 2.0, 2.0, 2.0),
        consequence="""Clipping the raw numbers makes observations with a large offset constant: the
        agent is blind to them.""",
    )


DETAILS: tuple[Detail, ...] = (_observation(), _epsilon(), _clip(), _statistics(), _clip_order())
