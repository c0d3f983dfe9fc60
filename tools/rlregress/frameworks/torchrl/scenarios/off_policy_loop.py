"""SAC, TD3, DDPG and DQN: a replay buffer, target networks, exploration."""

from __future__ import annotations

import inspect
import io
from typing import Any

import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.api import (
    AdditiveGaussianModule,
    EGreedyModule,
    HardUpdate,
    LazyTensorStorage,
    SamplerWithoutReplacement,
    SoftUpdate,
    TensorDictModule,
    TensorDictReplayBuffer,
    TensorDictSequential,
)
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.scenarios.loop import Loop
from rlregress.frameworks.torchrl.scenarios.loop_settings import ScenarioOptions
from rlregress.frameworks.torchrl.scenarios.loss_setup import (
    loss_arguments,
    set_estimator,
    sum_of_losses,
)
from rlregress.frameworks.torchrl.scenarios.scenario_environments import make_transform
from rlregress.frameworks.torchrl.scenarios.scenario_networks import Networks

_SAMPLERS = "torchrl.data.replay_buffers.samplers"


class OffPolicy(Loop):
    """Collect into a replay buffer, sample, and step every loss with its own optimiser."""

    def __init__(self, options: ScenarioOptions, environment: Any) -> None:
        super().__init__(options, environment)
        self.updates = 0
        self.delay = int(options.take("policy_delay", 1))
        self.frames = int(options.take("steps_per_collection"))
        self.frames = -(-self.frames // self.copies) * self.copies
        self.repeats = int(options.take("updates_per_collection"))
        if self.repeats < 0:
            self.repeats = self.frames
        self.random = int(options.take("learning_starts"))
        self._make_loss()
        self._make_buffer()
        self._make_exploration()
        self._make_updater()
        options.nothing_left()
        self._make_optimizers()

    def _make_loss(self) -> None:
        options, networks = self.options, self.networks
        getattr(self, f"_make_{options.algorithm}")(options, networks)
        estimator = "own" if options.given.get("distributional") else "td0"
        options.take("distributional")
        if options.algorithm == "sac":
            # a decay that only returns of several steps need
            options.given.setdefault("gae_lambda", 0.95)
        set_estimator(options, self.loss, estimator)

    def _make_dqn(self, scenario_options: ScenarioOptions, networks: Networks) -> None:
        if not scenario_options.discrete:
            raise Unsupported("DQNLoss has no continuous actions")
        self.actor = networks.choices()
        if scenario_options.given.get("distributional"):
            kind = library("torchrl.objectives", "DistributionalDQNLoss")
            options = {
                "gamma": scenario_options.given["discount"],
                **loss_arguments(scenario_options, kind),
            }
        else:
            kind = library("torchrl.objectives", "DQNLoss")
            options = loss_arguments(scenario_options, kind)
        self.loss = kind(self.actor, delay_value=True, **options)

    def _make_ddpg(self, scenario_options: ScenarioOptions, networks: Networks) -> None:
        self.actor = networks.deterministic(scenario_options.take("distribution", ""))
        kind = library("torchrl.objectives", "DDPGLoss")
        options = loss_arguments(scenario_options, kind)
        self.loss = kind(self.actor, networks.action_value(), delay_value=True, **options)

    def _make_td3(self, scenario_options: ScenarioOptions, networks: Networks) -> None:
        self.actor = networks.deterministic(scenario_options.take("distribution", ""))
        kind = library("torchrl.objectives", "TD3Loss")
        options = loss_arguments(scenario_options, kind)
        self.loss = kind(self.actor, networks.action_value(), action_spec=networks.spec, **options)

    def _make_sac(self, scenario_options: ScenarioOptions, networks: Networks) -> None:
        self.actor = networks.stochastic(scenario_options.take("distribution", "tanh-normal"))
        if scenario_options.discrete:
            kind = library("torchrl.objectives", "DiscreteSACLoss")
            values = TensorDictModule(
                networks.network(networks.actions), ["observation"], ["action_value"]
            )
            options = {"num_actions": networks.actions, "action_space": "one_hot"}
            check_arguments(kind, options)
            options.update(loss_arguments(scenario_options, kind))
            self.loss = kind(self.actor, values, **options)
            return
        kind = library("torchrl.objectives", "SACLoss")
        options = loss_arguments(scenario_options, kind)
        if scenario_options.take("state_value_network"):
            options["value_network"] = networks.value()
        if "action_spec" in inspect.signature(kind.__init__).parameters:
            options["action_spec"] = networks.spec
        self.loss = kind(self.actor, networks.action_value(), **options)

    def _make_buffer(self) -> None:
        requested = self.options
        size, kind = int(requested.take("replay_size")), requested.take("sampler", "random")
        self.slices = int(requested.take("slice_length", 0))
        options: dict[str, Any] = {}
        if kind == "slices":
            options["sampler"] = library(_SAMPLERS, "SliceSampler")(
                slice_len=self.slices, traj_key=("collector", "traj_ids"), strict_length=True
            )
        elif kind == "without-replacement":
            options["sampler"] = SamplerWithoutReplacement()
        if requested.take("prioritised"):
            try:
                options["sampler"] = library(_SAMPLERS, "PrioritizedSampler")(size, 0.7, 0.5)
            except (ImportError, NameError, RuntimeError, AttributeError, TypeError) as error:
                # built on the library's compiled part, which may not fit the installed torch
                raise Unsupported(f"its prioritised sampler cannot be made here: {error}") from None
            options["priority_key"] = "td_error"
        self.prioritised = "priority_key" in options
        self.buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(size), batch_size=self.batch, **options
        )
        n_step = requested.take("n_step")
        several = library("torchrl.data", "MultiStep") if n_step else None
        self.several = several(gamma=0.9, n_steps=n_step) if several else None

    def _make_exploration(self) -> None:
        options, spec = self.options, self.networks.spec
        deviation = options.take("exploration_noise")
        kind = options.take("noise", "gaussian" if deviation is not None else None)
        deviation = 0.3 if deviation is None else deviation
        rates = {name: options.take(f"exploration_{name}") for name in ("initial", "final")}
        options.take("exploration_fraction")
        self.exploration: Any = None
        if options.algorithm == "dqn":
            self.exploration = EGreedyModule(
                spec=spec,
                eps_init=0.9 if rates["initial"] is None else rates["initial"],
                eps_end=0.1 if rates["final"] is None else rates["final"],
                annealing_num_steps=80,
            )
        elif kind == "gaussian":
            self.exploration = AdditiveGaussianModule(
                spec=spec, sigma_init=1.0, sigma_end=0.1, annealing_num_steps=80, std=deviation
            )
        elif kind == "ornstein-uhlenbeck":
            process = library("torchrl.modules", "OrnsteinUhlenbeckProcessModule")
            self.exploration = process(
                spec=spec, eps_init=1.0, eps_end=0.1, annealing_num_steps=80, sigma=deviation
            )
            tracked = self.environment.append_transform(make_transform("init-tracker"))
            self.environment = tracked or self.environment
        elif kind is not None:
            raise Unsupported(f"TorchRL has no {kind} noise of actions")
        self.acting = self.actor
        if self.exploration is not None:
            self.acting = TensorDictSequential(self.actor, self.exploration)

    def _make_updater(self) -> None:
        options = self.options
        polyak = options.take("polyak_coefficient")
        interval = options.take("target_update_interval")
        if options.take("target_update", "soft") == "hard" or interval:
            self.updater: Any = HardUpdate(
                self.loss, value_network_update_interval=int(interval or 3)
            )
        elif "tau" in inspect.signature(SoftUpdate.__init__).parameters:
            self.updater = SoftUpdate(self.loss, tau=polyak)
        else:
            self.updater = SoftUpdate(self.loss, eps=1.0 - polyak)

    def _make_optimizers(self) -> None:
        """An optimiser for the actor, one for the critics, one for the temperature."""
        groups: dict[str, dict[str, Any]] = {}
        for name, parameter in self.loss.named_parameters():
            if "target_" in name:
                continue
            group = name.partition("_")[0] if "." in name else name
            groups.setdefault(group, {})[name] = parameter
        self.groups = {
            group: (self.optimizer(parameters.values()), list(parameters.values()))
            for group, parameters in groups.items()
        }

    def run(self) -> None:
        frames = 0
        for number, batch in enumerate(self.collector(self.acting, self.frames, self.random)):
            frames += self.frames
            self.between(self.actor, number)
            if self.several is not None:
                batch = self.several(batch)
            self.buffer.extend(batch.reshape(-1))
            if self.exploration is not None and hasattr(self.exploration, "step"):
                self.exploration.step(self.frames)
            if frames >= self.random:
                for _ in range(self.repeats):
                    self._update()
            # rows that nothing was written to hold whatever was in memory
            if self.save_load and frames == self.frames * 6:
                self._save_and_load()
        self.evaluate(self.actor)

    def _update(self) -> None:
        sample = self.buffer.sample()
        if self.slices:
            sample = sample.reshape(-1, self.slices)
        self.updates += 1
        total = sum_of_losses(self.loss(sample))
        for optimizer, _ in self.groups.values():
            optimizer.zero_grad()
        total.backward()
        for group, (optimizer, parameters) in self.groups.items():
            if not group.startswith("actor") or self.updates % self.delay == 0:
                self.step(optimizer, parameters)
        self.updater.step()
        if self.prioritised:
            self.buffer.update_tensordict_priority(sample)

    def _save_and_load(self) -> None:
        """State of loss and buffer through a file in memory, as a checkpoint goes."""
        file = io.BytesIO()
        torch.save({"loss": self.loss.state_dict(), "buffer": self.buffer.state_dict()}, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        self.loss.load_state_dict(loaded["loss"])
        self.buffer.load_state_dict(loaded["buffer"])
