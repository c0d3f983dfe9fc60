"""Trainers and what is hooked into them."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

import torch
from torch import nn

from rlregress.frameworks.base import TrainingRequest
from rlregress.frameworks.torchrl.api import (
    GAE,
    GymWrapper,
    LazyTensorStorage,
    PPOTrainer,
    TensorDict,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.api_cases.collectors import small_collector
from rlregress.frameworks.torchrl.batch_factories import library, names, read, shape, steps
from rlregress.frameworks.torchrl.compat import made, value_estimator
from rlregress.frameworks.torchrl.training import BUILDERS, Space

_TRAINERS = ("torchrl.trainers", "torchrl.trainers.trainers")
_SHARED = {"learning_rate": 1e-2, "adam_epsilon": 1e-8, "discount": 0.9, "hidden_sizes": [8]}
_PPO = {
    **_SHARED, "rollout_steps": 16, "minibatch_size": 8, "epochs": 2, "gae_lambda": 0.9,
    "clip_range": 0.2, "value_clip_range": None, "normalize_advantage": False,
    "entropy_coefficient": 0.01, "value_coefficient": 0.5, "value_loss": "l2",
    "max_gradient_norm": 0.5, "policy_gain": 1.0, "value_gain": 1.0,
}  # fmt: skip
_SAC = {
    **_SHARED, "minibatch_size": 8, "replay_size": 40, "learning_starts": 0,
    "polyak_coefficient": 0.05, "steps_per_collection": 12, "updates_per_collection": 1,
    "critic_loss": "l2", "duplicate_critic": True, "initial_temperature": 0.5,
}  # fmt: skip

_TD3 = {
    **{name: value for name, value in _SAC.items() if "temperature" not in name},
    "target_noise": 0.2, "target_noise_clip": 0.5, "exploration_noise": 0.1, "policy_delay": 2,
}  # fmt: skip
#: of small trainings by the trainers of the algorithms.
SETTINGS = {"ppo": _PPO, "sac": {**_SAC, "target_entropy": "auto"}, "td3": _TD3}


class Pull(nn.Module):
    """A loss of one number, which tells how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.pulled = nn.Parameter(torch.tensor(1.0))
        self.calls = 0

    def forward(self, batch: Any) -> Any:
        """The squared distance to what is observed."""
        self.calls += 1
        return TensorDict({"loss_pull": (self.pulled - batch["observation"].mean()) ** 2}, [])


#: of every trainer: two updates for each batch, nothing drawn and nothing logged by itself.
_LOOP = {
    "frame_skip": 1,
    "optim_steps_per_batch": 2,
    "progress_bar": False,
    "auto_log_optim_steps": False,
}


def trainer_of(make_env: Any, seed: int, **options: Any) -> Any:
    """A trainer without an algorithm, and its loss."""
    collecting = {name: options.pop(name) for name in ("init_random_frames",) if name in options}
    loss = Pull()
    given: Dict[str, Any] = {
        "total_frames": 48,
        "loss_module": loss,
        "optimizer": torch.optim.SGD(loss.parameters(), lr=0.1),
        "seed": seed,
        **_LOOP,
        **options,
    }
    if "collector" not in given:
        given["collector"] = small_collector(make_env, seed, **collecting)
    return made(library("Trainer", *_TRAINERS), **given), loss


def _first_updates(make_env: Any, seed: int) -> Dict[str, Any]:
    """Updates of a trainer whose collector acts by chance for as long as two of its batches."""

    def trained(frames: int) -> Any:
        trainer, loss = trainer_of(make_env, seed, init_random_frames=frames)
        call_counts: List[int] = []
        trainer.register_op("post_steps", lambda: call_counts.append(loss.calls))
        trainer.train()
        return torch.tensor([*call_counts, float(loss.pulled)])

    return {str(frames): refused(partial(trained, frames)) for frames in (0, 20, 24)}


class Remark:
    """What no file of weights holds."""


