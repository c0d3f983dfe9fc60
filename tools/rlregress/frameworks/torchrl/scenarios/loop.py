"""What the loops on and off policy have in common."""

from __future__ import annotations

from typing import Any, List

import torch

from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.compat import library
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
        self.updates = 0

    def collector(self, policy: Any, frames: int, random_frames: int = 0, **options: Any) -> Any:
        """TorchRL's collector of this process."""
        kind = library("torchrl.collectors", "Collector", "SyncDataCollector")
        check_arguments(kind, options)
        return kind(
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

    schedules: List[Any] = []

    def step(self, loss: Any, optimizer: Any, parameters: Any) -> None:
        """One step of an optimiser."""
        optimizer.zero_grad()
        loss.backward()
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(list(parameters), self.max_norm)
        optimizer.step()
        for schedule in self.schedules:
            if schedule.optimizer is optimizer:
                schedule.step()

    def between(self, policy: Any, number: int) -> None:
        """An evaluation between two batches, if there is one."""
        if self.evaluates and number == 1:
            exploration = library("torchrl.envs.utils", "set_exploration_type")
            with torch.no_grad(), exploration(_deterministic()):
                self.environment.rollout(12, policy, break_when_any_done=False)

    def evaluate(self, policy: Any) -> None:
        """A rollout for each kind of evaluation that is asked for."""
        types = library("torchrl.envs.utils", "ExplorationType")
        exploration = library("torchrl.envs.utils", "set_exploration_type")
        kinds = {"deterministic": _deterministic(), "stochastic": types.RANDOM}
        for kind in [kind for kind in self.evaluations if kind != "callback"]:
            with torch.no_grad(), exploration(kinds[kind]):
                self.environment.rollout(12, policy, break_when_any_done=False)


def _deterministic() -> Any:
    types = library("torchrl.envs.utils", "ExplorationType")
    return getattr(types, "DETERMINISTIC", None) or types.MODE
