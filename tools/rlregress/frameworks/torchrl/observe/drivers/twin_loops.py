"""Drivers of SAC, TD3 and DDPG whose loops run on a small environment: trainers and programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import AdditiveGaussianModule, SerialEnv, TensorDict
from rlregress.frameworks.torchrl.known_networks import Constant
from rlregress.frameworks.torchrl.observe.drivers import twin_losses
from rlregress.frameworks.torchrl.scripted_environments import (
    register_environment,
    wrap_environment,
)
from rlregress.frameworks.torchrl.train import trainers
from rlregress.measurements.twin_agents import Settings
from rlregress.probing import layers
from rlregress.probing.heads import fix_draws_of_normal_distributions
from rlregress.probing.interface import TrainingRequest
from rlregress.probing.isolation import shift_seed
from rlregress.probing.journal import StepJournal
from rlregress.probing.layers import list_linear_layers, make_output_constant
from rlregress.probing.scripted import Scripted
from rlregress.probing.watched_updates import run_and_find_target

_UPDATES = {"one": 1.0, "default": 1.0, "fewer": 0.5, "more": 2.0}
_SETTINGS = {"discount": "gamma", "delay": "policy_update_delay"}
_NOTHING: Callable[..., None] = lambda *_: None  # noqa: E731


class _LoopDriver:
    """A driver that runs a loop again for each request (see ``twin_agents.TwinDriver``).

    Args:
        family: "sac", "td3" or, of trainers, "ddpg".
        environment: replaces the one that plays the settings.

    Attributes:
        loss, buffer: those of the last run.
    """

    shares_rate = True

    def __init__(
        self, family: str, settings: Settings, environment: Scripted | None = None
    ) -> None:
        self._family, self._settings, self._environment = family, settings, environment
        self.loss: Any = None
        self.buffer: Any = None

    def _train(self, journal: StepJournal, **options: Any) -> None:
        """Run the loop, and set ``loss`` and ``buffer``."""
        raise NotImplementedError

    def run_and_record(
        self, on_optimizer_step: Callable[[str], Any] = _NOTHING, **options: Any
    ) -> StepJournal:
        """Run the loop.

        Args:
            on_optimizer_step: called with each part that an optimiser is about to step.
            options: of the loop.
        """
        s, journal = self._settings, StepJournal()
        recording = journal.record_optimizer_steps(
            lambda optimizer: _find_stepped_parts(self.loss, optimizer),
            lambda: self.loss.actor_network_params.values(True, True),
            lambda: self.loss.target_qvalue_network_params.values(True, True),
            on_optimizer_step,
        )
        # with constant heads, one action and one log-probability for all states
        is_constant = s.log_prob is not None or s.pre_tanh is not None
        with (
            fix_draws_of_normal_distributions(np.zeros(1)) if is_constant else nullcontext(),
            recording,
        ):
            self._train(journal, **options)
        last = self.buffer[:][-1]
        journal.stored_action = float(last["action"].reshape(-1)[0])
        journal.stored_reward = float(last["next", "reward"])
        return journal

    def run_loop(self) -> StepJournal:
        return self.run_and_record()

    def _make_playing_environment(self, journal: StepJournal, **options: Any) -> Scripted:
        """Make an environment that plays the settings; each copy keeps its actions."""
        s = self._settings
        flags: dict[str, Any] = {"terminated": s.terminated, "truncated": s.truncated}
        journal.actions.append([])
        script = {"received": journal.actions[-1], "rewards": s.reward, **flags, **options}
        return Scripted(s.low, s.high, **script)

    def _fix_model_outputs_and_noise(self, actor: Any, exploring: Any) -> None:
        s = self._settings
        # mean and scale of SAC's, the action of TD3's
        if self._family == "sac" and s.log_prob is not None:
            make_output_constant(actor, [0.0, 0.0])
        if s.pre_tanh is not None:
            make_output_constant(
                actor, [s.pre_tanh, -20.0] if self._family == "sac" else [s.pre_tanh]
            )
        for module in exploring.modules():
            if isinstance(module, AdditiveGaussianModule):
                twin_losses.fix_exploration_noise(module, s.noise)

    def _prepare_loss(self, loss: Any, journal: StepJournal) -> None:
        self.loss = loss
        # making environments tries them out
        for received in journal.actions:
            received.clear()
        if self._settings.weight is not None:
            get_last_weights(loss.qvalue_network_params).fill_(self._settings.weight)


class TrainerDriver(_LoopDriver):
    """A driver of the trainers, as trainings make them."""

    def _make_trainer(self, environment: Scripted) -> tuple[Any, Any]:
        """Return a trainer with an update for each collected step, and its loss."""
        s = self._settings
        playing = wrap_environment(environment)
        # with large weights, steps lead out of the numbers
        moves = s.learns and s.rates is None and s.weight is None
        settings = {
            "hidden_sizes": [], "discount": 0.99, "critic_loss": "l2", "polyak_coefficient": s.tau,
            "initial_temperature": 1.0, "target_entropy": "auto", "exploration_noise": 0.0,
            "policy_delay": s.delay or 2, "target_noise": 0.2, "target_noise_clip": 0.5,
            "learning_rate": 1e-3 if moves else 0.0,
            "steps_per_collection": s.collected_at_once,
            "updates_per_collection": s.collected_at_once,
            "learning_starts": s.starts or 0, "replay_size": 256, "minibatch_size": s.batch_size,
        }  # fmt: skip
        request = TrainingRequest(self._family, lambda: environment, settings, s.steps, s.seed)
        parts = trainers.make_parts_of_algorithm(request, playing, settings)
        if self._family == "ddpg":
            parts.loss.__class__ = twin_losses.NamedDDPGLoss
        self._fix_model_outputs_and_noise(parts.acting, parts.acting)
        return trainers.make_trainer_of_parts(parts, playing, settings, s.steps), parts.loss

    def _train(self, journal: StepJournal, **options: Any) -> None:
        """Run the trainer's own loop."""
        environment = self._environment or self._make_playing_environment(journal)
        journal.actions[:] = [environment.received]
        trainer, loss = self._make_trainer(environment)
        self._prepare_loss(loss, journal)
        trainer.train()
        self.buffer = trainer.replay_buffer

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        # a target updater overwrites the targets when it is made
        trainer, loss = self._make_trainer(self._make_playing_environment(StepJournal()))
        return twin_losses.read_targets_after_update(loss, trainer.train, source, target)

    def compute_target(self, q_values: Sequence[float]) -> float:
        """Return the target of the critics on transitions that the trainer stored and sampled."""
        self.run_loop()
        stored = self.buffer.sample().apply(lambda x: x.double() if x.is_floating_point() else x)
        return twin_losses.Driver(self._family, self._settings).find_target_of_batch(
            stored, q_values, Constant
        )


