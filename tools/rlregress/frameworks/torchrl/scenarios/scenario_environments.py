"""Environments of a scenario: copies, transforms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.torchrl.api import (
    CatFrames,
    Compose,
    GymWrapper,
    RewardClipping,
    SerialEnv,
    TransformedEnv,
)
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.scenarios.loop_settings import ScenarioOptions


def make_environment(scenario: ScenarioOptions, make_env: Callable[..., Any], seed: int) -> Any:
    """Copies of a scenario's environment, in the transforms that it needs and names."""
    options = scenario.environment
    copies = int(options.pop("copies", 1))
    if options.get("observations", "box") not in ("box", "float64", "integer", "image", "dict"):
        raise Unsupported(
            f"no networks are put together for {options['observations']} observations"
        )
    if options.get("actions", "box") not in ("box", "discrete"):
        raise Unsupported(f"no networks are put together for {options['actions']} actions")

    def made(first: int) -> Any:
        return GymWrapper(make_env(**{"first": first, **options}), device="cpu")

    makers = [partial(made, k) for k in range(copies)]
    environment: Any = makers[0]() if copies == 1 else SerialEnv(copies, makers)
    environment = _transformed(environment, scenario, options.get("observations", "box"))
    environment.set_seed(seed)
    return environment


def _transformed(environment: Any, options: ScenarioOptions, observations: str) -> Any:
    """The environment in the transforms that its observations need and the scenario names."""
    names: list[str] = list(options.take("transforms", []))
    normalize = options.take("normalize")
    clips = {name: options.take(name) for name in ("observation_clip", "reward_clip")}
    stack = options.take("frame_stack")
    needed = {"float64": ["double-to-float"], "integer": ["to-float"], "image": ["to-image"]}
    first = needed.get(observations, [])
    if observations == "dict":
        first = ["choices-to-float", "cat-tensors"]
    names = [*first, *[name for name in names if name not in first]]
    if normalize in ("both", "observations"):
        names.append("vecnorm")
    if normalize in ("both", "rewards"):
        names.append("vecnorm-rewards")
    made = [make_transform(name) for name in names]
    if clips["observation_clip"]:
        clip, limit = library("torchrl.envs", "ClipTransform"), clips["observation_clip"]
        made.append(clip(in_keys=["observation"], low=-limit, high=limit))
    if clips["reward_clip"]:
        made.append(RewardClipping(-clips["reward_clip"], clips["reward_clip"]))
    if stack:
        dimension = -3 if observations == "image" else -1
        made.append(CatFrames(stack, dimension, in_keys=["observation"]))
    if not made:
        return environment
    whole = TransformedEnv(environment, Compose(*made))
    for transform in made:
        if type(transform).__name__ == "ObservationNorm":
            dimensions = tuple(range(len(environment.batch_size) + 1))
            transform.init_stats(20, reduce_dim=dimensions, cat_dim=dimensions[-1])
    return whole


def make_transform(name: str) -> Any:
    """A transform by its name in a scenario; Unsupported for one that nobody knows."""
    keys = ["observation"]
    makers: dict[str, Any] = {
        "double-to-float": ("DoubleToFloat", {"in_keys": keys}),
        "to-float": ("DTypeCastTransform", {
            "dtype_in": torch.int64, "dtype_out": torch.float32, "in_keys": keys,
        }),
        "choices-to-float": ("DTypeCastTransform", {
            "dtype_in": torch.int64, "dtype_out": torch.float32, "in_keys": ["mode"],
        }),
        "to-image": ("ToTensorImage", {"in_keys": keys}),
        "cat-tensors": ("CatTensors", {
            # a dictionary's first vector is called so by the wrapper of gymnasium
            "in_keys": ["mode", "observation"], "out_key": "observation", "del_keys": False,
        }),
        "observation-norm": ("ObservationNorm", {"in_keys": keys, "standard_normal": True}),
        "vecnorm": ("VecNorm", {"in_keys": keys, "decay": 0.9}),
        "vecnorm-rewards": ("VecNorm", {"in_keys": ["reward"], "decay": 0.9}),
        "reward-scaling": ("RewardScaling", {"loc": 0.1, "scale": 0.5}),
        "reward-sum": ("RewardSum", {}),
        "step-counter": ("StepCounter", {"max_steps": 8}),
        "reward-clipping": ("RewardClipping", {"clamp_min": -0.5, "clamp_max": 0.5}),
        "init-tracker": ("InitTracker", {}),
    }  # fmt: skip
    if name not in makers:
        raise Unsupported(f"TorchRL has no transform {name}")
    kind, options = makers[name]
    return library("torchrl.envs", kind)(**options)
