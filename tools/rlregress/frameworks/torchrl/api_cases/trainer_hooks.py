"""Hooks of trainers, and what makes their updates: by themselves, and in a trainer."""

from __future__ import annotations

import contextlib
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Dict, List

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    Collector,
    GymWrapper,
    LazyTensorStorage,
    TensorDict,
    TensorDictModule,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.api_cases.collectors import Drawn
from rlregress.frameworks.torchrl.api_cases.hooked_trainers import (
    SETTINGS,
    built_by,
    summed,
    trainer_of,
)
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    action_value,
    answers,
    at,
    deterministic,
    scored,
    steps,
)


def hook_of(name: str, *arguments: Any, **options: Any) -> Any:
    """A hook of trainers, by keywords that the version has."""
    return made(library("torchrl.trainers.trainers", name), *arguments, **options)


def _batch(marked: bool = False) -> Any:
    """Two trajectories, of which perhaps only some steps were collected."""
    batch = scored(2, 6)
    if marked:
        mask = torch.ones(2, 6, dtype=torch.bool)
        mask[1, 3:] = False
        batch["collector"] = TensorDict({"mask": mask}, [2, 6])
    return batch


def _numbers_of_the_log(make_env: Any, seed: int) -> Dict[str, Any]:
    """What hooks tell the log: rewards in every reduction, of all steps and of those collected."""

    def outputs(marked: bool, **options: Any) -> Any:
        return hook_of("LogScalar", **options)(_batch(marked))

    def counted(marked: bool) -> Any:
        hook = hook_of("CountFramesLog", frame_skip=4)
        first, second = hook(_batch(marked)), hook(_batch())
        other = hook_of("CountFramesLog", frame_skip=4)
        other.load_state_dict(hook.state_dict())
        return [first, second, other(_batch())]

    calls: Dict[str, Any] = {
        "action": lambda: outputs(False, key="action", logname="move", include_std=False),
        "unknown": lambda: outputs(False, reduction="median"),
        "selected": lambda: sorted(map(str, hook_of("SelectKeys", ["action"])(_batch()).keys())),
        "word": lambda: hook_of("SelectKeys", "action"),
    }
    for marked in (False, True):
        calls[f"count.{marked}"] = partial(counted, marked)
        for reduction in ("mean", "sum", "min", "max"):
            calls[f"{reduction}.{marked}"] = partial(outputs, marked, reduction=reduction)
    return answers(seed, **calls)


def _rewards_of_a_validation(make_env: Any, seed: int) -> Dict[str, Any]:
    """A hook that plays episodes of its own at every second batch, saved and gone on from."""
    transformed, compose = (library("torchrl.envs", n) for n in ("TransformedEnv", "Compose"))
    types = library("torchrl.envs.utils", "ExplorationType")

    def hook(**options: Any) -> Any:
        environment = transformed(GymWrapper(make_env(), device="cpu"), compose())
        environment.set_seed(seed)
        return hook_of(
            "LogValidationReward", record_interval=2, record_frames=12, frame_skip=3,
            environment=environment, exploration_type=types.RANDOM,
            policy_exploration=TensorDictModule(Drawn(), ["observation"], ["action"]), **options,
        )  # fmt: skip

    def outputs(**options: Any) -> Any:
        one = hook(**options)
        return [one(_batch()) for _ in range(3)]

    def saved() -> Any:
        one, other = hook(), hook()
        one(_batch())
        other.load_state_dict(one.state_dict())
        return [one(_batch()), other(_batch())]

    return answers(
        seed, told=outputs, bar=lambda: outputs(log_pbar=True),
        keys=lambda: outputs(log_keys=[("next", "reward"), ("next", "done")]), saved=saved,
    )  # fmt: skip


def numbers_of(loss: Any) -> Any:
    """All parameters of a loss in a row."""
    return torch.cat([parameter.detach().flatten() for parameter in loss.parameters()])


