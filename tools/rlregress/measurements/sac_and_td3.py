"""The details of SAC and TD3 together, measured on their drivers.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rlregress.measurements.named_settings import Inputs, select_inputs
from rlregress.measurements.twin_agents import Settings, TwinDriver

#: ("sac" or "td3", settings) -> its driver
MakeDriverOfFamily = Callable[[str, Settings], TwinDriver]
_FAMILIES = ("sac", "td3")


def count_rows_stored_in_warmup(make_driver: MakeDriverOfFamily, inputs: Inputs) -> np.ndarray:
    """Count the transitions in the replay buffer after a training with a warm-up."""
    settings = Settings(
        steps=inputs["steps"],
        starts=inputs["warmup"],
        collected_at_once=inputs["batch"],
        batch_size=inputs["minibatch"],
    )
    loops = [make_driver(family, settings).run_loop() for family in _FAMILIES]
    return np.array([journal.stored_rows for journal in loops])


def measure_target_with_both_flags(make_driver: MakeDriverOfFamily, inputs: Inputs) -> np.ndarray:
    """Measure the target of TD3 for a step that terminates and is truncated."""
    settings = Settings(
        terminated=1.0,
        truncated=1.0,
        smoothing=0.0,
        smoothing_bound=0.0,
        **select_inputs(inputs, "reward", "discount"),
    )
    return np.array([make_driver("td3", settings).compute_target([inputs["value"]] * 2)])


def count_trained_critics(make_driver: MakeDriverOfFamily, inputs: Inputs) -> np.ndarray:
    """Count the Q networks that are trained by default."""
    del inputs
    drivers = [make_driver(family, Settings()) for family in _FAMILIES]
    return np.array([driver.count_q_networks_and_targets()[0] for driver in drivers])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[MakeDriverOfFamily, Inputs], np.ndarray]] = {
    "replay.warmup": count_rows_stored_in_warmup,
    "replay.both_flags": measure_target_with_both_flags,
    "networks.critic_count": count_trained_critics,
}
