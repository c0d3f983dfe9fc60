"""Probes of TD3 and DDPG: measurements on their driver."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from unittest import mock

from rlregress.frameworks.skrl.agents import NEVER, AgentSetup, Layers
from rlregress.frameworks.skrl.observe.drivers.twins import Driver
from rlregress.measurements import ddpg, td3
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


_DRIVER = partial(Driver, "td3")
#: the model of the user has the tanh before the bounds
_UNSQUASHED_DRIVER = partial(Driver, "td3", layers=Layers(squash=False))
PROBES: Mapping[str, Probe] = {
    **{id: partial(measure, partial(Driver, "ddpg")) for id, measure in ddpg.MEASUREMENTS.items()},
    **{id: partial(measure, _DRIVER) for id, measure in td3.MEASUREMENTS.items()},
    "td3.action.bounding": partial(td3.measure_action_bounding, _UNSQUASHED_DRIVER),
    "logging.before_policy_update": _flag_failure_before_policy_update,
}
