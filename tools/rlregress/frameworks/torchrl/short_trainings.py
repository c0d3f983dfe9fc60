"""Short trainings and rollouts of TorchRL's parts, whose options are changed one by one.

Loops of ``recorded_training`` are trained by the library's trainers. Environments, transforms and
collectors are run without a training.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    Collector,
    Compose,
    GymWrapper,
    LazyTensorStorage,
    MultiSyncCollector,
    SamplerWithoutReplacement,
    TensorDictModule,
    TensorDictReplayBuffer,
    TransformedEnv,
)
from rlregress.frameworks.torchrl.compat import call_with_newest_keywords, find_in_library
from rlregress.frameworks.torchrl.scripted_environments import put_side_by_side, wrap_environment
from rlregress.frameworks.torchrl.train.recorded_training import (
    OffPolicyLoop,
    OnPolicyLoop,
    make_gaussian_exploration,
    make_greedy_exploration,
    train_in_loop,
)
from rlregress.frameworks.torchrl.train.trace_environments import Environments, make_lazy_transform
from rlregress.probing.interface import TraceTraining
from rlregress.probing.option_variants import call_each, call_or_return_error

_ENGINE, _ALGORITHMS = "torchrl.trainers.trainers", "torchrl.trainers.algorithms"
#: environment steps of a training, of one of its collections, and of a rollout.
_STEPS, _FRAMES, _ROLLED = 36, 12, 14

# -- trainers ---------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class _TrainerLoop:
    """A loop that the library's trainer runs; a second trainer continues from its last file.

    Attributes:
        trainer: name of its class.
        files: it writes "one" file, which is "mapped" into memory, a "logged" run beside it, or
            "rotates" its last two.
    """

    steps: int = _STEPS
    trainer: str = "Trainer"
    files: str = "one"

    def make_trainer(self, **files: Any) -> Any:
        """Return the trainer of the algorithm, or of any loss."""
        raise NotImplementedError

    def _make_file_arguments(self, folder: str) -> dict[str, Any]:
        """Return arguments of a trainer that writes files into a folder."""
        file = {"save_trainer_file": os.path.join(folder, "trainer")}
        if self.files == "logged":
            logger = find_in_library("torchrl.record", "CSVLogger")("log", folder)
            return {**file, "logger": logger}
        if self.files != "rotates":
            return file
        kinds = partial(find_in_library, "torchrl.checkpoint")
        rotation = kinds("CheckpointRotation")(folder, keep_last=2)
        return {"checkpoint": kinds("Checkpoint")(), "checkpoint_rotation": rotation}

    def run_training(self) -> Any:
        """Train, and continue from the content of the last file."""
        backend = {"CKPT_BACKEND": "memmap"} if self.files == "mapped" else {}
        with (
            TemporaryDirectory(prefix="rlregress-") as folder,
            mock.patch.dict(os.environ, backend),
        ):
            files = self._make_file_arguments(folder)
            first = self.make_trainer(save_trainer_interval=1, **files)
            first.train()
            rotation = files.get("checkpoint_rotation")
            # each has its own checkpoint, which keeps what it has saved
            again = self._make_file_arguments(folder)
            restored = self.make_trainer(**{k: v for k, v in again.items() if k == "checkpoint"})
            restored.load_from_file(rotation.latest() if rotation else files["save_trainer_file"])
            states = {"first": _read_trainer_state(first), "loaded": _read_trainer_state(restored)}
            restored.train()
            return {**states, "again": _read_trainer_state(restored)}


def _read_trainer_state(trainer: Any) -> dict[str, Any]:
    """Return the state of a trainer, its loss and its hooks, and its log."""
    hooks = {name: hook.state_dict() for name, hook in trainer._modules.items()}
    # times differ from run to run
    log = {name: values for name, values in trainer._log_dict.items() if "time" not in name}
    counts = {"frames": trainer.collected_frames, "updates": trainer._optim_count}
    logger = getattr(trainer, "logger", None)
    logged = {"logged": dict(logger.experiment.scalars)} if logger is not None else {}
    return {"loss": trainer.loss_module, "log": log, **counts, **logged, **hooks}


def _make_trainer(loop: Any, module: str, policy: Any, **options: Any) -> Any:
    """Return the trainer of a loop, whose class is in a module of the library's."""
    return call_with_newest_keywords(
        find_in_library(module, loop.trainer), total_frames=_STEPS, loss_module=loop.loss,
        collector=loop.make_collector(policy, _FRAMES), frame_skip=1, optim_steps_per_batch=2,
        clip_norm=0.5, progress_bar=False, seed=0, log_interval=1, **options,
    )  # fmt: skip