class ProgramDriver(_LoopDriver):
    """A driver of the programs of SAC and TD3."""

    def _make_settings(self, environment: str = "", **changed: Any) -> programs.Settings:
        """Return settings of a tiny training; ``changed``: by name, of any section."""
        s = self._settings
        sections: dict[str, dict[str, Any]] = {
            "env": {
                "name": environment, "library": "gymnasium", "seed": shift_seed(s.seed),
                "max_episode_steps": 100_000,
            },
            "network": {
                # of a few rectified units all may be 0, and with them the gradient
                "device": "cpu", "hidden_sizes": [4 if s.weight is None else 64],
                "activation": "tanh", "default_policy_scale": 1.0, "scale_lb": 0.1,
            },
            "collector": {
                "device": "cpu", "env_per_collector": s.environments,
                "init_random_frames": s.starts or 0, "frames_per_batch": s.collected_at_once,
                "total_frames": s.steps * (s.environments if s.per_environment else 1),
                "reset_at_each_iter": False,
            },
            "replay_buffer": {"prb": False, "size": 256, "scratch_dir": None},
            "optim": {
                "batch_size": s.batch_size, "utd_ratio": _UPDATES[s.updates],
                "policy_update_delay": 2, "gamma": 0.99, "loss_function": "l2",
                "policy_noise": 0.2, "noise_clip": 0.5, "lr": 1e-3, "weight_decay": 0.0,
                "adam_eps": s.epsilon, "target_update_polyak": 0.5, "alpha_init": 1.0,
            },
            "logger": {"backend": None, "exp_name": "", "video": False, "eval_iter": 1_000_000},
            "compile": {"compile": False, "cudagraphs": False},
        }  # fmt: skip
        settings = s.map_to_framework_names(**_SETTINGS)
        if s.rates is not None:
            settings["lr"] = s.rates[1]
        if not s.learns:
            frames = max(s.collected_at_once, sections["collector"]["total_frames"])
            if s.collected_at_once == 1:
                settings["frames_per_batch"] = frames
            settings.update(lr=0.0, utd_ratio=1.5 / frames)
        return programs.change_settings(sections, {**settings, **changed})

    def _train(
        self, journal: StepJournal, on_loss: Callable[[Any], Any] = _NOTHING, **options: Any
    ) -> None:
        """Run ``main`` of the program.

        Args:
            on_loss: called with its loss, when it is made.
            options: settings by name.
        """
        program = programs.load_program(self._family, self._family)
        maker = f"make_{self._family}_agent"
        make_agent, make_loss = getattr(program, maker), program.make_loss_module
        make_replay_buffer = program.make_replay_buffer

        def prepare_and_make_agent(*arguments: Any) -> Any:
            model, exploring = make_agent(*arguments)
            self._fix_model_outputs_and_noise(model[0], exploring)
            return model, exploring

        def record_and_make_loss(*arguments: Any) -> Any:
            loss, updater = make_loss(*arguments)
            self._prepare_loss(loss, journal)
            on_loss(loss)
            return loss, updater

        def record_and_make_buffer(*arguments: Any, **options: Any) -> Any:
            # batches are drawn when they are asked for, not by a thread in advance
            self.buffer = make_replay_buffer(*arguments, **{**options, "prefetch": 0})
            return self.buffer

        setattr(program, maker, prepare_and_make_agent)
        program.make_loss_module = record_and_make_loss
        program.make_replay_buffer = record_and_make_buffer
        # several environments one after the other in this process, not each in its own
        program.make_environment.__globals__["ParallelEnv"] = (
            lambda count, make, serial_for_single=True, **options: SerialEnv(count, make, **options)
        )
        with register_environment(partial(self._make_playing_environment, journal)) as environment:
            program.main(self._make_settings(environment, **options))

    def compute_target(self, q_values: Sequence[float]) -> float:
        """Return the target of the loss, where the temperature is negligible."""

        def fix_target_networks(loss: Any) -> None:
            make_networks_constant(loss.target_qvalue_network_params, q_values)

        return run_and_find_target(
            lambda: self.run_and_record(on_loss=fix_target_networks, alpha_init=1e-12)
        )

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        s = self._settings
        # the setting is the fraction that is kept
        share = 1.0 - s.tau if s.coefficient is None else s.coefficient
        _, loss, updater = self._make_model_loss_and_updater(target_update_polyak=share)
        return twin_losses.read_targets_after_update(loss, updater.step, source, target)

    def _make_environment(self) -> Scripted:
        s = self._settings
        return Scripted(s.low, s.high, observation_dimensions=s.observations)

    def _make_agent(self, environment: Scripted, settings: programs.Settings) -> tuple[Any, Any]:
        """Return policy and Q network of the program, and the policy that collects."""
        make = getattr(programs.load_program(self._family, "utils"), f"make_{self._family}_agent")
        own_environment = wrap_environment(environment)
        return make(settings, own_environment, own_environment, torch.device("cpu"))

    def _make_model_loss_and_updater(self, **changed: Any) -> tuple[Any, Any, Any]:
        """Return the program's model (policy and Q network), its loss and its target updater."""
        settings = self._make_settings(**changed)
        model, _ = self._make_agent(self._make_environment(), settings)
        make_loss = programs.load_program(self._family, "utils").make_loss_module
        return (model, *make_loss(settings, model))

    def describe_architecture(self) -> np.ndarray:
        s = self._settings
        (actor, critic), loss, _ = self._make_model_loss_and_updater(
            hidden_sizes=list(s.hidden), activation=s.activation
        )
        hidden = [
            [layer.out_features for layer in list_linear_layers(module)[:-1]]
            for module in (actor, critic)
        ]
        critics = len(next(iter(loss.qvalue_network_params.values(True, True))))
        own = {id(tensor) for tensor in actor.parameters()}
        shared = any(id(tensor) in own for tensor in critic.parameters())
        received = layers.measure_activation(
            actor, lambda observations: actor(TensorDict({"observation": observations}, [1]))
        )
        return layers.describe_networks_as_numbers(hidden, critics, received, shared)

    def measure_initialisation(self) -> np.ndarray:
        _, loss, _ = self._make_model_loss_and_updater(hidden_sizes=list(self._settings.hidden))
        tensors = list(loss.qvalue_network_params.values(True, True))
        # the first of the two stacked networks
        weight, bias = (
            next(t for t in tensors if tuple(t.shape) == shape)[0]
            for shape in ((2, 256, 256), (2, 256))
        )
        return layers.measure_initialisation(weight, bias)

    def read_log10_adam_eps(self) -> list[float]:
        _, loss, _ = self._make_model_loss_and_updater()
        name = "make_sac_optimizer" if self._family == "sac" else "make_optimizer"
        make = getattr(programs.load_program(self._family, "utils"), name)
        actor, critic, *temperature = make(self._make_settings(), loss)
        optimizers = [critic, actor, *temperature]
        groups = _map_parts_to_trained_tensors(loss).values()
        return [layers.read_log10_adam_eps(*pair) for pair in zip(optimizers, groups, strict=False)]


