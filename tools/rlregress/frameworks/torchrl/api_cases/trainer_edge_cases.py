"""Corners of trainers: steep losses, padded batches, states of hooks and optimisers, refusals."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import LazyTensorStorage, TensorDict, TensorDictReplayBuffer
from rlregress.frameworks.torchrl.api_cases.hook_stages import _in_words
from rlregress.frameworks.torchrl.api_cases.hooked_trainers import SETTINGS, built_by, trainer_of
from rlregress.frameworks.torchrl.api_cases.trainer_hooks import Log, hook_of, logged_values
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import answers, estimator_of, scored, value

_ENGINE = "torchrl.trainers.trainers"


class _Steep(nn.Module):
    """A finite loss of several parts whose gradient is not finite at some of the times."""

    def __init__(self, steep: Any = ()) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.tensor([1.0, -2.0]))
        self.second = nn.Parameter(torch.tensor([0.5]))
        self._steep, self.calls = steep, 0

    def forward(self, batch: Any) -> Any:
        """Squares; where it is steep, the root of nothing, whose slope has no bound."""
        self.calls += 1
        root = (self.second - self.second.detach()).clamp_min(0.0).sqrt().sum()
        more = root if self.calls in self._steep else 0.0 * self.second.sum()
        return TensorDict(
            {"loss_first": (self.first**2).sum() + more, "loss_second": 0.5 * self.second.sum(),
             "penalty": (self.second**2).sum(), "several": self.first.detach()}, [],
        )  # fmt: skip


def _numbers(loss: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in loss.parameters()])


def _steps(make_env: Any, seed: int) -> Dict[str, Any]:
    """Steps whose gradients are not finite: cut or not, scaled, of several batches, by parts."""
    half = {"mixed_precision": True, "autocast_dtype": torch.float16, "device_type": "cpu"}

    plain, _ = trainer_of(make_env, seed)

    def stepped(stepper: Any, loss: nn.Module, count: int, **options: Any) -> Any:
        # of a trainer these steps read no more than its loss, its optimiser and its cuts
        trainer = trainer_of(make_env, seed, **options)[0] if options else plain
        trainer.loss_module = loss
        observed: List[Any] = []
        for _ in range(count):
            observed.append(_in_words(dict(stepper.step(trainer, scored(2, 6)).items())))
        return {"numbers": _numbers(loss), "told": str(observed)}

    def mixed(*steep: int, count: int = 4, **options: Any) -> Any:
        loss = _Steep(steep)
        optimizer = torch.optim.SGD(loss.parameters(), lr=0.1, momentum=0.5)
        stepper = hook_of("MixedPrecisionOptimizationStepper", optimizer, **options)
        outputs = stepped(stepper, loss, count)
        state = stepper.state_dict()
        twin = torch.optim.SGD(_Steep().parameters(), lr=0.3)
        other = hook_of("MixedPrecisionOptimizationStepper", twin, **options)
        other.load_state_dict(state)
        skipped = [stepper.optimizer_step_count, other.optimizer_step_count]
        return {**outputs, "state": _in_words(state), "other": _in_words(other.state_dict()),
                "skipped": str(skipped)}  # fmt: skip

    def empty(**options: Any) -> Any:
        loss = _Steep()
        optimizer = torch.optim.SGD(loss.parameters(), lr=0.1)
        stepper = hook_of("MixedPrecisionOptimizationStepper", optimizer, **options)
        before = [str(stepper.device_type), str(stepper._use_scaler)]
        stepper.load_state_dict({"optimizer": optimizer.state_dict()})
        return str([before, _in_words(stepper.state_dict())])

    def default(*components: Any, **options: Any) -> Any:
        loss = _Steep()
        given = {"optimizer": torch.optim.SGD(loss.parameters(), lr=0.1), **options}
        stepper = hook_of("DefaultOptimizationStepper", *components)
        return stepped(stepper, loss, 2, **given)

    def bare(name: str) -> Any:
        stepper = hook_of("OptimizationStepper")
        trainer, _ = trainer_of(make_env, seed)
        if name == "state":
            stepper.load_state_dict({"a": 1})
            return str(stepper.state_dict())
        if name == "registered":
            stepper.register(trainer)
            return str([sorted(trainer._modules), stepper._trainer is trainer])
        return getattr(stepper, name)(trainer, scored(2, 6))

    calls: Dict[str, Any] = {
        f"bare.{n}": partial(bare, n) for n in ("step", "_step", "state", "registered")
    }
    for label, steep in (("never", ()), ("first", (1,)), ("second", (2,)), ("both", (1, 2))):
        for case, options in (
            ("cut", {"clip_norm": 1.0}), ("free", {"clip_norm": None}),
            ("loose", {"clip_norm": 1e6}),
            ("two", {"gradient_accumulation_steps": 2}), ("half", half),
            ("half_free", {**half, "clip_norm": None}),
            ("half_two", {**half, "gradient_accumulation_steps": 2}),
            ("low", {"mixed_precision": True}),
        ):  # fmt: skip
            calls[f"{label}.{case}"] = partial(mixed, *steep, **options)
    calls["empty"] = empty
    calls["empty.half"] = lambda: empty(**half)
    for label, components in (
        ("all", ()), ("none", (None,)), ("nothing", ([],)), ("first", (["loss_first"],)),
        ("penalty", (["penalty", "loss_second"],)), ("unknown", (["loss_third"],)),
    ):  # fmt: skip
        calls[f"default.{label}"] = partial(default, *components)
    for norm in (True, False):
        for limit in (None, 0.5, 50.0):
            calls[f"default.cut.{norm}.{limit}"] = partial(
                default, clip_grad_norm=norm, clip_norm=limit
            )
    calls["default.without"] = lambda: default(optimizer=None)
    return answers(seed, **calls)


def _padded(make_env: Any, seed: int) -> Dict[str, Any]:
    """Batches of which some steps are padding, in every hook that reads batches."""

    def batch(*lengths: int) -> Any:
        torch.manual_seed(seed)
        given = scored(3, 6)
        mask = torch.arange(6) < torch.tensor(lengths or (6, 4, 2)).unsqueeze(-1)
        given["collector"] = TensorDict({"mask": mask}, [3, 6])
        return given

    def rewards(given: Any, count: int = 1, **options: Any) -> Any:
        hook = hook_of("RewardNormalizer", **{"decay": 0.5, **options})
        for _ in range(count):
            hook.update_reward_stats(given)
        normalised = hook.normalize_reward(given)
        return {"rewards": normalised["next", "reward"], "state": _in_words(hook.state_dict())}

    def elsewhere() -> Any:
        given = scored(2, 6)
        given["gain"] = torch.arange(12.0).reshape(2, 6, 1)
        hook = hook_of("RewardNormalizer", reward_key="gain", scale=2.0, eps=0.1)
        hook.update_reward_stats(given)
        return hook.normalize_reward(given)["gain"]

    def stored(given: Any, **options: Any) -> Any:
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(40), batch_size=4)
        hook = hook_of("ReplayBufferTrainer", buffer, **options)
        returned = hook.extend(given)
        other = hook_of(
            "ReplayBufferTrainer",
            TensorDictReplayBuffer(storage=LazyTensorStorage(40), batch_size=4),
        )
        other.load_state_dict(hook.state_dict())
        return {"shape": str(list(returned.shape)), "count": len(buffer),
                "seen": returned["observation"], "loaded": len(other.replay_buffer),
                "first": other.replay_buffer[0:2]["observation"]}  # fmt: skip

    def cut() -> Any:
        given = scored(2, 6)
        given["next", "truncated"] = torch.zeros(2, 6, 1, dtype=torch.bool)
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(40), batch_size=4)
        hook = hook_of("ReplayBufferTrainer", buffer, flatten_tensordicts=True)
        return hook.extend(given)["next", "truncated"]

    def plain() -> Any:
        buffer = library("torchrl.data", "ReplayBuffer")(
            storage=LazyTensorStorage(40), batch_size=4
        )
        hook = hook_of("ReplayBufferTrainer", buffer)
        hook.extend(scored(8))
        return str([hook.update_priority(scored(8)), len(buffer)])

    def sampled(given: Any, *size: int, **options: Any) -> Any:
        hook = hook_of("BatchSubSampler", *size, **options)
        taken = hook(given)
        return {"shape": str(list(taken.shape)), "seen": taken["observation"]}

    def outputs(given: Any, reduction: str) -> Any:
        hook = hook_of("LogScalar", ("next", "reward"), "r", reduction=reduction, log_pbar=True)
        return str(hook(given))

    def changed() -> Any:
        hook = hook_of("LogScalar", ("next", "reward"), "r")
        hook.reduction = "median"
        return hook(scored(2, 6))

    calls: Dict[str, Any] = {
        "rewards": lambda: rewards(batch()), "rewards.twice": lambda: rewards(batch(), 3),
        "rewards.one": lambda: rewards(scored(1)), "rewards.two": lambda: rewards(scored(2)),
        "rewards.none_left": lambda: rewards(batch(1, 0, 0)), "rewards.elsewhere": elsewhere,
        "rewards.still": lambda: rewards(scored(4), decay=0.0),
        "rewards.deviceless": lambda: rewards(scored(4), decay=1.0),
        "stored.flat": lambda: stored(batch(), flatten_tensordicts=True),
        "stored.deep": lambda: stored(batch(), flatten_tensordicts=False),
        "stored.padded": lambda: stored(scored(3, 6), max_dims=[4, -1]),
        "stored.cut": cut, "stored.plain": plain, "changed": changed,
        "sampled.least": lambda: sampled(batch(), 6, sub_traj_len=4, min_sub_traj_len=3),
        "sampled.row": lambda: sampled(scored(12), 5),
        "sampled.whole": lambda: sampled(batch(6, 6, 6), 12),
        "sampled.invalid": lambda: sampled(batch(6, 1, 1), 12, sub_traj_len=4, min_sub_traj_len=4),
    }  # fmt: skip
    for length in (0, 1, 2, 3, 6):
        for size in (2, 6, 13):
            calls[f"sampled.{length}.{size}"] = partial(sampled, batch(), size, sub_traj_len=length)
            calls[f"sampled.blocks.{length}.{size}"] = partial(
                sampled, scored(2, 2, 6), size, sub_traj_len=length
            )
    for reduction in ("mean", "sum", "min", "max", "median"):
        calls[f"told.{reduction}"] = partial(outputs, batch(), reduction)
    return answers(seed, **calls)


def _loaded(make_env: Any, seed: int) -> Dict[str, Any]:
    """Trainers that load what others saved: momenta, hooks, policies, what is lacking."""

    def trainer(**options: Any) -> Any:
        from rlregress.frameworks.torchrl.api_cases.hooked_trainers import Pull

        loss = Pull()
        optimizer = torch.optim.Adam(loss.parameters(), lr=0.1)
        return trainer_of(
            make_env, seed, **{"optimizer": optimizer, "loss_module": loss, **options}
        )[0]

    def within(given: Any, call: Callable[[], Any]) -> Any:
        """What a call returns after the last batch, before the trainer ends its collector."""
        found: List[Any] = []
        given.register_op("post_steps", lambda: found.append(call()))
        given.train()
        return found[-1]

    def momenta(given: Any) -> str:
        found = given._checkpoint_optimizer()
        return "none" if found is None else _in_words(found.state_dict()["state"])

    def by_state(*gone: str, **options: Any) -> Any:
        first = trainer()
        hook_of("CountFramesLog", frame_skip=3).register(first)
        state = within(first, lambda: deepcopy(first.state_dict()))
        second = trainer(**options)
        hook_of("CountFramesLog", frame_skip=3).register(second)
        second.load_state_dict({k: v for k, v in state.items() if k not in gone})
        return {"momenta": momenta(second), "names": str(sorted(state)),
                "frames": second.collected_frames, "steps": second._optim_count,
                "pulled": second.loss_module.pulled.detach()}  # fmt: skip

    def by_file(backend: str, hooked: bool) -> Any:
        from rlregress.frameworks.torchrl.api_cases.algorithm_trainers import _backend

        with tempfile.TemporaryDirectory() as folder, _backend(backend):
            file = Path(folder) / "trainer"
            first = trainer(save_trainer_file=file, **({"optimizer": None} if hooked else {}))
            if hooked:
                adam = torch.optim.Adam(first.loss_module.parameters(), lr=0.1)
                first.register_op("optimizer", hook_of("OptimizerHook", adam))
                first.register_module("optimizer", hook_of("OptimizerHook", adam))
            within(first, lambda: first.save_trainer(True))
            second = trainer(save_trainer_file=file)
            second.load_from_file(str(file))
            return {"momenta": momenta(second), "frames": second.collected_frames,
                    "pulled": second.loss_module.pulled.detach()}  # fmt: skip

    def by_checkpoint(**options: Any) -> Any:
        checkpoint = library("torchrl.checkpoint", "Checkpoint")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder)
            buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(60), batch_size=4)
            first = trainer(checkpoint=checkpoint(), replay_buffer=buffer)
            first.register_op("batch_process", buffer.extend)
            hook_of("CountFramesLog", frame_skip=3).register(first)
            first._sync_checkpoint_components(first.checkpoint)
            files: List[Path] = []

            def save() -> None:
                files.append(file / str(len(files)))
                first.checkpoint.save(files[-1])

            within(first, save)
            empty = TensorDictReplayBuffer(storage=LazyTensorStorage(60), batch_size=4)
            second = trainer(replay_buffer=empty, **options)
            hook_of("CountFramesLog", frame_skip=3).register(second)
            second.load_from_file(files[-1])
            return {"momenta": momenta(second), "rows": len(empty),
                    "frames": second.collected_frames, "names": str(sorted(
                        first.checkpoint.components
                    )), "pulled": second.loss_module.pulled.detach()}  # fmt: skip

    def components(**given: Any) -> Any:
        one = trainer()
        for name, component in given.items():
            if name == "modules":
                for key, module in component.items():
                    one.register_module(key, module)
            else:
                setattr(one, name, component)
        return str(sorted(one._sync_checkpoint_components(None).components))

    def buffer_hook(inner: bool) -> Any:
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(60), batch_size=4)
        held = hook_of("ReplayBufferTrainer", buffer) if inner else buffer
        return {"modules": {"replay_buffer": held}}

    def ended(state: Dict[str, Any]) -> Any:
        hook = hook_of("EarlyStopping", monitor="loss_pull", wait_for=0, patience=5)
        hook.load_state_dict(state)
        one = trainer(auto_log_optim_steps=True)
        hook.register(one)
        one.train()
        return str([_in_words(hook.state_dict()), one.collected_frames])

    def once_more() -> Any:
        one = trainer(auto_log_optim_steps=True)
        hook = hook_of("EarlyStopping", monitor="loss_pull", wait_for=0, patience=0)
        hook.register(one)
        one.train()
        before = _in_words(hook.state_dict())
        one._stop_training = True
        hook(scored(2, 6))
        return str([before, _in_words(hook.state_dict())])

    keeping: Callable[[], Any] = lambda: hook_of("CountFramesLog", frame_skip=3)  # noqa: E731
    calls: Dict[str, Any] = {
        "state": by_state, "state.momenta_gone": lambda: by_state("optimizer"),
        "state.without": lambda: by_state(optimizer=None), "checkpoint": by_checkpoint,
        "checkpoint.without": lambda: by_checkpoint(optimizer=None),
        "components": components, "components.hook": lambda: components(**buffer_hook(True)),
        "components.buffer": lambda: components(**buffer_hook(False)),
        "components.greedy": lambda: components(greedy_module=nn.Linear(1, 1)),
        "components.noise": lambda: components(exploration_module=nn.Linear(1, 1)),
        "components.both": lambda: components(
            greedy_module=nn.Linear(1, 1), exploration_module=nn.Linear(2, 1)
        ),
        "components.log": lambda: components(logger=object()),
        "components.none": lambda: components(collector=object()),
        "components.modules": lambda: components(
            modules={"frames": keeping(), "remark": object()}
        ),
        "ended": lambda: ended({"best_score": 0.001, "_last_improvement_frame": 3}),
        "ended.empty": lambda: ended({}), "ended.reason": lambda: ended({"stop_reason": "enough"}),
        "ended.later": lambda: ended({"best_score": 100.0, "_last_improvement_frame": 40}),
        "once_more": once_more,
    }  # fmt: skip
    for backend in ("torch", "memmap"):
        for hooked in (True, False):
            calls[f"file.{backend}.{hooked}"] = partial(by_file, backend, hooked)
    return answers(seed, **calls)


def _corners(make_env: Any, seed: int) -> Dict[str, Any]:
    """Trainers without targets, with hooks that tell nothing, with times; recorders, maps."""

    def targetless(algorithm: str, **options: Any) -> Any:
        built, loss = built_by(make_env, seed, algorithm, SETTINGS[algorithm], summing=True)
        kind = library("torchrl.trainers.algorithms", f"{algorithm.upper()}Trainer")
        made(
            kind, collector=built.collector, total_frames=16, loss_module=loss, frame_skip=1,
            optim_steps_per_batch=1, optimizer=torch.optim.SGD(loss.parameters(), lr=0.1),
            target_net_updater=None, progress_bar=False, **options,
        )  # fmt: skip

    def silent() -> Any:
        log = Log()
        trainer, loss = trainer_of(make_env, seed, logger=log, log_interval=1)
        for stage in ("pre_steps_log", "post_steps_log", "post_optim_log", "pre_epoch_log",
                      "post_epoch_log"):  # fmt: skip
            trainer.register_op(stage, lambda batch: None)
        trainer.register_op("post_optim_complete_log", lambda steps, losses: None)
        trainer.train()
        return {"number": loss.pulled.detach(), **logged_values(log)}

    def timed() -> Any:
        clock = library("torchrl._utils", "timeit")
        clock.erase()
        trainer, loss = trainer_of(make_env, seed, log_timings=True)
        trainer.train()
        clock.erase()
        # times differ from run to run: their names do not
        own = sorted(name for name in trainer._log_dict if "hook" in name)
        return str([own, loss.calls])

    def unepoched(**options: Any) -> Any:
        trainer, loss = trainer_of(make_env, seed, **options)
        trainer.train()
        return str([float(loss.pulled), trainer._optim_count, trainer.collected_frames])

    def resolved(path: str) -> Any:
        trainer, _ = trainer_of(make_env, seed)
        return type(library(_ENGINE, "_resolve_module")(trainer, path)).__name__

    def mapped(weights: Dict[str, str]) -> Any:
        trainer, loss = trainer_of(make_env, seed)
        sent: List[Any] = []

        class Receiving:
            """What is sent weights by name."""

            def update_policy_weights_(self, weights_dict: Any = None) -> None:
                """Note what came."""
                sent.append({k: _in_words(v.to_dict()) for k, v in weights_dict.items()})

        hook = hook_of("UpdateWeights", Receiving(), 1, weight_update_map=weights, trainer=trainer)
        hook()
        with torch.no_grad():
            loss.pulled.add_(1.0)
        hook()
        return str(sent)

    def estimated(estimator: Any) -> Any:
        hook = hook_of("ValueEstimatorHook", estimator)
        state = _in_words(hook.state_dict())
        hook.load_state_dict({})
        return str([state, hook(None) is None])

    def abstract(name: str) -> Any:
        base = library(_ENGINE, "TrainerHookBase")

        class Hook(base):  # type: ignore[misc, valid-type]
            """A hook with nothing of its own."""

            def state_dict(self) -> Any:
                """That of the base."""
                return super().state_dict()

            def load_state_dict(self, state: Any) -> Any:
                """That of the base."""
                return super().load_state_dict(state)

            def register(self, trainer: Any, name: str) -> Any:
                """That of the base."""
                return super().register(trainer, name)

        given: Dict[str, Any] = {"load_state_dict": ({},), "register": (None, "own")}
        return getattr(Hook(), name)(*given.get(name, ()))

    def erased(erase: bool) -> Any:
        timeit = library("torchrl._utils", "timeit")
        timeit.erase()
        with timeit("own/clock"):
            pass
        hook = hook_of("LogTiming", prefix="clock", percall=True, erase=erase)
        found = [sorted(hook()), sorted(timeit.todict())]
        timeit.erase()
        return str(found)

    calls: Dict[str, Any] = {
        "silent": silent, "timed": timed, "resolved": lambda: resolved("loss_module.pulled"),
        "resolved.one": lambda: resolved("collector"), "resolved.none": lambda: resolved("own.one"),
        "mapped": lambda: mapped({"policy": "loss_module"}),
        "mapped.two": lambda: mapped({"policy": "loss_module", "other": "loss_module"}),
        "estimated": lambda: estimated(estimator_of("TD0Estimator", value())),
        "estimated.function": lambda: estimated(len), "erased": lambda: erased(True),
        "kept": lambda: erased(False),
        "rayless": lambda: unepoched(learner_backend="ray", optim_steps_per_batch=True),
        "rayless.none": lambda: unepoched(learner_backend="ray", optim_steps_per_batch=0),
        "rayless.bufferless": lambda: unepoched(learner_backend="ray"),
        "no_steps": lambda: unepoched(optim_steps_per_batch=0),
        "no_epochs": lambda: unepoched(num_epochs=0),
    }  # fmt: skip
    for name in ("state_dict", "load_state_dict", "register"):
        calls[f"abstract.{name}"] = partial(abstract, name)
    for algorithm in ("sac", "td3"):
        calls[f"targetless.{algorithm}"] = partial(targetless, algorithm)
        calls[f"targetless.{algorithm}.ray"] = partial(
            targetless, algorithm, learner_backend="ray", async_collection=True
        )
    return answers(seed, **calls)


API_CASES = {
    "steep-losses": _steps,
    "padded-batches-in-hooks": _padded,
    "loaded-trainers": _loaded,
    "corners-of-trainers": _corners,
}
