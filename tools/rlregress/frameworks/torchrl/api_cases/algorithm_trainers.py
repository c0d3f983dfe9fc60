"""Trainers of the algorithms with options that few set: DQN's, rates, files, other batches."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List
from unittest import mock

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    GAE,
    Collector,
    GymWrapper,
    LazyTensorStorage,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.api_cases.collectors import small_collector
from rlregress.frameworks.torchrl.api_cases.hooked_trainers import (
    SETTINGS,
    built_by,
    summed,
    trainer_of,
)
from rlregress.frameworks.torchrl.api_cases.trainer_hooks import (
    Log,
    again,
    hook_of,
    logged_values,
    numbers_of,
)
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import answers, scored, steps


def _buffer(size: int = 4, **options: Any) -> Any:
    return TensorDictReplayBuffer(storage=LazyTensorStorage(60), batch_size=size, **options)


# -- DQN ----------------------------------------------------------------------------------------


def _chooser(environment: Any) -> Any:
    """An actor of choices for an environment."""
    from torchrl.modules import QValueActor

    network = nn.Sequential(
        nn.Linear(3, 8), nn.Tanh(), nn.LazyLinear(environment.action_spec.shape[-1])
    )
    network(torch.zeros(1, 3))
    return QValueActor(network, in_keys=["observation"], spec=environment.action_spec)


def _dqn_trainer(
    make_env: Any, seed: int, greedy: bool = True, updater: bool = True, **options: Any
) -> Any:
    """DQN's trainer of 32 frames, what it logs, its loss and its greedy choices."""
    from tensordict.nn import TensorDictSequential

    torch.manual_seed(seed)
    environment = summed(GymWrapper(make_env(discrete=True), device="cpu"))
    environment.set_seed(seed)
    actor = _chooser(environment)
    loss = library("torchrl.objectives", "DQNLoss")(
        actor, action_space=environment.action_spec, delay_value=True
    )
    loss.make_value_estimator(gamma=0.9)
    chance = library("torchrl.modules", "EGreedyModule")(
        spec=environment.action_spec, eps_init=0.9, eps_end=0.1, annealing_num_steps=20
    )
    policy = TensorDictSequential(actor, chance) if greedy else actor
    soft, log = library("torchrl.objectives", "SoftUpdate"), Log()
    given = {
        "target_net_updater": soft(loss, eps=0.8) if updater else None,
        "greedy_module": chance if greedy else None,
        "replay_buffer": _buffer(sampler=library("torchrl.data", "RandomSampler")()),
        "optimizer": torch.optim.Adam(loss.parameters(), lr=0.01),
        "logger": log, "log_interval": 1, "optim_steps_per_batch": 2, "seed": seed, **options,
    }  # fmt: skip
    trainer = made(
        library("torchrl.trainers.algorithms", "DQNTrainer"), loss_module=loss, total_frames=32,
        collector=Collector(environment, policy, frames_per_batch=8, total_frames=32),
        frame_skip=1, progress_bar=False, **given,
    )  # fmt: skip
    return trainer, log, loss, chance


