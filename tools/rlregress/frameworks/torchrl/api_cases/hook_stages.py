"""Stages of a trainer and the hooks of each: their order, what they change, keep and refuse."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import LazyTensorStorage, TensorDict, TensorDictReplayBuffer
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.api_cases.hooked_trainers import trainer_of
from rlregress.frameworks.torchrl.api_cases.trainer_hooks import Log, hook_of, logged_values
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    answers,
    estimator_of,
    q_values,
    scored,
    value,
)

#: stages whose hooks are given nothing, a batch, and a batch of which they tell the log.
_SILENT = ("pre_optim_steps", "post_steps", "post_optim", "post_epoch", "setup", "shutdown")
_BATCHES = ("batch_process", "process_optim_batch", "pre_epoch", "post_loss")
_COMPARED_STATE = (
    "pre_steps_log", "post_steps_log", "post_optim_log", "pre_epoch_log", "post_epoch_log",
)  # fmt: skip


def _noted(trainer: Any, stages: List[str]) -> None:
    """Let every stage note that it was entered; none of them changes anything."""

    def silent(stage: str, **more: Any) -> None:
        stages.append(stage)

    def batch(stage: str, given: Any, **more: Any) -> Any:
        stages.append(f"{stage} {list(given.shape)}")
        return given

    def compared(stage: str, given: Any, **more: Any) -> Any:
        stages.append(stage)
        return {f"told_{stage}": float(given["observation"].sum())}

    def ending(steps: int, losses: Any) -> Any:
        stages.append(f"post_optim_complete_log {steps} {sorted(losses.keys())}")
        return {"told_at_the_end": float(losses["loss_pull"])}

    for stage in _SILENT:
        trainer.register_op(stage, partial(silent, stage))
    for stage in _BATCHES:
        trainer.register_op(stage, partial(batch, stage))
    for stage in _COMPARED_STATE:
        trainer.register_op(stage, partial(compared, stage))
    trainer.register_op("post_optim_complete_log", ending)


def _order(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every stage in its order: with hooks and with a stepper, several epochs, random frames."""

    def ordered(**options: Any) -> Any:
        log, stages = Log(), []  # type: Log, List[str]
        given = {"logger": log, "log_interval": 1, **options}
        trainer, loss = trainer_of(make_env, seed, **given)
        _noted(trainer, stages)
        trainer.train()
        return {"stages": str(stages), **logged_values(log), "number": loss.pulled.detach(),
                "steps": trainer._optim_count, "frames": trainer.collected_frames}  # fmt: skip

    def stepper() -> Any:
        return hook_of("DefaultOptimizationStepper")

    return answers(
        seed,
        hooks=ordered,
        stepper=lambda: ordered(optimization_stepper=stepper()),
        epochs=lambda: ordered(num_epochs=2, auto_log_optim_steps=True),
        random=lambda: ordered(init_random_frames=24),
        rarely=lambda: ordered(log_interval=20),
        skipping=lambda: ordered(frame_skip=2),
        repeated=lambda: ordered(optim_steps_per_batch=1, num_epochs=3),
    )


