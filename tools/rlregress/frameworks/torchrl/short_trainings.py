"""Short trainings and rollouts of TorchRL's parts, whose options are changed one by one.

Loops of ``recorded_training`` are trained by the library's trainers. Environments, transforms and
collectors are run without a training.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import torch

from rlregress.frameworks.torchrl.api import (
    Collector,
    Compose,
    GymWrapper,
    LazyTensorStorage,
    SamplerWithoutReplacement,
    SerialEnv,
    TensorDictModule,
    TensorDictReplayBuffer,
    TransformedEnv,
)
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.train.recorded_training import (
    OffPolicy,
    OnPolicy,
    gaussian,
    greedy,
    train,
)
from rlregress.frameworks.torchrl.train.trace_environments import Environments, transform
from rlregress.probing.interface import TraceTraining

_ENGINE, _ALGORITHMS = "torchrl.trainers.trainers", "torchrl.trainers.algorithms"
#: environment steps of a training, of one of its collections, and of a rollout.
_STEPS, _FRAMES, _ROLLED = 36, 12, 14

# -- trainers ---------------------------------------------------------------------------------


class _Trainers:
    """Trains the parts of a loop by the library's trainer, with a file that another one reads."""

    def trainer(self, **files: Any) -> Any:
        """Return the trainer of the algorithm, or of any loss."""
        raise NotImplementedError

    def run(self) -> None:
        """Train, and go on with what the file holds."""
        with TemporaryDirectory(prefix="rlregress-") as folder:
            file = os.path.join(folder, "trainer")
            self.trainer(save_trainer_file=file, save_trainer_interval=1).train()
            again = self.trainer()
            again.load_from_file(file)
            again.train()


def _trainer(loop: Any, module: str, name: str, policy: Any, **given: Any) -> Any:
    """A trainer of the library's, by the name of its class."""
    return made(
        library(module, name), collector=loop.collector(policy, _FRAMES), total_frames=_STEPS,
        loss_module=loop.loss, frame_skip=1, optim_steps_per_batch=2, progress_bar=False, seed=0,
        log_interval=1, **given,
    )  # fmt: skip


class Hooked(_Trainers, OnPolicy):
    """The trainer of any loss, with a hook.

    Args:
        hook: name of its class.
        arguments: returns those of the hook, of this loop and the trainer.
        is_stepper: it makes the steps of the optimizer, and is given to the trainer.
    """

    def __init__(self, environment: Any, hook: str, arguments: Any, is_stepper: bool) -> None:
        super().__init__(environment, loss="ClipPPOLoss", steps=_STEPS)
        self._hook, self._arguments, self._is_stepper = hook, arguments, is_stepper

    def trainer(self, **files: Any) -> Any:
        stepper: dict[str, Any] = {}
        if self._is_stepper:
            stepper["optimization_stepper"] = self._made_hook(None)
        trainer = _trainer(
            self, _ENGINE, "Trainer", self.actor, optimizer=self.adam, **stepper, **files
        )
        if not self._is_stepper:
            self._made_hook(trainer).register(trainer)
        trainer.register_op("batch_process", self.estimated)
        return trainer

    def _made_hook(self, trainer: Any) -> Any:
        return made(library(_ENGINE, self._hook), **self._arguments(self, trainer))

    def estimated(self, batch: Any) -> Any:
        """Return a batch with its advantages."""
        with torch.no_grad():
            self._estimate(batch)
        return batch


class OnPolicyAlgorithm(_Trainers, OnPolicy):
    """The trainer of an algorithm that learns from rollouts."""

    def __init__(self, environment: Any, name: str, loss: str) -> None:
        super().__init__(environment, loss=loss, steps=_STEPS)
        self._name = name

    def trainer(self, **files: Any) -> Any:
        rows = TensorDictReplayBuffer(
            storage=LazyTensorStorage(_FRAMES), sampler=SamplerWithoutReplacement(), batch_size=8
        )
        return _trainer(
            self, _ALGORITHMS, self._name, self.actor, optimizer=self.adam, replay_buffer=rows,
            num_epochs=2, **files,
        )  # fmt: skip


class OffPolicyAlgorithm(_Trainers, OffPolicy):
    """The trainer of an algorithm that learns from a replay buffer."""

    def __init__(self, environment: Any, name: str, exploring: str = "", **given: Any) -> None:
        super().__init__(environment, steps=_STEPS, **given)
        self._name, self._exploring = name, exploring

    def trainer(self, **files: Any) -> Any:
        given: dict[str, Any] = {self._exploring: self.exploration} if self._exploring else {}
        if self._name == "TD3Trainer":
            adams = [self.groups[group][0] for group in ("actor", "qvalue")]
            stepper = library(f"{_ALGORITHMS}.td3", "TD3OptimizationStepper")
            given["optimization_stepper"] = stepper(*adams)
        else:
            given["optimizer"] = self.optimizer(self.loss.parameters())
        # the trainer hands weights to a policy that explores by what it knows
        policy = self.acting if self._exploring else self.actor
        return _trainer(
            self, _ALGORITHMS, self._name, policy, replay_buffer=self.buffer,
            target_net_updater=self.updater, **given, **files,
        )  # fmt: skip


