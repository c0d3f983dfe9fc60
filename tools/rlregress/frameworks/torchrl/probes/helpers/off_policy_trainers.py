"""SACTrainer and TD3Trainer on a small environment, watched."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.torchrl.api import (
    Collector,
    LazyTensorStorage,
    SACTrainer,
    SoftUpdate,
    TanhModule,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDictModule,
    TensorDictReplayBuffer,
    TensorDictSequential,
)
from rlregress.frameworks.torchrl.compat import action_spec, sac_loss, silent_trainer, td3_loss
from rlregress.frameworks.torchrl.probes.helpers import tiny_trainers
from rlregress.frameworks.torchrl.probes.helpers.known_networks import Slope, q_network
from rlregress.frameworks.torchrl.probes.helpers.off_policy_programs import ProgramJournal
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw
from rlregress.frameworks.torchrl.probes.helpers.scripted_environments import wrapped


def _agent(family: str, environment: Scripted, pre_tanh: float) -> tuple[Any, Any]:
    """A loss of linear Q networks, and a policy that outputs ``pre_tanh`` in every state."""
    critics = [q_network(Slope()) for _ in range(2)]
    if family == "sac":
        actor = tiny_trainers.squashed_policy(environment, [pre_tanh], 1.0)
        return sac_loss(actor, critics, loss_function="l2"), actor
    spec = action_spec(wrapped(environment))
    layer = nn.Linear(1, 1)
    nn.init.zeros_(layer.weight)
    nn.init.constant_(layer.bias, pre_tanh)
    deterministic = TensorDictSequential(
        TensorDictModule(layer, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], spec=spec),
    )
    loss = td3_loss(deterministic, critics, action_spec=spec, loss_function="l2")
    return loss, deterministic


def _train(
    family: str, journal: ProgramJournal, environment: Scripted, actor: Any, steps: int,
    frames: int, batch: int, updates: int, starts: Any = None,
) -> Any:  # fmt: skip
    """A trainer, after ``steps`` steps, ``frames`` at once, with ``updates`` after each."""
    started = {} if starts is None else {"init_random_frames": starts}
    loss = journal.loss
    kind: Any = SACTrainer if family == "sac" else TD3Trainer
    stepping: dict[str, Any]
    if family == "sac":
        stepping = {"optimizer": torch.optim.SGD(loss.parameters(), lr=0.0)}
    else:
        optimizers = [
            torch.optim.SGD(journal.roles()[name], lr=0.0) for name in ("actor", "critic")
        ]
        stepping = {"optimization_stepper": TD3OptimizationStepper(*optimizers)}
    trainer = silent_trainer(
        kind,
        Collector(
            wrapped(environment), actor, frames_per_batch=frames, total_frames=steps, **started
        ),
        loss,
        steps,
        optim_steps_per_batch=updates,
        replay_buffer=TensorDictReplayBuffer(storage=LazyTensorStorage(256), batch_size=batch),
        target_net_updater=SoftUpdate(loss, tau=0.5),
        **stepping,
    )
    with journal.optimizers():
        trainer.train()
    return trainer


def warmup(i: Inputs) -> list[float]:
    """Transitions that SAC, and TD3, hold after a training with a random beginning."""
    held = []
    for family in ("sac", "td3"):
        journal = ProgramJournal()
        environment = Scripted(rewards=[1.0])
        journal.loss, actor = tiny_trainers.off_policy_loss(family, environment)
        trainer = _train(
            family, journal, environment, actor, int(i["steps"]), int(i["batch"]),
            int(i["minibatch"]), 1, starts=int(i["warmup"]),
        )  # fmt: skip
        held.append(float(len(trainer.replay_buffer)))
    return held


def learning_starts(family: str) -> Raw:
    """Random steps, and the step before the first update, of a trainer."""

    def probe(i: Inputs) -> np.ndarray:
        journal = ProgramJournal()
        environment = Scripted(rewards=[1.0])
        journal.actions.append(environment.received)
        journal.loss, actor = _agent(family, environment, 20.0)
        _train(
            family, journal, environment, actor, int(i["steps"]), int(i["collected_at_once"]),
            int(i["batch_size"]), 1, starts=int(i["starts"]),
        )  # fmt: skip
        return journal.learning_starts()

    return probe


def gradient_clip(family: str) -> Raw:
    """One over the gradient norms that reach the optimisers, of Q networks and policy."""

    def probe(i: Inputs) -> np.ndarray:
        journal = ProgramJournal()
        environment = Scripted(rewards=[1.0])
        journal.actions.append(environment.received)
        journal.loss, actor = _agent(family, environment, 0.0)
        for weight in journal.loss.qvalue_network_params.values(True, True):
            weight.data.fill_(float(i["factor"]))

        size = int(i["batch_size"])
        _train(family, journal, environment, actor, size, size, size, 2)
        return journal.gradient_clip()

    return probe
