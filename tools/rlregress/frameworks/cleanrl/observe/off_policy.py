"""Probes of the scripts of SAC, TD3, DDPG and DQN: measurements on their drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rlregress.frameworks.cleanrl.observe.drivers import make_probe
from rlregress.frameworks.cleanrl.observe.drivers.dqn import DQNDriver
from rlregress.frameworks.cleanrl.observe.drivers.twins import drive_ddpg, drive_sac, drive_td3
from rlregress.measurements import ddpg, dqn, sac, td3

PROBES: Mapping[str, Callable[..., np.ndarray]] = {
    **{id: make_probe(drive_sac, measure) for id, measure in sac.MEASUREMENTS.items()},
    **{id: make_probe(drive_td3, measure) for id, measure in td3.MEASUREMENTS.items()},
    **{id: make_probe(drive_ddpg, measure) for id, measure in ddpg.MEASUREMENTS.items()},
    **{id: make_probe(DQNDriver, measure) for id, measure in dqn.MEASUREMENTS.items()},
    "target.hard_update_period": make_probe(DQNDriver, dqn.measure_steps_between_hard_updates),
}
