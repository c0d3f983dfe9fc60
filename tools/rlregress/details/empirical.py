"""Normalisers of observations that are a part of the agent, and take whole batches."""

from __future__ import annotations

import numpy as np

from rlregress.details.catalogue import Detail, Formula, Inputs, make_detail

_SOURCES = ("documentation of each framework", "Chan et al. 1982")
_COMPONENT = """The component that normalises observations, of one number, for itself, with its
    defaults. """
_GROUPS = ("first", "second")


def _numbers(*numbers: float) -> Formula:
    return lambda i: numbers


def _spread(added: float = 0.0, inside: float = 0.0) -> Formula:
    return lambda i: 1.0 / (np.sqrt(np.asarray(i["spreads"]) ** 2 + inside) + added)


def _batches(i: Inputs) -> list[np.ndarray]:
    return [np.asarray(i[name]) for name in _GROUPS]


def _standardised(mean: float, variance: float) -> np.ndarray:
    return (np.array([0.0, 1.0]) - mean) / (np.sqrt(variance) + 1e-2)


def _merged(freedom: int) -> Formula:
    def formula(i: Inputs) -> np.ndarray:
        everything = np.concatenate(_batches(i))
        return _standardised(float(everything.mean()), float(everything.var(ddof=freedom)))

    return formula


def _weighed(by_size: bool) -> Formula:
    """Means and variances of the batches, each averaged by itself."""

    def formula(i: Inputs) -> np.ndarray:
        batches = _batches(i)
        weights = [len(batch) if by_size else 1 for batch in batches]
        moments = [(batch.mean(), batch.var()) for batch in batches]
        mean, variance = np.average(moments, axis=0, weights=weights)
        return _standardised(float(mean), float(variance))

    return formula


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "empirical.batches",
        "How do batches of observations enter mean and variance?",
        _COMPONENT
        + """It is given a batch, ``first``, and another, ``second``. Observed, [2]: what it makes
        of 0 and of 1 then.""",
        _SOURCES,
        {"first": [1.0, 2.0], "second": [3.0, 4.0, 8.0]},
        {
            "merged": ("as if they were one", _merged(0)),
            "merged_sample": ("the same, with the sample variance", _merged(1)),
            "variances_averaged": (
                "variances are averaged: what lies between the batches is lost",
                _weighed(True),
            ),
            "equal_weights": ("batches count the same, whatever their size", _weighed(False)),
        },
        consequence="""Where observations drift from rollout to rollout the variance is too small,
        and networks see numbers that are too large.""",
    ),
    make_detail(
        "empirical.epsilon",
        "What is added to the deviation of observations that hardly move?",
        _COMPONENT
        + """It is given two observations, ``centre`` plus and minus one of ``spreads``. Observed,
        [2]: what it makes of ``centre`` plus 1 then, for each of them.""",
        _SOURCES,
        {"centre": 5.0, "spreads": [0.0, 0.01]},
        {
            "1e-2": ("1e-2", _spread(added=1e-2)),
            "1e-3": ("1e-3", _spread(added=1e-3)),
            "1e-8": ("1e-8", _spread(added=1e-8)),
            "inside_1e-4": ("1e-4, to the variance", _spread(inside=1e-4)),
            "inside_1e-8": ("1e-8, to the variance", _spread(inside=1e-8)),
        },
        tolerance=1e-3,
        margin=5.0,
        scales=(100.0, 50.0),
        consequence="""An observation that is constant in training and moves on the robot reaches
        the networks a hundred times, or a million times, too large.""",
    ),
    make_detail(
        "empirical.until",
        "When does a limit of observations end the learning of statistics?",
        _COMPONENT
        + """Its limit is ``limit`` observations; three batches of ``size`` follow, of 0, 1 and 2.
        Observed, [1]: the mean that it subtracts then.""",
        _SOURCES,
        {"limit": 4, "size": 3},
        {
            "reached": ("with the batch that reaches it", _numbers(0.5)),
            "not_exceeded": ("before a batch that would exceed it", _numbers(0.0)),
            "exact": ("within a batch", _numbers(0.25)),
            "never": ("never", _numbers(1.0)),
        },
        consequence="""Statistics that freeze too early belong to the first, clumsy policies.""",
    ),
    make_detail(
        "empirical.ratio",
        "Is the ratio of a policy that has not moved 1 where observations are normalised?",
        """Two rollouts of ``steps`` steps in an environment whose observations grow by 1 a step;
        nothing is learnt but statistics. Observed, [2]: 1 if a ratio of the first minibatch differs
        from 1 by more than 1e-3, else 0, after the first rollout and after the second.""",
        ("Schulman et al. 2017, equation 6",),
        {"steps": 8},
        {
            "one": ("it is: the update sees what the rollout saw", _numbers(0.0, 0.0)),
            "other": ("not if statistics moved within the rollout", _numbers(1.0, 1.0)),
            "other_later": ("not after the first rollout", _numbers(0.0, 1.0)),
        },
        consequence="""The clip acts on a policy that has not moved: gradients of some samples are
        lost, and those of others belong to another policy.""",
    ),
)
