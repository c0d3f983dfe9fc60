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


def _get_observations(inputs: Inputs) -> np.ndarray:
    return np.asarray(inputs["observations"], dtype=np.float64)


def _standardise_by_statistics(inputs: Inputs) -> np.ndarray:
    return formulas.standardise_by_statistics(
        _get_observations(inputs), formulas.compute_cumulative_statistics(_get_observations(inputs))
    )


def _standardise_by_previous_statistics(inputs: Inputs) -> np.ndarray:
    return formulas.standardise_by_statistics(
        _get_observations(inputs),
        formulas.delay_statistics_by_one(
            formulas.compute_cumulative_statistics(_get_observations(inputs))
        ),
    )


def _standardise_before_update_without_prior(inputs: Inputs) -> np.ndarray:
    # no prior: a young variance is 0
    moments = formulas.delay_statistics_by_one(
        formulas.compute_cumulative_statistics(_get_observations(inputs), 0.0)
    )
    return formulas.standardise_by_statistics(
        _get_observations(inputs), moments, epsilon=0.0, std_epsilon=1e-2
    )


def _make_observation_detail() -> Detail:
    def drop_first_value(formula: Formula) -> Formula:
        return lambda i: formula(i)[1:]

    def divide_by_variance(inputs: Inputs) -> np.ndarray:
        moments = formulas.compute_cumulative_statistics(_get_observations(inputs))
        return (_get_observations(inputs) - moments.mean) / (moments.variance + 1e-8)

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
                drop_first_value(_standardise_by_statistics),
            ),
            "variance": ("centred, divided by the variance", drop_first_value(divide_by_variance)),
            "not_centred": (
                "divided by the standard deviation",
                drop_first_value(
                    lambda i: formulas.divide_by_deviation(
                        _get_observations(i),
                        formulas.compute_cumulative_statistics(_get_observations(i)),
                    )
                ),
            ),
            "not_scaled": (
                "centred",
                drop_first_value(
                    lambda i: (
                        _get_observations(i)
                        - formulas.compute_cumulative_statistics(_get_observations(i)).mean
                    )
                ),
            ),
            "previous_statistics": (
                "standardised with the statistics before their update",
                drop_first_value(_standardise_by_previous_statistics),
            ),
            "before_update": (
                "the same, without a prior, 1e-2 added to the standard deviation",
                drop_first_value(_standardise_before_update_without_prior),
            ),
            "reset_not_counted": (
                "standardised, but the observations of resets do not enter the statistics",
                lambda i: formulas.standardise_by_statistics(
                    _get_observations(i)[1:],
                    formulas.compute_cumulative_statistics(_get_observations(i)[1:]),
                ),
            ),
            "rescaled": (
                "mapped to [0, 1] with the running range",
                drop_first_value(lambda i: formulas.scale_to_running_range(_get_observations(i))),
            ),
            "absent": ("nothing", lambda i: _get_observations(i)[1:]),
        },
        tolerance=_LOOSE,
        consequence="""Networks see inputs of another size, so that learning rates and initial
        weights that suit one implementation do not suit the other.""",
    )


def _make_epsilon_detail() -> Detail:
    def make_last_formula(compute_statistics: Running, **options: float) -> Formula:
        def standardise_last(inputs: Inputs) -> np.ndarray:
            x = np.append(np.zeros(int(inputs["still"])), inputs["last"])
            moments = compute_statistics(x)
            return formulas.standardise_by_statistics(
                x[-1], moments.select_statistics_at(-1), **options
            )

        return standardise_last

    return make_detail(
        "normalisation.observation.epsilon",
        "What keeps the division away from zero when an observation hardly ever moves?",
        _FEED
        + """``still`` observations of 0 (the first of them at the reset), then one of ``last``.
        Observed, [1]: what the agent is given for the last one.""",
        (_WRAPPERS,),
        {"still": 100, "last": 1e-3},
        {
            "inside_1e-8": (
                "1e-8 is added to the variance",
                make_last_formula(formulas.compute_cumulative_statistics),
            ),
            "inside_1e-5": (
                "1e-5 is added to the variance",
                make_last_formula(formulas.compute_cumulative_statistics, epsilon=1e-5),
            ),
            "negligible": (
                "nothing, or something that is small beside the standard deviation",
                make_last_formula(formulas.compute_cumulative_statistics, epsilon=0.0),
            ),
            "inside_1e-8_no_prior": (
                "1e-8 is added to a variance that starts without a prior",
                make_last_formula(lambda x: formulas.compute_cumulative_statistics(x, 0.0)),
            ),
            "variance_floor_1e-4": (
                "the variance is at least 1e-4, the standard deviation 0.01",
                make_last_formula(
                    lambda x: formulas.compute_decayed_statistics(x, 0.9999),
                    epsilon=0.0,
                    min_variance=1e-4,
                ),
            ),
            "variance_floor_1e-2": (
                "the variance is at least 1e-2, the standard deviation 0.1",
                make_last_formula(
                    lambda x: formulas.compute_decayed_statistics(x, 0.99999),
                    epsilon=0.0,
                    min_variance=1e-2,
                ),
            ),
            "deviation_floor_1e-4": (
                "the standard deviation is at least 1e-4",
                make_last_formula(
                    lambda x: formulas.compute_decayed_statistics(x, 0.9999),
                    epsilon=0.0,
                    min_deviation=1e-4,
                ),
            ),
        },
        consequence="""A component of the observation that hardly moves reaches the networks at its
        own tiny size in one implementation and at full size in the other.""",
    )