def _changes(make_env: Any, seed: int) -> Dict[str, Any]:
    """What hooks of each stage hand on: batches and losses of their own, keywords, and ends."""

    def changed(*ops: Any, **options: Any) -> Any:
        trainer, loss = trainer_of(make_env, seed, **options)
        for stage, op, given in ops:
            trainer.register_op(stage, op, **given)
        trainer.train()
        steps = trainer._optim_count
        return {"number": loss.pulled.detach(), "asked": loss.calls, "steps": steps}

    def moved(batch: Any, by: float = 1.0) -> Any:
        return batch.set("observation", batch["observation"] + by)

    def scaled(batch: Any, losses: Any, by: float = 3.0) -> Any:
        return losses.apply(lambda tensor: by * tensor)

    def halved(losses: Any, norm: bool, limit: Any, number: int) -> Any:
        return losses.apply(lambda tensor: 0.5 * tensor)

    def nothing(*given: Any) -> None:
        return None

    def ended(batch: Any) -> Any:
        raise StopIteration

    def stop(trainer: Any) -> Any:
        trainer.request_stop("enough")

    def stopped() -> Any:
        trainer, loss = trainer_of(make_env, seed)
        trainer.register_op("post_steps", partial(stop, trainer))
        trainer.train()
        return {"frames": trainer.collected_frames, "number": loss.pulled.detach(),
                "why": str(trainer._stop_reason)}  # fmt: skip

    calls: Dict[str, Any] = {"stopped": stopped}
    for stage in ("batch_process", "process_optim_batch", "pre_epoch", "post_loss"):
        calls[stage] = partial(changed, (stage, moved, {}))
        calls[f"{stage}.keyword"] = partial(changed, (stage, moved, {"by": 2.0}))
        calls[f"{stage}.nothing"] = partial(changed, (stage, nothing, {}))
        calls[f"{stage}.twice"] = partial(changed, (stage, moved, {}), (stage, moved, {"by": 0.5}))
    for stage, op in (("process_loss", scaled), ("optimizer", halved)):
        calls[stage] = partial(changed, (stage, op, {}))
        calls[f"{stage}.nothing"] = partial(changed, (stage, nothing, {}))
    calls["process_loss.keyword"] = partial(changed, ("process_loss", scaled, {"by": 0.1}))
    calls["ended"] = partial(changed, ("process_optim_batch", ended, {}))
    calls["without_end"] = partial(
        changed, ("process_optim_batch", ended, {}), optim_steps_per_batch=None
    )
    calls["unknown"] = partial(changed, ("in_between", moved, {}))
    return answers(seed, **calls)


# -- hooks --------------------------------------------------------------------------------------


def _buffer() -> Any:
    return TensorDictReplayBuffer(storage=LazyTensorStorage(40), batch_size=4)


def _updater() -> Any:
    loss = library("torchrl.objectives", "DQNLoss")(
        q_values(), action_space="one_hot", delay_value=True
    )
    return library("torchrl.objectives", "SoftUpdate")(loss, eps=0.9)


#: label -> a hook for a trainer.
_HOOKS: Dict[str, Callable[[Any], Any]] = {
    "keys": lambda t: hook_of("SelectKeys", ["observation", "next"]),
    "buffer": lambda t: hook_of("ReplayBufferTrainer", _buffer()),
    "optimizer": lambda t: hook_of("OptimizerHook", t.optimizer),
    "cache": lambda t: hook_of("ClearCudaCache", 2),
    "times": lambda t: hook_of("LogTiming", prefix="clock", percall=False),
    "numbers": lambda t: hook_of("LogScalar", ("next", "reward"), "seen"),
    "rewards": lambda t: hook_of("RewardNormalizer", decay=0.5),
    "rows": lambda t: hook_of("BatchSubSampler", batch_size=12),
    "weights": lambda t: hook_of("UpdateWeights", t.collector, 2),
    "frames": lambda t: hook_of("CountFramesLog", frame_skip=3),
    "target": lambda t: hook_of("TargetNetUpdaterHook", _updater()),
    "estimator": lambda t: hook_of("ValueEstimatorHook", estimator_of("GAE", value())),
    "rates": lambda t: hook_of(
        "LRSchedulerHook", torch.optim.lr_scheduler.ExponentialLR(t.optimizer, 0.5)
    ),
    "updates": lambda t: hook_of("UTDRHook", t),
    "ends": lambda t: hook_of("EarlyStopping", monitor="loss_pull", wait_for=0, min_delta=9.0),
}


def _in_words(state: Any) -> str:
    """A state: numbers of tensors, and everything else as it is written."""
    if isinstance(state, torch.Tensor):
        return str(state.tolist())
    if isinstance(state, dict):
        return str([(str(k), _in_words(v)) for k, v in sorted(state.items(), key=str)])
    return str([_in_words(v) for v in state]) if isinstance(state, (list, tuple)) else str(state)


