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


PROBES: Mapping[tuple[str, str], Probe] = {
    ("dqn.target.double", "library"): partial(dqn.target_double, LibraryDriver),
    ("dqn.target.ties", "library"): partial(dqn.target_ties, LibraryDriver),
    ("dqn.target.terminal", "library"): partial(dqn.target_terminal, LibraryDriver),
    ("dqn.loss.kind", "library"): partial(dqn.loss_kind, LibraryDriver),
    ("dqn.gradient.clip", "library"): partial(dqn.gradient_clip, LibraryDriver),
    ("dqn.target_update.interval", "library"): partial(dqn.target_update_interval, LibraryDriver),
    ("dqn.target_update.environments", "library"): partial(
        dqn.target_update_environments, LibraryDriver
    ),
    ("dqn.target_update.share", "library"): partial(dqn.target_update_share, LibraryDriver),
    ("dqn.epsilon.deterministic", "library"): partial(dqn.epsilon_deterministic, LibraryDriver),
    ("dqn.train_frequency", "library"): partial(dqn.train_frequency, LibraryDriver),
    ("dqn.exploration.draw", "library"): _exploration_draw,
    ("dqn.target.double", "trainer"): partial(dqn.target_double, TrainerDriver),
    ("dqn.loss.kind", "trainer"): partial(dqn.loss_kind, TrainerDriver),
    ("dqn.epsilon.schedule", "trainer"): partial(dqn.epsilon_schedule, TrainerDriver),
    ("dqn.epsilon.deterministic", "trainer"): partial(dqn.epsilon_deterministic, TrainerDriver),
    ("dqn.learning_starts", "trainer"): partial(dqn.learning_starts, TrainerDriver),
}
