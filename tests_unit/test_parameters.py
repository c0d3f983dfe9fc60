"""Parameters: their names, and the effect of setting them (Tables 7 and 8)."""

from __future__ import annotations

import pytest


@pytest.mark.detail("sac.target_update.parameter")
def test_sac_target_update_parameter(implementation):
    """A coefficient of 0.2 moves a target at 0 to 0.2 of its source at 1, or to 0.8 (Table 8)."""
    targets = implementation.probe(source=[1.0, 3.0], target=[0.0, -1.0], coefficient=0.2)
    implementation.assert_documented(
        targets,
        share_of_source=[0.2, -0.2],  # tau of Stable-Baselines3, CleanRL and TorchRL's library
        share_kept=[0.8, 2.2],  # target_update_polyak of TorchRL's program
        ignored=[0.005, -0.98],
    )


@pytest.mark.detail("td3.target_update.parameter")
def test_td3_target_update_parameter(implementation):
    """A coefficient of 0.2 moves a target at 0 to 0.2 of its source at 1, or to 0.8 (Table 7)."""
    targets = implementation.probe(
        source=[1.0, 3.0, -2.0], target=[0.0, -1.0, 2.0], coefficient=0.2
    )
    implementation.assert_documented(
        targets,
        share_of_source=[0.2, -0.2, 1.2],  # tau of Stable-Baselines3, CleanRL and TorchRL's library
        share_kept=[0.8, 2.2, -1.2],  # target_update_polyak of TorchRL's program
        ignored=[0.005, -0.98, 1.98],
    )


@pytest.mark.detail("td3.target_noise.parameter")
def test_td3_target_noise_parameter(implementation):
    """Noise set to deviation 5 and bound 0.3 reaches 0.3; set to 0.01 it deviates by 0.01."""
    largest_and_deviation = implementation.probe(samples=4000)
    implementation.assert_documented(
        largest_and_deviation,
        parameter=[0.3, 0.01],  # all
        constant=[0.5, 0.2],
        bound_constant=[0.5, 0.01],
    )
