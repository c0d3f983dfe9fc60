"""Probes of undocumented behaviour of the normalising transforms.

VecNorm where nothing else is said; VecNormV2, which its warning recommends in its place, where a
detail asks for the recommended component.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    LazyTensorStorage,
    ObservationNorm,
    RewardClipping,
    TensorDict,
    TensorDictReplayBuffer,
    VecNorm,
    VecNormV2,
)
from rlregress.frameworks.torchrl.observe.helpers.normalised_environments import (
    make_transformed_environment,
    walk_through_normalised,
)
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import normalisation_traps as traps
from rlregress.measurements.normalisation import make_script_of_observations
from rlregress.probing.interface import Inputs

_KEYS = ["observation"]


def _measure_replayed_observations(inputs: Inputs) -> torch.Tensor:
    environment = make_transformed_environment(
        make_script_of_observations(inputs["observations"]), VecNorm(in_keys=_KEYS)
    )
    steps = len(inputs["observations"]) - 1
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(steps), batch_size=2)
    buffer.extend(environment.rollout(steps))
    return buffer[torch.tensor([1, 2])]["observation"][:, 0]


_walk_unforgetting = partial(walk_through_normalised, norm=VecNormV2, decay=1.0)


def _measure_epsilon_with_fixed_statistics(inputs: Inputs) -> torch.Tensor:
    fixed = ObservationNorm(
        loc=torch.tensor([0.0]),
        scale=torch.tensor([inputs["deviation"]], dtype=torch.float32),
        in_keys=_KEYS,
        standard_normal=True,
    )
    environment = make_transformed_environment(
        make_script_of_observations([inputs["distance"], 0.0]), fixed
    )
    return environment.reset()["observation"].log10()


def _measure_one_sided_reward_clipping(inputs: Inputs) -> np.ndarray:
    try:
        clip = RewardClipping(clamp_min=inputs["low"])
    except (RuntimeError, TypeError, ValueError):
        return np.array([1.0, 0.0, 0.0])
    rewards = torch.tensor(inputs["rewards"], dtype=torch.float32)[:, None]
    clipped = clip(TensorDict({"reward": rewards}, [len(rewards)]))["reward"]
    return np.append(0.0, clipped[:, 0].numpy())


PROBES: Mapping[tuple[str, str], Raw] = {
    ("normalisation.terminal_observation.statistics", "library"): partial(
        traps.measure_observations_after_reset, walk_through_normalised
    ),
    ("normalisation.replay", "library"): _measure_replayed_observations,
    ("normalisation.observation.early_scale", "library"): partial(
        traps.measure_last_of_few_offset_observations,
        partial(walk_through_normalised, norm=VecNormV2),
    ),
    ("normalisation.observation.large_offset", "library"): partial(
        traps.flag_failures_at_large_offset, _walk_unforgetting
    ),
    ("normalisation.environments", "library"): partial(
        traps.measure_observations_of_two_environments, _walk_unforgetting
    ),
    ("normalisation.fixed.epsilon", "library"): _measure_epsilon_with_fixed_statistics,
    ("normalisation.reward_clip.one_sided", "library"): _measure_one_sided_reward_clipping,
}

ABSENT: Mapping[str, str] = {
    "normalisation.terminal_observation": (
        "stores observations as the agent was given them and brings none back to the "
        "environment's units"
    ),
}
