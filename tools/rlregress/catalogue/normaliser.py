"""Normalisers inside of an agent, whose statistics take whole batches."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import normaliser

_COMPONENT = "The framework's component that agents put before or behind their networks, alone. "
_DOCUMENTED = ("documentation of each framework",)
_MERGED = ("Chan et al. 1982", *_DOCUMENTED)


def _make_formula_of_merged_batches(prior: normaliser.Statistics, ddof: int) -> Formula:
    def standardise_after_each_batch(inputs: Inputs) -> list[float]:
        first = prior.merge_batch(inputs["first"], ddof)
        second = first.merge_batch(inputs["second"], ddof)
        return [float(running.standardise(inputs["number"])) for running in (first, second)]

    return standardise_after_each_batch


def _make_formula_of_averaged_moments(by_size: bool) -> Formula:
    """Return a formula that standardises with averages of the batches' means and variances."""

    def standardise_by_averages(inputs: Inputs) -> np.ndarray:
        batches = [inputs["first"], inputs["second"]]
        moments = np.array([(batch.mean(), batch.var()) for batch in batches])
        weights = [len(batch) if by_size else 1 for batch in batches]
        mean, variance = np.stack([moments[0], np.average(moments, axis=0, weights=weights)]).T
        return np.asarray((inputs["number"] - mean) / np.sqrt(variance))

    return standardise_by_averages


def _make_formula_of_scaled_value_and_returns(
    values_update_statistics: bool, uses_same_statistics: bool
) -> Formula:
    """Return a formula: standardised value and returns, by the order of statistics updates."""

    def standardise_value_and_returns(inputs: Inputs) -> np.ndarray:
        values = np.full(len(inputs["rewards"]), inputs["value"])
        before = normaliser.make_prior_statistics(1.0)
        first = before.merge_batch(values, 1) if values_update_statistics else before
        both = first.merge_batch(inputs["rewards"], 1)
        value_statistics = both if uses_same_statistics else first
        return np.append(
            value_statistics.standardise(inputs["value"]), both.standardise(inputs["rewards"])
        )

    return standardise_value_and_returns


def _get_value_and_rewards(inputs: Inputs) -> np.ndarray:
    return np.append(inputs["value"], inputs["rewards"])


_PRIORS = {
    "unit_prior": ("every row the same, next to one of mean 0 and variance 1", 1.0),
    "small_prior": ("every row the same, next to 1e-4 rows of mean 0 and variance 1", 1e-4),
    "no_prior": ("every row the same", 0.0),
}
_SAMPLE = "; the sample variance of each batch is merged as its variance"

