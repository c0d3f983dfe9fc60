"""Trainers, the hooks and steppers of their updates, their files, and their configurations."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import io
import itertools
import os
import tempfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import GAE, Collector, TensorDict
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.generated_cases.data_tables import buffer
from rlregress.frameworks.torchrl.generated_cases.environment_tables import (
    collecting,
    environment_of,
    policy,
)
from rlregress.frameworks.torchrl.generated_cases.input_corpus import batch
from rlregress.frameworks.torchrl.network_factories import (
    action_value,
    bounds,
    deterministic,
    q_values,
    stochastic,
    value,
)
from rlregress.probing.option_variants import (
    Items,
    Kit,
    Subject,
    items_of,
    recorded,
    refused,
    set_seed,
)
from rlregress.probing.signatures import parameters_of

_ENGINE = "torchrl.trainers.trainers"
_ALGORITHMS = "torchrl.trainers.algorithms"


class _Log:
    """What a trainer hands its logger."""

    exp_name = "log"

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}

    def log_scalar(self, name: str, value: Any, step: Any = None) -> None:
        # times differ from run to run
        if "time" not in name and "fps" not in name:
            self.values.setdefault(name, []).append(0.0 if "clock" in name else float(value))

    def log_hparams(self, parameters: Any) -> None:
        pass


class _Pulls(nn.Module):
    """A loss of two parts that is not finite, or has a slope that is not, at some of its calls."""

    def __init__(self, broken: Any = (), steep: Any = (), name: str = "loss_first") -> None:
        super().__init__()
        self.first = nn.Parameter(torch.tensor([1.0, -2.0]))
        self.second = nn.Parameter(torch.tensor([0.5, 20.0]))
        self._broken, self._steep, self._name, self.calls = broken, steep, name, 0

    def forward(self, data: Any) -> Any:
        self.calls += 1
        weight = float("inf") if self.calls in self._broken else 0.1 * self.calls
        # the root of nothing, whose slope has no bound
        root = (self.second - self.second.detach()).clamp_min(0.0).sqrt().sum()
        more = root if self.calls in self._steep else 0.0 * self.second.sum()
        observed = 0.0 if data is None else data["observation"].mean()
        losses = {
            self._name: weight * ((self.first - observed) ** 2).sum() + more,
            "loss_second": 0.5 * (self.second**2).sum(),
            "penalty": self.second.detach().sum(),
        }
        return TensorDict(losses, [])


def _looping(loss: Any = None, collector: Any = None, **more: Any) -> dict[str, Any]:
    """Arguments of a trainer without an algorithm, of four batches."""
    loss = loss or _Pulls()
    return {
        "collector": collector or Collector(**collecting()), "total_frames": 24, "frame_skip": 1,
        "optim_steps_per_batch": 2, "loss_module": loss, "progress_bar": False, "seed": 0,
        "optimizer": torch.optim.Adam(loss.parameters(), lr=0.1), "logger": _Log(),
        "log_interval": 1, **more,
    }  # fmt: skip


def _trainer(**more: Any) -> Any:
    return made(library(_ENGINE, "Trainer"), **_looping(**more))


def _hook(name: str, *arguments: Any, **options: Any) -> Any:
    return made(library(_ENGINE, name), *arguments, **options)


def _state_of(trainer: Any) -> dict[str, Any]:
    """What a training has left, and what it has logged."""
    optimizer = getattr(trainer, "optimizer", None)
    updater = getattr(trainer, "target_net_updater", None)
    names = ("num_epochs", "stop_reason", "_stop_reason")
    return {
        "numbers": recorded(trainer.loss_module), "frames": trainer.collected_frames,
        "steps": trainer._optim_count, "log": dict(getattr(trainer.logger, "values", {})),
        "kept": {k: len(v) for k, v in sorted(trainer._log_dict.items()) if "time" not in k},
        "momenta": recorded(optimizer.state_dict()) if optimizer else "none",
        "updater": recorded(getattr(updater, "counter", "none")),
        "modules": sorted(trainer._modules), "bar": sorted(getattr(trainer, "_pbar_str", {})),
        **{name: str(getattr(trainer, name, "none")) for name in names},
    }  # fmt: skip


def _train(trainer: Any) -> Any:
    """Train, and return what is left."""
    with contextlib.redirect_stderr(io.StringIO()):
        answer = refused(lambda: str(trainer.train()))
    return Items(answer=answer, **_state_of(trainer))


# -- stages ----------------------------------------------------------------------------------------

#: stages whose hooks are given nothing, a batch to change, and a batch of which they log.
_SILENT = ("pre_optim_steps", "post_steps", "post_optim", "post_epoch", "setup", "shutdown")
_BATCHES = ("batch_process", "process_optim_batch", "pre_epoch", "post_loss")
_LOGGING = (
    "pre_steps_log", "post_steps_log", "post_optim_log", "pre_epoch_log", "post_epoch_log",
)  # fmt: skip


def _staged(trainer: Any, label: str) -> Any:
    """Every stage in its order: each notes that it was entered, and changes nothing."""
    stages: list[Any] = []

    def silent(stage: str, *given: Any, **more: Any) -> None:
        stages.append([stage, trainer.collected_frames])

    def handed(stage: str, given: Any, **more: Any) -> Any:
        content = "none" if given is None else given["next", "reward"]
        stages.append([stage, content])
        return given

    def logging(stage: str, given: Any, **more: Any) -> Any:
        stages.append(stage)
        content = -1.0 if given is None else given["observation"].sum()
        observed = {"log_pbar": True, f"seen_{stage}": content}
        return None if label == "nothing" else {**observed, "count": 3}

    def ending(steps: int, losses: Any) -> Any:
        stages.append(["post_optim_complete_log", steps, sorted(losses.keys())])
        return None if label == "nothing" else {"at_the_end": float(losses["loss_first"])}

    for names, op in ((_SILENT, silent), (_BATCHES, handed), (_LOGGING, logging)):
        for stage in names:
            stages.append(refused(partial(trainer.register_op, stage, partial(op, stage))))
    stages.append(refused(lambda: trainer.register_op("post_optim_complete_log", ending)))
    stored = getattr(trainer.collector, "replay_buffer", None)
    if stored is not None:
        # it hands on nothing
        trainer.register_op("process_optim_batch", lambda data: stored.sample())
    outputs = _train(trainer)
    words = [part in repr(trainer) for part in ("Trainer(", "_Pulls", "Adam", "logger=", "None")]
    bar: Any = getattr(trainer, "_pbar", None)
    bar = "none" if bar is None else [bar.n, bar.total, str(bar.desc)]
    return Items(outputs, stages=stages, described=words, bar=bar)


def _changed(trainer: Any, label: str) -> Any:
    """What hooks of each stage hand on: batches and losses of their own, keywords, and ends."""

    def moved(data: Any, by: float = 1.0) -> Any:
        return data.set("observation", data["observation"] + by)

    def scaled(data: Any, losses: Any, by: float = 3.0) -> Any:
        return losses.apply(lambda item: by * item)

    def halved(losses: Any, norm: bool, limit: Any, number: int) -> Any:
        return losses.apply(lambda item: 0.5 * item)

    def nothing(*given: Any) -> None:
        return None

    def ended(data: Any) -> Any:
        raise StopIteration

    def run(*ops: Any, **options: Any) -> Any:
        own = _trainer(**options)
        for stage, op, given in ops:
            own.register_op(stage, op, **given)
        return {**_train(own), "calls": own.loss_module.calls}

    ways: dict[str, Any] = {"ended": [("process_optim_batch", ended, {})]}
    for stage, op in (*((stage, moved) for stage in _BATCHES), ("process_loss", scaled),
                      ("optimizer", halved)):  # fmt: skip
        ways[stage] = [(stage, op, {})]
        ways[f"{stage} nothing"] = [(stage, nothing, {})]
        if op is not halved:
            ways[f"{stage} twice"] = [(stage, op, {}), (stage, op, {"by": 0.5})]
    outputs = {name: refused(partial(run, *ops)) for name, ops in ways.items()}
    outputs["endless"] = refused(partial(run, *ways["ended"], optim_steps_per_batch=None))
    outputs["unknown"] = refused(lambda: trainer.register_op("in_between", moved))
    trainer.register_op("post_steps", lambda: trainer.request_stop("enough"))
    return Items(outputs, stopped=refused(partial(_train, trainer)))


def _asked(trainer: Any, label: str) -> Any:
    """A loss by the name of a method, one name for two hooks, an end before the beginning."""
    loss, data = trainer.loss_module, batch("continuous", "time")
    outputs = {name: refused(partial(trainer.compute_loss, data, *([name] if name else [])))
               for name in ("", "forward", "backward")}  # fmt: skip
    trainer.shutdown()
    return Items(outputs, calls=loss.calls, ended=refused(partial(_train, trainer)))


# -- files -----------------------------------------------------------------------------------------


class _Remarks:
    """A hook whose state is more than numbers."""

    def __init__(self) -> None:
        self.loaded: Any = "not loaded"

    def state_dict(self) -> dict[str, Any]:
        return {"remark": _Remarks}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.loaded = state["remark"].__name__


def _filed(
    make: Callable[..., Any], backend: str = "torch", interval: int = 4, load: Any = None,
    rotation: Any = None, remarks: bool = False, whole: bool = False, **more: Any,
) -> Any:  # fmt: skip
    """A trainer that writes files while it trains, and another that reads what is left."""
    # since 2.6 PyTorch loads weights only by default; this is what it did before
    trusting = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"} if remarks else {}
    setting = mock.patch.dict(os.environ, {"CKPT_BACKEND": backend, **trusting})
    with tempfile.TemporaryDirectory() as folder, setting:
        file, kept = Path(folder) / "trainer", None
        given = {"save_trainer_interval": interval, "save_trainer_file": file, **more}
        kind = library("torchrl.checkpoint", "Checkpoint") if rotation or whole else None
        if rotation:
            kept = library("torchrl.checkpoint", "CheckpointRotation")(folder, **rotation)
            given = {**given, "checkpoint_rotation": kept, "save_trainer_file": None}
        plain = {name: item for name, item in given.items() if "checkpoint" not in name}
        # each with its own, which keeps what it has saved
        first, second = (make(**more, **({"checkpoint": kind()} if kind else {}))
                         for more in (given, plain))  # fmt: skip
        hooks = [_hook("CountFramesLog", frame_skip=3) for _ in range(2)]
        heard = [_Remarks(), _Remarks()]
        for trainer, hook, remark in zip((first, second), hooks, heard, strict=False):
            hook.register(trainer)
            if remarks:
                trainer.register_module("remarks", remark)
        times: list[Any] = []
        first.register_op("post_steps", lambda: times.append(file.exists()))
        answer = _train(first)
        before = recorded(second.loss_module)
        latest = kept.latest() if kept else file
        stored = getattr(second, "replay_buffer", None)
        read = refused(lambda: bool(second.load_from_file(latest, **(load or {}))))
        # files of tensors have names that differ between versions of the library below
        found = (path.relative_to(folder) for path in Path(folder).rglob("*"))
        return Items(
            answer, before=before, read=read, times=times, hook=hooks[1].state_dict(),
            heard=heard[1].loaded, files=sorted(str(p) for p in found if len(p.parts) < 3),
            note=refused(lambda: recorded(first._checkpoint_manifest_metadata())),
            last=refused(lambda: str(second._last_log)),
            buffer=-1 if stored is None else len(stored),
            **{f"other {name}": item for name, item in _state_of(second).items()},
        )  # fmt: skip


def _scored(trainer: Any) -> dict[str, Any]:
    return {"score": -trainer.collected_frames}


def _files(trainer: Any, label: str) -> Any:
    """Files of every kind: mapped into memory, rotated, with notes, of no kind, of one part."""

    def hooked(**more: Any) -> Any:
        own = _trainer(**{**more, "optimizer": None})
        adam = torch.optim.Adam(own.loss_module.parameters(), lr=0.1)
        _hook("OptimizerHook", adam).register(own)
        return own

    def stored(**more: Any) -> Any:
        own = _trainer(replay_buffer=buffer(60), **more)
        own.register_op("batch_process", own.replay_buffer.extend)
        return own

    ways: dict[str, dict[str, Any]] = {
        **{f"every {n}": {"interval": n} for n in (0, 7, 12, 1000)},
        **{kind: {"backend": kind} for kind in ("torch", "memmap", "clay", "torchsnapshot")},
        "unmapped": {"load": {"mmap": False}}, "trusted": {"load": {"weights_only": False}},
        "remarks": {"remarks": True}, "whole": {"whole": True},
        "rotated": {"rotation": {"keep_last": 2}}, "single": {"rotation": {"keep_last": 1}},
        "noted": {"rotation": {"keep_last": 2}, "checkpoint_metadata": _scored},
        "best": {"rotation": {"keep_last": 1, "keep_best": ("score", "max")},
                 "checkpoint_metadata": _scored},
        "wrong": {"rotation": {"keep_last": 1}, "checkpoint_metadata": lambda t: ["score"]},
        "odd": {"rotation": {"keep_last": 1}, "checkpoint_metadata": 3},
        "hooked": {"make": hooked}, "hooked mapped": {"make": hooked, "backend": "memmap"},
        "stored": {"make": stored, "whole": True}, "lenient": {"whole": True, "remarks": True,
                                                              "load": {"strict": False}},
    }  # fmt: skip
    return Items(
        (f"{label}: {name}", item) for label, given in ways.items()
        for name, item in items_of(refused(partial(_filed, **{"make": _trainer, **given}))).items()
    )  # fmt: skip


def _states(trainer: Any, label: str) -> Any:
    """The state of a trainer in another, whole and in part, with and without an optimizer."""
    states: list[Any] = []
    _hook("CountFramesLog", frame_skip=3).register(trainer)
    trainer.register_op("post_steps", lambda: states.append(deepcopy(trainer.state_dict())))
    trainer.train()
    outputs = {"state": recorded(states[-1])}
    for name, gone, options in (
        ("", (), {}), ("no momenta", ("optimizer",), {}), ("no optimizer", (), {"optimizer": None}),
    ):  # fmt: skip
        other = _trainer(**options)
        _hook("CountFramesLog", frame_skip=3).register(other)
        state = {key: item for key, item in states[-1].items() if key not in gone}
        outputs[name] = [refused(partial(other.load_state_dict, state)), _state_of(other)]
    return Items(outputs)


def _trainers() -> list[Subject]:
    stored = partial(buffer, 60)

    def kit(**collector: Any) -> Kit:
        return Kit(lambda: _looping(collector=Collector(**collecting(**collector))), str)

    def storing(own: bool) -> dict[str, Any]:
        held = stored()
        collector = Collector(**collecting(replay_buffer=held))
        return _looping(collector=collector, **({"replay_buffer": held} if own else {}))

    stepper = partial(_hook, "DefaultOptimizationStepper")
    return [
        Subject(
            f"{_ENGINE}:Trainer",
            {"": kit(), "random": kit(init_random_frames=12),
             "less random": kit(init_random_frames=10),
             "stored": Kit(partial(storing, True), str),
             "stored elsewhere": Kit(partial(storing, False), str)},
            ("", "nothing"),
            options={
                "total_frames": [10], "frame_skip": [2, 3], "optim_steps_per_batch": [0, 1],
                "num_epochs": [0, 2], "log_interval": [0, 5, 6, 7, 100], "logger": [None],
                "clip_norm": [0.5], "progress_bar": [True], "optimizer": [None],
                "learner_backend": ["ray", "threads"], "learner_poll_interval": [0.0],
                "optimization_stepper": [stepper], "replay_buffer": [stored],
                "checkpoint_rotation": [object()], "checkpoint_metadata": [_made_scored],
            },
            together=(
                {"clip_norm": 0.5, "clip_grad_norm": False}, {"num_epochs": 3, "frame_skip": 3},
                {"clip_norm": 0.5, "optimization_stepper": stepper},
                {"clip_norm": 0.5, "clip_grad_norm": False, "optimization_stepper": stepper},
                {"progress_bar": True, "num_epochs": 2}, {"progress_bar": True, "frame_skip": 3},
                {"optim_steps_per_batch": True, "learner_backend": "ray"},
                {"optim_steps_per_batch": 0, "learner_backend": "ray"},
            ),
            calls={"": _staged, "changes": _changed, "asked": _asked, "files": _files,
                   "states": _states},
            skip=("async_collection", "batch_size"),
        )
    ]  # fmt: skip


def _made_scored() -> Any:
    return _scored


# -- hooks -----------------------------------------------------------------------------------------


class _Sender:
    """What sends or receives weights, and notes how often and which."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def update_weights(self) -> None:
        self.sent.append("sent")

    def update_policy_weights_(self, weights_dict: Any = None) -> None:
        self.sent.append({name: recorded(item) for name, item in (weights_dict or {}).items()})