def _break_second_batch(trainer: Any, batch: Any) -> Any:
    if trainer.collected_frames == _FRAMES:
        batch["next", "reward"] = float("nan") * batch["next", "reward"]
    return batch


#: stages of a trainer whose hooks are given nothing, a batch, and a batch of which they log.
_SILENT = ("pre_optim_steps", "post_steps", "post_optim", "post_epoch", "setup", "shutdown")
_CHANGING = ("batch_process", "process_optim_batch", "pre_epoch", "post_loss")
_LOGGING = (
    "pre_steps_log", "post_steps_log", "post_optim_log", "pre_epoch_log", "post_epoch_log",
)  # fmt: skip


@dataclass(eq=False, kw_only=True)
class LoopWithHook(_TrainerLoop, OnPolicyLoop):
    """A loop of PPO's loss that ``Trainer`` runs, with a hook.

    Attributes:
        hook: of the trainer. One that steps the optimizer is an argument of the trainer.
        staged: there is a function at each stage of the trainer, too.
        broken: rewards of the second batch are not numbers.
    """

    loss: Any = "ClipPPOLoss"
    hook: str = "CountFramesLog"
    staged: bool = False
    broken: bool = False

    def make_trainer(self, **files: Any) -> Any:
        is_stepper = self.hook.partition(" ")[0].endswith("Stepper")
        stepper: dict[str, Any] = {}
        if is_stepper:
            stepper["optimization_stepper"] = self._make_hook(None)
        if self.hook != "OptimizerHook":
            stepper["optimizer"] = self.adam
        trainer = _make_trainer(self, _ENGINE, self.actor, **stepper, **files)
        if not is_stepper:
            self._make_hook(trainer).register(trainer)
        if self.broken:
            trainer.register_op("batch_process", partial(_break_second_batch, trainer))
        trainer.register_op("batch_process", self.add_advantages)
        if self.staged:
            self._register_functions_at_stages(trainer)
        return trainer

    def _make_hook(self, trainer: Any) -> Any:
        arguments = _HOOKS[self.hook](self, trainer)
        kind = find_in_library(_ENGINE, self.hook.partition(" ")[0])
        return call_with_newest_keywords(kind, **arguments)

    def add_advantages(self, batch: Any) -> Any:
        with torch.no_grad():
            self._estimate_advantages(batch)
        return batch

    def _register_functions_at_stages(self, trainer: Any) -> None:
        kinds = (
            (_SILENT, self._note_stage),
            (_CHANGING, self._change_batch_at_stage),
            (_LOGGING, self._log_at_stage),
        )
        for stages, function in kinds:
            for stage in stages:
                trainer.register_op(stage, partial(function, stage))
        trainer.register_op("process_loss", lambda batch, losses: losses.apply(lambda x: 3 * x))

    def run_training(self) -> Any:
        self._noted: list[str] = []
        states = super().run_training()
        return {**states, "noted": self._noted} if self.staged else states

    def _note_stage(self, stage: str, *arguments: Any, **named: Any) -> None:
        self._noted.append(stage)

    def _change_batch_at_stage(self, stage: str, batch: Any, **named: Any) -> Any:
        self._noted.append(stage)
        return batch.set("observation", batch["observation"] + 0.1)

    def _log_at_stage(self, stage: str, batch: Any, **named: Any) -> dict[str, Any]:
        return {"log_pbar": True, f"mean_{stage}": float(batch["observation"].mean())}


@dataclass(eq=False, kw_only=True)
class OnPolicyTrainerLoop(_TrainerLoop, OnPolicyLoop):
    """A loop that the trainer of an on-policy algorithm runs."""

    def make_trainer(self, **files: Any) -> Any:
        rows = TensorDictReplayBuffer(
            storage=LazyTensorStorage(_FRAMES), sampler=SamplerWithoutReplacement(), batch_size=8
        )
        scheduler = {"lr_scheduler": self.schedules[0]} if self.falling else {}
        return _make_trainer(
            self, _ALGORITHMS, self.actor, optimizer=self.adam, replay_buffer=rows, num_epochs=2,
            **scheduler, **files,
        )  # fmt: skip


