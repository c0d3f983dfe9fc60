"""Scenarios on TorchRL: short loops over its own losses, collectors, buffers and transforms.

TorchRL's trainers know few of its options: users put the parts together themselves, and so does
this module, in one process. Whether a version has an option is asked of the signature that would
take it, so that one that lacks it says so and everything else is traced.
"""

from __future__ import annotations

import inspect
import math
import warnings
from functools import partial
from typing import Any, Callable, Dict, List, Mapping

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import NotOffered
from rlregress.frameworks.offered import check_arguments
from rlregress.frameworks.torchrl import parts
from rlregress.frameworks.torchrl.versions import library

#: of which a scenario can ask for fewer: its loops are slower than those of other frameworks.
_STEPS = 96
_ON_POLICY = ("ppo", "a2c", "reinforce")
_OFF_POLICY = ("sac", "td3", "ddpg", "dqn")
_SHARED = {"learning_rate": 3e-3, "hidden_sizes": [16, 16], "discount": 0.99}
_DEFAULTS: Dict[str, Dict[str, Any]] = {
    **dict.fromkeys(
        _ON_POLICY,
        {**_SHARED, "rollout_steps": 32, "minibatch_size": 48, "epochs": 2, "gae_lambda": 0.95},
    ),
    **dict.fromkeys(
        _OFF_POLICY,
        # 50 rows: the buffer is full after half of the training
        {
            **_SHARED,
            "replay_size": 50,
            "learning_starts": 24,
            "minibatch_size": 16,
            "polyak_coefficient": 0.05,
            "steps_per_collection": 12,
            "updates_per_collection": 2,
        },
    ),
}
_ESTIMATORS = {
    "td0": "TD0", "td1": "TD1", "td-lambda": "TDLambda", "gae": "GAE", "v-trace": "VTrace",
}  # fmt: skip
_DISTRIBUTIONS = {
    "tanh-normal": "TanhNormal",
    "truncated-normal": "TruncatedNormal",
    "normal": "IndependentNormal",
}
#: setting -> arguments of a loss, of which versions know one.
_LOSS_ARGUMENTS: Dict[str, tuple] = {
    "clip_range": ("clip_epsilon",),
    "value_clip_range": ("clip_value",),
    "entropy_coefficient": ("entropy_coeff", "entropy_coef"),
    "value_coefficient": ("critic_coeff", "critic_coef"),
    "value_loss": ("loss_critic_type",),
    "critic_loss": ("loss_function",),
    "normalize_advantage": ("normalize_advantage",),
    "initial_temperature": ("alpha_init",),
    "target_entropy": ("target_entropy",),
    "target_noise": ("policy_noise",),
    "target_noise_clip": ("noise_clip",),
    "critics": ("num_qvalue_nets",),
    "double": ("double_dqn",),
    "reduction": ("reduction",),
    "separate_losses": ("separate_losses",),
    "delayed_actor": ("delay_actor",),
    "skip_done_states": ("skip_done_states",),
    "without_vmap": ("deactivate_vmap",),
    "largest_ratio": ("max_importance_ratio",),
}


class _Asked:
    """What a scenario asks for, each name once: what is left over in the end is not offered."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.algorithm = str(scenario["algorithm"])
        if self.algorithm not in _DEFAULTS:
            raise NotOffered(f"TorchRL's {self.algorithm.upper()} is not among what is traced")
        self.environment = dict(scenario.get("environment", {}))
        given = {**scenario.get("settings", {}), **scenario.get("features", {})}
        self.given = {**_DEFAULTS[self.algorithm], **given}
        self.discrete = self.environment.get("actions", "box") == "discrete"

    def take(self, name: str, default: Any = None) -> Any:
        """A feature or setting, no longer among what is left over."""
        return self.given.pop(name, default)

    def nothing_left(self) -> None:
        """Raise NotOffered for what nobody took."""
        if self.given:
            left = ", ".join(sorted(self.given))
            raise NotOffered(f"a training with TorchRL's {self.algorithm.upper()} has no {left}")


def trace(
    scenario: Mapping[str, Any], make_env: Callable[..., Any], seed: int
) -> Mapping[str, Any]:
    """Train in a loop of TorchRL's own parts, or use one of them by itself."""
    with warnings.catch_warnings():
        # about what a scenario does on purpose
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        np.random.seed(seed)
        asked = _Asked(scenario)
        part = asked.take("part")
        if part is not None:
            return parts.use(part, make_env, seed)
        environment = _environment(asked, make_env, seed)
        (_OnPolicy if asked.algorithm in _ON_POLICY else _OffPolicy)(asked, environment).run()
        return {}


