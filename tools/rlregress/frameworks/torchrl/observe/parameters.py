"""The probe of the next observation that a replay buffer stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress.frameworks.torchrl.observe.drivers.twin_trainers import Driver
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements.twin_details import make_loop_settings
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import make_env_truncated_then_terminated


def _measure_next_observation(inputs: Inputs) -> Any:
    trained = Driver("sac", make_loop_settings(inputs), make_env_truncated_then_terminated())
    trained.run_loop()
    return trained.buffer[:]["next", "observation"].reshape(-1)[[2, 4]].numpy()


PROBES: Mapping[tuple[str, str], Raw] = {
    ("replay.next_observation", "trainer"): _measure_next_observation,
}