def _updater() -> Any:
    loss = library("torchrl.objectives", "DQNLoss")(
        q_values(), action_space="one_hot", delay_value=True
    )
    return library("torchrl.objectives", "SoftUpdate")(loss, eps=0.9)


def _playing(trainer: Any) -> dict[str, Any]:
    whole, compose = (library("torchrl.envs", name) for name in ("TransformedEnv", "Compose"))
    return {
        "record_interval": 2, "record_frames": 6, "frame_skip": 3, "policy_exploration": policy(),
        "environment": whole(environment_of(), compose()),
    }  # fmt: skip


def _plain_buffer() -> Any:
    storage = library("torchrl.data", "LazyTensorStorage")(40)
    return library("torchrl.data", "ReplayBuffer")(storage=storage, batch_size=4)


_SIZES = tuple(
    {"sub_traj_len": length, "batch_size": size}
    for length, size in itertools.product((0, 1, 2, 3, 6), (2, 6, 13))
)
_REDUCTIONS = ["sum", "min", "max", "median"]
#: hook -> its arguments in a trainer, and options beside the generated ones.
_HOOKS: dict[str, Any] = {
    "SelectKeys": (lambda t: {"keys": ["observation", "next"]}, {"keys": ["action", ["action"]]}),
    "ReplayBufferTrainer": (
        lambda t: {"replay_buffer": buffer(40)},
        {"max_dims": [[4, -1], [3, 8]], "device": ["cpu"], "batch_size": [2],
         "replay_buffer": [lambda: _plain_buffer]}),
    "OptimizerHook": (
        lambda t: {"optimizer": t.optimizer},
        {"loss_components": [[], ["loss_first"], ["penalty", "loss_second"], ["other"]]}),
    "ClearCudaCache": (lambda t: {"interval": 2}, {}),
    "LogTiming": (lambda t: {"prefix": "clock"}, {}),
    "LogScalar": (
        lambda t: {}, {"reduction": _REDUCTIONS, "logname": ["seen"], "key": ["action"]}),
    "RewardNormalizer": (
        lambda t: {"decay": 0.5}, {"decay": [0.0, 1.0], "reward_key": ["state_value"],
                                   "eps": [0.1]}),
    "BatchSubSampler": (
        lambda t: {"batch_size": 12}, {}, *_SIZES, {"sub_traj_len": 6, "min_sub_traj_len": 2},
        {"sub_traj_len": 4, "min_sub_traj_len": 4}, {"sub_traj_len": 4, "min_sub_traj_len": 3}),
    "LogValidationReward": (
        _playing, {"log_keys": [[("next", "reward"), ("next", "done")]], "suffix": ["late"]}),
    "UpdateWeights": (
        lambda t: {"collector": t.collector},
        {"update_weights_interval": [0, 2], "interval_unit": ["epochs", "optim_steps"],
         "weight_update_map": [{}], "sender": ["its"], "collector": [None]},
        {"collector": None, "sender": "its"},
        {"collector": None, "sender": "its", "update_weights_interval": 2},
        {"collector": None, "sender": "its", "weight_update_map": {}},
        {"collector": None, "sender": "its", "policy_weights_getter": _Sender},
        {"collector": None, "sender": "its", "update_weights_interval": 3,
         "interval_unit": "optim_steps", "trainer": "its"},
        {"weight_update_map": {}, "trainer": "its"},
        *({"collector": "sender", "weight_update_map": dict.fromkeys(names, "loss_module"),
           "trainer": "its"} for names in (["policy"], ["policy", "other"])),
        {"collector": "sender", "weight_update_map": {"policy": "own.one"}, "trainer": "its"}),
    "CountFramesLog": (lambda t: {"frame_skip": 3}, {}),
    "TargetNetUpdaterHook": (
        lambda t: {"target_params_updater": _updater()},
        {"target_params_updater": [partial(nn.Linear, 1, 1)]}),
    "ValueEstimatorHook": (
        lambda t: {"value_estimator": GAE(gamma=0.9, lmbda=0.8, value_network=value())},
        {"value_estimator": [lambda: len]}),
    "LRSchedulerHook": (
        lambda t: {"scheduler": torch.optim.lr_scheduler.ExponentialLR(t.optimizer, 0.5)},
        {"interval": ["optim", "epoch"]}),
    "UTDRHook": (lambda t: {"trainer": t}, {}),
}  # fmt: skip


