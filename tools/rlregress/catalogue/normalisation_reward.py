"""Normalisation of rewards."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import normalisation as formulas

_FEED = """One environment: step t (from 0) gives rewards[t], its observation is 0. The component
    of the framework that normalises rewards is around it, with its defaults. """
_PPO_3 = "The 32 details of PPO, MuJoCo 3"
_PPO_4 = "The 32 details of PPO, MuJoCo 4"
_WRAPPERS = "thesis, appendix C.1"
_TRICKS = "A Bag of Tricks, Reward Normalization and Clipping"
#: of a component's own, unless an algorithm's is handed to it.
_DISCOUNT = 0.99
#: how the statistics are taken does not matter where this tolerance is used.
_LOOSE = 2e-3


def _get_rewards(inputs: Inputs) -> np.ndarray:
    return np.asarray(inputs["rewards"], dtype=np.float64)


def _divide_by_return_std(
    rewards: np.ndarray, discount: float = _DISCOUNT, **ends: np.ndarray
) -> np.ndarray:
    totals = formulas.compute_rolling_return(rewards, discount, **ends)
    return formulas.divide_by_deviation(rewards, formulas.compute_cumulative_statistics(totals))


def _standardise_rewards(inputs: Inputs) -> np.ndarray:
    return formulas.standardise_by_statistics(
        _get_rewards(inputs),
        formulas.compute_cumulative_statistics(_get_rewards(inputs), 0.0),
        min_variance=1e-4,
    )


def _drop_first_value(formula: Formula) -> Formula:
    return lambda i: formula(i)[1:]


def _make_reward_detail() -> Detail:
    def standardise_by_return(inputs: Inputs) -> np.ndarray:
        moments = formulas.compute_cumulative_statistics(
            formulas.compute_rolling_return(_get_rewards(inputs), _DISCOUNT)
        )
        return formulas.standardise_by_statistics(_get_rewards(inputs), moments)

    return make_detail(
        "normalisation.reward",
        "What is done to a reward before it trains an agent?",
        _FEED
        + """No episode ends. Observed, [6]: the reward that an agent is given at steps 1 to 6.
        The tolerance is wide, so that it does not matter here how the running statistics are
        taken.""",
        (_PPO_3, _WRAPPERS, _TRICKS),
        {"rewards": [1.0, -2.0, 3.0, 0.5, 4.0, -1.0, 2.0]},
        {
            "return_deviation": (
                "divided by the standard deviation of the rolling discounted return",
                _drop_first_value(lambda i: _divide_by_return_std(_get_rewards(i))),
            ),
            "return_standardised": (
                "less the mean of the rolling discounted return, divided by its deviation",
                _drop_first_value(standardise_by_return),
            ),
            "return_variance": (
                "divided by the variance of the rolling discounted return",
                _drop_first_value(
                    lambda i: (
                        _get_rewards(i)
                        / formulas.compute_cumulative_statistics(
                            formulas.compute_rolling_return(_get_rewards(i), _DISCOUNT)
                        ).variance
                    )
                ),
            ),
            "reward_deviation": (
                "divided by the standard deviation of the rewards",
                _drop_first_value(
                    lambda i: formulas.divide_by_deviation(
                        _get_rewards(i), formulas.compute_cumulative_statistics(_get_rewards(i))
                    )
                ),
            ),
            "reward_standardised": (
                "less the mean of the rewards, divided by their standard deviation",
                _drop_first_value(_standardise_rewards),
            ),
            "reward_standardised_sample": (
                "less the mean of the rewards, divided by their sample deviation (decay 0.999)",
                _drop_first_value(
                    lambda i: formulas.standardise_by_statistics(
                        _get_rewards(i),
                        formulas.compute_decayed_statistics(_get_rewards(i), 0.999, ddof=1),
                    )
                ),
            ),
            "absent": ("nothing", _drop_first_value(_get_rewards)),
        },
        tolerance=_LOOSE,
        consequence="""Losses, value targets and the size of gradients differ in scale; where
        rewards are centred, a task that pays for staying alive pays nothing any more.""",
    )


def _make_return_reset_detail() -> Detail:
    def get_terminated_and_truncated(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(inputs["terminated"]), np.asarray(inputs["truncated"])

    def divide_by_return_reset_after_end(inputs: Inputs) -> np.ndarray:
        return _divide_by_return_std(
            _get_rewards(inputs), keep_after=1.0 - np.maximum(*get_terminated_and_truncated(inputs))
        )

    return make_detail(
        "normalisation.reward.reset",
        "What becomes of the rolling return at the end of an episode?",
        _FEED
        + """``terminated`` and ``truncated`` say which steps end an episode, and how. Observed,
        [8]: the reward that an agent is given at steps 1 to 8.""",
        (_PPO_3,),
        {
            "rewards": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 4.0],
            "terminated": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            "truncated": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        },
        {
            "dropped_after_every_end": (
                "0 after the last reward of an episode has been scaled",
                _drop_first_value(divide_by_return_reset_after_end),
            ),
            "dropped_before_terminal_reward": (
                "dropped before a terminal reward is added, which stays; kept at truncations",
                _drop_first_value(
                    lambda i: _divide_by_return_std(
                        _get_rewards(i), keep_before=1.0 - get_terminated_and_truncated(i)[0]
                    )
                ),
            ),
            "dropped_before_every_last_reward": (
                "dropped before the last reward of an episode is added, which stays",
                _drop_first_value(
                    lambda i: _divide_by_return_std(
                        _get_rewards(i),
                        keep_before=1.0 - np.maximum(*get_terminated_and_truncated(i)),
                    )
                ),
            ),
            "dropped_after_terminations": (
                "0 after a termination, kept at truncations",
                _drop_first_value(
                    lambda i: _divide_by_return_std(
                        _get_rewards(i), keep_after=1.0 - get_terminated_and_truncated(i)[0]
                    )
                ),
            ),
            "never_dropped": (
                "goes on through every end",
                _drop_first_value(lambda i: _divide_by_return_std(_get_rewards(i))),
            ),
            "no_return": (
                "there is none: the reward itself is standardised",
                _drop_first_value(_standardise_rewards),
            ),
            "absent": ("there is none: the reward is not scaled", _drop_first_value(_get_rewards)),
        },
        tolerance=_LOOSE,
        consequence="""In short episodes the scale of all rewards differs, and a reward is scaled by
        what happened in an episode that is over.""",
    )


def _make_reward_clip_detail() -> Detail:
    def make_clipped_formula(low: float, high: float) -> Formula:
        return lambda i: np.clip(_divide_by_return_std(_get_rewards(i))[-2:], low, high)

    return make_detail(
        "normalisation.reward.clip",
        "To which range is a normalised reward clipped?",
        _FEED
        + "No episode ends. Observed, [2]: what an agent is given for the last two, outliers.",
        (_PPO_4, _WRAPPERS, _TRICKS),
        {"rewards": [*([1.0, -1.0] * 125), 1000.0, -1000.0]},
        {
            "ten": ("[-10, 10]", make_clipped_formula(-10.0, 10.0)),
            "five": ("[-5, 5]", make_clipped_formula(-5.0, 5.0)),
            "one": ("[-1, 1]", make_clipped_formula(-1.0, 1.0)),
            "none": ("not clipped", make_clipped_formula(-np.inf, np.inf)),
            "standardised_none": (
                "not clipped: less the mean, divided by the deviation of the rewards",
                lambda i: _standardise_rewards(i)[-2:],
            ),
            "absent": ("not even normalised", lambda i: _get_rewards(i)[-2:]),
        },
        tolerance=0.02,
        margin=4.0,
        scales=(15.8, 15.8),
        consequence="One extreme reward can dominate an update in one implementation only.",
    )


def _make_episode_return_detail() -> Detail:
    def make_sum_formula(reward_formula: Formula) -> Formula:
        return lambda i: np.sum(reward_formula(i))

    return make_detail(
        "normalisation.episode_return",
        "Which return does a training report while rewards are normalised?",
        """One environment whose only episode has these rewards and then terminates, within the
        wrappers that a training with the framework's normalisation of rewards has (where there
        is none: the wrappers that it has). Observed, [1]: the return of the episode as
        reported.""",
        (_WRAPPERS,),
        {"rewards": [1.0, 2.0, 3.0, 5.0]},
        {
            "raw": ("the sum of the environment's rewards", make_sum_formula(_get_rewards)),
            "raw_discounted": (
                "their discounted sum",
                lambda i: formulas.compute_rolling_return(_get_rewards(i)[::-1], _DISCOUNT)[-1],
            ),
            "scaled": (
                "the sum of the rewards that the agent is given",
                make_sum_formula(
                    lambda i: np.clip(_divide_by_return_std(_get_rewards(i)), -10.0, 10.0)
                ),
            ),
            "standardised": (
                "the sum of the standardised rewards",
                make_sum_formula(_standardise_rewards),
            ),
        },
        consequence="Learning curves of the two are not in the same unit.",
    )


DETAILS: tuple[Detail, ...] = (
    _make_reward_detail(),
    _make_return_reset_detail(),
    _make_reward_clip_detail(),
    make_detail(
        "normalisation.reward.first",
        "What becomes of the very first reward of a training?",
        _FEED + "Observed, [1]: what an agent is given for rewards[0], the first one ever.",
        (_PPO_3,),
        {"rewards": [2.0, 1.0]},
        {
            "ten": (
                "the limit, 10: the deviation of the first return is that of the prior, 0.01",
                lambda i: 10.0,
            ),
            "five": ("the limit, 5", lambda i: 5.0),
            "unlimited": (
                "r / sqrt(1e-4 (1 + r^2))",
                lambda i: _divide_by_return_std(_get_rewards(i))[0],
            ),
            "unit": ("r / |r|", lambda i: 1.0),
            "zero": ("0: the mean is the reward itself", lambda i: 0.0),
            "absent": ("itself", lambda i: _get_rewards(i)[0]),
        },
        scales=(10.0,),
        tolerance=1e-3,
        consequence="""The first reward enters the first update at the limit, whatever its size: a
        training starts with a value target that means nothing.""",
    ),
    make_detail(
        "normalisation.reward.discount",
        "With whose discount factor is the rolling return discounted?",
        _FEED
        + """No episode ends. The algorithm's discount factor is ``discount``; the normalisation
        is put around the environment as the framework does by itself, or, where a user does it,
        with the defaults. Observed, [5]: what an agent is given at steps 1 to 5.""",
        (_PPO_3,),
        {"rewards": [1.0, 2.0, 1.0, 2.0, 0.25, 3.0], "discount": 0.5},
        {
            "own": (
                "0.99, whatever the algorithm's is",
                _drop_first_value(lambda i: _divide_by_return_std(_get_rewards(i))),
            ),
            "algorithm": (
                "with the algorithm's",
                _drop_first_value(lambda i: _divide_by_return_std(_get_rewards(i), i["discount"])),
            ),
            "none": (
                "with none: 1",
                _drop_first_value(lambda i: _divide_by_return_std(_get_rewards(i), 1.0)),
            ),
            "no_return": ("there is no return", _drop_first_value(_standardise_rewards)),
            "absent": ("rewards are not scaled", _drop_first_value(_get_rewards)),
        },
        tolerance=5e-4,
        margin=10.0,
        scales=(2.0, 2.0, 2.0, 2.0, 2.0),
        consequence="""Somebody who changes the discount factor changes the scale of rewards in one
        implementation and not in the other.""",
    ),
    _make_episode_return_detail(),
)