def _registered(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every hook in a trainer, under its own name, another and one that is taken."""

    def trained(label: str, *name: str) -> Any:
        trainer, loss = trainer_of(
            make_env, seed, auto_log_optim_steps=True, replay_buffer=_buffer()
        )
        trainer.register_op("batch_process", trainer.replay_buffer.extend)
        hook = _HOOKS[label](trainer)
        hook.register(trainer, *name)
        before = sorted(trainer.state_dict())
        if name == ("own",):
            # it trains under its first name
            return {"parts": str(before), "state": refused(lambda: _in_words(hook.state_dict()))}
        trainer.train()
        # times differ from run to run
        observed = sorted(key for key in trainer._log_dict if "clock" not in key)
        return {"parts": str(before), "told": str(observed), "number": loss.pulled.detach(),
                "state": refused(lambda: _in_words(hook.state_dict()))}  # fmt: skip

    def twice(label: str) -> Any:
        trainer, _ = trainer_of(make_env, seed)
        _HOOKS[label](trainer).register(trainer, "taken")
        _HOOKS[label](trainer).register(trainer, "taken")
        return str(sorted(trainer.state_dict()))

    calls: Dict[str, Any] = {}
    for label in _HOOKS:
        # one of them has no name of its own
        calls[label] = partial(trained, label, *(["first"] if label == "target" else []))
        calls[f"{label}.named"] = partial(trained, label, "own")
        calls[f"{label}.twice"] = partial(twice, label)
    return answers(seed, **calls)


def _states(make_env: Any, seed: int) -> Dict[str, Any]:
    """The state of every hook before and after it was used, in another, and none at all."""

    def batch() -> Any:
        torch.manual_seed(seed)
        return scored(2, 6).exclude("state_value")

    def used(hook: Any) -> None:
        for name in ("extend", "update_reward_stats"):
            if hasattr(hook, name):
                getattr(hook, name)(batch())
                return
        hook(*([] if type(hook).__name__ == "UpdateWeights" else [batch()]))

    def kept(label: str) -> Any:
        trainer, _ = trainer_of(make_env, seed, replay_buffer=_buffer())
        trainer.replay_buffer.extend(batch())
        first, second = _HOOKS[label](trainer), _HOOKS[label](trainer)
        before = _in_words(first.state_dict())
        used(first)
        after = first.state_dict()
        second.load_state_dict(after)
        return {
            "before": before,
            "after": _in_words(after),
            "other": _in_words(second.state_dict()),
        }

    def empty(label: str) -> Any:
        trainer, _ = trainer_of(make_env, seed)
        hook = _HOOKS[label](trainer)
        used(hook)
        hook.load_state_dict({})
        return _in_words(hook.state_dict())

    # the rest keeps networks and rows, or has to be in a trainer
    others = ("optimizer", "target", "ends", "buffer")
    labels = [label for label in _HOOKS if label not in others]
    calls = {label: partial(kept, label) for label in labels}
    calls.update({f"{label}.empty": partial(empty, label) for label in labels})
    return answers(seed, **calls)


class _Faltering(nn.Module):
    """A loss that is not finite at some of the times that it is asked, or has no name."""

    def __init__(self, broken: Any, name: str = "loss_pull") -> None:
        super().__init__()
        self.pulled = nn.Parameter(torch.tensor([1.0, -2.0]))
        self._broken, self._name, self._calls = broken, name, 0

    def forward(self, batch: Any) -> Any:
        """The squared numbers, each time a little heavier."""
        self._calls += 1
        weight = float("inf") if self._calls in self._broken else 0.1 * self._calls
        return TensorDict({self._name: weight * (self.pulled**2).sum()}, [])


def _faltering(make_env: Any, seed: int) -> Dict[str, Any]:
    """Steps of several batches, of which one is not finite: first, between, last."""

    def stepper(loss: Any, **options: Any) -> Any:
        optimizer = torch.optim.SGD(loss.parameters(), lr=0.1, momentum=0.5)
        return hook_of("MixedPrecisionOptimizationStepper", optimizer, **options)

    def stepped(*broken: int, count: int = 6, name: str = "loss_pull", **options: Any) -> Any:
        loss = _Faltering(broken, name)
        stepping = stepper(loss, **options)
        trainer, _ = trainer_of(make_env, seed)
        trainer.loss_module = loss
        observed = [dict(stepping.step(trainer, scored(2, 6)).items()) for _ in range(count)]
        state = stepping.state_dict()
        other = stepper(_Faltering(()), **options)
        other.load_state_dict(state)
        return {"numbers": loss.pulled.detach(), "steps": other.optimizer_step_count,
                "told": observed, "state": _in_words(state)}  # fmt: skip

    calls: Dict[str, Any] = {}
    for label, broken in (("never", ()), ("first", (1,)), ("second", (2,)), ("third", (3,))):
        for batches in (1, 2, 3):
            count = 6 + len(broken) * {1: 0, 2: [1, 0][broken[0] % 2 == 0] if broken else 0,
                                       3: broken[0] % 3 if broken else 0}[batches]  # fmt: skip
            calls[f"{label}.{batches}"] = partial(
                stepped, *broken, count=count, gradient_accumulation_steps=batches
            )
    calls["free"] = lambda: stepped(clip_norm=None)
    calls["tight"] = lambda: stepped(clip_norm=0.01, gradient_accumulation_steps=2)
    calls["within"] = lambda: stepped(count=5, gradient_accumulation_steps=2)
    calls["nameless"] = lambda: stepped(name="penalty")
    return answers(seed, **calls)


# -- weights, and what is told ------------------------------------------------------------------


class _Sender:
    """What sends weights away, and counts how often it is asked to."""

    def __init__(self) -> None:
        self.sent = 0

    def update_weights(self) -> None:
        """Once more."""
        self.sent += 1


def _weights(make_env: Any, seed: int) -> Dict[str, Any]:
    """When weights are handed on: after batches or updates, by a sender or a collector."""

    def sent(interval: int = 1, **options: Any) -> Any:
        trainer, _ = trainer_of(make_env, seed)
        sender, counts = _Sender(), []  # type: _Sender, List[int]
        options = {name: trainer if option == "it" else option for name, option in options.items()}
        hook = hook_of("UpdateWeights", update_weights_interval=interval, sender=sender, **options)
        hook.register(trainer)
        trainer.register_op("post_steps", lambda: counts.append(sender.sent))
        trainer.train()
        return {"counts": counts, "state": _in_words(hook.state_dict())}

    def alone(**options: Any) -> Any:
        trainer, _ = trainer_of(make_env, seed)
        own = {"collector": trainer.collector, "trainer": trainer, "sender": _Sender()}
        options = {
            name: own[name] if option == "it" else option for name, option in options.items()
        }
        hook = hook_of("UpdateWeights", **options)
        return [hook.update_weights_interval, hook.counter]

    return answers(
        seed,
        batches=sent,
        second=lambda: sent(2),
        updates=lambda: sent(3, interval_unit="optim_steps", trainer="it"),
        collector=lambda: alone(collector="it"),
        never=lambda: alone(collector="it", update_weights_interval=0),
        unit=lambda: alone(collector="it", interval_unit="epochs"),
        nobody=alone,
        both=lambda: alone(sender="it", weight_update_map={}),
        getter=lambda: alone(sender="it", policy_weights_getter=_Sender),
        map=lambda: alone(collector="it", weight_update_map={}),
        map_of_a_trainer=lambda: alone(collector="it", weight_update_map={}, trainer="it"),
        without_trainer=lambda: alone(collector="it", interval_unit="optim_steps"),
    )


def _ends(make_env: Any, seed: int) -> Dict[str, Any]:
    """Early ends: metrics of every kind, numbers of tensors, what is not finite, bad options."""

    def ended(*metrics: Any, **options: Any) -> Any:
        trainer, _ = trainer_of(make_env, seed)
        given: List[Any] = list(metrics)
        trainer.register_op("post_steps_log", lambda batch: {"seen": given.pop(0)})
        hook = hook_of("EarlyStopping", monitor="seen", **{"wait_for": 0, **options})
        hook.register(trainer)
        trainer.train()
        return {"frames": trainer.collected_frames, "state": _in_words(hook.state_dict())}

    def alone() -> Any:
        return hook_of("EarlyStopping")(scored(2, 6))

    def missing() -> Any:
        trainer, _ = trainer_of(make_env, seed)
        hook_of("EarlyStopping", monitor="seen").register(trainer)
        trainer.train()

    falling, rising = (3.0, 2.0, 1.0, 1.0, 0.0, 0.0), (0.0, 1.0, 1.5, 1.75, 1.8, 1.9)
    bad = float("nan")
    return answers(
        seed,
        rising=lambda: ended(*rising, patience=0),
        falling=lambda: ended(*falling, patience=0),
        falling_wanted=lambda: ended(*falling, patience=0, mode="min"),
        patient=lambda: ended(*falling, patience=16),
        delta=lambda: ended(*rising, patience=8, min_delta=0.5),
        waiting=lambda: ended(*falling, patience=0, wait_for=24),
        tensors=lambda: ended(*map(torch.tensor, falling), patience=0, mode="min"),
        several=lambda: ended(torch.zeros(2)),
        broken=lambda: ended(1.0, bad, 1.0, 1.0, 1.0, 1.0),
        broken_allowed=lambda: ended(1.0, bad, 1.0, 1.0, 2.0, 3.0, check_finite=False),
        negative=lambda: ended(patience=-1), early=lambda: ended(wait_for=-1),
        alone=alone, missing=missing,
    )  # fmt: skip


def _wrong(make_env: Any, seed: int) -> Dict[str, Any]:
    """What a trainer and its hooks refuse, and a loss that is asked by the name of a method."""

    def trainer_with(**options: Any) -> Any:
        return type(trainer_of(make_env, seed, **options)[0]).__name__

    def computed(*method: str) -> Any:
        trainer, _ = trainer_of(make_env, seed)
        return trainer.compute_loss(scored(2, 6), *method)["loss_pull"].detach()

    def priorities() -> Any:
        kind = library("torchrl.data", "ReplayBuffer")
        sampler = library("torchrl.data", "PrioritizedSampler")
        return hook_of("ReplayBufferTrainer", kind(sampler=sampler(9, 0.7, 0.5)))

    def nested() -> Any:
        call = library("torchrl.trainers.trainers", "flatten_dict")
        return str(call({"a": {"b": 1, "c": {"d": 2}}, "e": 3}))

    def masked(marked: bool) -> Any:
        batch = scored(2, 6)
        if marked:
            mask = torch.ones(2, 6, dtype=torch.bool)
            mask[1, 3:] = False
            batch["collector"] = TensorDict({"mask": mask}, [2, 6])
        return library("torchrl.trainers.trainers", "mask_batch")(batch)["observation"]

    def iterated() -> Any:
        buffer = made(
            TensorDictReplayBuffer, storage=LazyTensorStorage(40), batch_size=4,
            sampler=library("torchrl.data", "SamplerWithoutReplacement")(),
        )  # fmt: skip
        buffer.extend(scored(12))
        hook = hook_of("ReplayBufferTrainer", buffer, iterate=True)
        torch.manual_seed(seed)
        recorded: List[Any] = []
        for _ in range(6):
            try:
                recorded.append(hook.sample(None)["observation"])
            except StopIteration:
                recorded.append(torch.zeros(0))
        return recorded

    return answers(
        seed,
        backend=lambda: trainer_with(learner_backend="threads"),
        interval=lambda: trainer_with(learner_poll_interval=0.0),
        rotation=lambda: trainer_with(checkpoint_rotation=object()),
        metadata=lambda: trainer_with(checkpoint_metadata=dict),
        loss=computed, method=lambda: computed("forward"), no_method=lambda: computed("backward"),
        priorities=priorities, nested=nested, masked=lambda: masked(True),
        unmasked=lambda: masked(False), iterated=iterated,
        updater=lambda: hook_of("TargetNetUpdaterHook", nn.Linear(1, 1)),
        rows=lambda: hook_of("BatchSubSampler", batch_size=3)(scored(2, 6)),
        long=lambda: hook_of("BatchSubSampler", batch_size=20, sub_traj_len=9)(scored(2, 6)),
        single=lambda: hook_of("BatchSubSampler", batch_size=5, sub_traj_len=1)(scored(2, 6))[
            "observation"
        ],
        several=lambda: hook_of("BatchSubSampler", batch_size=6, sub_traj_len=2)(
            scored(2, 3, 6)
        )["observation"],
    )  # fmt: skip


API_CASES = {
    "stages-of-a-trainer": _order,
    "changes-of-hooks": _changes,
    "registered-hooks": _registered,
    "states-of-hooks": _states,
    "faltering-losses": _faltering,
    "handed-on-weights": _weights,
    "early-ends": _ends,
    "refusals-of-trainers": _wrong,
}