@dataclass(eq=False, kw_only=True)
class OffPolicyTrainerLoop(_TrainerLoop, OffPolicyLoop):
    """A loop that the trainer of an off-policy algorithm runs.

    Attributes:
        exploring: the trainer's argument for the module that explores; empty: none.
    """

    exploring: str = ""

    def make_trainer(self, **files: Any) -> Any:
        parts: dict[str, Any] = {self.exploring: self.exploration} if self.exploring else {}
        if self.trainer == "TD3Trainer":
            adams = [self.groups[group][0] for group in ("actor", "qvalue")]
            stepper = find_in_library(f"{_ALGORITHMS}.td3", "TD3OptimizationStepper")
            parts["optimization_stepper"] = stepper(*adams)
        else:
            parts["optimizer"] = self.make_optimizer(self.loss.parameters())
        # the trainer hands weights to a policy that explores by what it knows
        policy = self.acting if self.exploring else self.actor
        return _make_trainer(
            self, _ALGORITHMS, policy, replay_buffer=self.buffer, target_net_updater=self.updater,
            **parts, **files,
        )  # fmt: skip


#: hook or stepper of a trainer, a class and how it is used -> its arguments, of the loop and the
#: trainer.
_HOOKS: Mapping[str, Callable[[Any, Any], Mapping[str, Any]]] = {
    "SelectKeys": lambda loop, trainer: {"keys": [
        "observation", "action", "action_log_prob", "loc", "scale", "done", "terminated", "next"]},
    "RewardNormalizer": lambda loop, trainer: {"decay": 0.5},
    "BatchSubSampler": lambda loop, trainer: {"batch_size": 8},
    "LogScalar": lambda loop, trainer: {},
    "LogTiming": lambda loop, trainer: {},
    "CountFramesLog": lambda loop, trainer: {"frame_skip": 3},
    "ClearCudaCache": lambda loop, trainer: {"interval": 2},
    "UpdateWeights": lambda loop, trainer: {"collector": trainer.collector, "trainer": trainer},
    "UpdateWeights of a map": lambda loop, trainer: {
        **_HOOKS["UpdateWeights"](loop, trainer),
        "weight_update_map": {"policy": "loss_module.actor_network"}},
    "ValueEstimatorHook": lambda loop, trainer: {"value_estimator": loop.add_advantages},
    # from the first batch on, and one without improvement is not the end
    "EarlyStopping": lambda loop, trainer: {
        "monitor": "loss_critic", "patience": _FRAMES + 1, "wait_for": _FRAMES},
    "OptimizerHook": lambda loop, trainer: {
        "optimizer": loop.adam, "loss_components": ["loss_objective"]},
    "ReplayBufferTrainer": lambda loop, trainer: {
        "replay_buffer": TensorDictReplayBuffer(storage=LazyTensorStorage(24), batch_size=8)},
    "ReplayBufferTrainer of padded batches": lambda loop, trainer: {
        **_HOOKS["ReplayBufferTrainer"](loop, trainer), "max_dims": [_FRAMES + 4]},
    "LRSchedulerHook": lambda loop, trainer: {
        "scheduler": torch.optim.lr_scheduler.ExponentialLR(loop.adam, 0.5)},
    "LogValidationReward": lambda loop, trainer: {
        "record_interval": 2, "record_frames": 6, "frame_skip": 3,
        "policy_exploration": loop.actor, "environment": TransformedEnv(loop.environment)},
    "DefaultOptimizationStepper": lambda loop, trainer: {},
    "DefaultOptimizationStepper of one loss": lambda loop, trainer: {
        "loss_components": ["loss_critic"]},
    "MixedPrecisionOptimizationStepper": lambda loop, trainer: {
        "optimizer": loop.adam, "device_type": "cpu", "autocast_dtype": torch.float16},
}  # fmt: skip


