"""Traced trainings in short loops over TorchRL's own losses, collectors, buffers and transforms.

TorchRL's trainers know few of its options: users put the parts together themselves, and so does
this module, in one process. Options are looked up in the signature of the installed version: a
missing one is recorded as such, and everything else is traced.
"""

from __future__ import annotations

import inspect
import io
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import compat
from rlregress.frameworks.torchrl.api import (
    AdditiveGaussianModule,
    Collector,
    EGreedyModule,
    ExplorationType,
    HardUpdate,
    LazyTensorStorage,
    SamplerWithoutReplacement,
    SoftUpdate,
    TensorDictModule,
    TensorDictReplayBuffer,
    TensorDictSequential,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import find_in_library
from rlregress.frameworks.torchrl.train.networks import TracedNetworks
from rlregress.frameworks.torchrl.train.trace_environments import Environments, make_lazy_transform
from rlregress.probing.interface import Unsupported

_SAMPLERS = "torchrl.data.replay_buffers.samplers"
#: batches of a collection off policy after which the buffer is full.
_FULL = 6

#: loop -> a module that explores, behind the actor.
Exploration = Callable[[Any], Any]


def train_in_loop(
    loop: type[_Loop],
    environments: Environments,
    make_env: Callable[..., Any],
    seed: int,
    **options: Any,
) -> Any:
    """Run a loop with these options in fresh environments; trainings are partials of this."""
    with warnings.catch_warnings():
        # about what a training does on purpose
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        np.random.seed(seed)
        return loop(environments.make_environments(make_env, seed), **options).run_training()


def sum_losses(losses: Any) -> Any:
    """Return the sum of the losses that a loss module returns."""
    values = [value for key, value in losses.items() if str(key).startswith("loss")]
    return sum(value.sum() if value.ndim else value for value in values)


@dataclass(eq=False)
class _Loop:
    """A loop with a collector, a loss, optimisers, and evaluations at the end.

    Attributes:
        environment: one, or several side by side.
        loss: name of its class; then the loss itself.
        arguments: of the loss, in the names of the newest version.
        distribution: of the actions; empty: of an actor without chance, a layer squashes them.
        steps: of environments, over all copies.
        estimator: name of the value estimator; empty: that of the loss stays.
        estimator_options: arguments of it beside the discount.
        evaluations: "callback" for a rollout in between, "deterministic" and "stochastic" for one
            at the end.
        falling: the learning rate falls to zero in a straight line.
        masked: the collector returns padded trajectories, with masks.
        atoms, dueling: of its networks, as ``TracedNetworks`` takes them.
    """

    environment: Any
    _: KW_ONLY
    loss: Any
    arguments: Mapping[str, Any] = field(default_factory=dict)
    distribution: str = ""
    steps: int = 96
    learning_rate: float = 3e-3
    batch_size: int = 48
    max_norm: float | None = None
    gamma: float = 0.99
    estimator: str = ""
    estimator_options: Mapping[str, Any] = field(default_factory=dict)
    evaluations: Sequence[str] = ()
    falling: bool = False
    save_load: bool = False
    masked: bool = False
    atoms: int = 1
    dueling: bool = False

    def __post_init__(self) -> None:
        self.networks = TracedNetworks(self.environment, self.atoms, self.dueling)
        #: environments side by side.
        self.copies = math.prod(self.environment.batch_size)
        self.schedules: list[Any] = []

    def run_training(self) -> Any:
        """Train and evaluate, and return values for the trace."""
        raise NotImplementedError

    def set_value_estimator(self) -> None:
        """Give the loss the value estimator that the training names, if it names one."""
        if not self.estimator:
            return
        kind = getattr(
            find_in_library("torchrl.objectives", "ValueEstimators"), self.estimator, None
        )
        if kind is None:
            raise Unsupported(f"this version has no value estimator {self.estimator}")
        decay = {"lmbda": 0.95} if self.estimator in ("GAE", "TDLambda") else {}
        options = {"gamma": self.gamma, **decay, **self.estimator_options}
        try:
            self.loss.make_value_estimator(kind, **options)
        except NotImplementedError:
            name = type(self.loss).__name__
            raise Unsupported(f"{name} has no value estimator {self.estimator}") from None

    def make_collector(self, policy: Any, frames: int, random_frames: int = 0) -> Any:
        """Return TorchRL's collector that runs in this process."""
        options = {"split_trajs": True} if self.masked else {}
        return compat.call_with_newest_keywords(
            Collector,
            self.environment,
            policy,
            frames_per_batch=frames,
            total_frames=self.steps // frames * frames,
            init_random_frames=random_frames,
            **options,
        )

    def make_optimizer(self, parameters: Any) -> Any:
        """Return Adam; if the rate is to fall, note its schedule, too."""
        adam = torch.optim.Adam(list(parameters), lr=self.learning_rate)
        if self.falling:
            expected = 30
            self.schedules.append(
                torch.optim.lr_scheduler.LambdaLR(
                    adam, lambda update: max(0.0, 1.0 - update / expected)
                )
            )
        return adam

    def step_optimizer(self, optimizer: Any, parameters: Any) -> None:
        """Clip the gradients if a norm is given; step an optimiser and its schedule."""
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(list(parameters), self.max_norm)
        optimizer.step()
        for schedule in self.schedules:
            if schedule.optimizer is optimizer:
                schedule.step()

    def roll_out_evaluations(self, policy: Any, *requested: str) -> None:
        """Roll out once for each of these kinds that is among the evaluations, in their order."""
        for kind in self.evaluations:
            if kind in requested:
                is_random = kind == "stochastic"
                deterministic = compat.find_deterministic_exploration()
                exploration = ExplorationType.RANDOM if is_random else deterministic
                with torch.no_grad(), set_exploration_type(exploration):
                    self.environment.rollout(12, policy, break_when_any_done=False)

    def evaluate_between_batches(self, policy: Any, batch_number: int) -> None:
        """Evaluate after the second batch, if "callback" is among the evaluations."""
        if batch_number == 1:
            self.roll_out_evaluations(policy, "callback")


@dataclass(eq=False, kw_only=True)
class OnPolicyLoop(_Loop):
    """A loop that collects, estimates advantages, and updates on minibatches for some epochs."""

    distribution: str = "TanhNormal"
    estimator: str = "GAE"
    epochs: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.actor = self.networks.make_stochastic_actor(self.distribution)
        value = self.networks.make_value_network()
        kind = find_in_library("torchrl.objectives", self.loss)
        self.loss = compat.call_with_newest_keywords(kind, self.actor, value, **self.arguments)
        self.set_value_estimator()
        self.adam = self.make_optimizer(self.loss.parameters())

    def run_training(self) -> None:
        for number, batch in enumerate(self.make_collector(self.actor, 32 * self.copies)):
            for _ in range(self.epochs):
                self._update_on_batch(batch)
            self.evaluate_between_batches(self.actor, number)
            if self.save_load and number == 1:
                saved = {name: v.clone() for name, v in self.loss.state_dict().items()}
                self.loss.load_state_dict(saved)
        self.roll_out_evaluations(self.actor, "deterministic", "stochastic")

    def _update_on_batch(self, batch: Any) -> None:
        with torch.no_grad():
            self._estimate_advantages(batch)
        if self.masked:
            # padded trajectories with the mask that the collector wrote, as one batch
            self._descend_losses(self.loss(batch))
            return
        rows = batch.reshape(-1)
        buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(len(rows)),
            sampler=SamplerWithoutReplacement(),
            batch_size=self.batch_size,
        )
        buffer.extend(rows)
        for _ in range(math.ceil(len(rows) / self.batch_size)):
            self._descend_losses(self.loss(buffer.sample()))

    def _descend_losses(self, losses: Any) -> None:
        self.adam.zero_grad()
        sum_losses(losses).backward()
        self.step_optimizer(self.adam, self.loss.parameters())

    def _estimate_advantages(self, batch: Any) -> None:
        loss = self.loss
        parameters = {
            "params": getattr(loss, "critic_network_params", getattr(loss, "critic_params", None)),
            "target_params": getattr(
                loss, "target_critic_network_params", getattr(loss, "target_critic_params", None)
            ),
        }
        loss.value_estimator(batch, **parameters)


