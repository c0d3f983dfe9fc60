"""Probes of SAC, TD3, DDPG and DQN: measurements on the drivers of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import DDPG, SAC, TD3

from rlregress.frameworks.sb3.observe.drivers import dqn as of_dqn
from rlregress.frameworks.sb3.observe.drivers.twins import Driver
from rlregress.measurements import ddpg, dqn, sac, sac_and_td3, td3
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.interface import Probe

_CLASSES = {"sac": SAC, "td3": TD3}


def _make_driver_of_family(family: str, settings: Settings) -> Driver:
    return Driver(_CLASSES[family], settings)


PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, _make_driver_of_family)
        for id, measure in sac_and_td3.MEASUREMENTS.items()
    },
    **{id: partial(measure, partial(Driver, DDPG)) for id, measure in ddpg.MEASUREMENTS.items()},
    **{id: partial(measure, partial(Driver, SAC)) for id, measure in sac.MEASUREMENTS.items()},
    **{id: partial(measure, partial(Driver, TD3)) for id, measure in td3.MEASUREMENTS.items()},
    **{id: partial(measure, of_dqn.Driver) for id, measure in dqn.MEASUREMENTS.items()},
    "target.hard_update_period": partial(dqn.measure_steps_between_hard_updates, of_dqn.Driver),
}