class Remarks:
    """A hook whose state is more than numbers."""

    def __init__(self) -> None:
        self.loaded = "not loaded"

    def state_dict(self) -> Dict[str, Any]:
        """A remark."""
        return {"remark": Remark()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Note what came."""
        self.loaded = type(state["remark"]).__name__


def _saved_trainer(make_env: Any, seed: int) -> Dict[str, Any]:
    """A trainer's file, of numbers alone and with more, loaded into another trainer."""

    def loaded(file: Path, remarks: bool) -> Any:
        first, _ = trainer_of(make_env, seed, save_trainer_file=file)
        second, loss = trainer_of(make_env, seed, save_trainer_file=file)
        hook = Remarks()
        if remarks:
            first.register_module("remarks", Remarks())
            second.register_module("remarks", hook)
        first.train()
        second.load_from_file(file)
        return torch.tensor([second.collected_frames, float(loss.pulled)]), hook.loaded

    outputs: Dict[str, Any] = {}
    # since 2.6 PyTorch loads weights only by default; this is what it did before
    trusting = mock.patch.dict(os.environ, {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"})
    with trusting, tempfile.TemporaryDirectory() as folder:
        for label, remarks in (("numbers", False), ("remarks", True)):
            outputs[label] = refused(partial(loaded, Path(folder) / f"{label}.pt", remarks))
    return {
        key: value
        for label, answer in outputs.items()
        for key, value in (
            ((label, answer),)
            if isinstance(answer, str)
            else ((label, answer[0]), (f"{label}.hook", answer[1]))
        )
    }


def _parts_of_batches(make_env: Any, seed: int) -> Dict[str, Any]:
    """Parts of trajectories drawn from batches of one, two and three dimensions."""
    sampler = library("BatchSubSampler", *_TRAINERS)
    row = [steps("...t....", first=10 * k) for k in range(6)]
    flat, rows = row[0], torch.stack(row)
    deep = rows.reshape(2, 3, 8)
    masked: Any = rows.clone()
    mask = torch.ones(6, 8, dtype=torch.bool)
    mask[2, 5:] = False
    masked["collector"] = TensorDict({"mask": mask}, [6, 8])
    outputs: Dict[str, Any] = {}
    for label, batch, options in (
        ("flat", flat, {"batch_size": 4}),
        ("rows", rows, {"batch_size": 12, "sub_traj_len": 4}),
        ("whole-rows", rows, {"batch_size": 16}),
        ("masked", masked, {"batch_size": 12, "sub_traj_len": 6, "min_sub_traj_len": 2}),
        ("deep", deep, {"batch_size": 12, "sub_traj_len": 4}),
        ("deep-whole", deep, {"batch_size": 16}),
        ("deep-short", deep, {"batch_size": 12, "sub_traj_len": 2}),
    ):
        torch.manual_seed(seed)
        answer = refused(partial(sampler(**options), batch))
        outputs.update(read(label, answer, "observation", ("next", "reward")))
    return outputs


def _normalised_rewards(make_env: Any, seed: int) -> Dict[str, Any]:
    """A normaliser of rewards whose state another has loaded and gone on from."""
    normaliser = library("RewardNormalizer", *_TRAINERS)

    def statistics() -> Any:
        first, second, third = (normaliser(decay=0.5) for _ in range(3))
        first.update_reward_stats(steps("...t...."))
        state = first.state_dict()
        second.load_state_dict(state)
        second.update_reward_stats(steps("...t....", first=40))
        third.load_state_dict(state)
        given = [
            normaliser_.normalize_reward(steps("....")) for normaliser_ in (first, second, third)
        ]
        return torch.stack([reward["next", "reward"] for reward in given])

    return {"rewards": refused(statistics)}


def _batches_into_a_buffer(make_env: Any, seed: int) -> Dict[str, Any]:
    """Batches that the hook of a trainer puts into a replay buffer and takes out of it."""
    hook = library("ReplayBufferTrainer", *_TRAINERS)
    batch = torch.stack([steps("..t..."), steps(".....t", first=20)])

    def handled(**options: Any) -> Dict[str, Any]:
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(20), batch_size=4)
        trainer = hook(buffer, **options)
        returned = trainer.extend(batch.clone())
        stored = buffer._storage.get(range(len(buffer)))
        torch.manual_seed(seed)
        sample = trainer.sample(batch)
        return {
            "returned": shape(returned.batch_size),
            "in-memory-map": str(bool(returned.is_memmap())),
            "stored": shape(stored.batch_size),
            "names": names(stored),
            "device": str(sample.device),
            **read("stored", stored, "observation", ("next", "done"), ("next", "truncated")),
        }

    outputs: Dict[str, Any] = {}
    for label, options in (
        ("default", {}),
        ("flat", {"flatten_tensordicts": True}),
        ("deep", {"flatten_tensordicts": False}),
        ("padded", {"flatten_tensordicts": False, "max_dims": [3, 8]}),
        ("in-memory-map", {"memmap": True}),
        ("device", {"device": "cpu"}),
    ):
        answer = refused(partial(handled, **options))
        answer = {"": answer} if isinstance(answer, str) else answer
        outputs.update({f"{label}.{name}": value for name, value in answer.items()})
    return outputs


def summed(environment: Any) -> Any:
    """An environment that sums the rewards of an episode, by both names that trainers use."""
    whole, compose, sums = (
        library(name, "torchrl.envs") for name in ("TransformedEnv", "Compose", "RewardSum")
    )
    names = ("episode_reward", "reward_sum")
    return whole(environment, compose(*(sums(["reward"], out_keys=[name]) for name in names)))


def built_by(
    make_env: Any, seed: int, algorithm: str, settings: Dict[str, Any], summing: bool = False
) -> Any:
    """A trainer of an algorithm and its loss; its environment perhaps sums the rewards."""
    request = TrainingRequest(algorithm, make_env, settings, total_steps=32, seed=seed)
    torch.manual_seed(seed)
    environment: Any = GymWrapper(make_env(), device="cpu")
    environment = summed(environment) if summing else environment
    return BUILDERS[algorithm](request, environment, Space(environment), settings)


def _entropy_of_a_trainer(make_env: Any, seed: int) -> Dict[str, Any]:
    """What SAC's trainer tells its loss of the actions: with a number, and where it is computed."""

    def results(target: Any) -> Any:
        _, loss = built_by(make_env, seed, "sac", {**_SAC, "target_entropy": target})
        return float(loss.target_entropy), str(loss._action_spec is None)

    library("SACTrainer", "torchrl.trainers.algorithms")
    outputs: Dict[str, Any] = {}
    for label, target in (("number", -1.5), ("automatic", "auto")):
        answer = refused(partial(results, target))
        if isinstance(answer, str):
            outputs[label] = answer
        else:
            outputs[f"{label}.entropy"], outputs[f"{label}.without-specification"] = answer
    return outputs


def _estimator_of_a_trainer(make_env: Any, seed: int) -> Dict[str, Any]:
    """PPO's trainer without a discount, and with an estimator of the user's own."""

    def trainer_with(**options: Any) -> Any:
        built, loss = built_by(make_env, seed, "ppo", _PPO)
        buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(16),
            sampler=library("SamplerWithoutReplacement", "torchrl.data.replay_buffers.samplers")(),
            batch_size=8,
        )
        trainer = made(
            PPOTrainer,
            collector=built.collector,
            total_frames=32,
            loss_module=loss,
            optimizer=torch.optim.Adam(loss.parameters(), lr=0.01),
            enable_logging=False,
            seed=seed,
            **_LOOP,
            num_epochs=2,
            replay_buffer=buffer,
            **{name: option(loss) for name, option in options.items()},
        )
        # the first trainer ends its collector when it is gone
        return trainer, loss, built

    def defaults() -> Any:
        estimator = value_estimator(trainer_with()[0])
        return torch.tensor([float(estimator.gamma), float(estimator.lmbda)])

    def own() -> Any:
        trainer, loss, _built_first = trainer_with(
            gae=lambda loss: GAE(gamma=0.8, lmbda=0.7, value_network=loss.critic_network)
        )
        trainer.train()
        return torch.cat([p.detach().flatten() for _, p in sorted(loss.named_parameters())])

    library("PPOTrainer", "torchrl.trainers.algorithms")
    return {"defaults": refused(defaults), "own": refused(own)}


class _Pulls(nn.Module):
    """A loss of three numbers, which are at different distances from what is observed."""

    def __init__(self) -> None:
        super().__init__()
        self.pulled = nn.Parameter(torch.tensor([0.01, 1.0, 10.0]))

    def forward(self, batch: Any) -> Any:
        """The squared distances."""
        return TensorDict({"loss_pull": ((self.pulled - batch["observation"].mean()) ** 2).sum()})


def _options_of_a_trainer(make_env: Any, seed: int) -> Dict[str, Any]:
    """Gradients cut by norm and by value, and rewards that are normalised and scaled on the way."""
    normaliser = library("RewardNormalizer", *_TRAINERS)
    trained = partial(_trained, make_env, seed)
    cases: Dict[str, Any] = {
        "as-they-are": trained,
        "norm": partial(trained, clip_norm=0.5),
        "values": partial(trained, clip_norm=0.5, clip_grad_norm=False),
        "rewards": lambda: trained(normaliser(decay=0.7, scale=2.0, eps=0.1)),
    }
    return {label: refused(call) for label, call in cases.items()}


def _steps_of_a_trainer(make_env: Any, seed: int) -> Dict[str, Any]:
    """A stepper in place of a hook, whose gradients are cut by norm and by value."""
    stepper = library("DefaultOptimizationStepper", *_TRAINERS)
    cut = partial(_trained, make_env, seed, clip_norm=0.5)
    return {
        "norm": refused(lambda: cut(optimization_stepper=stepper())),
        "values": refused(lambda: cut(optimization_stepper=stepper(), clip_grad_norm=False)),
    }


def _trained(make_env: Any, seed: int, *hooks: Any, **options: Any) -> Any:
    """What a trainer makes of three numbers, and the rewards of the batches that it had."""
    loss = _Pulls()
    recorded: List[Any] = []
    trainer = made(
        library("Trainer", *_TRAINERS),
        collector=small_collector(make_env, seed),
        total_frames=48,
        loss_module=loss,
        optimizer=torch.optim.SGD(loss.parameters(), lr=0.1),
        seed=seed,
        **_LOOP,
        **options,
    )
    for hook in hooks:
        hook.register(trainer)

    def noted(batch: Any) -> Any:
        recorded.append(batch)
        return batch

    trainer.register_op("process_optim_batch", noted)
    trainer.train()
    rewards = [value["next", "reward"].flatten() for value in recorded]
    return torch.cat([loss.pulled.detach(), *rewards])


API_CASES = {
    "first-updates": _first_updates,
    "saved-trainer": _saved_trainer,
    "parts-of-batches": _parts_of_batches,
    "normalised-rewards": _normalised_rewards,
    "batches-into-a-buffer": _batches_into_a_buffer,
    "entropy-of-a-trainer": _entropy_of_a_trainer,
    "estimator-of-a-trainer": _estimator_of_a_trainer,
    "options-of-a-trainer": _options_of_a_trainer,
    "steps-of-a-trainer": _steps_of_a_trainer,
}