def _dqn(make_env: Any, seed: int) -> Dict[str, Any]:
    """DQN's trainer: greedy or not, with and without a buffer, rewards of agents, other keys."""

    def trained(**options: Any) -> Any:
        trainer, log, loss, chance = _dqn_trainer(make_env, seed, **options)
        trainer.train()
        target = loss.target_value_network_params.flatten_keys(".").values()
        return {
            "numbers": numbers_of(loss), "rate": chance.eps.clone(), **logged_values(log),
            "target": torch.cat([parameter.detach().flatten() for parameter in target]),
        }  # fmt: skip

    def aggregated(strategy: str, **options: Any) -> Any:
        keys = {"aggregated_reward_key": "reward_all", "aggregated_episode_reward_key": "sum_all"}
        trainer, log, _, _ = _dqn_trainer(
            make_env, seed, mixing_strategy=strategy, **{**keys, **options}
        )
        batch = steps(2, 6)
        batch["next", "reward"] = torch.arange(36.0).reshape(2, 6, 3, 1)
        if strategy == "vdn":
            batch["next", "reward_sum"] = torch.arange(36.0).reshape(2, 6, 3, 1) + 0.5
        found = trainer._process_batch_hook(batch)
        names = sorted(map(str, found["next"].keys()))
        if "reward_all" not in names:
            return str(names)
        return {"names": str(names), "reward": found["next", "reward_all"], **logged_values(log)}

    without = dict.fromkeys(("aggregated_reward_key", "aggregated_episode_reward_key"))
    calls: Dict[str, Any] = {
        "plain": trained, "sure": lambda: trained(greedy=False),
        "without_updater": lambda: trained(updater=False),
        "without_log": lambda: trained(enable_logging=False),
        "terminated": lambda: trained(done_key="terminated"),
        "episodes": lambda: trained(episode_reward_key="episode_reward"),
        "clipped": lambda: trained(clip_norm=0.01),
        "clipped_values": lambda: trained(clip_norm=0.01, clip_grad_norm=False),
        "skipping": lambda: trained(greedy=True, optim_steps_per_batch=1),
    }  # fmt: skip
    for strategy in ("qmix", "vdn", "mean"):
        calls[f"agents.{strategy}"] = partial(aggregated, strategy)
        calls[f"agents.{strategy}.keyless"] = partial(aggregated, strategy, **without)
    for name in ("log_rewards", "log_observations"):
        for wanted in (True, False):
            calls[f"{name}.{wanted}"] = partial(trained, **{name: wanted})
    return answers(seed, **calls)


# -- other batches ------------------------------------------------------------------------------


def _elsewhere(make_env: Any, seed: int) -> Dict[str, Any]:
    """Trainers whose batches are collected elsewhere: updates of what is in their buffer."""

    def filled(algorithm: str) -> Any:
        buffer = _buffer()
        torch.manual_seed(seed)
        batch = (scored if algorithm == "ppo" else steps)(24)
        for name in ("episode_reward", "reward_sum"):
            batch["next", name] = batch["next", "reward"].cumsum(0)
        buffer.extend(batch)
        return buffer

    def updated(algorithm: str, **options: Any) -> Any:
        built, loss = built_by(make_env, seed, algorithm, SETTINGS[algorithm], summing=True)
        log = Log()
        given = {"logger": log, "log_interval": 0, "enable_logging": True, **options}
        built.replay_buffer = filled(algorithm)
        trainer = again(built, loss, algorithm, async_collection=True, **given)
        trainer.collected_frames = 8
        torch.manual_seed(seed)
        trainer._pre_steps_log_hook(None)
        trainer.optim_steps(None)
        trainer._post_steps_hook()
        return {"numbers": numbers_of(loss), **logged_values(log)}

    def choices(**options: Any) -> Any:
        trainer, log, loss, _ = _dqn_trainer(
            make_env, seed, async_collection=True, log_interval=0, **options
        )
        environment = trainer.collector.env
        trainer.replay_buffer.extend(environment.rollout(12, break_when_any_done=False))
        trainer.collected_frames = 12
        trainer._pre_steps_log_hook(None)
        trainer.optim_steps(None)
        return {"numbers": numbers_of(loss), **logged_values(log)}

    calls: Dict[str, Any] = {"dqn": choices, "dqn.observed": lambda: choices(log_observations=True)}
    for algorithm in SETTINGS:
        calls[algorithm] = partial(updated, algorithm)
        for name in ("log_rewards", "log_actions", "log_observations"):
            for wanted in (True, False):
                calls[f"{algorithm}.{name}.{wanted}"] = partial(
                    updated, algorithm, **{name: wanted}
                )
    return answers(seed, **calls)


