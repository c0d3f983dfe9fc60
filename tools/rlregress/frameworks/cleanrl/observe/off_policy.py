"""Probes of the scripts of SAC, TD3, DDPG and DQN: measurements on their drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlregress.frameworks.cleanrl.observe.drivers import make_probe
from rlregress.frameworks.cleanrl.observe.drivers.dqn import DQNDriver
from rlregress.frameworks.cleanrl.observe.drivers.twins import DDPGDriver, SACDriver, TD3Driver
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements import ddpg, dqn, sac, sac_and_td3, td3
from rlregress.measurements.twin_agents import Settings

_DRIVERS = {"sac": SACDriver, "td3": TD3Driver}


def _make_driver_of_family(source: Source, family: str, settings: Settings) -> SACDriver:
    return _DRIVERS[family](source, settings)


PROBES: Mapping[str, Callable[..., Any]] = {
    **{id: make_probe(SACDriver, measure) for id, measure in sac.MEASUREMENTS.items()},
    **{id: make_probe(TD3Driver, measure) for id, measure in td3.MEASUREMENTS.items()},
    **{id: make_probe(DDPGDriver, measure) for id, measure in ddpg.MEASUREMENTS.items()},
    **{
        id: make_probe(_make_driver_of_family, measure)
        for id, measure in sac_and_td3.MEASUREMENTS.items()
    },
    **{id: make_probe(DQNDriver, measure) for id, measure in dqn.MEASUREMENTS.items()},
    "target.hard_update_period": make_probe(DQNDriver, dqn.measure_steps_between_hard_updates),
}
