"""Probes of SAC, TD3, DDPG and DQN: measurements on their drivers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from unittest import mock

from rlregress.frameworks.skrl.agents import NEVER, AgentSetup, Layers
from rlregress.frameworks.skrl.observe.drivers import dqn as of_dqn
from rlregress.frameworks.skrl.observe.drivers.twins import Driver
from rlregress.measurements import ddpg, dqn, sac, sac_and_td3, td3
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe


def _flag_failure_before_policy_update(inputs: Inputs) -> float:
    training = AgentSetup(
        "td3", policy_delay=int(inputs["delay"]), learning_starts=NEVER, batch_size=8
    )
    training.run_steps(8)
    training.agent.writer = mock.Mock()
    try:
        training.update_once()
        training.agent.write_tracking_data(timestep=1, timesteps=1)
    except (KeyError, NameError, ValueError) as error:
        if not was_raised_in(error, "skrl"):
            raise
        return 1.0
    return 0.0


#: the model of the user has the tanh before the bounds
_UNSQUASHED_DRIVER = partial(Driver, "td3", layers=Layers(squash=False))
_AVERAGING_DRIVER = partial(of_dqn.Driver, polyak=1.0)
ABSENT: Mapping[str, str] = {
    "sac.log_prob.action_scale": "draws actions in the environment's units, and scales none",
}
PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, partial(Driver, "sac"))
        for id, measure in sac.MEASUREMENTS.items()
        if id not in ABSENT
    },
    **{id: partial(measure, Driver) for id, measure in sac_and_td3.MEASUREMENTS.items()},
    **{id: partial(measure, partial(Driver, "td3")) for id, measure in td3.MEASUREMENTS.items()},
    **{id: partial(measure, partial(Driver, "ddpg")) for id, measure in ddpg.MEASUREMENTS.items()},
    "td3.action.bounding": partial(td3.measure_action_bounding, _UNSQUASHED_DRIVER),
    "logging.before_policy_update": _flag_failure_before_policy_update,
    **{id: partial(measure, of_dqn.Driver) for id, measure in dqn.MEASUREMENTS.items()},
    "target.hard_update_period": partial(dqn.measure_steps_between_hard_updates, _AVERAGING_DRIVER),
}