# -- off policy -------------------------------------------------------------------------------


def make_gaussian_exploration(deviation: float = 0.3) -> Exploration:
    """Return an exploration by Gaussian noise whose deviation falls."""
    return lambda loop: AdditiveGaussianModule(
        spec=loop.networks.spec,
        sigma_init=1.0,
        sigma_end=0.1,
        annealing_num_steps=80,
        std=deviation,
    )


def make_correlated_exploration() -> Exploration:
    """Return an exploration by Ornstein-Uhlenbeck noise that restarts with each episode."""

    def make_noise_module(loop: _Loop) -> Any:
        process = find_in_library("torchrl.modules", "OrnsteinUhlenbeckProcessModule")
        noise = process(
            spec=loop.networks.spec, eps_init=1.0, eps_end=0.1, annealing_num_steps=80,
            sigma=0.4,
        )  # fmt: skip
        tracked = loop.environment.append_transform(make_lazy_transform("InitTracker")())
        loop.environment = tracked or loop.environment
        return noise

    return make_noise_module


def make_greedy_exploration(first: float = 0.9) -> Exploration:
    """Return an epsilon-greedy exploration."""
    return lambda loop: EGreedyModule(
        spec=loop.networks.spec, eps_init=first, eps_end=0.1, annealing_num_steps=80
    )


