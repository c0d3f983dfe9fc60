"""Probes of undocumented behaviour of the normalising transforms.

VecNorm where nothing else is said; VecNormV2, which its warning recommends in its place, where a
detail asks for the recommended component.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    LazyTensorStorage,
    ObservationNorm,
    RewardClipping,
    SerialEnv,
    TensorDict,
    TensorDictReplayBuffer,
    TransformedEnv,
    VecNorm,
    VecNormV2,
)
from rlregress.frameworks.torchrl.observe.helpers.normalised_environments import (
    showing,
    transformed,
    walk,
)
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.frameworks.torchrl.scripted_environments import wrapped
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

_KEYS = ["observation"]


def _terminal_statistics(i: Inputs) -> np.ndarray:
    x, terminal = i["observations"], int(i["terminal"])
    following = np.delete(x[1:], terminal)
    ends = np.arange(1, len(x) - 1) == terminal
    before = np.where(np.roll(ends, 1), x[terminal + 1], x[0])
    environment = transformed(
        {"observations": before, "next_observations": following, "terminated": ends},
        VecNorm(in_keys=_KEYS),
    )
    rollout = environment.rollout(len(following), break_when_any_done=False)
    reset, after = rollout["observation"][-2:-1], rollout["next", "observation"][-2:]
    return torch.cat([reset, after])[:, 0].double().numpy()


def _replay(i: Inputs) -> torch.Tensor:
    environment = transformed(showing(i["observations"]), VecNorm(in_keys=_KEYS))
    steps = len(i["observations"]) - 1
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(steps), batch_size=2)
    buffer.extend(environment.rollout(steps))
    return buffer[torch.tensor([1, 2])]["observation"][:, 0]


def _alternating(i: Inputs, **options: Any) -> np.ndarray:
    signs = np.where(np.arange(int(i["count"])) % 2, -1.0, 1.0)
    x = i["offset"] + i["spread"] * signs
    return walk(transformed(showing(x), VecNormV2(in_keys=_KEYS, **options)), len(x) - 1)


def _large_offset(i: Inputs) -> np.ndarray:
    normalised = _alternating(i, decay=1.0)
    late = np.abs(normalised[-50:][np.isfinite(normalised[-50:])])
    broken = not np.all(np.isfinite(normalised))
    return np.array([broken, np.max(late) > 3.0, np.max(late) < 0.5])


def _environments(i: Inputs) -> np.ndarray:
    both = [lambda x=i[name]: wrapped(Scripted(**showing(x))) for name in ("first", "second")]
    environment = TransformedEnv(SerialEnv(2, both), VecNormV2(in_keys=_KEYS, decay=1.0))
    rollout = environment.rollout(len(i["first"]) - 1)
    return rollout["next", "observation"].double().numpy().reshape(-1)


def _epsilon_with_fixed_statistics(i: Inputs) -> torch.Tensor:
    fixed = ObservationNorm(
        loc=torch.tensor([0.0]),
        scale=torch.tensor([i["deviation"]], dtype=torch.float32),
        in_keys=_KEYS,
        standard_normal=True,
    )
    environment = transformed(showing([i["distance"], 0.0]), fixed)
    return environment.reset()["observation"].log10()


def _one_sided(i: Inputs) -> np.ndarray:
    try:
        clip = RewardClipping(clamp_min=i["low"])
    except (RuntimeError, TypeError, ValueError):
        return np.array([1.0, 0.0, 0.0])
    rewards = torch.tensor(i["rewards"], dtype=torch.float32)[:, None]
    clipped = clip(TensorDict({"reward": rewards}, [len(rewards)]))["reward"]
    return np.append(0.0, clipped[:, 0].numpy())


PROBES: Mapping[tuple[str, str], Raw] = {
    ("normalisation.terminal_observation.statistics", "library"): _terminal_statistics,
    ("normalisation.replay", "library"): _replay,
    ("normalisation.observation.early_scale", "library"): lambda i: _alternating(i)[-2:],
    ("normalisation.observation.large_offset", "library"): _large_offset,
    ("normalisation.environments", "library"): _environments,
    ("normalisation.fixed.epsilon", "library"): _epsilon_with_fixed_statistics,
    ("normalisation.reward_clip.one_sided", "library"): _one_sided,
}

ABSENT: Mapping[str, str] = {
    "normalisation.terminal_observation": (
        "stores observations as the agent was given them and brings none back to the "
        "environment's units"
    ),
}