class PolicyDriver(ProgramDriver):
    """A driver of the program's policies by themselves: it acts and never trains."""

    def run_loop(self) -> StepJournal:
        """Act in an environment; nothing learns."""
        environment = self._make_environment()
        model, exploring = self._make_agent(environment, self._make_settings())
        self._fix_model_outputs_and_noise(model[0], exploring)
        return twin_losses.act_and_record(environment, model[0], exploring, self._settings)


def get_last_weights(parameters: Any) -> torch.Tensor:
    """Return weights of the last layer of Q networks, [networks, 1, inputs], or of one."""
    tensors = parameters.values(True, True)
    (last,) = [tensor for tensor in tensors if tensor.dim() > 1 and tensor.shape[-2] == 1]
    return last.data


def make_networks_constant(parameters: Any, values: Sequence[float]) -> None:
    """Fix the outputs of stacked networks to these numbers: all but the last bias is 0."""
    tensors = list(parameters.values(True, True))
    for tensor in tensors:
        tensor.data.zero_()
    # biases of a stack of two networks with one output are [2, 1], weights [2, 1, n]
    (last,) = [tensor for tensor in tensors if tuple(tensor.shape) == (2, 1)]
    last.data.copy_(torch.tensor(values, dtype=last.dtype).reshape(2, 1))


def _map_parts_to_trained_tensors(loss: Any) -> dict[str, list[torch.Tensor]]:
    """Return the trained tensors of each part of a loss, without those of target networks."""
    own = {"critic": loss.qvalue_network_params, "actor": loss.actor_network_params}
    by_part = {name: list(part.values(True, True)) for name, part in own.items()}
    if hasattr(loss, "log_alpha"):
        by_part["temperature"] = [loss.log_alpha]
    return by_part


def _find_stepped_parts(
    loss: Any, optimizer: torch.optim.Optimizer
) -> dict[str, Iterable[torch.Tensor]]:
    """Return the parts of a loss whose gradients an optimiser holds, with their tensors."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    stepped = {id(parameter) for parameter in parameters if parameter.grad is not None}
    by_part = _map_parts_to_trained_tensors(loss)
    return {part: own for part, own in by_part.items() if stepped & set(map(id, own))}