def _make_clip_detail() -> Detail:
    def make_clipped_formula(low: float, high: float) -> Formula:
        return lambda i: np.clip(_standardise_by_statistics(i)[-2:], low, high)

    return make_detail(
        "normalisation.observation.clip",
        "To which range is a normalised observation clipped?",
        _FEED + "Observed, [2]: what the agent is given for the last two observations, outliers.",
        (_PPO_2, _WRAPPERS, _TRICKS),
        {"observations": _OUTLIERS},
        {
            "ten": ("[-10, 10]", make_clipped_formula(-10.0, 10.0)),
            "five": ("[-5, 5]", make_clipped_formula(-5.0, 5.0)),
            "upper_only": ("at most 10, no lower limit", make_clipped_formula(-np.inf, 10.0)),
            "none": ("not clipped", make_clipped_formula(-np.inf, np.inf)),
            "none_before_update": (
                "not clipped, and not in the statistics that it is normalised with",
                lambda i: _standardise_before_update_without_prior(i)[-2:],
            ),
            "absent": ("not even normalised", lambda i: _get_observations(i)[-2:]),
        },
        tolerance=0.02,
        margin=4.0,
        scales=(15.8, 11.2),
        consequence="""One outlier, such as a simulation that explodes, reaches the networks at full
        size in one implementation and limited in the other.""",
    )


def _make_statistics_detail() -> Detail:
    def make_rows_formula(compute_statistics: Running) -> Formula:
        def standardise_observed_rows(inputs: Inputs) -> np.ndarray:
            # a floor matters for the first observation only, whose variance may be 0: then its
            # distance from the mean is 0 too, or nearly so
            moments = compute_statistics(_get_observations(inputs))
            return formulas.standardise_by_statistics(
                _get_observations(inputs), moments, epsilon=0.0, min_variance=1e-12
            )[_OBSERVED_ROWS]

        return standardise_observed_rows

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
                make_rows_formula(formulas.compute_cumulative_statistics),
            ),
            "cumulative": (
                "all the same",
                make_rows_formula(lambda x: formulas.compute_cumulative_statistics(x, 0.0)),
            ),
            "cumulative_sample": (
                "all the same; the sample variance",
                make_rows_formula(lambda x: formulas.compute_cumulative_statistics(x, 0.0, ddof=1)),
            ),
            "cumulative_unit_prior": (
                "all the same, next to one sample of mean 0 and variance 1",
                make_rows_formula(lambda x: formulas.compute_cumulative_statistics(x, 1.0)),
            ),
            "decay_0.99999": (
                "0.99999 per step",
                make_rows_formula(lambda x: formulas.compute_decayed_statistics(x, 0.99999)),
            ),
            "decay_0.9999": (
                "0.9999 per step",
                make_rows_formula(lambda x: formulas.compute_decayed_statistics(x, 0.9999)),
            ),
            "decay_0.999": (
                "0.999 per step",
                make_rows_formula(lambda x: formulas.compute_decayed_statistics(x, 0.999)),
            ),
            "decay_0.99": (
                "0.99 per step",
                make_rows_formula(lambda x: formulas.compute_decayed_statistics(x, 0.99)),
            ),
            "uncorrected_0.9999": (
                "0.9999 per step, the variance not corrected for the start at 0",
                make_rows_formula(
                    lambda x: formulas.compute_statistics_without_bias_correction(x, 0.9999)
                ),
            ),
            "absent": (
                "no statistics: the observation itself",
                lambda i: _get_observations(i)[_OBSERVED_ROWS],
            ),
        },
        scales=(1.0, 1.0, 1.0, 1.0, 1.0),
        consequence="""The same observation has another value late in training: statistics that
        decay follow a policy that improves, cumulative ones freeze.""",
    )


def _make_clip_order_detail() -> Detail:
    def clip_then_standardise(inputs: Inputs) -> np.ndarray:
        x = np.clip(_get_observations(inputs), -10.0, 10.0)
        return formulas.standardise_by_statistics(x, formulas.compute_cumulative_statistics(x))[1:]

    return make_detail(
        "normalisation.order",
        "Are observations clipped before or after they are normalised?",
        _FEED
        + """All observations lie outside of any range that is usual for clipping. Observed, [4]:
        what the agent is given for observations[1:].""",
        (_PPO_2, _WRAPPERS),
        {"observations": [100.0, 130.0, 90.0, 110.0, 150.0]},
        {
            "normalised_first": (
                "normalised, then clipped",
                lambda i: _standardise_by_statistics(i)[1:],
            ),
            "clipped_first": ("clipped, then normalised", clip_then_standardise),
            "not_normalised": (
                "clipped only",
                lambda i: np.clip(_get_observations(i), -10.0, 10.0)[1:],
            ),
            "absent": ("neither", lambda i: _get_observations(i)[1:]),
        },
        tolerance=5e-3,
        scales=(2.0, 2.0, 2.0, 2.0),
        consequence="""Clipping the raw numbers makes observations with a large offset constant: the
        agent is blind to them.""",
    )


DETAILS: tuple[Detail, ...] = (
    _make_observation_detail(),
    _make_epsilon_detail(),
    _make_clip_detail(),
    _make_statistics_detail(),
    _make_clip_order_detail(),
)
