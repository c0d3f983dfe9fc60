"""Normalisation that an agent does itself, with statistics that move with batches."""

from __future__ import annotations

import numpy as np

from rlregress.details.catalogue import Detail, Formula, Inputs, make_detail
from rlregress.formulas import scaler

_COMPONENT = """The framework's component that agents put before their models, or behind their value
    model, for one number. """
_DOCUMENTED = ("documentation of each framework",)


def _numbers(*numbers: float) -> Formula:
    return lambda i: numbers


def _after_batches(count: float, freedom: int) -> Formula:
    def numbers(i: Inputs) -> list[float]:
        first = scaler.prior(count).merged(i["first"], freedom)
        second = first.merged(i["second"], freedom)
        return [float(of.standardise(i["number"])) for of in (first, second)]

    return numbers


def _targets(values_move: bool, same: bool) -> Formula:
    """Values and returns: the former scaled before the latter move the statistics, or after."""

    def numbers(i: Inputs) -> np.ndarray:
        values = np.full(len(i["rewards"]), i["value"])
        before = scaler.prior(1.0)
        first = before.merged(values, 1) if values_move else before
        both = first.merged(i["rewards"], 1)
        of_values = both if same else first
        return np.append(of_values.standardise(i["value"]), both.standardise(i["rewards"]))

    return numbers


def _untouched(i: Inputs) -> np.ndarray:
    return np.append(i["value"], i["rewards"])


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "scaler.statistics",
        "How do running statistics that move with whole batches weigh these, and what they hold?",
        _COMPONENT
        + """It takes the batch ``first``, then the batch ``second``. Observed, [2]: what it makes
        of ``number`` after the one, and after both.""",
        ("Chan et al. 1982", *_DOCUMENTED),
        {"first": [2.0, 3.0, -1.0, 4.0], "second": [0.5, 6.0], "number": 5.0},
        {
            "unit_prior_sample_variance": (
                "every row the same, next to one of mean 0 and variance 1; the sample variance of "
                "each batch is merged as its variance",
                _after_batches(1.0, 1),
            ),
            "unit_prior": (
                "every row the same, next to one of mean 0 and variance 1",
                _after_batches(1.0, 0),
            ),
            "small_prior": (
                "every row the same, next to 1e-4 rows of mean 0 and variance 1",
                _after_batches(1e-4, 0),
            ),
            "small_prior_sample_variance": (
                "the same with the sample variance of each batch",
                _after_batches(1e-4, 1),
            ),
        },
        consequence="""The same data are scaled differently: more so the smaller the batches are,
        and at the begin of a training.""",
    ),
    make_detail(
        "scaler.one_row",
        "Do the statistics survive a batch of one row?",
        _COMPONENT
        + """It takes a batch of one row, ``number``. Observed, [1]: 1 if what it makes of 0
        afterwards is a finite number, else 0.""",
        _DOCUMENTED,
        {"number": 2.0},
        {
            "finite": ("yes", _numbers(1.0)),
            "not_a_number": (
                "no: a row has no sample variance, and nothing is a number any more",
                _numbers(0.0),
            ),
        },
        consequence="""One minibatch of one row, such as the remainder of a rollout, and every
        observation that follows is not a number.""",
    ),
    make_detail(
        "scaler.inverse",
        "Can a scaled number of any size be scaled back?",
        _COMPONENT
        + """Its statistics are a mean of 0 and the standard deviation ``deviation``. Observed, [2]:
        what it scales ``numbers`` back to.""",
        _DOCUMENTED,
        {"deviation": 2.0, "numbers": [3.0, 30.0]},
        {
            "clipped_5": ("no: beyond 5 deviations it is clipped first", _numbers(6.0, 10.0)),
            "clipped_10": ("no: beyond 10 deviations it is clipped first", _numbers(6.0, 20.0)),
            "any": ("yes", _numbers(6.0, 60.0)),
            "not_scaled_back": ("nothing is scaled back", _numbers(3.0, 30.0)),
        },
        tolerance=1e-6,
        consequence="""Values beyond the bound cannot be said, whatever the network says: advantages
        of states that are that good or bad are wrong.""",
    ),
    make_detail(
        "scaler.ppo.targets",
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
                _targets(True, False),
            ),
            "both_together": (
                "both with statistics of old values and targets",
                _targets(True, True),
            ),
            "targets_alone": (
                "old values with the statistics of before, targets with those of targets",
                _targets(False, False),
            ),
            "not_scaled": ("neither is scaled", _untouched),
        },
        consequence="""Values that are clipped around old values on another scale are held where
        nobody wanted them.""",
    ),
    make_detail(
        "scaler.ppo.ratio",
        "Is the first ratio of an update 1 where observations are scaled?",
        """PPO with the framework's scaling of observations; a rollout of ``observations``, and one
        update of one minibatch, with a policy that depends on them. Observed, [1]: 1 if the ratio
        of new to old probability differs from 1 by more than 1e-4 somewhere in the first minibatch,
        else 0.""",
        _DOCUMENTED,
        {"observations": [2.0, 3.0, -1.0, 4.0]},
        {
            "one": ("yes: with the statistics of the collection", _numbers(0.0)),
            "moved": (
                "no: the statistics take the minibatch before the policy is asked again",
                _numbers(1.0),
            ),
        },
        consequence="""Ratios are clipped, and divergences counted, for a change that no step of the
        optimiser made.""",
    ),
    make_detail(
        "scaler.sac.rows",
        "How often does a transition that is sampled enter the statistics of observations?",
        """SAC with the framework's scaling of observations; one update of ``batch_size``
        transitions. Observed, [1]: rows that enter the statistics in it, over ``batch_size``.""",
        _DOCUMENTED,
        {"batch_size": 5},
        {
            "twice": (
                "twice, with its observation and its next one, each time it is sampled",
                _numbers(2.0),
            ),
            "once": ("once, each time it is sampled", _numbers(1.0)),
            "when_collected": ("never: it did when it was collected", _numbers(0.0)),
        },
        consequence="""Old transitions are counted again and again, so that the statistics are those
        of the replay buffer's past.""",
    ),
)