# -- environments -----------------------------------------------------------------------------


def _environment(asked: _Asked, make_env: Callable[..., Any], seed: int) -> Any:
    from torchrl.envs import GymWrapper, SerialEnv

    options = asked.environment
    copies = int(options.pop("copies", 1))
    if options.get("observations", "box") not in ("box", "float64", "integer", "image", "dict"):
        raise NotOffered(f"no networks are put together for {options['observations']} observations")
    if options.get("actions", "box") not in ("box", "discrete"):
        raise NotOffered(f"no networks are put together for {options['actions']} actions")

    def made(first: int) -> Any:
        return GymWrapper(make_env(**{"first": first, **options}), device="cpu")

    makers = [partial(made, k) for k in range(copies)]
    environment: Any = makers[0]() if copies == 1 else SerialEnv(copies, makers)
    environment = _transformed(environment, asked, options.get("observations", "box"))
    environment.set_seed(seed)
    return environment


def _transformed(environment: Any, asked: _Asked, observations: str) -> Any:
    """The environment in the transforms that its observations need and the scenario names."""
    names: List[str] = list(asked.take("transforms", []))
    normalize = asked.take("normalize")
    clips = {name: asked.take(name) for name in ("observation_clip", "reward_clip")}
    stack = asked.take("frame_stack")
    needed = {"float64": ["double-to-float"], "integer": ["to-float"], "image": ["to-image"]}
    first = needed.get(observations, [])
    if observations == "dict":
        first = ["choices-to-float", "cat-tensors"]
    names = [*first, *[name for name in names if name not in first]]
    if normalize in ("both", "observations"):
        names.append("vecnorm")
    if normalize in ("both", "rewards"):
        names.append("vecnorm-rewards")
    made = [_transform(name) for name in names]
    if clips["observation_clip"]:
        clip, limit = library("torchrl.envs", "ClipTransform"), clips["observation_clip"]
        made.append(clip(in_keys=["observation"], low=-limit, high=limit))
    if clips["reward_clip"]:
        clip, limit = library("torchrl.envs", "RewardClipping"), clips["reward_clip"]
        made.append(clip(-limit, limit))
    if stack:
        dimension = -3 if observations == "image" else -1
        stacked = library("torchrl.envs", "CatFrames")
        made.append(stacked(stack, dimension, in_keys=["observation"]))
    if not made:
        return environment
    from torchrl.envs import Compose, TransformedEnv

    whole = TransformedEnv(environment, Compose(*made))
    for transform in made:
        if type(transform).__name__ == "ObservationNorm":
            dimensions = tuple(range(len(environment.batch_size) + 1))
            transform.init_stats(20, reduce_dim=dimensions, cat_dim=dimensions[-1])
    return whole


def _transform(name: str) -> Any:
    seen = ["observation"]
    makers: Dict[str, Any] = {
        "double-to-float": ("DoubleToFloat", {"in_keys": seen}),
        "to-float": ("DTypeCastTransform", {
            "dtype_in": torch.int64, "dtype_out": torch.float32, "in_keys": seen,
        }),
        "choices-to-float": ("DTypeCastTransform", {
            "dtype_in": torch.int64, "dtype_out": torch.float32, "in_keys": ["mode"],
        }),
        "to-image": ("ToTensorImage", {"in_keys": seen}),
        "cat-tensors": ("CatTensors", {
            # a dictionary's first vector is called so by the wrapper of gymnasium
            "in_keys": ["mode", "observation"], "out_key": "observation", "del_keys": False,
        }),
        "observation-norm": ("ObservationNorm", {"in_keys": seen, "standard_normal": True}),
        "vecnorm": ("VecNorm", {"in_keys": seen, "decay": 0.9}),
        "vecnorm-rewards": ("VecNorm", {"in_keys": ["reward"], "decay": 0.9}),
        "reward-scaling": ("RewardScaling", {"loc": 0.1, "scale": 0.5}),
        "reward-sum": ("RewardSum", {}),
        "step-counter": ("StepCounter", {"max_steps": 8}),
        "reward-clipping": ("RewardClipping", {"clamp_min": -0.5, "clamp_max": 0.5}),
        "init-tracker": ("InitTracker", {}),
    }  # fmt: skip
    if name not in makers:
        raise NotOffered(f"TorchRL has no transform {name}")
    kind, options = makers[name]
    return library("torchrl.envs", kind)(**options)