def _made_hook(make: Any, trainer: Any, sender: Any = None) -> Any:
    """A hook of a trainer, with options that are the trainer's where they say so."""
    name = make.func.__name__
    own = {"trainer": trainer, "collector": sender, "sender": sender}
    given = {
        key: own[key] if isinstance(item, str) and item in ("its", "sender") else item
        for key, item in make.keywords.items()
    }
    # each has its own
    given = {key: item() if inspect.isfunction(item) else item for key, item in given.items()}
    return made(make.func, **{**_HOOKS[name][0](trainer), **given})


def _used_alone(hook: Any, data: Any, loss: Any) -> Any:
    """What a hook does with a batch: whatever of the usual methods it has."""
    if hasattr(hook, "extend"):
        calls: list[Any] = [hook.extend, hook.sample, hook.update_priority]
        return [refused(partial(call, data.clone())) for call in calls]
    if hasattr(hook, "update_reward_stats"):
        hook.update_reward_stats(data.clone())
        return hook.normalize_reward(data.clone())
    if type(hook).__name__ == "OptimizerHook":
        ways = ((True, None), (True, 0.5), (False, 0.5), (True, 50.0))

        def stepped(*way: Any) -> Any:
            return [hook(loss(None), *way, 0), recorded(loss)]

        return [refused(partial(stepped, *way)) for way in ways]
    if type(hook).__name__ in ("UpdateWeights", "LogTiming"):
        # of times, which differ from run to run, the names
        return sorted(map(str, hook() or ())) or "nothing"
    return hook(data.clone())


