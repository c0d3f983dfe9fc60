"""Driver of deep Q-networks: ``DQNLoss`` and ``EGreedyModule`` alone, and ``DQNTrainer``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest import mock

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    DQNLoss,
    DQNTrainer,
    EGreedyModule,
    ExplorationType,
    HardUpdate,
    QValueActor,
    TensorDict,
    TensorDictSequential,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import find_action_spec, find_deterministic_exploration
from rlregress.frameworks.torchrl.known_networks import make_equal_transitions
from rlregress.frameworks.torchrl.scripted_environments import put_side_by_side, wrap_environment
from rlregress.frameworks.torchrl.train import trainers
from rlregress.measurements.driven_agents import Look, Settings, do_nothing
from rlregress.measurements.loop_journal import Journal
from rlregress.probing.driven import ScriptedEnvs, fill_parameters


class Driver:
    """A driver of ``DQNLoss`` and ``EGreedyModule``; ``run_loop`` trains with ``DQNTrainer``.

    See ``measurements.driven_agents.DiscreteAgent``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._envs = ScriptedEnvs(settings, discrete=settings.actions)
        first, last, falls = settings.epsilon
        environments = [
            wrap_environment(self._envs.make_environment()) for _ in range(settings.environments)
        ]
        self._spec = find_action_spec(environments[0])
        self._environments = environments
        layers = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, settings.actions))
        self._actor = QValueActor(layers, in_keys=["observation"], spec=self._spec)
        self._exploration = EGreedyModule(
            spec=self._spec, eps_init=first, eps_end=last, annealing_num_steps=falls
        )
        self._exploring = TensorDictSequential(self._actor, self._exploration)
        self._loss = DQNLoss(self._actor, action_space=self._spec)
        self._loss.make_value_estimator(gamma=settings.discount)

    def _get_parameters_of_both_networks(self) -> tuple[Any, Any]:
        return self._loss.value_network_params, self._loss.target_value_network_params

    def set_values(self, online: Sequence[float], target: Sequence[float]) -> None:
        for parameters, numbers in zip(
            self._get_parameters_of_both_networks(), (online, target), strict=False
        ):
            last = {key[-1]: own.data for key, own in parameters.items(True, True) if "2" in key}
            last["weight"].zero_()
            last["bias"].copy_(torch.tensor(list(numbers)))

    def fill_parameters(self, online: float, target: float) -> None:
        for parameters, number in zip(
            self._get_parameters_of_both_networks(), (online, target), strict=False
        ):
            fill_parameters([parameter.data for parameter in parameters.values(True, True)], number)

    def read_target_parameter(self) -> float:
        return float(
            next(iter(self._get_parameters_of_both_networks()[1].values(True, True))).flatten()[0]
        )

    def compute_loss(self, online: Sequence[float], target: Sequence[float]) -> float:
        """Return the loss of ``DQNLoss`` for a batch as a replay buffer samples it."""
        self.set_values(online, target)
        s, first = self._settings, [1] + [0] * (self._settings.actions - 1)
        flags = bool(s.terminated), bool(s.truncated)
        batch = make_equal_transitions(
            s.batch_size, s.reward, *flags, first, (0.5, 0.5), torch.float32
        )
        return float(self._loss(batch)["loss"].detach())

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """Return an action of the policy, with exploration or, if ``deterministic``, without."""
        self.set_values(q_values, q_values)
        self._exploration.step(self._settings.steps)
        kind = find_deterministic_exploration() if deterministic else ExplorationType.RANDOM
        with (
            set_exploration_type(kind),
            torch.no_grad(),
            _fix_draw_of_exploration(self._settings.draw),
        ):
            acted = self._exploring(TensorDict({"observation": torch.zeros(1, 1)}, [1]))
        return int(acted["action"].flatten().to(torch.int64).argmax())

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> Journal:
        settings, envs = self._settings, self._envs
        interval = settings.target_every
        environment = put_side_by_side(
            [partial(lambda own: own, single) for single in self._environments]
        )
        own = {
            "steps_per_collection": max(settings.every, len(self._environments)),
            "updates_per_collection": 1,
            "learning_starts": settings.starts, "minibatch_size": settings.batch_size,
            # moves no parameter
            "replay_size": 256, "learning_rate": 0.0,
        }  # fmt: skip
        updater = HardUpdate(
            self._loss, **({} if interval is None else {"value_network_update_interval": interval})
        )
        options = {"greedy_module": self._exploration}
        parts = trainers.Parts(DQNTrainer, self._exploring, self._loss, updater, options)
        trainer = trainers.make_trainer_of_parts(parts, environment, own, settings.steps)
        for environment in envs.environments:
            # making them side by side tries them out
            environment.received.clear()
        with _fix_draw_of_exploration(self._settings.draw):
            return envs.record_training(trainer.train, on_start, on_step)


def _fix_draw_of_exploration(draw: float | None) -> Any:
    """Fix the draw by which ``EGreedyModule`` explores, unless it is None.

    Random actions are drawn as usual.
    """
    if draw is None:
        return nullcontext()
    forward, rand = EGreedyModule.forward, torch.rand

    def call_with_fixed_draw(module: Any, tensordict: Any) -> Any:
        left = [draw]

        def return_draw_first(*shape: Any, **options: Any) -> torch.Tensor:
            drawn = rand(*shape, **options)
            return torch.full_like(drawn, left.pop()) if left else drawn

        with mock.patch.object(torch, "rand", return_draw_first):
            return forward(module, tensordict)

    return mock.patch.object(EGreedyModule, "forward", call_with_fixed_draw)