# -- networks -----------------------------------------------------------------------------------


class _Networks:
    """What the networks are built from: sizes, bounds and the kind of the observations."""

    def __init__(self, asked: _Asked, environment: Any) -> None:
        self.shape = environment.observation_spec["observation"].shape[
            len(environment.batch_size) :
        ]
        self.spec: Any = getattr(environment, "action_spec_unbatched", None)
        if self.spec is None:
            # before 0.6, where a batched environment has one specification for all
            self.spec = environment.action_spec
            for _ in environment.batch_size:
                self.spec = self.spec[0]
        self.actions = int(self.spec.shape[-1])
        self.discrete = asked.discrete
        self._sizes = list(asked.take("hidden_sizes"))
        self.atoms = 11 if asked.given.get("distributional") else 1
        self._dueling = bool(asked.take("dueling"))
        if asked.take("batch_norm"):
            raise NotOffered("no networks with batch normalisation are put together")

    def network(self, outputs: int, with_actions: bool = False) -> Any:
        """A multilayer perceptron, behind convolutions where there are images."""
        if len(self.shape) == 3:
            return self._convolutions(outputs)
        inputs = int(self.shape[-1]) + (self.actions if with_actions else 0)
        return self._perceptron(inputs, outputs)

    def _perceptron(self, inputs: int, outputs: int) -> Any:
        from torchrl.modules import MLP

        return MLP(
            in_features=inputs,
            out_features=outputs,
            num_cells=self._sizes,
            activation_class=nn.Tanh,
        )

    def _convolutions(self, outputs: int) -> Any:
        channels = int(self.shape[0])
        cells, kernels, strides = [4, 4], [8, 4], [4, 2]
        if self._dueling:
            dueling = library("torchrl.modules", "DuelingCnnDQNet")
            convolutions = {
                "in_features": channels, "num_cells": cells, "kernel_sizes": kernels,
                "strides": strides, "depth": 2,
            }  # fmt: skip
            return dueling(
                outputs, 1, cnn_kwargs=convolutions, mlp_kwargs={"num_cells": [16], "depth": 1}
            )
        from torchrl.modules import ConvNet

        made = ConvNet(in_features=channels, num_cells=cells, kernel_sizes=kernels, strides=strides)
        width = made(torch.zeros(1, *self.shape)).shape[-1]
        return nn.Sequential(made, self._perceptron(width, outputs))

    def value(self) -> Any:
        """A state-value network."""
        from torchrl.modules import ValueOperator

        return ValueOperator(self.network(1), in_keys=["observation"])

    def action_value(self) -> Any:
        """An action-value network of continuous actions."""
        from torchrl.modules import ValueOperator

        return ValueOperator(self.network(1, True), in_keys=["observation", "action"])

    def stochastic(self, distribution: str) -> Any:
        """An actor that samples."""
        from tensordict.nn import TensorDictModule
        from torchrl.modules import ProbabilisticActor

        if self.discrete:
            logits = TensorDictModule(self.network(self.actions), ["observation"], ["logits"])
            kind = library("torchrl.modules", "OneHotCategorical")
            return ProbabilisticActor(
                logits,
                in_keys=["logits"],
                spec=self.spec,
                distribution_class=kind,
                return_log_prob=True,
            )
        if distribution not in _DISTRIBUTIONS:
            raise NotOffered(f"TorchRL has no distribution {distribution}")
        kind = library("torchrl.modules", _DISTRIBUTIONS[distribution])
        return ProbabilisticActor(
            TensorDictModule(
                nn.Sequential(self.network(2 * self.actions), _extractor()),
                ["observation"],
                ["loc", "scale"],
            ),
            in_keys=["loc", "scale"],
            spec=self.spec,
            distribution_class=kind,
            distribution_kwargs={} if distribution == "normal" else self._bounds(kind),
            return_log_prob=True,
        )

    def deterministic(self, distribution: str) -> Any:
        """An actor without chance, through a squashing module or a distribution of one point."""
        from tensordict.nn import TensorDictModule, TensorDictSequential
        from torchrl.modules import ProbabilisticActor, TanhModule

        bounds = {"low": self.spec.space.low, "high": self.spec.space.high}
        network = TensorDictModule(self.network(self.actions), ["observation"], ["param"])
        if distribution == "tanh-delta":
            kind = library("torchrl.modules", "TanhDelta")
            return ProbabilisticActor(
                network,
                in_keys=["param"],
                spec=self.spec,
                distribution_class=kind,
                distribution_kwargs=self._bounds(kind),
            )
        squashed = TanhModule(in_keys=["param"], out_keys=["action"], **bounds)
        return TensorDictSequential(network, squashed)

    def _bounds(self, kind: Any) -> Dict[str, Any]:
        known = inspect.signature(kind.__init__).parameters
        # they were called so before 0.5
        low, high = ("low", "high") if "low" in known else ("min", "max")
        return {low: self.spec.space.low, high: self.spec.space.high}

    def choices(self) -> Any:
        """Action values of every choice, with the greedy choice."""
        from torchrl.modules import DistributionalQValueActor, QValueActor

        if self.atoms > 1:
            network = nn.Sequential(
                self.network(self.actions * self.atoms),
                nn.Unflatten(-1, (self.atoms, self.actions)),
            )
            support = torch.linspace(-5.0, 5.0, self.atoms)
            return DistributionalQValueActor(
                network, support=support, in_keys=["observation"], spec=self.spec
            )
        return QValueActor(self.network(self.actions), in_keys=["observation"], spec=self.spec)