def _written_by_collectors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Trainers whose collector writes into the buffer itself and hands on nothing."""

    def trained(own: bool, **options: Any) -> Any:
        buffer = _buffer()
        collector = small_collector(make_env, seed, replay_buffer=buffer)
        recorded: List[int] = []
        trainer, loss = trainer_of(
            make_env, seed, collector=collector, **({"replay_buffer": buffer} if own else {}),
            **options,
        )  # fmt: skip
        trainer.register_op("process_optim_batch", lambda batch: buffer.sample())
        trainer.register_op("post_steps", lambda: recorded.append(trainer.collected_frames))
        trainer.train()
        return {"frames": recorded, "number": loss.pulled.detach(), "steps": trainer._optim_count}

    def ratio(batch_size: Any) -> Any:
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(60), batch_size=batch_size)
        trainer, _ = trainer_of(make_env, seed, replay_buffer=buffer)
        hook = hook_of("UTDRHook", trainer)
        first = dict(hook(None))
        buffer.extend(steps(12))
        trainer._optim_count = 5
        return str([sorted(first.items()), sorted(hook(None).items())])

    def ratio_of_the_collector() -> Any:
        buffer = _buffer()
        collector = small_collector(make_env, seed, replay_buffer=buffer)
        trainer, _ = trainer_of(make_env, seed, collector=collector)
        buffer.extend(steps(6))
        return str(sorted(hook_of("UTDRHook", trainer)(None).items()))

    return answers(
        seed,
        own=lambda: trained(True), collectors=lambda: trained(False),
        epochs=lambda: trained(True, num_epochs=2), long=lambda: trained(True, total_frames=20),
        ratio=lambda: ratio(4), ratio_without=lambda: ratio(None),
        ratio_of_the_collector=ratio_of_the_collector,
    )  # fmt: skip


# -- options ------------------------------------------------------------------------------------


def _on_policy(make_env: Any, seed: int) -> Dict[str, Any]:
    """Trainers of PPO and A2C: rates, estimators and updaters of the user's own, keys, maps."""

    class Doubling(nn.Module):
        """An estimator without keys."""

        def forward(self, batch: Any) -> Any:
            """Twice the rewards."""
            reward = batch["next", "reward"]
            return batch.set("advantage", 2.0 * reward).set("value_target", reward)

    def trained(name: str, make: Callable[[Any, Any], Dict[str, Any]], **loss_given: Any) -> Any:
        built, loss = built_by(make_env, seed, "ppo", SETTINGS["ppo"], summing=True)
        kind = library("torchrl.objectives", "A2CLoss" if name == "A2C" else "ClipPPOLoss")
        loss = kind(loss.actor_network, loss.critic_network, **loss_given)
        optimizer = torch.optim.SGD(loss.parameters(), lr=0.1)
        sampler = library("torchrl.data", "SamplerWithoutReplacement")()
        buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(16), sampler=sampler, batch_size=8
        )
        log = Log()
        given = {
            "optimizer": optimizer, "replay_buffer": buffer, "logger": log, "log_interval": 1,
            "enable_logging": True, "num_epochs": 1, **make(loss, optimizer),
        }  # fmt: skip
        trainer = made(
            library("torchrl.trainers.algorithms", f"{name}Trainer"), collector=built.collector,
            total_frames=32, loss_module=loss, frame_skip=1, optim_steps_per_batch=2, seed=seed,
            progress_bar=False, **given,
        )  # fmt: skip
        trainer.train()
        return {"numbers": numbers_of(loss), **logged_values(log),
                "rate": optimizer.param_groups[0]["lr"], "epochs": trainer.num_epochs,
                "steps": trainer._optim_count}  # fmt: skip

    soft = library("torchrl.objectives", "SoftUpdate")
    falling = torch.optim.lr_scheduler.ExponentialLR
    options: Dict[str, Callable[[Any, Any], Dict[str, Any]]] = {
        "plain": lambda loss, o: {}, "epochs": lambda loss, o: {"num_epochs": None},
        "rates": lambda loss, o: {"lr_scheduler": falling(o, 0.5)},
        "discount": lambda loss, o: {"gamma": 0.5, "lmbda": 0.2},
        "own": lambda loss, o: {
            "gae": GAE(gamma=0.5, lmbda=0.2, value_network=loss.critic_network)
        },
        "doubling": lambda loss, o: {"gae": Doubling()},
        "none": lambda loss, o: {"add_gae": False},
        "both": lambda loss, o: {"add_gae": False, "gae": Doubling()},
        "size": lambda loss, o: {"batch_size": 4}, "map": lambda loss, o: {"weight_update_map": {}},
        "buffer": lambda loss, o: {"replay_buffer": _buffer(8)},
        "bufferless": lambda loss, o: {"replay_buffer": None},
        "keys": lambda loss, o: {"done_key": "terminated", "episode_reward_key": "reward_sum"},
        "reward": lambda loss, o: {"reward_key": "reward_sum"},
        "silent": lambda loss, o: {"enable_logging": False},
        "clipped": lambda loss, o: {"clip_norm": 0.01},
        "values": lambda loss, o: {"clip_norm": 0.01, "clip_grad_norm": False},
        "times": lambda loss, o: {"auto_log_optim_steps": False},
    }  # fmt: skip
    calls: Dict[str, Any] = {
        f"PPO.{label}": partial(trained, "PPO", make) for label, make in options.items()
    }
    # the rest they have in common
    for label in ("plain", "epochs", "none", "keys"):
        calls[f"A2C.{label}"] = partial(trained, "A2C", options[label])
    calls["PPO.updater"] = partial(
        trained, "PPO", lambda loss, o: {"target_net_updater": soft(loss, eps=0.6)},
        delay_actor=True,
    )  # fmt: skip
    return answers(seed, **calls)


