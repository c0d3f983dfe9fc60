"""Parts of TorchRL: buffers, transforms, environments, collectors and trainers by themselves."""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torchrl

from rlregress import frameworks
from rlregress.frameworks.base import NotOffered
from rlregress.frameworks.torchrl import parts
from rlregress.frameworks.torchrl.parts import (
    buffers,
    collectors,
    configurations,
    corners_of_trainers,
    environments,
    hooks,
    processes,
    samplers,
    stages,
    trainers,
    transforms,
    whole_trainers,
)
from rlregress.tracing.swap import swap
from rlregress.tracing.toys import Ends
from rlregress.tracing.watched import parts_of_output
from rlregress.upgrade import scenarios

OWN = [
    name
    for module in (
        buffers,
        collectors,
        configurations,
        corners_of_trainers,
        environments,
        hooks,
        processes,
        samplers,
        stages,
        trainers,
        transforms,
        whole_trainers,
    )
    for name in module.PARTS
]
#: part -> module below torchrl, function, and what to write in it in place of what
FAULTS = {
    "schedule-bounds": (
        "data/replay_buffers/scheduler.py", "ParameterScheduler.__init__",
        "if min_value is not None else", "if min_value else",
    ),
    "environments-in-processes": (
        "envs/batched_envs.py", "ParallelEnv._reset_no_buffers",
        "if not needs_resetting[i]:", "if False:",
    ),
    "collected-in-a-process": (
        "collectors/_multi_base.py", "MultiCollector.state_dict",
        'state_dict.update({"frames": self._frames, "iter": self._iter})', "pass",
    ),
    "resets-in-between": (
        "collectors/_single.py", "Collector._start_new_trajectories",
        "if not self.track_traj_ids:", "if True:",
    ),
    "several-steps": (
        "data/postprocs/postprocs.py", "_multi_step_func", "n_steps = n_steps - 1", "pass",
    ),
    "parts-of-batches": (
        "trainers/trainers.py", "BatchSubSampler.__call__",
        "batch = batch.reshape(-1, batch.shape[-1])", "pass",
    ),
    "normalised-rewards": (
        "trainers/trainers.py", "RewardNormalizer.load_state_dict", "deepcopy(value)", "value",
    ),
    "returns-and-rewards": (
        "envs/transforms/_reward.py", "TargetReturn._apply_transform",
        "target_return = target_return - reward", "target_return = target_return + reward",
    ),
    "running-normalisation-of-rows": (
        "envs/transforms/_normalization.py", "VecNorm._update",
        "(_ssq / _count - mean.pow(2))", "(_ssq / _count - mean.abs())",
    ),
    "filled-by-steps": (
        "data/replay_buffers/replay_buffers/base.py", "ReplayBuffer.add",
        "data.unsqueeze(-1) if is_tc", "data.unsqueeze(0).unsqueeze(0) if is_tc",
    ),
    "prefetched-passes": (
        "data/replay_buffers/replay_buffers/base.py", "ReplayBuffer.__iter__",
        "self._prefetch and len(self._prefetch_queue)", "False",
    ),
    "saved-collector": (
        "collectors/_single.py", "Collector.state_dict",
        "self._policy_w_state_dict.state_dict()", "self._wrapped_policy.state_dict()",
    ),
    "marked-batches": (
        "collectors/_single.py", "Collector._maybe_set_truncated", "done | truncated", "truncated",
    ),
    "running-statistics": (
        "envs/transforms/vecnorm.py", "VecNormV2._norm",
        "var = var - loc.pow(2)", "var = var - loc.abs()",
    ),
    "steps-of-a-trainer": (
        "trainers/trainers.py", "DefaultOptimizationStepper._compute_and_clip_grad_norm",
        "nn.utils.clip_grad_value_(params", "nn.utils.clip_grad_norm_(params",
    ),
    "random-policy": (
        "modules/tensordict_module/exploration.py", "RandomPolicy.set_action_spec_from_env",
        "self.action_spec = env.full_action_spec.clone()", "pass",
    ),
    "numbers-of-the-log": (
        "trainers/trainers.py", "LogScalar.__call__",
        'if ("collector", "mask") in batch.keys(True):',
        'if ("collector", "mask") not in batch.keys(True):',
    ),
    "rewards-of-a-validation": (
        "trainers/trainers.py", "LogValidationReward.__call__",
        "if self._count % self.record_interval == 0:",
        "if self._count % self.record_interval != 0:",
    ),
    "updates-by-hooks": (
        "trainers/trainers.py", "OptimizerHook.__call__",
        "if key in self.loss_components]", "if key not in self.loss_components]",
    ),
    "steppers": (
        "trainers/trainers.py", "MixedPrecisionOptimizationStepper.step",
        "nn.utils.clip_grad_norm_(params, self.clip_norm)",
        "nn.utils.clip_grad_norm_(params, 2 * self.clip_norm)",
    ),
    "steps-of-td3": (
        "trainers/algorithms/td3.py", "TD3OptimizationStepper.step",
        "torch.nn.utils.clip_grad_value_(actor_params, clip_norm)", "pass",
    ),
    "rates-and-ends": (
        "trainers/trainers.py", "EarlyStopping._is_improvement",
        "return score < (best_score - self.min_delta)", "return True",
    ),
    "logged-values": (
        "trainers/algorithms/ddpg.py", "DDPGTrainer._setup_ddpg_logging",
        "self.register_op(hook_dest, log_max_reward)", "pass",
    ),
    "logged-trainings": (
        "trainers/algorithms/sac.py", "SACTrainer._setup_sac_logging",
        'logname="r_max"', 'logname="r_min"',
    ),
    "whole-files-of-trainers": (
        "trainers/trainers.py", "_TrainerCheckpointState.load_state_dict",
        'self.trainer.collected_frames = state_dict["collected_frames"]', "pass",
    ),
    "files-of-a-trainer": (
        "trainers/trainers.py", "Trainer.save_trainer",
        "> self.save_trainer_interval", "> 2 * self.save_trainer_interval",
    ),
    "stages-of-a-trainer": (
        "trainers/trainers.py", "Trainer.optim_steps",
        "self._post_epoch_log_hook(batch)", "pass",
    ),
    "changes-of-hooks": (
        "trainers/trainers.py", "Trainer.register_op",
        "self._process_loss_ops.append((timed_op, kwargs))", "pass",
    ),
    "registered-hooks": (
        "trainers/trainers.py", "LRSchedulerHook.register",
        "trainer.register_module(name, self)", "trainer.register_module(self, name)",
    ),
    "states-of-hooks": (
        "trainers/trainers.py", "RewardNormalizer.update_reward_stats",
        "self._update_has_been_called = True", "self._update_has_been_called = False",
    ),
    "faltering-losses": (
        "trainers/trainers.py", "MixedPrecisionOptimizationStepper.step",
        "            self.optimizer.zero_grad(set_to_none=True)\n            self._micro_step = 0",
        "            pass\n            self._micro_step = 0",
    ),
    "handed-on-weights": (
        "trainers/trainers.py", "UpdateWeights.__call__",
        "self._last_update_count = count", "self._last_update_count = count - 1",
    ),
    "early-ends": (
        "trainers/trainers.py", "EarlyStopping.__call__",
        "if current_frame < self.wait_for:", "if current_frame <= self.wait_for:",
    ),
    "refusals-of-trainers": (
        "trainers/trainers.py", "BatchSubSampler.__call__",
        "if self.sub_traj_len > 0 else", "if self.sub_traj_len > 1 else",
    ),
    "trainer-of-dqn": (
        "trainers/algorithms/dqn.py", "DQNTrainer._step_greedy",
        "self._greedy_last_frames = self.collected_frames", "pass",
    ),
    "trainers-of-batches-elsewhere": (
        "trainers/algorithms/sac.py", "SACTrainer._setup_sac_logging",
        'self.register_op("post_optim_log", log_obs_norm)', "pass",
    ),
    "batches-written-by-collectors": (
        "trainers/trainers.py", "Trainer.train",
        "self.collected_frames = self._replay_write_count()",
        "self.collected_frames = self._replay_write_count() + 1",
    ),
    "options-of-on-policy-trainers": (
        "trainers/algorithms/on_policy.py", "OnPolicyTrainer.__init__",
        "LRSchedulerHook(lr_scheduler).register(self)", "pass",
    ),
    "folders-of-trainers": (
        "trainers/trainers.py", "Trainer._checkpoint_manifest_metadata",
        "optim_steps=self._optim_count", "optim_steps=self._optim_count + 1",
    ),
    "words-of-a-trainer": (
        "trainers/trainers.py", "Trainer.train",
        "self._pbar.update(current_frames)", "self._pbar.update(2 * current_frames)",
    ),
    "steep-losses": (
        "trainers/trainers.py", "MixedPrecisionOptimizationStepper.step",
        "elif self.clip_norm is not None and not math", "elif self.clip_norm is None and not math",
    ),
    "padded-batches-in-hooks": (
        "trainers/trainers.py", "RewardNormalizer.update_reward_stats",
        'reward = reward[batch.get(("collector", "mask"))]', "pass",
    ),
    "loaded-trainers": (
        "trainers/trainers.py", "Trainer.load_state_dict",
        "if optimizer is not None and optimizer", "if optimizer is None and optimizer",
    ),
    "corners-of-trainers": (
        "trainers/trainers.py", "UpdateWeights._update_with_map",
        "weights_dict[destination] = weights", "pass",
    ),
}  # fmt: skip


