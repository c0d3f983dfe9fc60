"""Names of TorchRL and tensordict that the adapter uses, in any installed version.

This is the only module that imports them. Every other one takes its names from here, as the newest
version has them. A name that the installed version lacks is an ``AbsentName``: only a use of it
raises an error.
"""

from __future__ import annotations

import importlib
import multiprocessing.reduction
from collections.abc import Sequence
from typing import Any

import torch
import torch.multiprocessing.reductions

from rlregress.probing import installed_metadata
from rlregress.probing.families import AbsentName

#: module -> names that the newest version has there.
_NAMES: dict[str, Sequence[str]] = {
    "tensordict": ("TensorDict",),
    "tensordict.nn": (
        "AddStateIndependentNormalScale", "NormalParamExtractor", "TensorDictModule",
        "TensorDictSequential",
    ),
    "torchrl.collectors": ("Collector", "MultiSyncCollector"),
    "torchrl.data": (
        "Bounded", "Categorical", "LazyTensorStorage", "OneHot", "TensorDictReplayBuffer",
    ),
    "torchrl.data.postprocs": ("MultiStep",),
    "torchrl.data.replay_buffers.samplers": ("SamplerWithoutReplacement",),
    "torchrl.envs": (
        "CatFrames", "Compose", "DoubleToFloat", "EndOfLifeTransform", "FrameSkipTransform",
        "GrayScale", "GymWrapper", "NoopResetEnv", "ObservationNorm", "RewardClipping",
        "SerialEnv", "ToTensorImage", "TransformedEnv", "VecNorm", "VecNormV2",
    ),
    "torchrl.envs.transforms": ("_observation", "NextStateReconstructor"),
    "torchrl.envs.utils": ("ExplorationType", "set_exploration_type", "step_mdp"),
    "torchrl.modules": (
        "AdditiveGaussianModule", "AdditiveGaussianWrapper", "ConvNet", "EGreedyModule",
        "IndependentNormal", "MLP", "ProbabilisticActor", "QValueActor", "TanhModule",
        "TanhNormal", "ValueOperator",
    ),
    "torchrl.modules.distributions": ("TanhDelta",),
    "torchrl.objectives": (
        "ClipPPOLoss", "DDPGLoss", "DQNLoss", "HardUpdate", "KLAdaptiveLR", "SACLoss",
        "SoftUpdate", "TD3Loss",
    ),
    "torchrl.objectives.value": ("advantages", "GAE", "TD0Estimator"),
    "torchrl.trainers": (
        "LRSchedulerHook", "OptimizerHook", "ReplayBufferTrainer", "RewardNormalizer",
    ),
    "torchrl.trainers.algorithms": ("DDPGTrainer", "DQNTrainer", "PPOTrainer", "SACTrainer"),
    "torchrl.trainers.algorithms.td3": ("TD3OptimizationStepper", "TD3Trainer"),
}  # fmt: skip
#: name -> where else it stands in older versions: "module", or "module:name" of another name.
_OLDER_PLACES = {
    "Bounded": "torchrl.data:BoundedTensorSpec",
    "Categorical": "torchrl.data:DiscreteTensorSpec",
    "Collector": "torchrl.collectors:SyncDataCollector",
    "GymWrapper": "torchrl.envs.libs.gym",
    "MultiSyncCollector": "torchrl.collectors:MultiSyncDataCollector",
    "OneHot": "torchrl.data:OneHotDiscreteTensorSpec",
    "_observation": "torchrl.envs.transforms:transforms",
}
_PLACES: dict[str, Sequence[str]] = {
    name: tuple(filter(None, (module, _OLDER_PLACES.get(name))))
    for module, names in _NAMES.items()
    for name in names
}


def describe_version() -> str:
    """Return "torchrl" and its installed version."""
    return f"torchrl {installed_metadata.map_installed_versions(('torchrl',))['torchrl']}"


def read_major_and_minor_version(package: str) -> tuple[int, ...]:
    """Return (major, minor) of an installed package; ``torchrl.__version__`` is wrong in 0.10."""
    version = installed_metadata.map_installed_versions((package,))[package]
    return tuple(int(number) for number in version.split(".")[:2])


def _patch_torch_for_tensordict() -> None:
    """Patch PyTorch so that older versions of tensordict can be imported."""
    # tensordict 0.3 to 0.5 import a name from here that PyTorch has removed since
    reductions: Any = torch.multiprocessing.reductions
    if not hasattr(reductions, "ForkingPickler"):
        reductions.ForkingPickler = multiprocessing.reduction.ForkingPickler
    # tensordict until 0.6 imports a module that cannot be imported without the compiler
    state: Any = torch.jit._state
    if not state._enabled and read_major_and_minor_version("tensordict") < (0, 7):
        state.enable()
        try:
            importlib.import_module("torch.jit._shape_functions")
        finally:
            state.disable()


def __getattr__(name: str) -> Any:
    """Return TorchRL's class or function of that name, imported when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    member = globals()[name] = _import_or_make_placeholder(name)
    return member


def _import_or_make_placeholder(name: str) -> Any:
    error: BaseException = ImportError()
    for place in _PLACES[name]:
        module, _, own = place.partition(":")
        try:
            return getattr(importlib.import_module(module), own or name)
        except AttributeError:
            error = ImportError(f"{describe_version()} has no such name")
        except Exception as raised:  # whatever keeps an old version from being imported
            error = raised
    return AbsentName(f"{_PLACES[name][0]}.{name}", error)


_patch_torch_for_tensordict()
