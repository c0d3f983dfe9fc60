"""Probes of DQN: measurements on the drivers, and one probe for what has no measurement."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from rlregress.measurements import dqn
from rlregress.measurements.driven_agents import Settings
from rlregress.probing.interface import Inputs, Probe
from rlregress_tianshou.driver import LibraryDriver, TrainerDriver


def _exploration_draw(inputs: Inputs) -> np.ndarray:
    """The share of steps in which some environments act at random, and others do not."""
    actions, epsilon = int(inputs["actions"]), float(inputs["epsilon"])
    agent = LibraryDriver(
        Settings(
            environments=int(inputs["environments"]),
            actions=actions,
            epsilon=(epsilon, epsilon, 1),
        )
    )
    values = [0.0] * (actions - 1) + [1.0]
    agent.set_values(values, values)
    steps = np.array([agent.explore() for _ in range(int(inputs["calls"]))])
    random = steps != actions - 1
    return np.array([np.mean(random.any(axis=1) & ~random.all(axis=1))])


#: what the classes leave to the loop of a user, and the high-level interface does
_OF_TRAINER = ("dqn.epsilon.schedule", "dqn.learning_starts")
#: what both have, and the high-level interface sets otherwise
_OF_BOTH = ("dqn.target.double", "dqn.loss.kind", "dqn.epsilon.deterministic")


def list_probes() -> Mapping[tuple[str, str], Probe]:
    """(detail id, scope) -> probe."""
    of_library = {
        (id, "library"): partial(measure, LibraryDriver)
        for id, measure in dqn.MEASUREMENTS.items()
        if id not in _OF_TRAINER
    }
    of_trainer = {
        (id, "trainer"): partial(dqn.MEASUREMENTS[id], TrainerDriver)
        for id in (*_OF_TRAINER, *_OF_BOTH)
    }
    return {**of_library, **of_trainer, ("dqn.exploration.draw", "library"): _exploration_draw}
