"""The target policy smoothing of TD3: what its critics are asked about."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers.learner import Learner
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import Bag
from rlregress.frameworks.isolation import shifted

_SCRIPT = "td3_continuous_action"


def smoothed_actions(
    source: Source, inputs: Inputs, each_its_own: bool, **chosen: Any
) -> np.ndarray:
    """Smoothed target actions of one batch, [samples, dimensions], in the environment's units.

    The target policy's own answer is replaced by the action that is meant: one version of the
    script does not unscale, and could not be brought to the centre of the bounds.

    Args:
        each_its_own: where the noise has the shape of the last action that was made, and so is the
            same for a whole batch, that action is given one row for each sample: as many draws as
            that many updates would make.
    """
    low, high = (np.atleast_1d(inputs[key]) for key in ("low", "high"))
    samples, dimensions = int(inputs["samples"]), len(low)
    agent = Learner(source, _SCRIPT, low=low, high=high, batch_size=samples, **chosen)
    meant = torch.as_tensor(
        0.5 * (low + high) + float(inputs["squashed"]) * 0.5 * (high - low), dtype=torch.float32
    )
    agent.part("target_actor").forward = lambda *_: meant.expand(samples, dimensions)
    made = np.zeros((samples, dimensions) if each_its_own else dimensions)
    feed = _batch(samples, dimensions)
    torch.manual_seed(shifted(int(inputs["seed"])))
    sliced = agent.value(
        "smoothed target action",
        "next_state_actions",
        **feed,
        action=made,
        actions=made[None],
    )
    return sliced.vector("next_state_actions")


def _batch(samples: int, dimensions: int) -> dict[str, Any]:
    """A batch as both versions of the script name it; observations of one dimension."""
    columns = {
        "observations": np.full((samples, 1), 0.5, dtype=np.float32),
        "actions": np.zeros((samples, dimensions), dtype=np.float32),
        "rewards": np.zeros((samples, 1), dtype=np.float32),
        "next_observations": np.full((samples, 1), 0.5, dtype=np.float32),
        "dones": np.zeros((samples, 1), dtype=np.float32),
    }
    return {
        "data": Bag(**{name: torch.as_tensor(column) for name, column in columns.items()}),
        "s_obs": columns["observations"],
        "s_actions": columns["actions"],
        "s_rewards": columns["rewards"][:, 0],
        "s_next_obses": columns["next_observations"],
        "s_dones": columns["dones"][:, 0],
    }