def make_hook_trainings() -> dict[str, TraceTraining]:
    """Return trainings with each hook and each stepper of the library's trainer."""

    def make(environments: int = 1, **options: Any) -> TraceTraining:
        return partial(train_in_loop, LoopWithHook, Environments(environments), **options)

    of_batches = ("LogScalar", "RewardNormalizer", "BatchSubSampler", "CountFramesLog")
    return {
        **{name: make(hook=name) for name in _HOOKS},
        **{f"{name} of masked batches": make(hook=name, masked=True) for name in of_batches},
        **{f"{name} of two environments": make(2, hook=name) for name in of_batches},
        "MixedPrecisionOptimizationStepper of broken losses": make(
            hook="MixedPrecisionOptimizationStepper", broken=True),
        "Staged": make(staged=True),
        "Rotated": make(files="rotates"),
        "Mapped": make(files="mapped"),
        "Logged": make(files="logged", staged=True),
    }  # fmt: skip


def make_algorithm_trainings() -> dict[str, TraceTraining]:
    """Return trainings by the trainer of each algorithm."""
    # trainers log the sum of an episode's rewards under either name
    summed = [make_lazy_transform("RewardSum", in_keys=["reward"], out_keys=[name])
              for name in ("reward_sum", "episode_reward")]  # fmt: skip
    plain, choices = Environments(transforms=summed), Environments(1, "discrete", transforms=summed)
    noise = make_gaussian_exploration()
    kinds: dict[str, tuple[Any, Environments, dict[str, Any]]] = {
        "PPOTrainer": (OnPolicyTrainerLoop, plain, {"loss": "ClipPPOLoss"}),
        "PPOTrainer with a falling rate": (OnPolicyTrainerLoop, plain, {
            "loss": "ClipPPOLoss", "falling": True}),
        "A2CTrainer": (OnPolicyTrainerLoop, plain, {}),
        "SACTrainer": (OffPolicyTrainerLoop, plain, {"distribution": "TanhNormal"}),
        "TD3Trainer": (OffPolicyTrainerLoop, plain, {
            "exploration": noise, "exploring": "exploration_module"}),
        "DDPGTrainer": (OffPolicyTrainerLoop, plain, {"exploration": noise}),
        "DQNTrainer": (OffPolicyTrainerLoop, choices, {
            "exploration": make_greedy_exploration(), "exploring": "greedy_module"}),
    }  # fmt: skip

    def make(title: str, loop: Any, environments: Environments, options: Any) -> TraceTraining:
        trainer = title.partition(" ")[0]
        loss = trainer.replace("Trainer", "Loss")
        return partial(
            train_in_loop, loop, environments, trainer=trainer, **{"loss": loss, **options}
        )

    return {title: make(title, *kind) for title, kind in kinds.items()}


# -- environments, transforms and collectors --------------------------------------------------


def _roll_out_environment(environment: Any, seed: int) -> dict[str, Any]:
    """Return several episodes, and the description of the environment."""
    environment.set_seed(seed)
    torch.manual_seed(seed)
    rolled = environment.rollout(_ROLLED, break_when_any_done=False)
    names = ("observation_spec", "reward_spec", "action_spec", "done_spec")
    specs = {name: getattr(environment, name) for name in names}
    described = {name: f"{tuple(spec.shape)} {spec.dtype}" for name, spec in specs.items()}
    draws = [[getattr(environment, name).rand() for _ in range(3)] for name in names[::2]]
    return {"rolled": rolled, "drawn": draws, **described}