#: start processes of their own, or run whole trainers: seconds each
SLOW = (
    "environments-in-processes", "collected-in-a-process", "changes-of-hooks", "registered-hooks",
    "options-of-on-policy-trainers", "trainer-of-dqn", "trainers-of-batches-elsewhere",
    "folders-of-trainers", "loaded-trainers", "steep-losses", "logged-trainings",
)  # fmt: skip


def but_for_the_slow(names: Iterable[str]) -> list[Any]:
    """Parameters, those of the slow parts nightly."""
    return [pytest.param(n, marks=pytest.mark.nightly) if n in SLOW else n for n in names]


def used(name: str) -> dict[str, Any]:
    """What a part returns, as it is recorded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = parts.use(name, Ends, 1)
    return {label: parts_of_output(value) for label, value in found.items()}


@pytest.mark.parametrize("name", but_for_the_slow(sorted(set(OWN) - set(FAULTS))))
def test_a_part_repeats_itself(name):
    """It runs on the installed version and returns the same twice; the others show it below."""
    try:
        first = used(name)
    except NotOffered as reason:
        pytest.skip(str(reason))
    assert first
    assert used(name) == first


def test_each_part_is_a_scenario():
    """A part that no scenario names is never traced."""
    asked = {each.features.get("part") for each in scenarios.of(frameworks.get("torchrl"))}
    assert set(OWN) <= asked


def function_of(file: str, name: str) -> Any:
    """A function of the installed version, behind its decorators."""
    module = importlib.import_module(f"torchrl.{file[:-3].replace('/', '.')}")
    return inspect.unwrap(functools.reduce(getattr, name.split("."), module))


@pytest.mark.parametrize("name", but_for_the_slow(FAULTS))
def test_a_fault_changes_what_a_part_returns(name):
    """What is put into the function that it is about; without it they are as before."""
    file, called, old, new = FAULTS[name]
    root = Path(torchrl.__file__).parent
    text = (root / file).read_text(encoding="utf-8") if (root / file).exists() else ""
    if old not in text:
        pytest.skip("the installed version has other code there")
    function, before = function_of(file, called), used(name)
    code = function.__code__
    try:
        change = {
            "file": f"torchrl/{file}",
            "functions": [called],
            "text": text.replace(old, new),
        }
        assert swap([change], [str(root)]) == []
        assert used(name) != before
    finally:
        function.__code__ = code
    assert used(name) == before