def _extractor() -> Any:
    from tensordict.nn import NormalParamExtractor

    return NormalParamExtractor()


# -- losses -------------------------------------------------------------------------------------


def _loss_arguments(asked: _Asked, loss: Any) -> Dict[str, Any]:
    known = inspect.signature(loss.__init__).parameters
    made = {}
    for setting, names in _LOSS_ARGUMENTS.items():
        if setting in asked.given:
            name = next((name for name in names if name in known), None)
            if name is None:
                raise NotOffered(f"{loss.__name__} takes no {names[0]}")
            made[name] = asked.take(setting)
    temperature = asked.take("fixed_temperature")
    if temperature is not None:
        made.update(alpha_init=temperature, fixed_alpha=True)
        check_arguments(loss, made)
    return made


def _set_estimator(asked: _Asked, loss: Any, default: str) -> None:
    name = asked.take("value_estimator", default)
    discount, decay = asked.take("discount"), asked.take("gae_lambda")
    if name == "own":
        return
    kinds = library("torchrl.objectives", "ValueEstimators")
    kind = getattr(kinds, _ESTIMATORS[name], None)
    if kind is None:
        raise NotOffered(f"this version has no value estimator {name}")
    options: Dict[str, Any] = {"gamma": discount}
    if name in ("gae", "td-lambda"):
        options["lmbda"] = 0.95 if decay is None else decay
    vectorized = asked.take("vectorized")
    if vectorized is not None:
        options["vectorized"] = vectorized
    if asked.take("average_advantage"):
        options["average_gae"] = True
    try:
        loss.make_value_estimator(kind, **options)
    except NotImplementedError:
        raise NotOffered(f"{type(loss).__name__} has no value estimator {name}") from None