class _FlatMaskedChoices(gymnasium.ObservationWrapper):
    """A wrapper that masks combinations of two choices, and takes the index of a combination."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        counts = tuple(map(int, environment.action_space.nvec))
        self._mask = np.indices(counts).sum(0) % 2 == 0
        mask = gymnasium.spaces.Box(0, 1, counts, bool)  # type: ignore[arg-type]
        inner = {"observation": environment.observation_space, "action_mask": mask}
        self.observation_space = gymnasium.spaces.Dict(inner)

    def observation(self, observation: Any) -> Any:
        return {"observation": observation, "action_mask": self._mask}

    def step(self, action: Any) -> Any:
        """Take a step with the combination of choices at an index."""
        return super().step(np.unravel_index(int(np.ravel(action)[-1]), self._mask.shape))


def _make_vector_environment(makers: Sequence[Callable[[], Any]]) -> Any:
    """Return a vector environment of gymnasium, which resets within a step for TorchRL."""
    modes = getattr(gymnasium.vector, "AutoresetMode", None)
    mode = {"autoreset_mode": modes.SAME_STEP} if modes else {}
    return gymnasium.vector.SyncVectorEnv(makers, **mode)


def _roll_out_in_spaces(
    make_env: Callable[..., Any],
    seed: int,
    copies: int = 1,
    vector: bool = False,
    masked: bool = False,
    wrapped: Mapping[str, Any] = {},
    **spaces: Any,
) -> dict[str, Any]:
    """Roll out in copies side by side: TorchRL's own, or a vector environment of gymnasium.

    Args:
        masked: the environment tells which choices are allowed.
        wrapped: arguments of TorchRL's wrapper.
    """

    def make_environment(first: int) -> Any:
        environment = make_env(first=first, **spaces)
        return _FlatMaskedChoices(environment) if masked else environment

    def make_and_wrap(make: Callable[[], Any]) -> Any:
        return GymWrapper(make(), device="cpu", **wrapped)

    makers = [partial(make_environment, first) for first in range(copies)]
    if vector:
        makers = [partial(_make_vector_environment, makers)]
    environment = put_side_by_side([partial(make_and_wrap, maker) for maker in makers])
    return _roll_out_environment(environment, seed)


@contextlib.contextmanager
def _start_processes_by_forking() -> Iterator[None]:
    """Start processes by forking, so that they need not import everything again."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    try:
        yield
    finally:
        multiprocessing.set_start_method(before, force=True)


def _roll_out_in_processes(
    make_env: Callable[..., Any], seed: int, **options: Any
) -> dict[str, Any]:
    """Roll out in environments that each have a process, and reset one of them."""
    makers = [partial(Environments().make_environments, make_env, seed + n) for n in range(2)]
    with _start_processes_by_forking():
        environment = find_in_library("torchrl.envs", "ParallelEnv")(2, makers, **options)
        try:
            outputs = _roll_out_environment(environment, seed)
            resets = environment.reset().set("_reset", torch.tensor([[False], [True]]))
            return {**outputs, "reset": environment.reset(resets)}
        finally:
            environment.close()


def _make_linear_policy(seed: int) -> Any:
    torch.manual_seed(seed)
    return TensorDictModule(torch.nn.Linear(3, 2), ["observation"], ["action"])


def _collect_in_other_process(make_env: Callable[..., Any], seed: int) -> dict[str, Any]:
    """Collect in one other process: batches of several would come in no fixed order."""
    policy = _make_linear_policy(seed)
    with _start_processes_by_forking():
        collector = call_with_newest_keywords(
            MultiSyncCollector, [partial(Environments().make_environments, make_env, seed)], policy,
            frames_per_batch=_FRAMES, total_frames=_STEPS,
        )  # fmt: skip
        try:
            collector.set_seed(seed)
            batches = [batch.clone() for batch in collector]
            return {"batches": batches, "state": sorted(map(str, collector.state_dict()))}
        finally:
            collector.shutdown()


def make_process_trainings() -> dict[str, TraceTraining]:
    """Return rollouts and collections in other processes."""
    return {
        "ParallelEnv": _roll_out_in_processes,
        "ParallelEnv without buffers": partial(_roll_out_in_processes, use_buffers=False),
        "MultiSyncCollector": _collect_in_other_process,
    }


def _roll_out_transformed(
    make_env: Callable[..., Any], seed: int, transforms: Sequence[Any], **spaces: Any
) -> dict[str, Any]:
    def make_transforms() -> Any:
        return Compose(*(make() for make in transforms))

    inner = wrap_environment(make_env(first=2, **spaces))
    outputs = _roll_out_environment(TransformedEnv(inner, make_transforms()), seed)
    # of batches, as a replay buffer transforms them, and with the state of another
    alone, restored = make_transforms(), make_transforms()
    batch = outputs["rolled"].update({"reward": outputs["rolled"]["next", "reward"]})
    outputs["batches"] = [
        call_or_return_error(partial(alone, part.clone())) for part in (batch, batch[:1])
    ]
    later = call_each({
        "inverse": lambda: alone.inv(batch.clone()),
        "loaded": lambda: str(restored.load_state_dict(alone.state_dict())),
        "later": lambda: restored(batch.clone()),
    })  # fmt: skip
    return {**outputs, **later}


