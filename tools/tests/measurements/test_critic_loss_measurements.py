"""Measurements of the critic loss of SAC and TD3 tell every variant apart."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from rlregress.details import catalogue
from rlregress.details.judge import judge
from rlregress.formulas import critics
from rlregress.measurements import critic_loss

#: question -> its measurement, and the options with which the loss is each variant
KNOWN = {
    "scale": (
        critic_loss.scale,
        {
            "half": {"factor": 0.5},
            "none": {},
            "quarter": {"factor": 0.25},
            "batch_sum": {"samples": "sum"},
            "double": {"factor": 2.0},
        },
    ),
    "reduction": (
        critic_loss.reduction,
        {
            **{name: {"networks": name} for name in ("sum", "mean", "max")},
            "two_only": {"count": 2},
        },
    ),
    "distance": (
        critic_loss.distance,
        {name: {"distance": name} for name in ("squared", "smooth_l1", "absolute")},
    ),
}


def loss(inputs, q_values, count=None, **options):
    """The loss of the first ``count`` networks on a batch of terminations."""
    size = int(inputs["batch_size"])
    tiled = np.repeat(np.array(q_values)[:count, None], size, axis=1)
    return critics.critic_loss(tiled, np.full(size, inputs["reward"]), **options)


@pytest.mark.parametrize("family", ["sac", "td3"])
@pytest.mark.parametrize("question", KNOWN)
def test_every_variant_is_told_apart(family, question):
    """What is measured on a loss of one variant is judged to be that variant."""
    detail = catalogue.get(f"{family}.critic_loss.{question}")
    measure, variants = KNOWN[question]
    assert set(variants) == set(detail.variants)
    for name, options in variants.items():
        observed = measure(partial(loss, **options), detail.copy_inputs())
        assert judge(detail, observed).found == name
