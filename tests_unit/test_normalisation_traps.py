"""Normalisation that hurts whoever does not know it: behaviour that no source states."""

from __future__ import annotations

import pytest


@pytest.mark.detail("normalisation.terminal_observation.statistics")
def test_terminal_observation_statistics(implementation):
    """An outlier of 40 that ends an episode enters the statistics, or never does.

    What follows it, 0.5, 2 and -1, is close to the mean where it counts.
    """
    normalised = implementation.probe(observations=[0.0, 1.0, 40.0, 0.5, 2.0, -1.0], terminal=2)
    implementation.assert_documented(
        normalised,
        counted=[-0.5772, -0.4277, -0.5481],  # TorchRL, CleanRL
        ignored=[0.0000, 1.5213, -1.5000],  # Stable-Baselines3
        absent=[0.5, 2.0, -1.0],
    )


@pytest.mark.detail("normalisation.observation.early_scale")
def test_observation_early_scale(implementation):
    """Observations of 11 and 9 in turn are 1 and -1, or a tenth of it (MuJoCo 1)."""
    normalised = implementation.probe(count=60, offset=10.0, spread=1.0)
    implementation.assert_documented(
        normalised,
        spread=[0.983, -1.000],  # Stable-Baselines3, CleanRL
        distance=[0.098, -0.100],  # TorchRL: the distance from 0 scales, not the spread
        absent=[11.0, 9.0],
    )


@pytest.mark.detail("normalisation.environments")
def test_environments(implementation):
    """Two environments around 2 and around 11 share their statistics, or each has its own."""
    normalised = implementation.probe(first=[1.0, 2.0, 0.0, 3.0], second=[10.0, 14.0, 9.0, 11.0])
    implementation.assert_documented(
        normalised,
        shared=[-0.8717, -1.1407, -0.6508, 1.3306, 0.5704, 0.9512],  # Stable-Baselines3
        separate=[0.9999, -1.2247, 1.3416, 0.9994, -0.9253, 0.0001],  # TorchRL, CleanRL
        absent=[2.0, 0.0, 3.0, 14.0, 9.0, 11.0],
    )


@pytest.mark.detail("normalisation.replay")
def test_replay(implementation):
    """A sampled batch holds 2 and 3.5 normalised with the statistics of now, or of then."""
    stored = implementation.probe(observations=[1.0, 2.0, 3.5, 9.0, -4.0, 12.0])
    implementation.assert_documented(
        stored,
        when_sampled=[-0.364, -0.079],  # Stable-Baselines3
        when_collected=[1.000, 1.298],  # TorchRL
        never=[2.0, 3.5],
    )