DETAILS: tuple[Detail, ...] = (
    make_detail(
        "normaliser.statistics",
        "How do running statistics that move with whole batches weigh these, and what they hold?",
        _COMPONENT
        + """It takes the batch ``first``, then the batch ``second``; nothing that counts is added
        to its deviation. Observed, [2]: what it makes of ``number`` after the one, and after
        both.""",
        _MERGED,
        {"first": [22.0, 23.0, 19.0, 24.0], "second": [20.5, 26.0], "number": 25.0},
        {
            f"{name}{suffix}": (
                meaning + further,
                _make_formula_of_merged_batches(normaliser.make_prior_statistics(rows), freedom),
            )
            for name, (meaning, rows) in _PRIORS.items()
            for freedom, suffix, further in ((0, "", ""), (1, "_sample_variance", _SAMPLE))
        }
        | {
            "variances_averaged": (
                "variances are averaged: what lies between the batches is lost",
                _make_formula_of_averaged_moments(True),
            ),
            "equal_weights": (
                "batches count the same, whatever their size",
                _make_formula_of_averaged_moments(False),
            ),
        },
        consequence="""The same data are scaled differently: more so the smaller the batches are,
        at the begin of a training, and where observations drift from rollout to rollout.""",
    ),
    make_detail(
        "normaliser.one_row",
        "Do the statistics survive a batch of one row?",
        _COMPONENT
        + """It takes a batch of one row, ``number``. Observed, [1]: 1 if what it makes of 0
        afterwards is a finite number, else 0.""",
        _DOCUMENTED,
        {"number": 2.0},
        {
            "finite": ("yes", make_constant_formula(1.0)),
            "not_a_number": (
                "no: a row has no sample variance, and nothing is a number any more",
                make_constant_formula(0.0),
            ),
        },
        consequence="""One minibatch of one row, such as the remainder of a rollout, and every
        observation that follows is not a number.""",
    ),
    make_detail(
        "normaliser.until",
        "When does a limit of observations end the learning of statistics?",
        _COMPONENT
        + """Its limit is ``limit`` observations; three batches of ``size`` follow, of 0, 1 and 2.
        Observed, [1]: the mean that it subtracts then.""",
        _DOCUMENTED,
        {"limit": 4, "size": 3},
        {
            "reached": ("with the batch that reaches it", make_constant_formula(0.5)),
            "not_exceeded": ("before a batch that would exceed it", make_constant_formula(0.0)),
            "exact": ("within a batch", make_constant_formula(0.25)),
            "never": ("never", make_constant_formula(1.0)),
        },
        consequence="""Statistics that freeze too early belong to the first, clumsy policies.""",
    ),
    make_detail(
        "normaliser.inverse",
        "Can a scaled number of any size be scaled back?",
        _COMPONENT
        + """Its statistics are a mean of 0 and the standard deviation ``deviation``. Observed, [2]:
        what it scales ``numbers`` back to.""",
        _DOCUMENTED,
        {"deviation": 2.0, "numbers": [3.0, 30.0]},
        {
            "clipped_5": (
                "no: beyond 5 deviations it is clipped first",
                make_constant_formula(6.0, 10.0),
            ),
            "clipped_10": (
                "no: beyond 10 deviations it is clipped first",
                make_constant_formula(6.0, 20.0),
            ),
            "any": ("yes", make_constant_formula(6.0, 60.0)),
            "not_scaled_back": ("nothing is scaled back", make_constant_formula(3.0, 30.0)),
        },
        tolerance=1e-6,
        consequence="""Values beyond the bound cannot be said, whatever the network says: advantages
        of states that are that good or bad are wrong.""",
    ),
    make_detail(
        "normaliser.ppo.targets",
        "With which statistics are the old values and the value targets of an update scaled?",
        """PPO with the framework's scaling of values, fresh. Every step earns one of ``rewards``
        and terminates, so that these are the value targets; the value network says ``value`` of
        every state. Observed, [5]: the old value of the first step as the update reads it, and the
        value targets.""",
        _DOCUMENTED,
        {"value": 0.5, "rewards": [1.0, 2.0, 4.0, 9.0]},
        {
            "one_after_the_other": (
                "old values with statistics of old values, targets with those of both",
                _make_formula_of_scaled_value_and_returns(True, False),
            ),
            "both_together": (
                "both with statistics of old values and targets",
                _make_formula_of_scaled_value_and_returns(True, True),
            ),
            "targets_alone": (
                "old values with the statistics of before, targets with those of targets",
                _make_formula_of_scaled_value_and_returns(False, False),
            ),
            "not_scaled": ("neither is scaled", _get_value_and_rewards),
        },
        consequence="""Values that are clipped around old values on another scale are held where
        nobody wanted them.""",
    ),
    make_detail(
        "normaliser.ppo.ratio",
        "Is the ratio of a policy that has not moved 1 where observations are normalised?",
        """Two rollouts of ``steps`` steps in an environment whose observations grow by 1 a step;
        nothing is learnt but statistics. Observed, [2]: 1 if a ratio of the first minibatch differs
        from 1 by more than 1e-3, else 0, after the first rollout and after the second.""",
        ("Schulman et al. 2017, equation 6",),
        {"steps": 8},
        {
            "one": ("it is: the update sees what the rollout saw", make_constant_formula(0.0, 0.0)),
            "moved": (
                "no: statistics moved in the rollout, or in the update",
                make_constant_formula(1.0, 1.0),
            ),
            "moved_later": ("not after the first rollout", make_constant_formula(0.0, 1.0)),
        },
        consequence="""The clip acts on a policy that has not moved: gradients of some samples are
        lost, and those of others belong to another policy.""",
    ),
    make_detail(
        "normaliser.ppo.critic",
        "Are the observations of the value network scaled with statistics that follow them?",
        """PPO with the framework's scaling of observations, fresh, for rollouts of one step; only
        statistics are learnt. The policy is given ``observations`` one after the other, the value
        network these times ``factor``, plus ``offset``, which changes no standardised number.
        Observed, [2]: for the last step, 1 if both networks get the same number,
        up to a relative error of 1e-2, else 0; 1 if the value network gets its observation as it
        is, up to 2e-2, else 0.""",
        _DOCUMENTED,
        {
            "observations": [200.0, 300.0, -100.0, 400.0, 50.0, 600.0],
            "factor": 3.0,
            "offset": 1000.0,
        },
        {
            "own": ("they are, as those of the policy", make_constant_formula(1.0, 0.0)),
            "as_observed": (
                "they are not scaled, or their statistics stay",
                make_constant_formula(0.0, 1.0),
            ),
            "others": (
                "with statistics of others, or of another time",
                make_constant_formula(0.0, 0.0),
            ),
        },
        consequence="""The value network reads numbers of a size that it cannot learn from, while
        the policy's inputs look right.""",
    ),
    make_detail(
        "normaliser.sac.rows",
        "How often does a transition that is sampled enter the statistics of observations?",
        """SAC with the framework's scaling of observations; one update of ``batch_size``
        transitions. Observed, [1]: rows that enter the statistics in it, over ``batch_size``.""",
        _DOCUMENTED,
        {"batch_size": 5},
        {
            "twice": (
                "twice, with its observation and its next one, each time it is sampled",
                make_constant_formula(2.0),
            ),
            "once": ("once, each time it is sampled", make_constant_formula(1.0)),
            "when_collected": ("never: it did when it was collected", make_constant_formula(0.0)),
        },
        consequence="""Old transitions are counted again and again, so that the statistics are those
        of the replay buffer's past.""",
    ),
)