def _kept(hook: Any) -> Any:
    """The state of a hook; of a buffer the rows that are filled, as the rest is whatever it was."""
    state, stored = hook.state_dict(), getattr(hook, "replay_buffer", None)
    if stored is None:
        return state
    return [sorted(state), len(stored), stored[:] if len(stored) else "nothing"]


def _handled(make: Any, label: str) -> Any:
    """By itself on batches, its state in others and from nothing; in a trainer."""
    sender, given = _Sender(), batch("continuous", label)
    needs = ("OptimizerHook", "UpdateWeights", "LRSchedulerHook", "UTDRHook")
    trainer = _trainer(replay_buffer=buffer(40)) if make.func.__name__ in needs else None
    hook, *others = (_made_hook(make, trainer, sender) for _ in range(4))
    use = partial(_used_alone, data=given, loss=trainer.loss_module if trainer else None)
    outputs = {"before": refused(partial(_kept, hook))}
    if trainer:
        # by itself a hook of rates or of weights has taken no step
        trainer._optim_count = 3
    outputs.update({f"use {n}": refused(partial(use, hook)) for n in range(3)})
    states: list[Any] = []
    outputs["state"] = refused(partial(_kept, hook))
    refused(lambda: states.extend([hook.state_dict()]))
    # two of one state, of which the first has gone on
    for number, other in enumerate(others):
        state = states[0] if states and number < 2 else {}
        outputs[f"load {number}"] = refused(partial(other.load_state_dict, state))
        outputs[f"loaded {number}"] = refused(partial(_kept, other))
        outputs[f"gone on {number}"] = refused(partial(use, other))
    outputs["once more"] = refused(partial(use, hook))
    outputs["sent"] = recorded(sender.sent)
    if label == "time" and len(make.keywords) < 2:
        outputs.update(items_of(refused(partial(_registered, make))))
    return Items(outputs)


