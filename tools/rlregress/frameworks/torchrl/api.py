"""Names of TorchRL and tensordict that the adapter uses, in any installed version.

This is the only module that imports them. Every other one takes its names from here, as the newest
version has them. A name that the installed version does not have is an ``Absent``: only a use of it
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
from rlregress.probing.families import Absent

#: where a name stands: "module", or "module:name" where it has another one there; newest first.
_PLACES: dict[str, Sequence[str]] = {
    "AddStateIndependentNormalScale": ("tensordict.nn",),
    "AdditiveGaussianModule": ("torchrl.modules",),
    "AdditiveGaussianWrapper": ("torchrl.modules",),
    "Bounded": ("torchrl.data", "torchrl.data:BoundedTensorSpec"),
    "CatFrames": ("torchrl.envs",),
    "Categorical": ("torchrl.data", "torchrl.data:DiscreteTensorSpec"),
    "ClipPPOLoss": ("torchrl.objectives",),
    "Compose": ("torchrl.envs",),
    "Collector": ("torchrl.collectors", "torchrl.collectors:SyncDataCollector"),
    "ConvNet": ("torchrl.modules",),
    "DoubleToFloat": ("torchrl.envs",),
    "DDPGLoss": ("torchrl.objectives",),
    "DDPGTrainer": ("torchrl.trainers.algorithms",),
    "DQNLoss": ("torchrl.objectives",),
    "DQNTrainer": ("torchrl.trainers.algorithms",),
    "EGreedyModule": ("torchrl.modules",),
    "EndOfLifeTransform": ("torchrl.envs",),
    "ExplorationType": ("torchrl.envs.utils",),
    "FrameSkipTransform": ("torchrl.envs",),
    "GAE": ("torchrl.objectives.value",),
    "GrayScale": ("torchrl.envs",),
    "GymWrapper": ("torchrl.envs", "torchrl.envs.libs.gym"),
    "HardUpdate": ("torchrl.objectives",),
    "IndependentNormal": ("torchrl.modules",),
    "KLAdaptiveLR": ("torchrl.objectives",),
    "LRSchedulerHook": ("torchrl.trainers",),
    "LazyTensorStorage": ("torchrl.data",),
    "MLP": ("torchrl.modules",),
    "MultiStep": ("torchrl.data.postprocs",),
    "MultiSyncCollector": ("torchrl.collectors", "torchrl.collectors:MultiSyncDataCollector"),
    "NextStateReconstructor": ("torchrl.envs.transforms",),
    "NoopResetEnv": ("torchrl.envs",),
    "NormalParamExtractor": ("tensordict.nn",),
    "ObservationNorm": ("torchrl.envs",),
    "OneHot": ("torchrl.data", "torchrl.data:OneHotDiscreteTensorSpec"),
    "OptimizerHook": ("torchrl.trainers",),
    "PPOTrainer": ("torchrl.trainers.algorithms",),
    "ProbabilisticActor": ("torchrl.modules",),
    "RewardClipping": ("torchrl.envs",),
    "RewardNormalizer": ("torchrl.trainers",),
    "QValueActor": ("torchrl.modules",),
    "SACLoss": ("torchrl.objectives",),
    "ReplayBufferTrainer": ("torchrl.trainers",),
    "SACTrainer": ("torchrl.trainers.algorithms",),
    "SamplerWithoutReplacement": ("torchrl.data.replay_buffers.samplers",),
    "SerialEnv": ("torchrl.envs",),
    "SoftUpdate": ("torchrl.objectives",),
    "TD0Estimator": ("torchrl.objectives.value",),
    "TD3Loss": ("torchrl.objectives",),
    "TD3OptimizationStepper": ("torchrl.trainers.algorithms.td3",),
    "TD3Trainer": ("torchrl.trainers.algorithms.td3",),
    "TanhDelta": ("torchrl.modules.distributions",),
    "TanhModule": ("torchrl.modules",),
    "TanhNormal": ("torchrl.modules",),
    "TensorDict": ("tensordict",),
    "TensorDictModule": ("tensordict.nn",),
    "TensorDictReplayBuffer": ("torchrl.data",),
    "TensorDictSequential": ("tensordict.nn",),
    "ToTensorImage": ("torchrl.envs",),
    "TransformedEnv": ("torchrl.envs",),
    "ValueOperator": ("torchrl.modules",),
    "VecNorm": ("torchrl.envs",),
    "VecNormV2": ("torchrl.envs",),
    "advantages": ("torchrl.objectives.value",),
    "set_exploration_type": ("torchrl.envs.utils",),
    "step_mdp": ("torchrl.envs.utils",),
    "_observation": ("torchrl.envs.transforms", "torchrl.envs.transforms:transforms"),
}


def read_version_numbers(package: str) -> tuple[int, ...]:
    """Return major and minor number of an installed package; ``torchrl.__version__`` is wrong in
    0.10.
    """
    version = installed_metadata.map_installed_versions((package,))[package]
    return tuple(int(number) for number in version.split(".")[:2])


def _prepare_import() -> None:
    """Let tensordict be imported with a newer PyTorch, and where nothing is to be compiled."""
    # tensordict 0.3 to 0.5 import a name from here that PyTorch has removed since
    reductions: Any = torch.multiprocessing.reductions
    if not hasattr(reductions, "ForkingPickler"):
        reductions.ForkingPickler = multiprocessing.reduction.ForkingPickler
    # tensordict until 0.6 imports a module that cannot be imported without the compiler
    state: Any = torch.jit._state
    if not state._enabled and read_version_numbers("tensordict") < (0, 7):
        state.enable()
        try:
            importlib.import_module("torch.jit._shape_functions")
        finally:
            state.disable()


def __getattr__(name: str) -> Any:
    """Return the class or function of that name."""
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    member = globals()[name] = _find_name_of_library(name)
    return member


def _find_name_of_library(name: str) -> Any:
    error: BaseException = ImportError()
    for place in _PLACES[name]:
        module, _, own = place.partition(":")
        try:
            return _find_member_of_module(importlib.import_module(module), own or name)
        except Exception as raised:  # whatever keeps an old version from being imported
            error = raised
    return Absent(f"{_PLACES[name][0]}.{name}", error)


def _find_member_of_module(module: Any, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        pass
    try:
        return importlib.import_module(f"{module.__name__}.{name}")
    except ModuleNotFoundError:
        version = installed_metadata.map_installed_versions(("torchrl",))["torchrl"]
        raise ImportError(f"torchrl {version} has no such name") from None


_prepare_import()