def make_environment_trainings() -> dict[str, TraceTraining]:
    """Return rollouts in environments of all spaces, and of several side by side."""
    kinds: dict[str, dict[str, Any]] = {
        **{name: {"observations": name} for name in ("box", "integer", "float64", "image", "dict")},
        **{name: {"actions": name} for name in ("discrete", "multi-discrete", "multi-binary")},
        "several": {"copies": 3}, "several choices": {"copies": 2, "actions": "discrete"},
        "vector": {"copies": 3, "vector": True}, "vector of one": {"vector": True},
        "vector of choices": {"copies": 2, "vector": True, "actions": "discrete"},
        "masked": {"masked": True, "actions": "multi-discrete"},
        "masked by number": {"masked": True, "actions": "multi-discrete",
                             "wrapped": {"categorical_action_encoding": True}},
    }  # fmt: skip
    return {name: partial(_roll_out_in_spaces, **kind) for name, kind in kinds.items()}


_SEEN: dict[str, Any] = {"in_keys": ["observation"]}
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
    "ActionDiscretizer": [{"num_intervals": 4}, {"num_intervals": 49}],
}  # fmt: skip
_IMAGES = ("ToTensorImage", "CatFrames", "GrayScale")


def make_transform_trainings() -> dict[str, TraceTraining]:
    """Return rollouts through each single transform, and through all transforms of images."""
    spaces: dict[str, dict[str, Any]] = {
        "DoubleToFloat": {"observations": "float64", "actions": "float64"}
    }
    by_name = {
        f"{name} {n or ''}".strip(): partial(
            _roll_out_transformed,
            transforms=[make_lazy_transform(name, **transform_options)],
            **spaces.get(name, {}),
        )
        for name, variants in _TRANSFORMS.items()
        for n, transform_options in enumerate(variants)
    }
    options = {"CatFrames": {"N": 3, "dim": -3}}
    images = [make_lazy_transform(name, **_SEEN, **options.get(name, {})) for name in _IMAGES]
    return {
        **by_name,
        "images": partial(_roll_out_transformed, transforms=images, observations="image"),
    }


def _collect_batches(
    make_env: Callable[..., Any], seed: int, copies: int = 1, **options: Any
) -> dict[str, Any]:
    """Return batches of a collector, and of another with its state after the first batch."""
    frames = 6 * copies
    policy = _make_linear_policy(seed)

    def make_collector() -> Any:
        environment = Environments(copies).make_environments(make_env, seed)
        own = {name: make() if callable(make) else make for name, make in options.items()}
        return call_with_newest_keywords(Collector, environment, policy,
                    frames_per_batch=frames, total_frames=4 * frames, **own)  # fmt: skip

    first, second = make_collector(), make_collector()
    batches = iter(first)
    # a collector writes into a batch again, and returns none of what it stores
    outputs = [batch.clone() for batch in (next(batches),) if batch is not None]
    second.load_state_dict(first.state_dict())
    outputs += [b.clone() for run in (batches, second) for b in run if b is not None]
    buffer = getattr(first, "replay_buffer", None)
    first.reset()
    for collector_made in (first, second):
        collector_made.shutdown()
    stored = {} if buffer is None else {"stored": buffer[:]}
    return {**stored, **{str(number): batch for number, batch in enumerate(outputs)}}


def make_collector_trainings() -> dict[str, TraceTraining]:
    """Return collections of one and of several environments, and into a replay buffer."""
    kinds: dict[str, dict[str, Any]] = {
        "one": {}, "three": {"copies": 3},
        "random": {"init_random_frames": 12}, "ended": {"max_frames_per_traj": 3},
        "reset": {"copies": 2, "reset_at_each_iter": True},
        "split": {"copies": 2, "split_trajs": True},
        "stored": {"replay_buffer": lambda: TensorDictReplayBuffer(
            storage=LazyTensorStorage(_STEPS), batch_size=4)},
        "processed": {"postproc": lambda: lambda data: data.set("twice", 2 * data["action"])},
    }  # fmt: skip
    return {name: partial(_collect_batches, **options) for name, options in kinds.items()}