def _registered(make: Any, *names: str) -> Any:
    """In a trainer, under its own name, under another, or under one that is taken."""
    sender, rates = _Sender(), []  # type: _Sender, list[Any]
    trainer = _trainer(replay_buffer=buffer(40))
    trainer.register_op("batch_process", trainer.replay_buffer.extend)
    hook = _made_hook(make, trainer, sender)
    for name in names or ((),):
        hook.register(trainer, *([name] if name else []))
    optimizer = trainer.optimizer
    trainer.register_op(
        "post_steps", lambda: rates.append([optimizer.param_groups[0]["lr"], len(sender.sent)])
    )
    registered, trained = sorted(trainer.state_dict()), _train(trainer)
    return Items(trained, parts=registered, rates=rates, hook=refused(partial(_kept, hook)))


def _named(make: Any, label: str) -> Any:
    return Items(
        (f"{name}: {key}", item) for name, given in (("own", ["own"]), ("twice", ["own", "own"]))
        for key, item in items_of(refused(partial(_registered, make, *given))).items()
    )  # fmt: skip


_RISING, _FALLING = (0.0, 1.0, 1.5, 1.75), (3.0, 2.0, 1.0, 1.0)
_METRICS: dict[str, Sequence[Any]] = {
    "rising": _RISING, "falling": _FALLING, "tensors": tuple(map(torch.tensor, _FALLING)),
    "several": [torch.zeros(2)], "broken": (1.0, float("nan"), 1.0, 2.0), "none": (),
}  # fmt: skip


def _ended(hook: Any, label: str) -> Any:
    """Trainings that may end early; states of others, and ends that came before."""
    outputs: dict[str, Any] = {"alone": refused(lambda: hook(batch("continuous", "time")))}
    for name, state in (
        ("", {}), ("later", {"best_score": 100.0, "_last_improvement_frame": 20}),
        ("worse", {"best_score": 0.001, "_last_improvement_frame": 3}),
        ("reason", {"stop_reason": "enough"}),
    )[: None if label == "rising" else 1]:  # fmt: skip
        trainer, one, metrics = _trainer(), deepcopy(hook), list(_METRICS[label])
        if metrics:
            trainer.register_op(
                "post_steps_log", lambda data, metrics=metrics: {"seen": metrics.pop(0)}
            )
        one.load_state_dict(state)
        one.register(trainer)
        outputs[name] = [_train(trainer), refused(one.state_dict)]
        trainer._stop_training = True
        outputs[f"{name} again"] = refused(partial(one, batch("continuous", "time")))
    return Items(outputs)


def _hooks() -> list[Subject]:
    inputs = ("time", "time collected", "rows", "one", "blocks")
    reading = ("ReplayBufferTrainer", "LogScalar", "RewardNormalizer", "BatchSubSampler",
               "CountFramesLog")  # fmt: skip
    every = [
        Subject(
            f"{_ENGINE}:{name}", {"": Kit(dict, str)},
            inputs if name in reading else inputs[:1],
            (*inputs[:2], *inputs[4:][: name == "BatchSubSampler"]) if name in reading else (),
            options=entry[1], together=entry[2:], calls={"": _handled, "named": _named},
            skip=("trainer", "recorder", "policy_weights_getter", "collector", "environment"),
        )
        for name, entry in _HOOKS.items()
    ]  # fmt: skip
    nested = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    functions: dict[str, Callable[[str], Any]] = {
        "mask_batch": partial(batch, "continuous"), "flatten_dict": lambda _: nested,
    }  # fmt: skip
    return [
        *every,
        *(
            Subject(f"{_ENGINE}:{name}", {"": Kit(dict, given)}, ("time", "time collected"),
                    calls={"": lambda call, data: call(data)})
            for name, given in functions.items()
        ),
        Subject(
            f"{_ENGINE}:EarlyStopping",
            {"": Kit(lambda: {"monitor": "seen", "wait_for": 0, "patience": 0}, str)},
            tuple(_METRICS), ("rising", "falling", "broken"),
            options={"mode": ["min", "mean"], "min_delta": [0.5], "patience": [4, 8, -1],
                     "wait_for": [6, 12, -1]},
            together=({"patience": 4, "min_delta": 0.5},), calls={"": _ended},
        ),
    ]  # fmt: skip


# -- steppers --------------------------------------------------------------------------------------

#: label -> the calls at which a loss is not finite, or its slope, and how a trainer cuts.
_LOSSES: dict[str, dict[str, Any]] = {
    "": {}, **{f"broken {n}": {"broken": (n,)} for n in (1, 2, 3)},
    **{f"steep {n}": {"steep": (n,)} for n in (1, 2)}, "both": {"steep": (1, 2)},
    "nameless": {"name": "other"}, "unoptimised": {"optimizer": None},
    **{f"{'norm' if norm else 'values'} {limit}": {"clip_grad_norm": norm, "clip_norm": limit}
       for norm in (True, False) for limit in (0.5, 50.0)},
}  # fmt: skip
_HALF: dict[str, Any] = {
    "mixed_precision": True, "autocast_dtype": torch.float16, "device_type": "cpu",
}  # fmt: skip


