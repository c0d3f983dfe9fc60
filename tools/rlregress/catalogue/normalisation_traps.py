"""Traps of normalisation: undocumented behaviour that harms users who are unaware of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.catalogue.normalisation import Running
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import normalisation as formulas

_FEED = """One environment with an observation of one number: the reset gives observations[0],
    step t gives observations[t]; rewards are 0 unless given. """
_WRAPPERS = "thesis, appendix C.1"
_PPO_1 = "The 32 details of PPO, MuJoCo 1"


def _get_observations(inputs: Inputs) -> np.ndarray:
    return np.asarray(inputs["observations"], dtype=np.float64)


def _standardise_by_statistics(observations: np.ndarray) -> np.ndarray:
    return formulas.standardise_by_statistics(
        observations, formulas.compute_cumulative_statistics(observations)
    )


def _make_terminal_statistics_detail() -> Detail:
    def standardise_last_three(inputs: Inputs) -> np.ndarray:
        return _standardise_by_statistics(_get_observations(inputs))[-3:]

    def standardise_without_terminal(inputs: Inputs) -> np.ndarray:
        return _standardise_by_statistics(
            np.delete(_get_observations(inputs), int(inputs["terminal"]))
        )[-3:]

    return make_detail(
        "normalisation.terminal_observation.statistics",
        "Does the last observation of an episode enter the running statistics?",
        _FEED
        + """The episode terminates with observations[terminal]; the next element is the
        observation of the reset that follows. Observed, [3]: what the agent is given for the last
        three observations.""",
        (_PPO_1,),
        {"observations": [0.0, 1.0, 40.0, 0.5, 2.0, -1.0], "terminal": 2},
        {
            "counted": ("as any other", standardise_last_three),
            "ignored": ("it never does; that of the reset does", standardise_without_terminal),
            "absent": ("there are no statistics", lambda i: _get_observations(i)[-3:]),
        },
        tolerance=2e-3,
        consequence="""Where episodes end in rare states, such as a fall, exactly these are
        normalised with statistics that have never seen one.""",
    )


def _make_terminal_observation_detail() -> Detail:
    def make_clipped_observation_formula(clip_limit: float) -> Formula:
        def compute_stored_observation(inputs: Inputs) -> float:
            # normalised, clipped and brought back with the statistics of what was seen, in which
            # the reset's observation stands in the place of the terminal one
            x = _get_observations(inputs)
            mean, variance = formulas.compute_cumulative_statistics(
                np.append(x[:-1], x[0])
            ).select_statistics_at(-1)
            deviation = np.sqrt(variance + 1e-8)
            normalised = np.clip((x[-1] - mean) / deviation, -clip_limit, clip_limit)
            return normalised * deviation + mean

        return compute_stored_observation

    return make_detail(
        "normalisation.terminal_observation",
        "Which terminal observation does an off-policy algorithm store beside normalisation?",
        _FEED
        + """The episode terminates with the last observation, an outlier; the reset gives
        observations[0] again. An off-policy algorithm trains on it with the framework's
        normalisation. Observed, [1]: the next observation of the last step as the replay buffer
        holds it, before any normalisation.""",
        ("thesis, footnote 4",),
        {"observations": [0.0, 1.0, -1.0, 1000.0]},
        {
            "true": ("the environment's", lambda i: _get_observations(i)[-1]),
            "clipped": (
                "the mean plus ten standard deviations: it was clipped and brought back",
                make_clipped_observation_formula(10.0),
            ),
            "reset": ("that of the reset", lambda i: _get_observations(i)[0]),
        },
        consequence="""The critic learns of a terminal state that does not exist; where the last
        step is a truncation, it bootstraps from it.""",
    )


def _make_replay_normalisation_detail() -> Detail:
    def make_replayed_observations_formula(statistics_step: int) -> Formula:
        def standardise_replayed(inputs: Inputs) -> np.ndarray:
            x = _get_observations(inputs)
            mean, variance = formulas.compute_cumulative_statistics(x, 0.0).select_statistics_at(
                statistics_step
            )
            return (x[1:3] - mean) / np.sqrt(variance)

        return standardise_replayed

    def standardise_when_collected(inputs: Inputs) -> np.ndarray:
        x = _get_observations(inputs)
        return formulas.standardise_by_statistics(
            x, formulas.compute_cumulative_statistics(x, 0.0), min_variance=1e-4
        )[1:3]

    return make_detail(
        "normalisation.replay",
        "When is an observation of a replay buffer normalised?",
        _FEED
        + """All of them are collected into a replay buffer, with the framework's normalisation.
        Observed, [2]: observations[1] and [2] as a batch that is sampled at the end holds
        them.""",
        ("A Bag of Tricks, Observation Normalization and Clipping",),
        {"observations": [1.0, 2.0, 3.5, 9.0, -4.0, 12.0]},
        {
            "when_sampled": (
                "when it is sampled, with the statistics of that moment",
                make_replayed_observations_formula(-1),
            ),
            "when_collected": ("when it is collected", standardise_when_collected),
            "never": ("never", lambda i: _get_observations(i)[1:3]),
        },
        tolerance=2e-3,
        consequence="""Old transitions keep the scale of their day in one implementation and follow
        the statistics in the other, so that a buffer mixes scales or does not.""",
    )


def _make_early_scale_detail() -> Detail:
    def make_last_two_observations_formula(compute_statistics: Running) -> Formula:
        def standardise_and_return_last_two(inputs: Inputs) -> np.ndarray:
            x = _make_alternating_observations(inputs)
            return formulas.standardise_by_statistics(x, compute_statistics(x))[-2:]

        return standardise_and_return_last_two

    return make_detail(
        "normalisation.observation.early_scale",
        "Is the scale of a young training the spread of its observations or their distance from 0?",
        _FEED
        + """``count`` observations, in turn ``offset`` + ``spread`` and ``offset`` - ``spread``.
        The component is the one that the framework recommends to new users. Observed, [2]: what
        the agent is given for the last two.""",
        (_PPO_1, _WRAPPERS),
        {"count": 60, "offset": 10.0, "spread": 1.0},
        {
            "spread": (
                "their standard deviation",
                make_last_two_observations_formula(formulas.compute_cumulative_statistics),
            ),
            "distance": (
                "nearly the root of their mean square: E[x]^2 is subtracted before it is "
                "corrected for an average that starts at 0",
                make_last_two_observations_formula(
                    lambda x: formulas.compute_statistics_without_bias_correction(x, 0.9999)
                ),
            ),
            "absent": ("there is no scale", lambda i: _make_alternating_observations(i)[-2:]),
        },
        tolerance=2e-3,
        scales=(1.0, 1.0),
        consequence="""For the first ten thousand steps an observation with an offset reaches the
        networks as a constant near 0: what distinguishes states is scaled away.""",
    )


def _make_alternating_observations(inputs: Inputs) -> np.ndarray:
    signs = np.where(np.arange(int(inputs["count"])) % 2, -1.0, 1.0)
    return inputs["offset"] + inputs["spread"] * signs


def _make_large_offset_detail() -> Detail:
    def make_size_flags_formula(compute_statistics: Running) -> Formula:
        def flag_too_large_and_too_small(inputs: Inputs) -> np.ndarray:
            x = _make_alternating_observations(inputs)
            late = np.abs(formulas.standardise_by_statistics(x, compute_statistics(x))[-50:])
            return np.array([0.0, float(np.max(late) > 3.0), float(np.max(late) < 0.5)])

        return flag_too_large_and_too_small

    return make_detail(
        "normalisation.observation.large_offset",
        "Does normalisation survive an offset that is large beside the spread?",
        _FEED
        + """``count`` observations in single precision, in turn ``offset`` + ``spread`` and
        ``offset`` - ``spread``: right are 1 and -1. Where the component's statistics can be
        cumulative or decay, they are cumulative. Observed, [3] of 0 or 1: of all that the agent
        is given, some is not finite; of the last fifty, some finite number is larger than 3;
        all are smaller than 0.5.""",
        (_PPO_1,),
        {"count": 60, "offset": 1000.0, "spread": 0.1},
        {
            "standardised": (
                "yes",
                make_size_flags_formula(lambda x: formulas.compute_cumulative_statistics(x, 0.0)),
            ),
            "shrunk_by_prior": (
                "finite but too small: the prior of mean 0 widens the variance at first",
                make_size_flags_formula(formulas.compute_cumulative_statistics),
            ),
            "blown_up": ("finite but far too large", lambda i: np.array([0.0, 1.0, 0.0])),
            "not_a_number": (
                "no: cancellation gives a negative variance, its root is not a number",
                lambda i: np.array([1.0, 1.0, 0.0]),
            ),
        },
        consequence="One observation that is not a number destroys all networks at once.",
    )


def _make_shared_statistics_detail() -> Detail:
    def make_formula_of_both_environments(
        standardise_observations: Callable[[np.ndarray], np.ndarray],
    ) -> Formula:
        return lambda i: standardise_observations(np.stack([i["first"], i["second"]]))

    def standardise_separately(observations: np.ndarray) -> np.ndarray:
        return np.concatenate([_standardise_by_statistics(row)[1:] for row in observations])

    def standardise_together(observations: np.ndarray) -> np.ndarray:
        statistics = formulas.compute_cumulative_statistics(observations.T.reshape(-1))
        pooled = statistics.select_statistics_at(slice(1, None, 2))
        return np.concatenate(
            [formulas.standardise_by_statistics(row, pooled)[1:] for row in observations]
        )

    return make_detail(
        "normalisation.environments",
        "Do several environments share the running statistics of observations?",
        """Two environments side by side, as the framework vectorises them, with an observation of
        one number: ``first`` and ``second``, their first elements at the reset. The component is
        the one that the framework recommends to new users. Observed, [6]: what the agent is given
        for first[1:], then for second[1:]; where the scale itself is not the standard deviation
        (see normalisation.observation.early_scale), with statistics that are cumulative.""",
        (_PPO_1,),
        {"first": [1.0, 2.0, 0.0, 3.0], "second": [10.0, 14.0, 9.0, 11.0]},
        {
            "shared": ("they do", make_formula_of_both_environments(standardise_together)),
            "separate": (
                "each has its own",
                make_formula_of_both_environments(standardise_separately),
            ),
            "absent": (
                "there are none",
                make_formula_of_both_environments(lambda x: x[:, 1:].reshape(-1)),
            ),
        },
        tolerance=2e-3,
        consequence="""The same state has another normalised value in each environment, and the
        agent that is evaluated needs the statistics of one of them.""",
    )


def _make_epsilon_with_fixed_statistics_detail() -> Detail:
    def make_log_quotient(divisor: Formula) -> Formula:
        return lambda i: np.log10(i["distance"] / divisor(i))

    return make_detail(
        "normalisation.fixed.epsilon",
        "With statistics that are handed over, what keeps the division away from zero?",
        """Mean 0 and the standard deviation ``deviation`` (a tensor or array) are handed to the
        framework's component, which does not change them. Observed, [1]: the decimal logarithm of
        what it makes of an observation of ``distance``.""",
        ("A Bag of Tricks, Observation Normalization and Clipping",),
        {"deviation": 1e-7, "distance": 1e-4},
        {
            "none": ("nothing", make_log_quotient(lambda i: i["deviation"])),
            "inside_1e-8": (
                "1e-8 is added to the variance",
                make_log_quotient(lambda i: np.sqrt(i["deviation"] ** 2 + 1e-8)),
            ),
            "added_1e-8": (
                "1e-8 is added to the deviation",
                make_log_quotient(lambda i: i["deviation"] + 1e-8),
            ),
            "added_1e-2": (
                "1e-2 is added to it",
                make_log_quotient(lambda i: i["deviation"] + 1e-2),
            ),
            "added_1e-3": (
                "1e-3 is added to it",
                make_log_quotient(lambda i: i["deviation"] + 1e-3),
            ),
            "floor_1e-6": ("the deviation is at least 1e-6", make_log_quotient(lambda i: 1e-6)),
        },
        consequence="""A component of the observation that never moved in the data for the
        statistics is divided by zero.""",
        tolerance=1e-4,
    )


DETAILS: tuple[Detail, ...] = (
    _make_terminal_statistics_detail(),
    _make_terminal_observation_detail(),
    _make_replay_normalisation_detail(),
    _make_early_scale_detail(),
    _make_large_offset_detail(),
    _make_shared_statistics_detail(),
    _make_epsilon_with_fixed_statistics_detail(),
    make_detail(
        "normalisation.reward_clip.one_sided",
        "Can rewards be clipped on one side only?",
        """The framework's component that clips rewards is made with a lower limit of ``low`` and
        no upper one, as its signature allows. Observed, [3]: 1 if making it raises an error, else
        0; then what it makes of ``rewards`` (0 if it could not be made).""",
        ("A Bag of Tricks, Reward Normalization and Clipping",),
        {"low": -1.0, "rewards": [-5.0, 7.0]},
        {
            "clips": ("yes", lambda i: np.append(0.0, np.maximum(i["rewards"], i["low"]))),
            "raises": ("no: an error", lambda i: np.array([1.0, 0.0, 0.0])),
            "both_sides": (
                "it is clipped on both sides",
                lambda i: np.append(0.0, np.clip(i["rewards"], i["low"], -i["low"])),
            ),
            "ignored": ("it is not clipped at all", lambda i: np.append(0.0, i["rewards"])),
        },
        consequence="A documented default cannot be used.",
    ),
)