@dataclass(eq=False, kw_only=True)
class OffPolicyLoop(_Loop):
    """A loop that collects into a replay buffer, samples, and has one optimiser for each loss.

    Attributes:
        state_value: a network of state values stands beside those of action values.
        exploration: makes what explores; then the module that explores.
        per_collection: steps of a collection, over all copies.
        updates: after each of them.
        learning_starts: steps before the first update.
        policy_delay: updates of the critics for one of the actor.
        interval: updates between copies of the target; 0: it is moved by ``tau`` at each.
        without_replacement: every row is sampled once.
        slice_length: steps of the parts of trajectories that are sampled; 0: rows are.
        prioritised: rows are drawn by their error.
        n_steps: steps of a return.
    """

    batch_size: int = 16
    estimator: str = "TD0"
    state_value: bool = False
    exploration: Any = None
    per_collection: int = 12
    updates: int = 2
    learning_starts: int = 24
    policy_delay: int = 1
    tau: float = 0.05
    interval: int = 0
    without_replacement: bool = False
    slice_length: int = 0
    prioritised: bool = False
    n_steps: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.frames = -(-self.per_collection // self.copies) * self.copies
        self.updates_done = 0
        self._make_loss_by_name(self.loss, self.distribution)
        self.set_value_estimator()
        self._make_buffer()
        self.several: Any = None
        if self.n_steps:
            multi_step = find_in_library("torchrl.data", "MultiStep")
            self.several = multi_step(gamma=0.9, n_steps=self.n_steps)
        self.acting = self.actor
        if self.exploration is not None:
            self.exploration = self.exploration(self)
            self.acting = TensorDictSequential(self.actor, self.exploration)
        if self.interval:
            self.updater: Any = HardUpdate(self.loss, value_network_update_interval=self.interval)
        else:
            self.updater = SoftUpdate(self.loss, tau=self.tau)
        self._make_optimizers()

    def _make_loss_by_name(self, name: str, distribution: str) -> None:
        networks, kind = self.networks, find_in_library("torchrl.objectives", name)
        critics: list[Any] = []
        parts: dict[str, Any]
        if name.endswith("DQNLoss"):
            self.actor, parts = networks.make_q_value_actor(), {"delay_value": True}
        elif name == "DiscreteSACLoss":
            self.actor = networks.make_stochastic_actor(distribution)
            network = networks.make_network(networks.actions)
            critics = [TensorDictModule(network, ["observation"], ["action_value"])]
            parts = {"num_actions": networks.actions, "action_space": "one_hot"}
        elif name == "SACLoss":
            self.actor = networks.make_stochastic_actor(distribution)
            parts = {"value_network": networks.make_value_network()} if self.state_value else {}
            if "action_spec" in inspect.signature(kind.__init__).parameters:
                parts["action_spec"] = networks.spec
            critics = [networks.make_action_value_network()]
        else:
            self.actor = networks.make_deterministic_actor(distribution)
            parts = {"delay_value": True} if name == "DDPGLoss" else {"action_spec": networks.spec}
            critics = [networks.make_action_value_network()]
        self.loss = compat.call_with_newest_keywords(
            kind, self.actor, *critics, **parts, **self.arguments
        )

    def _make_buffer(self) -> None:
        # 50 rows: the buffer is full after half of the training
        size, options = 50, dict[str, Any]()
        if self.slice_length:
            options["sampler"] = find_in_library(_SAMPLERS, "SliceSampler")(
                slice_len=self.slice_length, traj_key=("collector", "traj_ids"), strict_length=True
            )
        elif self.without_replacement:
            options["sampler"] = SamplerWithoutReplacement()
        if self.prioritised:
            try:
                options["sampler"] = find_in_library(_SAMPLERS, "PrioritizedSampler")(
                    size, 0.7, 0.5
                )
            except (ImportError, NameError, RuntimeError, AttributeError, TypeError) as error:
                # built on the library's compiled part, which may not fit the installed torch
                raise Unsupported(f"its prioritised sampler cannot be made here: {error}") from None
            options["priority_key"] = "td_error"
        self.buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(size), batch_size=self.batch_size, **options
        )

    def _make_optimizers(self) -> None:
        """Make an optimiser for the actor, one for the critics, one for the temperature."""
        groups: dict[str, dict[str, Any]] = {}
        for name, parameter in self.loss.named_parameters():
            if "target_" in name:
                continue
            group = name.partition("_")[0] if "." in name else name
            groups.setdefault(group, {})[name] = parameter
        self.groups = {
            group: (self.make_optimizer(parameters.values()), list(parameters.values()))
            for group, parameters in groups.items()
        }

    def run_training(self) -> None:
        frames = 0
        collector = self.make_collector(self.acting, self.frames, self.learning_starts)
        for number, batch in enumerate(collector):
            frames += self.frames
            self.evaluate_between_batches(self.actor, number)
            if self.several is not None:
                batch = self.several(batch)
            self.buffer.extend(batch.reshape(-1))
            if self.exploration is not None and hasattr(self.exploration, "step"):
                self.exploration.step(self.frames)
            if frames >= self.learning_starts:
                for _ in range(self.updates):
                    self._update_on_sample()
            # rows that nothing was written to hold whatever was in memory
            if self.save_load and frames == self.frames * _FULL:
                self._save_and_load()
        self.roll_out_evaluations(self.actor, "deterministic", "stochastic")

    def _update_on_sample(self) -> None:
        sample = self.buffer.sample()
        if self.slice_length:
            sample = sample.reshape(-1, self.slice_length)
        self.updates_done += 1
        total = sum_losses(self.loss(sample))
        for optimizer, _ in self.groups.values():
            optimizer.zero_grad()
        total.backward()
        for group, (optimizer, parameters) in self.groups.items():
            if not group.startswith("actor") or self.updates_done % self.policy_delay == 0:
                self.step_optimizer(optimizer, parameters)
        self.updater.step()
        if self.prioritised:
            self.buffer.update_tensordict_priority(sample)

    def _save_and_load(self) -> None:
        """Save the states of loss and buffer to a file in memory, and load them."""
        file = io.BytesIO()
        torch.save({"loss": self.loss.state_dict(), "buffer": self.buffer.state_dict()}, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        self.loss.load_state_dict(loaded["loss"])
        self.buffer.load_state_dict(loaded["buffer"])
