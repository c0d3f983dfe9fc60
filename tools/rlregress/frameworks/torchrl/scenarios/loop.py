"""What the loops on and off policy have in common."""

from __future__ import annotations

import math
from typing import Any

import torch

from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.api import Collector, ExplorationType, set_exploration_type
from rlregress.frameworks.torchrl.compat import deterministic
from rlregress.frameworks.torchrl.scenarios.loop_settings import ScenarioOptions
from rlregress.frameworks.torchrl.scenarios.scenario_networks import Networks

#: of which a scenario can ask for fewer: its loops are slower than those of other frameworks.
_STEPS = 96


class Loop:
    """What every loop has: a collector, a loss, optimisers, and what comes at the end."""

    def __init__(self, options: ScenarioOptions, environment: Any) -> None:
        self.options, self.environment = options, environment
        self.networks = Networks(options, environment)
        self.steps = min(int(options.take("steps", _STEPS)), _STEPS)
        self.rate = float(options.take("learning_rate"))
        self.batch = int(options.take("minibatch_size"))
        self.evaluations = list(options.take("evaluate", []))
        #: in between, as a callback does it elsewhere.
        self.evaluates = "callback" in self.evaluations
        self.max_norm = options.take("max_gradient_norm")
        self.scheduled = bool(options.take("schedules"))
        self.save_load = bool(options.take("save_load"))
        self.masked = bool(options.take("masked"))
        #: environments side by side.
        self.copies = math.prod(environment.batch_size)
        self.schedules: list[Any] = []

    def collector(self, policy: Any, frames: int, random_frames: int = 0, **options: Any) -> Any:
        """TorchRL's collector of this process."""
        check_arguments(Collector, options)
        return Collector(
            self.environment,
            policy,
            frames_per_batch=frames,
            total_frames=self.steps // frames * frames,
            init_random_frames=random_frames,
            **options,
        )

    def optimizer(self, parameters: Any) -> Any:
        """Adam, and the schedule of its rate."""
        made = torch.optim.Adam(list(parameters), lr=self.rate)
        if self.scheduled:
            expected = 30
            self.schedules.append(
                torch.optim.lr_scheduler.LambdaLR(
                    made, lambda update: max(0.0, 1.0 - update / expected)
                )
            )
        return made

    def step(self, optimizer: Any, parameters: Any) -> None:
        """A step of an optimiser and of its schedule, after the gradients."""
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(list(parameters), self.max_norm)
        optimizer.step()
        for schedule in self.schedules:
            if schedule.optimizer is optimizer:
                schedule.step()

    def between(self, policy: Any, number: int) -> None:
        """An evaluation between two batches, if there is one."""
        if self.evaluates and number == 1:
            self._roll_out(policy, deterministic())

    def evaluate(self, policy: Any) -> None:
        """A rollout for each kind of evaluation that is asked for."""
        kinds = {"deterministic": deterministic(), "stochastic": ExplorationType.RANDOM}
        for kind in [kind for kind in self.evaluations if kind != "callback"]:
            self._roll_out(policy, kinds[kind])

    def _roll_out(self, policy: Any, exploration: Any) -> None:
        with torch.no_grad(), set_exploration_type(exploration):
            self.environment.rollout(12, policy, break_when_any_done=False)