class _Two(nn.Module):
    """A loss of two parts."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.tensor([3.0, -2.0]))
        self.second = nn.Parameter(torch.tensor([0.5, 20.0]))

    def forward(self, batch: Any) -> Any:
        """Squares of the numbers, and a number for the log."""
        first, second = (self.first**2).sum(), (self.second**2).sum()
        return TensorDict({"loss_first": first, "loss_second": second, "seen": second.detach()}, [])


def _updates_by_hooks(make_env: Any, seed: int) -> Dict[str, Any]:
    """Updates of all parts of a loss and of one of them; gradients cut by norm and by value."""

    def updated(*arguments: Any, norm: bool = True, limit: Any = None) -> Any:
        loss = _Two()
        optimizer = torch.optim.SGD(loss.parameters(), lr=0.1)
        hook = hook_of("OptimizerHook", optimizer, *arguments)
        returned = hook(loss(None), norm, limit, 0)
        return {
            "first": loss.first.detach(), "second": loss.second.detach(),
            **{key: item.detach() for key, item in returned.items()},
        }  # fmt: skip

    def saved() -> Any:
        losses = [_Two(), _Two()]
        hooks = [
            hook_of("OptimizerHook", torch.optim.Adam(loss.parameters(), lr=0.1)) for loss in losses
        ]
        for _ in range(2):
            hooks[0](losses[0](None), True, None, 0)
        hooks[1].load_state_dict(hooks[0].state_dict())
        hooks[1](losses[1](None), True, None, 0)
        return numbers_of(losses[1])

    return answers(
        seed,
        all=updated,
        one=lambda: updated(["loss_first"]),
        none=lambda: updated([]),
        norm=lambda: updated(limit=0.5),
        values=lambda: updated(norm=False, limit=0.5),
        saved=saved,
    )


def _steppers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Steppers of lower precision, of several batches to a step, and with what is not finite."""

    def stepper(loss: Any, **options: Any) -> Any:
        optimizer = torch.optim.SGD(loss.parameters(), lr=0.1)
        return hook_of("MixedPrecisionOptimizationStepper", optimizer, **options)

    def stepped(count: int = 2, broken: bool = False, **options: Any) -> Any:
        loss = _Two()
        stepping = stepper(loss, **options)
        trainer, _ = trainer_of(make_env, seed)
        trainer.loss_module = loss
        observed = []
        for k in range(count):
            if broken and k == 0:
                with torch.no_grad():
                    loss.second[0] = float("inf")
            observed.append(dict(stepping.step(trainer, _batch()).items()))
        steps = stepping.optimizer_step_count
        return {"numbers": numbers_of(loss), "steps": steps, "told": observed,
                "state": stepping.state_dict()}  # fmt: skip

    return answers(
        seed,
        plain=stepped,
        free=lambda: stepped(clip_norm=None),
        low=lambda: stepped(mixed_precision=True),
        several=lambda: stepped(4, gradient_accumulation_steps=2),
        between=lambda: stepped(3, gradient_accumulation_steps=2),
        broken=lambda: stepped(broken=True),
        none=lambda: stepped(gradient_accumulation_steps=0),
    )


def _td3_steps(make_env: Any, seed: int) -> Dict[str, Any]:
    """TD3's stepper: the policy's delay, gradients cut by norm and by value, saved and loaded."""
    kind = library("torchrl.trainers.algorithms.td3", "TD3OptimizationStepper")

    def made_loss() -> Any:
        loss = library("torchrl.objectives", "TD3Loss")(
            deterministic(), action_value(), bounds=(-1.0, 1.0)
        )
        loss.make_value_estimator(gamma=0.9)
        return loss

    def stepper(loss: Any, **options: Any) -> Any:
        groups = loss.actor_network_params, loss.qvalue_network_params
        return made(
            kind,
            *(torch.optim.Adam(list(group.values(True, True)), lr=0.1) for group in groups),
            **options,
        )

    def taken(stepping: Any, loss: Any, count: int, norm: bool, limit: Any) -> None:
        trainer, _ = trainer_of(make_env, seed)
        trainer.loss_module, trainer.clip_grad_norm, trainer.clip_norm = loss, norm, limit
        torch.manual_seed(seed)
        for _ in range(count):
            stepping.step(trainer, steps(6, done=at((6,), 2), terminated=at((6,), 2)))

    def stepped(norm: bool = True, limit: Any = None, **options: Any) -> Any:
        loss = made_loss()
        taken(stepper(loss, **options), loss, 3, norm, limit)
        return numbers_of(loss)

    def saved() -> Any:
        loss = made_loss()
        first = stepper(loss)
        taken(first, loss, 3, True, None)
        second = stepper(loss)
        second.load_state_dict(first.state_dict())
        taken(second, loss, 2, True, None)
        return {"numbers": numbers_of(loss), "count": second.state_dict()["update_counter"]}

    def prioritised() -> Any:
        loss, batch = made_loss(), steps(6, done=at((6,), 2), terminated=at((6,), 2))
        trainer, _ = trainer_of(make_env, seed)
        trainer.loss_module, trainer.replay_buffer = (
            loss,
            TensorDictReplayBuffer(storage=LazyTensorStorage(12), batch_size=4),
        )
        stepper(loss).step(trainer, batch)
        return batch["td_error"]

    return answers(
        seed,
        plain=stepped,
        prioritised=prioritised,
        delayed=lambda: stepped(policy_update_delay=3),
        norm=lambda: stepped(limit=0.05),
        values=lambda: stepped(norm=False, limit=0.005),
        saved=saved,
    )


