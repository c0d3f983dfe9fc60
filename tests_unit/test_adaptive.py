"""Learning rates that follow the divergence, and normalisers inside of an agent.

Each test probes the framework's real code with the inputs that it names, and states what every
known way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import pytest


@pytest.mark.detail("adaptive.unchanged")
def test_unchanged_policy(implementation):
    """The first minibatch of a rollout has no divergence: the rate of 0.001 stays, or rises."""
    rate = implementation.probe(learning_rate=1e-3, target=0.01)
    implementation.assert_documented(
        rate,
        kept=1.0,  # RSL-RL
        raised=1.5,  # RSL-RL before 5.0: 1e-5 stands within the logarithm
    )


@pytest.mark.detail("adaptive.default")
def test_default_target(implementation):
    """A divergence of 0.03 is above 0.02, one of 0.015 is not, one of 0.004 is below 0.005."""
    rates = implementation.probe(divergences=[0.03, 0.015, 0.004], learning_rate=1e-3)
    implementation.assert_documented(
        rates,
        **{
            "0.01": [1.0 / 1.5, 1.0 / 1.5, 1.0],  # RSL-RL
            "0.02": [1.0, 1.0, 1.5],
            "off": [1.0, 1.0, 1.0],  # RSL-RL before 3.0
        },
    )


@pytest.mark.detail("normaliser.ppo.ratio")
def test_ratio_of_normalised_observations(implementation):
    """Ratios differ from 1 after both rollouts if statistics moved before the update."""
    differs = implementation.probe(steps=8)
    implementation.assert_documented(
        differs,
        one=[0.0, 0.0],  # RSL-RL
        moved=[1.0, 1.0],  # skrl, RSL-RL from 3.0 to 5.4
    )