#: hook of a trainer -> its arguments, of the loop and the trainer.
_HOOKS: Mapping[str, Callable[[Any, Any], Mapping[str, Any]]] = {
    "SelectKeys": lambda loop, trainer: {"keys": [
        "observation", "action", "action_log_prob", "loc", "scale", "done", "terminated", "next"]},
    "RewardNormalizer": lambda loop, trainer: {"decay": 0.5},
    "BatchSubSampler": lambda loop, trainer: {"batch_size": 8},
    "LogScalar": lambda loop, trainer: {},
    "LogTiming": lambda loop, trainer: {},
    "CountFramesLog": lambda loop, trainer: {"frame_skip": 3},
    "ClearCudaCache": lambda loop, trainer: {"interval": 2},
    "UpdateWeights": lambda loop, trainer: {"collector": trainer.collector},
    "ValueEstimatorHook": lambda loop, trainer: {"value_estimator": loop.estimated},
    "EarlyStopping": lambda loop, trainer: {
        "monitor": "loss_critic", "patience": 0, "wait_for": 0},
    "LRSchedulerHook": lambda loop, trainer: {
        "scheduler": torch.optim.lr_scheduler.ExponentialLR(loop.adam, 0.5)},
    "LogValidationReward": lambda loop, trainer: {
        "record_interval": 2, "record_frames": 6, "frame_skip": 3,
        "policy_exploration": loop.actor, "environment": TransformedEnv(loop.environment)},
}  # fmt: skip
_STEPPERS: Mapping[str, Callable[[Any, Any], Mapping[str, Any]]] = {
    "DefaultOptimizationStepper": lambda loop, trainer: {},
    "MixedPrecisionOptimizationStepper": lambda loop, trainer: {
        "optimizer": loop.adam, "device_type": "cpu", "autocast_dtype": torch.float16},
}  # fmt: skip


def hooks() -> dict[str, TraceTraining]:
    """Return trainings with each hook and each stepper of the library's trainer."""
    return {
        name: train(
            Hooked, Environments(), hook=name, arguments=given, is_stepper=table is _STEPPERS
        )
        for table in (_HOOKS, _STEPPERS)
        for name, given in table.items()
    }


def algorithms() -> dict[str, TraceTraining]:
    """Return trainings by the trainer of each algorithm."""
    on = {"PPOTrainer": "ClipPPOLoss", "A2CTrainer": "A2CLoss"}
    off: dict[str, dict[str, Any]] = {
        "SACTrainer": {"loss": "SACLoss", "distribution": "TanhNormal"},
        "TD3Trainer": {"loss": "TD3Loss", "exploration": gaussian(),
                       "exploring": "exploration_module"},
        "DDPGTrainer": {"loss": "DDPGLoss", "exploration": gaussian()},
        "DQNTrainer": {"loss": "DQNLoss", "exploration": greedy(), "exploring": "greedy_module"},
    }  # fmt: skip
    # trainers log the sum of an episode's rewards under either name
    summed = [transform("RewardSum", in_keys=["reward"], out_keys=[name])
              for name in ("reward_sum", "episode_reward")]  # fmt: skip
    plain, choices = Environments(transforms=summed), Environments(1, "discrete", transforms=summed)
    return {
        **{name: train(OnPolicyAlgorithm, plain, name=name, loss=loss)
           for name, loss in on.items()},
        **{name: train(OffPolicyAlgorithm, choices if name == "DQNTrainer" else plain, name=name,
                       **given) for name, given in off.items()},
    }  # fmt: skip


# -- environments, transforms and collectors --------------------------------------------------


def _rolled(environment: Any, seed: int) -> dict[str, Any]:
    """Several episodes, and what the environment says of itself."""
    environment.set_seed(seed)
    rolled = environment.rollout(_ROLLED, break_when_any_done=False)
    names = ("observation_spec", "reward_spec", "action_spec", "done_spec")
    specs = {name: getattr(environment, name) for name in names}
    described = {name: f"{tuple(spec.shape)} {spec.dtype}" for name, spec in specs.items()}
    return {"rolled": rolled, **described}


def _in_spaces(
    make_env: Callable[..., Any], seed: int, copies: int = 1, **spaces: Any
) -> dict[str, Any]:
    makers = [
        partial(lambda first: GymWrapper(make_env(first=first, **spaces), device="cpu"), first)
        for first in range(copies)
    ]
    return _rolled(SerialEnv(copies, makers) if copies > 1 else makers[0](), seed)


def _transformed(
    make_env: Callable[..., Any], seed: int, transforms: Sequence[Any], **spaces: Any
) -> dict[str, Any]:
    inner = GymWrapper(make_env(first=2, **spaces), device="cpu")
    return _rolled(TransformedEnv(inner, Compose(*(make() for make in transforms))), seed)