def _rates_and_ends(make_env: Any, seed: int) -> Dict[str, Any]:
    """Learning rates that fall batch by batch and update by update; trainings that end early."""

    def falling(**options: Any) -> Any:
        recorded: List[float] = []
        trainer, loss = trainer_of(make_env, seed, init_random_frames=options.pop("random", 0))
        scheduler = torch.optim.lr_scheduler.ExponentialLR(trainer.optimizer, 0.5)
        hook_of("LRSchedulerHook", scheduler, **options).register(trainer)
        trainer.register_op(
            "post_steps", lambda: recorded.append(float(scheduler.get_last_lr()[0]))
        )
        trainer.train()
        return torch.tensor([*recorded, float(loss.pulled.detach())])

    def ended(**options: Any) -> Any:
        trainer, loss = trainer_of(make_env, seed)
        hook_of("LogScalar", ("next", "reward"), "seen").register(trainer)
        hook = hook_of("EarlyStopping", monitor="seen", wait_for=0, **options)
        hook.register(trainer)
        trainer.train()
        reason = str(hook.stop_reason), str(hook.best_score)
        return {"frames": trainer.collected_frames, "number": loss.pulled.detach(), "why": reason}

    return answers(
        seed,
        batch=falling,
        optim=lambda: falling(interval="optim"),
        random=lambda: falling(interval="batch", random=24),
        unknown=lambda: falling(interval="epoch"),
        patient=lambda: ended(patience=1000),
        impatient=lambda: ended(patience=0, min_delta=100.0),
        lower=lambda: ended(patience=0, mode="min", min_delta=100.0),
        other=lambda: ended(mode="mean"),
    )


class Log:
    """What a trainer tells its logger."""

    exp_name = "part"

    def __init__(self) -> None:
        self.values: Dict[str, List[float]] = {}

    def log_scalar(self, name: str, value: Any, step: Any = None) -> None:
        """Note a number; times differ from run to run."""
        if "time" not in name and "fps" not in name:
            self.values.setdefault(name, []).append(float(value))

    def log_hparams(self, parameters: Any) -> None:
        """Nothing."""


def logged_values(log: Log) -> Dict[str, Any]:
    """What a log was told, each name an item: in a mapping within an item numbers do not count."""
    return {f"log.{name}": numbers for name, numbers in sorted(log.values.items())}


def again(built: Any, loss: Any, algorithm: str, **options: Any) -> Any:
    """Another trainer of 32 frames, of what one of an algorithm was made of."""
    names = ["replay_buffer", "target_net_updater", "exploration_module"]
    # TD3's makes its updates by optimisers of its own
    names += ["optimization_stepper"] if algorithm == "td3" else []
    own = {n: getattr(built, n) for n in names if getattr(built, n, None) is not None}
    if algorithm != "td3":
        own["optimizer"] = torch.optim.Adam(loss.parameters(), lr=0.01)
    given = {"enable_logging": False, **options}
    return made(
        type(built), collector=built.collector, total_frames=32, loss_module=loss, frame_skip=1,
        optim_steps_per_batch=1, progress_bar=False, **own, **given,
    )  # fmt: skip


def _logged_trainings(make_env: Any, seed: int) -> Dict[str, Any]:
    """What the trainers of the algorithms log of rewards, actions and observations."""

    def outputs(algorithm: str, **options: Any) -> Any:
        built, loss = built_by(make_env, seed, algorithm, SETTINGS[algorithm], summing=True)
        log = Log()
        given = {"logger": log, "log_interval": 1, "enable_logging": True, **options}
        again(built, loss, algorithm, **given).train()
        return log.values

    calls: Dict[str, Any] = {}
    for algorithm in SETTINGS:
        calls[algorithm] = partial(outputs, algorithm)
        for name in ("log_rewards", "log_actions", "log_observations"):
            for wanted in (True, False):
                calls[f"{algorithm}.{name}.{wanted}"] = partial(
                    outputs, algorithm, **{name: wanted}
                )
    return answers(seed, **calls)


