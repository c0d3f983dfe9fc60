"""The programs of SAC and TD3, run as they are on a small environment, and watched."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.frameworks import journal as journals
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.isolation import isolated, shifted
from rlregress.frameworks.journal import Journal
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.torchrl.api import AdditiveGaussianModule, SerialEnv
from rlregress.frameworks.torchrl.probes.helpers import programs
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw

_ENVIRONMENT = "RLRegressWatched-v0"
#: (optimiser that is about to step, parts that it has gradients of)
Look = Callable[[torch.optim.Optimizer, list[str]], None]
_NOTHING: Callable[..., None] = lambda *_: None  # noqa: E731


class ProgramJournal(Journal):
    """What a program, or a trainer, did.

    Attributes:
        loss, buffer: its own, once they are made.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loss: Any = None
        self.buffer: Any = None

    def roles(self) -> dict[str, list[torch.Tensor]]:
        """Trained tensors of each part of the loss."""
        parts = {"critic": self.loss.qvalue_network_params, "actor": self.loss.actor_network_params}
        by_role = {name: list(part.values(True, True)) for name, part in parts.items()}
        if hasattr(self.loss, "log_alpha"):
            by_role["temperature"] = [self.loss.log_alpha]
        return by_role

    def targets(self) -> Iterator[torch.Tensor]:
        """The parameters of the target critics."""
        yield from self.loss.target_qvalue_network_params.values(True, True)

    @contextlib.contextmanager
    def environment(self, **playback: Any) -> Iterator[str]:
        """Register an environment that plays back; each copy keeps its actions here."""

        def make(**options: Any) -> Scripted:
            self.actions.append([])
            return Scripted(received=self.actions[-1], **playback, **options)

        gymnasium.register(id=_ENVIRONMENT, entry_point=make, disable_env_checker=True)
        try:
            yield _ENVIRONMENT
        finally:
            gymnasium.registry.pop(_ENVIRONMENT)

    @contextlib.contextmanager
    def optimizers(self, look: Look = _NOTHING) -> Iterator[None]:
        """Note every step of every optimiser; ``look(optimizer, parts)`` comes before it."""

        def note(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            held = [p for group in optimizer.param_groups for p in group["params"]]
            stepped = {id(parameter) for parameter in held if parameter.grad is not None}
            roles = self.roles()
            parts = [name for name, own in roles.items() if stepped & set(map(id, own))]
            for part in parts:
                self.note(part, optimizer, self.targets, roles[part])
            look(optimizer, parts)

        handle = register_optimizer_step_pre_hook(note)
        try:
            yield
        finally:
            handle.remove()


def settings(environment: str, **changed: Any) -> programs.Settings:
    """Settings of a tiny training; ``changed`` by name, whichever section they stand in."""
    sections: dict[str, dict[str, Any]] = {
        "env": {
            "name": environment, "library": "gymnasium", "seed": shifted(0),
            "max_episode_steps": 100_000,
        },
        "network": {
            "device": "cpu", "hidden_sizes": [4], "activation": "relu",
            "default_policy_scale": 1.0, "scale_lb": 0.1,
        },
        "collector": {
            "device": "cpu", "env_per_collector": 1, "init_random_frames": 0,
            "frames_per_batch": 1, "total_frames": 1, "reset_at_each_iter": False,
        },
        "replay_buffer": {"prb": False, "size": 256, "scratch_dir": None},
        "optim": {
            "batch_size": 4, "utd_ratio": 1.0, "policy_update_delay": 2, "gamma": 0.99,
            "loss_function": "l2", "policy_noise": 0.2, "noise_clip": 0.5, "lr": 1e-3,
            "weight_decay": 0.0, "adam_eps": 1e-4, "target_update_polyak": 0.5, "alpha_init": 1.0,
        },
        "logger": {"backend": None, "exp_name": "", "video": False, "eval_iter": 1_000_000},
        "compile": {"compile": False, "cudagraphs": False},
    }  # fmt: skip
    return programs.settings(sections, changed)


def run(
    family: str,
    steps: int,
    prepare: Callable[[Any, Any], Any] = _NOTHING,
    look: Look = _NOTHING,
    playback: dict[str, Any] | None = None,
    with_loss: Callable[[Any], Any] = _NOTHING,
    **changed: Any,
) -> ProgramJournal:
    """Run ``main`` of the program of ``family`` for ``steps`` steps.

    ``prepare(model, exploring)`` is called with the policy and the Q network, and the policy that
    collects, when they are made; ``with_loss(loss)`` when that is made; ``look(optimizer, parts)``
    before each step of an optimiser.
    """
    program = programs.load(family, family)
    journal = ProgramJournal()
    make_agent = getattr(program, f"make_{family}_agent")
    make_loss_module, make_replay_buffer = program.make_loss_module, program.make_replay_buffer

    def prepared_agent(*arguments: Any) -> Any:
        model, exploring = make_agent(*arguments)
        prepare(model, exploring)
        return model, exploring

    def kept_loss(*arguments: Any) -> Any:
        journal.loss, updater = make_loss_module(*arguments)
        # making environments tries them out
        for received in journal.actions:
            received.clear()
        with_loss(journal.loss)
        return journal.loss, updater

    def kept_buffer(*arguments: Any, **options: Any) -> Any:
        # batches are drawn when they are asked for, not by a thread in advance
        journal.buffer = make_replay_buffer(*arguments, **{**options, "prefetch": 0})
        return journal.buffer

    setattr(program, f"make_{family}_agent", prepared_agent)
    program.make_loss_module, program.make_replay_buffer = kept_loss, kept_buffer
    # several environments one after the other in this process, not each in its own
    program.make_environment.__globals__["ParallelEnv"] = (
        lambda count, make, serial_for_single=True, **options: SerialEnv(count, make, **options)
    )
    with journal.environment(**(playback or {})) as environment, journal.optimizers(look):
        program.main(settings(environment, total_frames=steps, **changed))
    journal.look_at(journal.targets())
    return journal


def _saturated(model: Any, exploring: Any) -> None:
    """Let the policy be at the upper bound of the actions, without exploration noise."""
    layer = [m for m in model[0].modules() if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        layer.weight.zero_()
        # mean and scale of SAC's, the action of TD3's: a large mean, a small scale
        layer.bias.copy_(torch.tensor([5.0, -20.0][: len(layer.bias)]))
    for module in exploring.modules():
        if isinstance(module, AdditiveGaussianModule):
            module.std.zero_()


@functools.lru_cache(maxsize=2)
def cold_start(family: str, steps: int, starts: int, frames: int, batch: int) -> ProgramJournal:
    """A run with a warm-up of random actions, after which the policy is at the upper bound."""
    # the same whoever asks first
    with isolated():
        return run(
            family, steps, _saturated, init_random_frames=starts, frames_per_batch=frames,
            batch_size=batch,
        )  # fmt: skip


def cold_start_inputs(i: Inputs) -> tuple[int, int, int, int]:
    """What ``cold_start`` needs beside the family."""
    return int(i["steps"]), int(i["starts"]), int(i["collected_at_once"]), int(i["batch_size"])


def learning_starts(family: str) -> Raw:
    """Random steps, and the step before the first update, of a program."""

    return lambda i: cold_start(family, *cold_start_inputs(i)).learning_starts()


def update_ratio(family: str, roles: list[str]) -> Raw:
    """Updates of the ``roles`` per environment step, by default and as asked."""

    def probe(i: Inputs) -> np.ndarray:
        runs = [
            run(
                family, int(i["steps"]), utd_ratio=ratio, batch_size=int(i["batch_size"]),
                frames_per_batch=int(i["collected_at_once"]),
            )
            for ratio in (1.0, 0.5, 2.0)
        ]  # fmt: skip
        return journals.update_ratio(i, roles, runs)

    return probe


def vectorisation(family: str) -> Raw:
    """Transitions, updates per transition and environments of a run on several."""

    def probe(i: Inputs) -> np.ndarray:
        journal = run(
            family, int(i["steps"]), env_per_collector=int(i["environments"]),
            frames_per_batch=int(i["collected_at_once"]), batch_size=int(i["batch_size"]),
        )  # fmt: skip
        return journal.vectorisation(i)

    return probe


def td3_moves(watch: Any, updates: int, delay: int) -> Any:
    """Run ``main`` of the TD3 program for ``updates`` updates; what ``watch(loss)`` has noted.

    ``note()`` of the watch is called after each update.
    """
    program = programs.load("td3", "td3")
    noted = {}
    make_loss_module, make_replay_buffer = program.make_loss_module, program.make_replay_buffer

    def observed_loss(*arguments: Any) -> Any:
        loss, updater = make_loss_module(*arguments)
        noted["watch"], noted["samples"] = watch(loss), 0
        return loss, updater

    def observed_buffer(*arguments: Any, **options: Any) -> Any:
        buffer = make_replay_buffer(*arguments, **{**options, "prefetch": 0})
        sample = buffer.sample

        def sample_between_updates() -> Any:
            if noted["samples"]:
                noted["watch"].note()
            noted["samples"] += 1
            return sample()

        buffer.sample = sample_between_updates
        return buffer

    program.make_loss_module, program.make_replay_buffer = observed_loss, observed_buffer
    with programs.registered(rewards=[1.0], terminated=[1.0]) as environment:
        program.main(
            settings(
                environment, max_episode_steps=10, activation="tanh", frames_per_batch=updates,
                total_frames=updates, policy_update_delay=delay, lr=0.1,
            )
        )  # fmt: skip
    noted["watch"].note()
    return noted["watch"]