def _backend(name: str) -> Any:
    """Files of trainers as a variable of the environment says."""
    return mock.patch.dict(os.environ, {"CKPT_BACKEND": name})


def _folders(make_env: Any, seed: int) -> Dict[str, Any]:
    """Files of trainers of every kind: mapped into memory, rotated, with notes, of no kind."""
    checkpoint, rotation = (
        library("torchrl.checkpoint", name) for name in ("Checkpoint", "CheckpointRotation")
    )

    def described(folder: str) -> str:
        # files of tensors have names that differ between versions of the library below
        found = (path.relative_to(folder) for path in Path(folder).rglob("*"))
        return str(sorted(str(path) for path in found if len(path.parts) < 3))

    def written(backend: str, **load: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder, _backend(backend):
            file = Path(folder) / "trainer"
            trainer, loss = trainer_of(
                make_env, seed, save_trainer_file=file, save_trainer_interval=8
            )
            hook_of("CountFramesLog", frame_skip=3).register(trainer)
            trainer.train()
            other, moved = trainer_of(make_env, seed, save_trainer_file=file)
            hook = hook_of("CountFramesLog", frame_skip=3)
            hook.register(other)
            other.load_from_file(file, **load)
            return {"own": loss.pulled.detach(), "loaded": moved.pulled.detach(),
                    "frames": other.collected_frames, "steps": other._optim_count,
                    "counted": str(hook.state_dict()), "files": described(folder)}  # fmt: skip

    def rotated(note: Any = None, **options: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            given = {"checkpoint_metadata": note} if note is not None else {}
            kept = rotation(folder, **{"keep_last": 2, **options})
            trainer, loss = trainer_of(
                make_env, seed, checkpoint=checkpoint(), checkpoint_rotation=kept,
                save_trainer_interval=8, **given,
            )  # fmt: skip
            trainer.train()
            other, moved = trainer_of(make_env, seed, checkpoint=checkpoint())
            other.load_from_file(kept.latest())
            files = sorted(path.name for path in Path(folder).iterdir())
            return {"own": loss.pulled.detach(), "loaded": moved.pulled.detach(),
                    "frames": other.collected_frames, "files": str(files),
                    "notes": str(trainer._checkpoint_manifest_metadata())}  # fmt: skip

    def unlike() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trainer"
            trainer, _ = trainer_of(make_env, seed, checkpoint=checkpoint())
            trainer.register_module("remark", object())
            trainer.checkpoint.save(file)
            other, moved = trainer_of(make_env, seed)
            other.load_from_file(file, strict=False)
            names = sorted(trainer.checkpoint.components)
            return {"names": str(names), "loaded": moved.pulled.detach()}

    def both() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return trainer_of(
                make_env, seed, checkpoint=checkpoint(), save_trainer_file=Path(folder) / "one",
                checkpoint_rotation=rotation(folder, keep_last=1),
            )[1].calls  # fmt: skip

    return answers(
        seed,
        torch=lambda: written("torch"), whole=lambda: written("torch", weights_only=False),
        unmapped=lambda: written("torch", mmap=False), mapped=lambda: written("memmap"),
        unknown=lambda: written("clay"), lacking=lambda: written("torchsnapshot"),
        rotated=rotated, single=lambda: rotated(keep_last=1),
        noted=lambda: rotated(lambda trainer: {"score": -trainer.collected_frames}),
        best=lambda: rotated(
            lambda trainer: {"score": -trainer.collected_frames}, keep_last=1,
            keep_best=("score", "max"),
        ),
        wrong=lambda: rotated(lambda trainer: ["score"]), odd=lambda: rotated(3),
        unlike=unlike, both=both,
    )  # fmt: skip


def _logged_training(make_env: Any, seed: int) -> Dict[str, Any]:
    """What a trainer says of itself: its bar, its log by intervals, numbers that are none."""

    def with_options(**options: Any) -> Any:
        with contextlib.redirect_stderr(io.StringIO()):
            trainer, _ = trainer_of(make_env, seed, progress_bar=True, **options)
            trainer.register_op(
                "post_steps_log",
                lambda batch: {"log_pbar": True, "seen": torch.tensor(0.25), "count": 3},
            )
            trainer.register_op("pre_steps_log", lambda batch: {"hidden": 7.5})
            trainer.train()
        return {"bar": str(trainer._pbar.desc), "at": trainer._pbar.n, "of": trainer._pbar.total,
                "kept": str(sorted(trainer._pbar_str))}  # fmt: skip

    def logged(interval: int, number: Any) -> Any:
        log = Log()
        trainer, _ = trainer_of(make_env, seed, logger=log, log_interval=interval)
        trainer.register_op("post_steps_log", lambda batch: {"seen": number})
        trainer.train()
        return {"told": log.values.get("seen", []), "kept": len(trainer._log_dict["seen"]),
                "last": str(sorted(trainer._last_log.items()))}  # fmt: skip

    def described() -> Any:
        words = repr(trainer_of(make_env, seed)[0])
        return str([name in words for name in ("Trainer(", "loss=Pull", "SGD", "logger=None")])

    def ended() -> Any:
        trainer, _ = trainer_of(make_env, seed)
        trainer.shutdown()
        trainer.train()
        return trainer.collected_frames

    def listed() -> Any:
        save, load = (
            library("torchrl.trainers.trainers", name)
            for name in ("_get_list_state_dict", "_load_list_state_dict")
        )
        counting, plain = hook_of("ClearCudaCache", 2), len
        counting()
        state = save([(counting, {"a": 1}), (plain, {})])
        fresh = hook_of("ClearCudaCache", 2)
        hooks: List[Any] = [(fresh, {"b": 2}), (plain, {"c": 3})]
        load(state, hooks)
        return str([state, fresh.state_dict(), [given for _, given in hooks]])

    calls: Dict[str, Any] = {
        "shown": with_options, "shown.epochs": lambda: with_options(num_epochs=2),
        "described": described,
        "shown.skipping": lambda: with_options(frame_skip=3), "ended": ended, "listed": listed,
    }  # fmt: skip
    for interval in (0, 11, 12, 13, 100):
        calls[f"logged.{interval}"] = partial(logged, interval, 1.5)
    for label, number in (
        ("tensor", torch.tensor(2.0)), ("vector", torch.ones(3)), ("one", torch.ones(1)),
    ):  # fmt: skip
        calls[f"logged.{label}"] = partial(logged, 1, number)
    return answers(seed, **calls)


API_CASES = {
    "trainer-of-dqn": _dqn,
    "trainers-of-batches-elsewhere": _elsewhere,
    "batches-written-by-collectors": _written_by_collectors,
    "options-of-on-policy-trainers": _on_policy,
    "folders-of-trainers": _folders,
    "words-of-a-trainer": _logged_training,
}