def _stepped(make: Any, label: str) -> Any:
    """Steps of a stepper, its state in another, and in one that is given no more than momenta."""
    given = dict(_LOSSES[label])
    loss = _Pulls(**{n: given.pop(n) for n in ("broken", "steep", "name") if n in given})
    trainer, outputs = _trainer(loss=loss, **given), []

    def of(network: Any) -> Any:
        needs = "Mixed" in make.func.__name__
        sgd = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.5)
        return made(make.func, **({"optimizer": sgd} if needs else {}), **make.keywords)

    stepper, twin, fresh = of(loss), of(_Pulls()), of(_Pulls())
    for _ in range(5):
        outputs.append(refused(lambda: stepper.step(trainer, batch("continuous", "time"))))
        outputs.append([recorded(loss), getattr(stepper, "optimizer_step_count", -1)])
    state = refused(stepper.state_dict)
    outputs.append([state, refused(lambda: twin.load_state_dict(stepper.state_dict()))])
    outputs.append([refused(twin.state_dict), getattr(twin, "optimizer_step_count", -1)])
    momenta = {"optimizer": torch.optim.SGD(_Pulls().parameters(), lr=0.1).state_dict()}
    outputs.append([refused(partial(fresh.load_state_dict, momenta)), refused(fresh.state_dict)])
    outputs.append([refused(partial(stepper.register, trainer)), sorted(trainer._modules)])
    return outputs


def _td3_loss() -> Any:
    loss = library("torchrl.objectives", "TD3Loss")(
        deterministic(), action_value(), bounds=(-1.0, 1.0)
    )
    loss.make_value_estimator(gamma=0.9)
    return loss


def _td3_stepper(loss: Any, kind: Any = None, **options: Any) -> Any:
    kind = kind or library(f"{_ALGORITHMS}.td3", "TD3OptimizationStepper")
    groups = loss.actor_network_params, loss.qvalue_network_params
    adams = [torch.optim.Adam(list(each.values(True, True)), lr=0.1) for each in groups]
    return made(kind, *adams, **options)


def _td3_stepped(make: Any, label: str) -> Any:
    """TD3's stepper: the policy's delay, cuts, priorities, and its state in another."""
    cuts = {k: v for k, v in _LOSSES[label].items() if k.startswith("clip")}
    loss = _td3_loss()
    stored = {"replay_buffer": buffer(12)} if label else {}
    trainer = _trainer(loss=loss, **cuts, **stored)
    set_seed(0)
    first = _td3_stepper(loss, make.func, **make.keywords)
    outputs = []
    for stepper in (first, _td3_stepper(loss, make.func, **make.keywords)):
        if stepper is not first:
            stepper.load_state_dict(deepcopy(first.state_dict()))
        for _ in range(3):
            data = batch("continuous", "rows")
            outputs.append([refused(partial(stepper.step, trainer, data)), data.get("td_error", 0)])
        outputs.append([recorded(loss), recorded(stepper.state_dict())])
    return outputs


def _steppers() -> list[Subject]:
    mixed = (_HALF, {**_HALF, "clip_norm": None}, {**_HALF, "gradient_accumulation_steps": 2},
             {"gradient_accumulation_steps": 2, "clip_norm": 0.01})  # fmt: skip
    options: dict[str, Any] = {
        "clip_norm": [None, 1e6, 0.01], "gradient_accumulation_steps": [0, 2, 3],
        "loss_components": [[], ["loss_first"], ["penalty", "loss_second"], ["loss_third"]],
    }  # fmt: skip
    labels, kit = tuple(_LOSSES), {"": Kit(dict, str)}
    cuts = ("", "norm 0.5", "norm 50.0", "values 0.5")
    plain = [
        Subject(f"{_ENGINE}:{name}", kit, labels, labels[:8] if "Mixed" in name else cuts,
                options={n: v for n, v in options.items() if ("loss" in n) != ("Mixed" in name)},
                together=mixed if "Mixed" in name else (), calls={"": _stepped},
                skip="*" if name == "OptimizationStepper" else ("device_type",))
        for name in ("MixedPrecisionOptimizationStepper", "DefaultOptimizationStepper")
    ]  # fmt: skip
    bare = Subject(f"{_ENGINE}:OptimizationStepper", kit, ("",), calls={"": _stepped}, skip="*")
    td3 = Subject(f"{_ALGORITHMS}.td3:TD3OptimizationStepper", kit, cuts, cuts,
                  options={"policy_update_delay": [1, 3]}, calls={"": _td3_stepped})  # fmt: skip
    return [*plain, bare, td3]


# -- algorithms ------------------------------------------------------------------------------------


def _summed(environment: Any) -> Any:
    """An environment that sums the rewards of an episode, by both names that trainers use."""
    whole, compose, sums = (
        library("torchrl.envs", name) for name in ("TransformedEnv", "Compose", "RewardSum")
    )
    names = ("episode_reward", "reward_sum")
    return whole(environment, compose(*(sums(["reward"], out_keys=[name]) for name in names)))


def _chooser(spec: Any) -> Any:
    kind = library("torchrl.modules", "QValueActor")
    return kind(nn.Linear(3, spec.shape[-1]), in_keys=["observation"], spec=spec)


class _Doubling(nn.Module):
    """An estimator without keys."""

    def forward(self, data: Any) -> Any:
        reward = data["next", "reward"]
        return data.set("advantage", 2.0 * reward).set("value_target", reward)