def environments() -> dict[str, TraceTraining]:
    """Return rollouts in environments of all spaces, and of several side by side."""
    kinds: dict[str, dict[str, Any]] = {
        **{name: {"observations": name} for name in ("box", "integer", "float64", "image", "dict")},
        **{name: {"actions": name} for name in ("discrete", "multi-discrete", "multi-binary")},
        "several": {"copies": 3}, "several choices": {"copies": 2, "actions": "discrete"},
    }  # fmt: skip
    return {name: partial(_in_spaces, **kind) for name, kind in kinds.items()}


_SEEN: dict[str, Any] = {"in_keys": ["observation"]}
_INVERSE: dict[str, Any] = {"in_keys_inv": ["action"], "in_keys": [], "out_keys": []}
#: transform -> arguments that it is made with, one after the other.
_TRANSFORMS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "CatFrames": [
        {"N": 3, "dim": -1, **_SEEN}, {"N": 3, "dim": -1, "padding": "constant", **_SEEN}],
    "VecNorm": [{"decay": 0.9, **_SEEN}], "VecNormV2": [{"decay": 0.9, **_SEEN}],
    "ObservationNorm": [{"loc": 0.2, "scale": 0.4, **_SEEN}],
    "StepCounter": [{}, {"max_steps": 4}], "InitTracker": [{}], "RewardSum": [{}],
    "BinarizeReward": [{}], "SignTransform": [{"in_keys": ["reward"]}],
    "DoubleToFloat": [_SEEN, {**_SEEN, "in_keys_inv": ["action"]}],
    "DTypeCastTransform": [{"dtype_in": torch.float32, "dtype_out": torch.float64, **_SEEN}],
    "UnsqueezeTransform": [{"dim": -1, **_SEEN}],
    "TargetReturn": [{"target_return": 10.0}, {"target_return": 10.0, "mode": "constant"}],
    "FrameSkipTransform": [{"frame_skip": 3}], "NoopResetEnv": [{"noops": 2, "random": False}],
    "RewardScaling": [{"loc": 0.2, "scale": 0.4}],
    "RewardClipping": [{"clamp_min": -0.3, "clamp_max": 0.2}],
    "RenameTransform": [{**_SEEN, "out_keys": ["seen"]}],
    "ClipTransform": [{"low": -0.3, "high": 0.2, **_SEEN}], "TimeMaxPool": [{"T": 3, **_SEEN}],
    "CatTensors": [{**_SEEN, "out_key": "all", "del_keys": False}],
    "ActionDiscretizer": [{"num_intervals": 4}],
}  # fmt: skip
_IMAGES = ("ToTensorImage", "CatFrames", "GrayScale")


def transforms() -> dict[str, TraceTraining]:
    """Return rollouts through each transform, and through those of images together."""
    spaces: dict[str, dict[str, Any]] = {
        "DoubleToFloat": {"observations": "float64", "actions": "float64"}
    }
    made_by = {
        f"{name} {n or ''}".strip(): partial(
            _transformed, transforms=[transform(name, **given)], **spaces.get(name, {})
        )
        for name, several in _TRANSFORMS.items()
        for n, given in enumerate(several)
    }
    options = {"CatFrames": {"N": 3, "dim": -3}}
    images = [transform(name, **_SEEN, **options.get(name, {})) for name in _IMAGES]
    return {**made_by, "images": partial(_transformed, transforms=images, observations="image")}


def _collected(
    make_env: Callable[..., Any], seed: int, copies: int = 1, **given: Any
) -> dict[str, Any]:
    """Batches of a collector, and those of another that is given its state after the first."""
    frames = 6 * copies
    torch.manual_seed(seed)
    policy = TensorDictModule(torch.nn.Linear(3, 2), ["observation"], ["action"])

    def collector() -> Any:
        environment = Environments(copies).made(make_env, seed)
        own = {name: make() if callable(make) else make for name, make in given.items()}
        return made(Collector, environment, policy,
                    frames_per_batch=frames, total_frames=4 * frames, **own)  # fmt: skip

    first, second = collector(), collector()
    batches = iter(first)
    outputs = [next(batches).clone()]
    second.load_state_dict(first.state_dict())
    outputs += [batch.clone() for batch in (*batches, *second) if batch is not None]
    first.reset()
    for each in (first, second):
        each.shutdown()
    return {str(number): batch for number, batch in enumerate(outputs)}


def collectors() -> dict[str, TraceTraining]:
    """Return collections of one and of several environments, and into a replay buffer."""
    kinds: dict[str, dict[str, Any]] = {
        "one": {}, "three": {"copies": 3},
        "random": {"init_random_frames": 12}, "ended": {"max_frames_per_traj": 3},
        "reset": {"copies": 2, "reset_at_each_iter": True},
        "split": {"copies": 2, "split_trajs": True},
        "processed": {"postproc": lambda: lambda data: data.set("twice", 2 * data["action"])},
    }  # fmt: skip
    return {name: partial(_collected, **given) for name, given in kinds.items()}