def _whole_files(make_env: Any, seed: int) -> Dict[str, Any]:
    """Trainers of the algorithms whose whole state is written to a folder and read from it."""
    kind = library("torchrl.checkpoint", "Checkpoint")

    def trainer(algorithm: str, folder: Path) -> Any:
        built, loss = built_by(make_env, seed, algorithm, SETTINGS[algorithm], summing=True)
        given = {"save_trainer_file": folder / "state", "save_trainer_interval": 8}
        # the first trainer ends its collector when it is gone
        return again(built, loss, algorithm, checkpoint=kind(), **given), loss, built

    def restored(algorithm: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            first, loss, _ = trainer(algorithm, Path(folder))
            first.train()
            second, other, _built = trainer(algorithm, Path(folder))
            before = numbers_of(other)
            second.load_from_file(Path(folder) / "state")
            found = sorted(str(path.relative_to(folder)) for path in Path(folder).glob("state/*"))
        return {"own": numbers_of(loss), "before": before, "after": numbers_of(other),
                "frames": second.collected_frames, "optim": second._optim_count,
                "log": str(second._last_log), "files": str(found)}  # fmt: skip

    return answers(seed, **{name: partial(restored, name) for name in SETTINGS})


def _logged_values(make_env: Any, seed: int) -> Dict[str, Any]:
    """What the trainer of DDPG logs, under its own keys and under others."""
    hard = library("torchrl.objectives", "HardUpdate")

    def outputs(**options: Any) -> Any:
        loss = library("torchrl.objectives", "DDPGLoss")(deterministic(), action_value())
        loss.make_value_estimator(gamma=0.9)
        log = Log()
        trainer = made(
            library("torchrl.trainers.algorithms", "DDPGTrainer"), frame_skip=1, logger=log,
            collector=_summing(make_env, seed, loss.actor_network), total_frames=32, seed=seed,
            optim_steps_per_batch=1, progress_bar=False, log_interval=1, enable_logging=True,
            loss_module=loss, optimizer=torch.optim.Adam(loss.parameters(), lr=0.01),
            target_net_updater=hard(loss, value_network_update_interval=2),
            replay_buffer=TensorDictReplayBuffer(storage=LazyTensorStorage(40), batch_size=4),
            **options,
        )  # fmt: skip
        trainer.train()
        return log.values

    calls: Dict[str, Any] = {
        "plain": outputs,
        "done": partial(outputs, done_key="terminated"),
        "seen": partial(outputs, observation_key="action", log_observations=True),
    }
    for name in ("log_rewards", "log_actions", "log_observations"):
        for wanted in (True, False):
            calls[f"{name}.{wanted}"] = partial(outputs, **{name: wanted})
    return answers(seed, **calls)


def _summing(make_env: Any, seed: int, policy: Any) -> Any:
    """A small collector whose environment sums the rewards."""
    environment = summed(GymWrapper(make_env(), device="cpu"))
    environment.set_seed(seed)
    return Collector(environment, policy, frames_per_batch=8, total_frames=32)


def _files(make_env: Any, seed: int) -> Dict[str, Any]:
    """When a trainer writes its file: after how many frames, and at the end."""

    def written(interval: int) -> Any:
        times: List[int] = []
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trainer.pt"
            trainer, loss = trainer_of(
                make_env, seed, save_trainer_file=file, save_trainer_interval=interval
            )

            def look() -> None:
                with contextlib.suppress(OSError):
                    times.append(int(file.stat().st_size > 0))

            trainer.register_op("post_steps", look)
            trainer.train()
            other, moved = trainer_of(make_env, seed, save_trainer_file=file)
            if file.exists():
                other.load_from_file(file, weights_only=False)
        return {"times": times, "frames": other.collected_frames,
                "number": moved.pulled.detach(), "own": loss.pulled.detach()}  # fmt: skip

    return answers(
        seed, **{str(interval): partial(written, interval) for interval in (0, 13, 24, 1000)}
    )


API_CASES = {
    "numbers-of-the-log": _numbers_of_the_log,
    "rewards-of-a-validation": _rewards_of_a_validation,
    "updates-by-hooks": _updates_by_hooks,
    "steppers": _steppers,
    "steps-of-td3": _td3_steps,
    "rates-and-ends": _rates_and_ends,
    "files-of-a-trainer": _files,
    "logged-trainings": _logged_trainings,
    "logged-values": _logged_values,
    "whole-files-of-trainers": _whole_files,
}