def _given_of(name: str, **more: Any) -> dict[str, Any]:
    """Arguments of the trainer of an algorithm, of four batches."""
    set_seed(0)
    environment = _summed(environment_of(discrete=name == "DQN"))
    objectives = partial(library, "torchrl.objectives")
    given: dict[str, Any] = {}
    if name in ("PPO", "A2C"):
        kind = objectives("ClipPPOLoss" if name == "PPO" else "A2CLoss")
        loss = kind(stochastic(library("torchrl.modules", "TanhNormal")), value())
        sampler = library("torchrl.data", "SamplerWithoutReplacement")()
        given = {"replay_buffer": buffer(16, 8, sampler=sampler), "num_epochs": 1}
    elif name == "SAC":
        actor = stochastic(library("torchrl.modules", "TanhNormal"))
        loss = objectives("SACLoss")(actor, action_value(), **more.pop("loss", {}))
    elif name == "TD3":
        loss = _td3_loss()
        given = {"optimization_stepper": _td3_stepper(loss)}
    elif name == "DDPG":
        loss = objectives("DDPGLoss")(deterministic(), action_value())
    else:
        spec = environment.action_spec
        loss = objectives("DQNLoss")(_chooser(spec), action_space=spec, delay_value=True)
        given["greedy_module"] = library("torchrl.modules", "EGreedyModule")(
            spec=spec, eps_init=0.9, eps_end=0.1, annealing_num_steps=20
        )
    acting = loss.value_network if name == "DQN" else loss.actor_network
    if name in ("SAC", "TD3", "DDPG", "DQN"):
        loss.make_value_estimator(gamma=0.9)
        given["target_net_updater"] = objectives("SoftUpdate")(loss, eps=0.8)
    if name == "DDPG":
        given["target_net_updater"] = objectives("HardUpdate")(
            loss, value_network_update_interval=2
        )
    if "greedy_module" in given:
        join = library("tensordict.nn", "TensorDictSequential")
        acting = join(acting, given["greedy_module"])
    if name != "TD3":
        given["optimizer"] = torch.optim.Adam(loss.parameters(), lr=0.01)
    rated = more.pop("rated", False)
    if rated:
        given["lr_scheduler"] = torch.optim.lr_scheduler.ExponentialLR(given["optimizer"], 0.5)
    collector = Collector(environment, acting, frames_per_batch=8, total_frames=16)
    return {
        "collector": collector, "total_frames": 16, "loss_module": loss, "frame_skip": 1,
        "optim_steps_per_batch": 2, "progress_bar": False, "logger": _Log(), "log_interval": 1,
        "seed": 0, "replay_buffer": buffer(60), **given, **more,
    }  # fmt: skip


def _of(name: str, **more: Any) -> Any:
    return made(library(_ALGORITHMS, f"{name}Trainer"), **_given_of(name, **more))


def _played(trainer: Any, label: str) -> Any:
    """A training, and the rates of chance and of learning after it."""
    outputs = _train(trainer)
    greedy, optimizer = getattr(trainer, "greedy_module", None), trainer.optimizer
    rate = optimizer.param_groups[0]["lr"] if optimizer else "none"
    loss = trainer.loss_module
    entropy = [getattr(loss, "target_entropy", "none"), getattr(loss, "_action_spec", 0) is None]
    chance = recorded(greedy.eps) if greedy is not None else -1
    return Items(outputs, chance=chance, rate=rate, entropy=entropy)


def _algorithm(trainer: Any) -> str:
    return type(trainer).__name__.replace("Trainer", "")


def _elsewhere(trainer: Any, label: str) -> Any:
    """Updates of what is in the buffer, where batches are collected elsewhere, and their log."""
    outputs: dict[str, Any] = {}
    flags_ = ((), ("log_rewards",), ("log_actions",), ("log_observations",))
    kind: Any = type(trainer)
    known = parameters_of(kind)
    for flags in ({name: not known[name].default for name in names} for names in flags_):

        def run(flags: Any = flags) -> Any:
            own = _of(_algorithm(trainer), async_collection=True, log_interval=0, **flags)
            with torch.no_grad():
                play = own.collector.env.rollout
                data = play(8, own.collector.policy, break_when_any_done=False)
            if hasattr(own.loss_module, "critic_network"):
                data["advantage"] = data["value_target"] = data["next", "reward"]
            own.replay_buffer.extend(data)
            own.collected_frames = 8
            own._pre_steps_log_hook(None)
            own.optim_steps(None)
            own._post_steps_hook()
            return Items(_state_of(own))

        for name, item in items_of(refused(run)).items():
            outputs[f"{flags}: {name}"] = item
    return Items(outputs)


def _agents(trainer: Any, label: str) -> Any:
    """Rewards of several agents, mixed in each way, with and without keys."""
    outputs = {}
    keys = {"aggregated_reward_key": "reward_all", "aggregated_episode_reward_key": "sum_all"}
    for strategy, named in itertools.product(("qmix", "vdn", "mean"), (True, False)):

        def run(strategy: str = strategy, named: bool = named) -> Any:
            own = _of("DQN", mixing_strategy=strategy, **(keys if named else {}))
            data = batch("continuous", "time").select("observation", "next")
            for name in ("reward", "reward_sum")[: 1 + (strategy == "vdn")]:
                data["next", name] = torch.arange(36.0).reshape(2, 6, 3, 1) + len(name)
            return [own._process_batch_hook(data), _state_of(own)]

        outputs[f"{strategy} {named}"] = refused(run)
    return Items(outputs)