class _Loop:
    """What every loop has: a collector, a loss, optimisers, and what comes at the end."""

    def __init__(self, asked: _Asked, environment: Any) -> None:
        self.asked, self.environment = asked, environment
        self.networks = _Networks(asked, environment)
        self.steps = min(int(asked.take("steps", _STEPS)), _STEPS)
        self.rate = float(asked.take("learning_rate"))
        self.batch = int(asked.take("minibatch_size"))
        self.evaluations = list(asked.take("evaluate", []))
        #: in between, as a callback does it elsewhere.
        self.evaluates = "callback" in self.evaluations
        self.max_norm = asked.take("max_gradient_norm")
        self.scheduled = bool(asked.take("schedules"))
        self.save_load = bool(asked.take("save_load"))
        self.masked = bool(asked.take("masked"))
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


def _scalar(losses: Any) -> Any:
    """The sum of what a loss returns as losses."""
    values = [value for key, value in losses.items() if str(key).startswith("loss")]
    return sum(value.sum() if value.ndim else value for value in values)


class _OnPolicy(_Loop):
    """Collect, estimate advantages, and go over the batch in minibatches a few times."""

    def __init__(self, asked: _Asked, environment: Any) -> None:
        super().__init__(asked, environment)
        self.schedules = []
        self.actor = self.networks.stochastic(asked.take("distribution", "tanh-normal"))
        value = self.networks.value()
        penalty = asked.take("penalty")
        kinds = {"kl": "KLPENPPOLoss", "none": "PPOLoss", None: "ClipPPOLoss"}
        names = {"ppo": kinds[penalty], "a2c": "A2CLoss", "reinforce": "ReinforceLoss"}
        kind = library("torchrl.objectives", names[asked.algorithm])
        self.loss = kind(self.actor, value, **_loss_arguments(asked, kind))
        _set_estimator(asked, self.loss, "gae")
        self.rollout, self.epochs = asked.take("rollout_steps"), asked.take("epochs")
        self.target_kl = asked.take("target_kl")
        copies = math.prod(environment.batch_size) if environment.batch_size else 1
        self.frames = int(self.rollout) * copies
        asked.nothing_left()
        self.optimizers = [self.optimizer(self.loss.parameters())]

    def run(self) -> None:
        options = {"split_trajs": True} if self.masked else {}
        for number, batch in enumerate(self.collector(self.actor, self.frames, **options)):
            self._update(batch)
            self.between(self.actor, number)
            if self.save_load and number == 1:
                saved = {name: v.clone() for name, v in self.loss.state_dict().items()}
                self.loss.load_state_dict(saved)
        self.evaluate(self.actor)

    def _update(self, batch: Any) -> None:
        from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
        from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement

        parameters = list(self.loss.parameters())
        if self.masked:
            # padded trajectories with the mask that the collector wrote, as one batch
            for _ in range(self.epochs):
                with torch.no_grad():
                    self._estimate(batch)
                self.step(_scalar(self.loss(batch)), self.optimizers[0], parameters)
            return
        for _ in range(self.epochs):
            with torch.no_grad():
                self._estimate(batch)
            rows = batch.reshape(-1)
            buffer = TensorDictReplayBuffer(
                storage=LazyTensorStorage(len(rows)),
                sampler=SamplerWithoutReplacement(),
                batch_size=self.batch,
            )
            buffer.extend(rows)
            for _ in range(math.ceil(len(rows) / self.batch)):
                losses = self.loss(buffer.sample())
                self.step(_scalar(losses), self.optimizers[0], parameters)
                stops = self.target_kl is not None and losses.get("kl_approx", None) is not None
                if stops and float(losses["kl_approx"]) > self.target_kl:
                    return

    def _estimate(self, batch: Any) -> None:
        loss = self.loss
        parameters = {
            "params": getattr(loss, "critic_network_params", getattr(loss, "critic_params", None)),
            "target_params": getattr(
                loss, "target_critic_network_params", getattr(loss, "target_critic_params", None)
            ),
        }
        loss.value_estimator(batch, **parameters)


