"""Probes of distillation: a student that its own runner trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.observe.helpers.trainings import FROZEN, SMALL
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.recorded_update import record_losses_and_steps
from rlregress.probing.scripted import Scripted


class _StudentRecord(NamedTuple):
    """The losses of a student's updates, and the first action that its environment received."""

    losses: list[float]
    received: float


def _train_student(
    error: float, steps: int, window: int, rollouts: int = 1, teacher: float = 0.0, **settings: Any
) -> _StudentRecord:
    """Train a student whose actions are those of its teacher plus the constant ``error``.

    Args:
        steps: of a rollout.
        window: steps between two steps of the optimiser.
    """
    algorithm = {
        "class_name": "Distillation",
        "learning_rate": FROZEN,
        "num_learning_epochs": 1,
        "gradient_length": window,
        **settings,
    }
    compat.raise_if_configuration_unsupported(algorithm, SMALL)
    environment = Scripted()
    runner = compat.make_silent_runner(
        Vectorised(environment), compat.make_configuration_of_runner(steps, algorithm, SMALL)
    )
    agent = runner.alg
    compat.mark_teacher_loaded(agent)
    compat.fix_network_output(agent, "student", teacher + error)
    compat.fix_network_output(agent, "teacher", teacher)
    compat.set_log_deviation_of_policy(agent, -12.0)
    with (
        compat.silence_runner_output(),
        record_losses_and_steps({"student": agent.optimizer}) as recorded,
    ):
        compat.train_without_saving(runner, rollouts)
    return _StudentRecord(recorded.losses["student"], environment.received[0].item())


def _measure_first_executed_action(inputs: Inputs) -> np.ndarray:
    student, teacher = float(inputs["student"]), float(inputs["teacher"])
    return np.array([_train_student(student - teacher, 2, 2, teacher=teacher).received])


def _measure_loss_ratios_of_errors(inputs: Inputs) -> np.ndarray:
    losses = [_train_student(float(error), 1, 1).losses[0] for error in inputs["errors"]]
    return np.array(losses[1:]) / losses[0]


def _measure_loss_over_window(inputs: Inputs) -> np.ndarray:
    length = int(inputs["length"])
    return np.array(_train_student(float(inputs["error"]), length, length).losses)


def _count_updates_of_two_rollouts(inputs: Inputs) -> np.ndarray:
    steps, length = int(inputs["rollout"]), int(inputs["length"])
    first, both = (len(_train_student(1.0, steps, length, rollouts).losses) for rollouts in (1, 2))
    return np.array([first, both - first], dtype=np.float64)


PROBES: Mapping[str, Probe] = {
    "distillation.actions": _measure_first_executed_action,
    "distillation.loss": _measure_loss_ratios_of_errors,
    "distillation.gradient": _measure_loss_over_window,
    "distillation.remainder": _count_updates_of_two_rollouts,
}