def _algorithms() -> list[Subject]:
    options: dict[str, Sequence[Any]] = {
        "done_key": ["terminated"], "reward_key": ["reward_sum"], "clip_norm": [0.01],
        "episode_reward_key": ["episode_reward", "reward_sum"], "observation_key": ["action"],
        "target_net_updater": [None], "replay_buffer": [None, partial(buffer, 60, 8)],
        "greedy_module": [None], "num_epochs": [None], "batch_size": [4],
        "weight_update_map": [{}], "optim_steps_per_batch": [1],
        "gae": [_Doubled, lambda: GAE(gamma=0.5, lmbda=0.2, value_network=value())],
    }  # fmt: skip
    together = (
        {"clip_norm": 0.01, "clip_grad_norm": False}, {"add_gae": False, "gae": _Doubled},
        {"observation_key": "action", "log_observations": True},
        {"target_net_updater": None, "learner_backend": "ray", "async_collection": True},
    )  # fmt: skip
    every = []
    for name in ("PPO", "A2C", "SAC", "TD3", "DDPG", "DQN"):
        calls = {
            "": _played,
            "elsewhere": _elsewhere,
            "file": lambda made, _: _filed(partial(_of, _algorithm(made)), whole=True),
        }
        kits = {"": Kit(partial(_given_of, name), str)}
        if name in ("PPO", "A2C"):
            kits["rates"] = Kit(partial(_given_of, name, rated=True), str)
        if name == "SAC":
            kits["bounds"] = Kit(lambda: _given_of("SAC", loss={"action_spec": bounds()}), str)
            kits["-1.5"] = Kit(partial(_given_of, name, loss={"target_entropy": -1.5}), str)
        if name == "DQN":
            calls["agents"] = _agents
        every.append(
            Subject(
                f"{_ALGORITHMS}:{name}Trainer", kits, ("",), together=together,
                options={"num_epochs": [None], "add_gae": [False]} if name == "A2C" else options,
                calls=calls,
                # the rest A2C's has in common with PPO's
                skip="*" if name == "A2C" else (
                    "async_collection", "learner_poll_interval", "seed", "save_trainer_interval",
                    "terminated_key", "action_key", "log_timings", "holds"),
            )
        )  # fmt: skip
    return every


def _Doubled() -> Any:
    return _Doubling()


# -- configurations --------------------------------------------------------------------------------

_CONFIGURED = {
    "objectives": ("PPOLoss", "A2CLoss", "SACLoss", "TD3Loss", "DDPGLoss", "DQNLoss", "GAE"),
    "collectors": ("Collector", "MultiSyncCollector"),
    "trainers": ("TD3Trainer",),
}


def _described(make: Any, label: str) -> Any:
    """The default of each field, compared where both versions have it."""
    return Items((field.name, field.default) for field in dataclasses.fields(make.func))


def _configured(make: Any, label: str) -> Any:
    """What the maker of a configuration makes of its fields: kind and discount."""
    normal = stochastic(library("torchrl.modules", "TanhNormal"))
    networks: dict[str, dict[str, Any]] = {
        "PPO": {"actor_network": normal, "critic_network": value()},
        "SAC": {"actor_network": normal, "qvalue_network": action_value()},
        "TD3": {"actor_network": deterministic(), "qvalue_network": action_value(),
                "action_spec": bounds()},
        "DDPG": {"actor_network": deterministic(), "value_network": action_value()},
        "DQN": {"value_network": q_values(), "action_space": "one_hot"},
        "GAE": {"value_network": value()},
    }  # fmt: skip
    networks["A2C"] = networks["PPO"]
    algorithm = next(name for name in networks if make.func.__name__.startswith(name))

    def loss(**given: Any) -> Any:
        made_ = _made_by(make.func, **networks[algorithm], **given)
        gamma = getattr(getattr(made_, "_value_estimator", made_), "gamma", None)
        return [type(made_).__name__, gamma]

    outputs = [refused(loss), refused(partial(loss, gamma=0.8))]
    if algorithm == "SAC":
        outputs.append(refused(partial(loss, discrete=True, num_actions=4, action_space="one-hot")))
    return outputs


def _made_by(kind: Any, **given: Any) -> Any:
    """What a configuration names as its maker, called with its fields."""
    own = kind(**given)
    module, _, maker = own._target_.rpartition(".")
    fields = {each.name: getattr(own, each.name) for each in dataclasses.fields(own)}
    fields = {name: item for name, item in fields.items() if not name.startswith("_")}
    return getattr(importlib.import_module(module), maker)(**fields)


def _configured_trainer(make: Any, label: str) -> Any:
    """TD3's trainer with bounds, a specification, or neither."""
    losses = library(f"{_ALGORITHMS}.configs.objectives", "TD3LossConfig")

    def limits(**own: Any) -> Any:
        given = _given_of("TD3")
        loss, actor, critic = given.pop("loss_module"), deterministic(), action_value()
        given.pop("optimization_stepper")
        spec = {"action_spec": bounds()} if own.pop("specified", False) else {}
        kind = make.func
        trainer = _made_by(
            kind, **{**given, "loss_module": partial(_made_by, losses, **spec, **own),
                     "optimizer": partial(torch.optim.Adam, lr=0.01), "actor_network": actor,
                     "qvalue_network": critic, "logger": None, "enable_logging": False,
                     "save_trainer_file": None, "create_env_fn": None, "clip_norm": None,
                     "target_net_updater": partial(library("torchrl.objectives", "SoftUpdate"),
                                                   tau=0.05)},
        )  # fmt: skip
        return [trainer.loss_module.min_action, trainer.loss_module.max_action, type(loss).__name__]

    return [refused(limits), refused(partial(limits, bounds=(-0.5, 0.5))),
            refused(partial(limits, specified=True))]  # fmt: skip


def _configurations() -> list[Subject]:
    try:
        importlib.import_module(f"{_ALGORITHMS}.configs")
    except ImportError:
        # the version has none, or a package that they are made with is missing
        return []
    own = {"objectives": {"made": _configured}, "trainers": {"made": _configured_trainer}}
    return [
        Subject(f"{_ALGORITHMS}.configs.{module}:{name}Config", {"": Kit(dict, str)}, ("",),
                calls={"": _described, **own.get(module, {})}, skip="*")
        for module, names in _CONFIGURED.items() for name in names
    ]  # fmt: skip


def subjects() -> dict[str, list[Subject]]:
    """Trainers and what belongs to them by name."""
    return {
        "trainers": _trainers(), "hooks": _hooks(), "steppers": _steppers(),
        "algorithms": _algorithms(), "configurations": _configurations(),
    }  # fmt: skip