class _OffPolicy(_Loop):
    """Collect into a replay buffer, sample, and step every loss with its own optimiser."""

    def __init__(self, asked: _Asked, environment: Any) -> None:
        super().__init__(asked, environment)
        self.schedules = []
        self.delay = int(asked.take("policy_delay", 1))
        self.frames = int(asked.take("steps_per_collection"))
        copies = math.prod(environment.batch_size) if environment.batch_size else 1
        self.frames = -(-self.frames // copies) * copies
        self.repeats = int(asked.take("updates_per_collection"))
        if self.repeats < 0:
            self.repeats = self.frames
        self.random = int(asked.take("learning_starts"))
        self._make_loss()
        self._make_buffer()
        self._make_exploration()
        self._make_updater()
        asked.nothing_left()
        self._make_optimizers()

    def _make_loss(self) -> None:
        asked, networks = self.asked, self.networks
        getattr(self, f"_make_{asked.algorithm}")(asked, networks)
        estimator = "own" if asked.given.get("distributional") else "td0"
        asked.take("distributional")
        if asked.algorithm == "sac":
            # a decay that only returns of several steps need
            asked.given.setdefault("gae_lambda", 0.95)
        _set_estimator(asked, self.loss, estimator)

    def _make_dqn(self, asked: _Asked, networks: _Networks) -> None:
        if not asked.discrete:
            raise NotOffered("DQNLoss has no continuous actions")
        self.actor = networks.choices()
        if asked.given.get("distributional"):
            kind = library("torchrl.objectives", "DistributionalDQNLoss")
            options = {"gamma": asked.given["discount"], **_loss_arguments(asked, kind)}
        else:
            kind = library("torchrl.objectives", "DQNLoss")
            options = _loss_arguments(asked, kind)
        self.loss = kind(self.actor, delay_value=True, **options)

    def _make_ddpg(self, asked: _Asked, networks: _Networks) -> None:
        self.actor = networks.deterministic(asked.take("distribution", ""))
        kind = library("torchrl.objectives", "DDPGLoss")
        options = _loss_arguments(asked, kind)
        self.loss = kind(self.actor, networks.action_value(), delay_value=True, **options)

    def _make_td3(self, asked: _Asked, networks: _Networks) -> None:
        self.actor = networks.deterministic(asked.take("distribution", ""))
        kind = library("torchrl.objectives", "TD3Loss")
        options = _loss_arguments(asked, kind)
        self.loss = kind(self.actor, networks.action_value(), action_spec=networks.spec, **options)

    def _make_sac(self, asked: _Asked, networks: _Networks) -> None:
        self.actor = networks.stochastic(asked.take("distribution", "tanh-normal"))
        if asked.discrete:
            kind = library("torchrl.objectives", "DiscreteSACLoss")
            from tensordict.nn import TensorDictModule

            values = TensorDictModule(
                networks.network(networks.actions), ["observation"], ["action_value"]
            )
            options = {"num_actions": networks.actions, "action_space": "one_hot"}
            check_arguments(kind, options)
            options.update(_loss_arguments(asked, kind))
            self.loss = kind(self.actor, values, **options)
            return
        kind = library("torchrl.objectives", "SACLoss")
        options = _loss_arguments(asked, kind)
        if asked.take("state_value_network"):
            options["value_network"] = networks.value()
        if "action_spec" in inspect.signature(kind.__init__).parameters:
            options["action_spec"] = networks.spec
        self.loss = kind(self.actor, networks.action_value(), **options)

    def _make_buffer(self) -> None:
        from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

        asked = self.asked
        size, kind = int(asked.take("replay_size")), asked.take("sampler", "random")
        self.slices = int(asked.take("slice_length", 0))
        options: Dict[str, Any] = {}
        if kind == "slices":
            sampler = library("torchrl.data.replay_buffers.samplers", "SliceSampler")
            options["sampler"] = sampler(
                slice_len=self.slices, traj_key=("collector", "traj_ids"), strict_length=True
            )
        elif kind == "without-replacement":
            samplers = "torchrl.data.replay_buffers.samplers"
            options["sampler"] = library(samplers, "SamplerWithoutReplacement")()
        if asked.take("prioritised"):
            samplers = "torchrl.data.replay_buffers.samplers"
            try:
                options["sampler"] = library(samplers, "PrioritizedSampler")(size, 0.7, 0.5)
            except (ImportError, NameError, RuntimeError, AttributeError, TypeError) as error:
                # built on the library's compiled part, which may not fit the installed torch
                raise NotOffered(f"its prioritised sampler cannot be made here: {error}") from None
            options["priority_key"] = "td_error"
        self.prioritised = "priority_key" in options
        self.buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(size), batch_size=self.batch, **options
        )
        n_step = asked.take("n_step")
        self.several = None
        if n_step:
            several = library("torchrl.data", "MultiStep")
            self.several = several(gamma=0.9, n_steps=n_step)

    def _make_exploration(self) -> None:
        from tensordict.nn import TensorDictSequential

        asked, spec = self.asked, self.networks.spec
        deviation = asked.take("exploration_noise")
        kind = asked.take("noise", "gaussian" if deviation is not None else None)
        deviation = 0.3 if deviation is None else deviation
        rates = {name: asked.take(f"exploration_{name}") for name in ("initial", "final")}
        asked.take("exploration_fraction")
        self.exploration: Any = None
        exploring = "torchrl.modules"
        if asked.algorithm == "dqn":
            greedy = library(exploring, "EGreedyModule")
            self.exploration = greedy(
                spec=spec,
                eps_init=0.9 if rates["initial"] is None else rates["initial"],
                eps_end=0.1 if rates["final"] is None else rates["final"],
                annealing_num_steps=80,
            )
        elif kind == "gaussian":
            gaussian = library(exploring, "AdditiveGaussianModule")
            self.exploration = gaussian(
                spec=spec, sigma_init=1.0, sigma_end=0.1, annealing_num_steps=80, std=deviation
            )
        elif kind == "ornstein-uhlenbeck":
            process = library(exploring, "OrnsteinUhlenbeckProcessModule")
            self.exploration = process(
                spec=spec, eps_init=1.0, eps_end=0.1, annealing_num_steps=80, sigma=deviation
            )
            self.environment = self.environment.append_transform(_transform("init-tracker")) or (
                self.environment
            )
        elif kind is not None:
            raise NotOffered(f"TorchRL has no {kind} noise of actions")
        self.acting = self.actor
        if self.exploration is not None:
            self.acting = TensorDictSequential(self.actor, self.exploration)

    def _make_updater(self) -> None:
        from torchrl.objectives import HardUpdate, SoftUpdate

        asked = self.asked
        polyak, interval = asked.take("polyak_coefficient"), asked.take("target_update_interval")
        if asked.take("target_update", "soft") == "hard" or interval:
            self.updater: Any = HardUpdate(
                self.loss, value_network_update_interval=int(interval or 3)
            )
        elif "tau" in inspect.signature(SoftUpdate.__init__).parameters:
            self.updater = SoftUpdate(self.loss, tau=polyak)
        else:
            self.updater = SoftUpdate(self.loss, eps=1.0 - polyak)

    def _make_optimizers(self) -> None:
        """An optimiser for the actor, one for the critics, one for the temperature."""
        groups: Dict[str, Dict[str, Any]] = {}
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
        losses = self.loss(sample)
        total = _scalar(losses)
        for optimizer, _ in self.groups.values():
            optimizer.zero_grad()
        total.backward()
        for group, (optimizer, parameters) in self.groups.items():
            if group.startswith("actor") and self.updates % self.delay:
                continue
            if self.max_norm is not None:
                torch.nn.utils.clip_grad_norm_(parameters, self.max_norm)
            optimizer.step()
            for schedule in self.schedules:
                if schedule.optimizer is optimizer:
                    schedule.step()
        self.updater.step()
        if self.prioritised:
            self.buffer.update_tensordict_priority(sample)

    def _save_and_load(self) -> None:
        """State of loss and buffer through a file in memory, as a checkpoint goes."""
        import io

        file = io.BytesIO()
        torch.save({"loss": self.loss.state_dict(), "buffer": self.buffer.state_dict()}, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        self.loss.load_state_dict(loaded["loss"])
        self.buffer.load_state_dict(loaded["buffer"])
