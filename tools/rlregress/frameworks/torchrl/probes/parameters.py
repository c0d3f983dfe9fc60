"""Probes of what a user hands over, and of the next observation that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.scripted import ending_both_ways
from rlregress.frameworks.torchrl.api import SoftUpdate
from rlregress.frameworks.torchrl.probes.helpers import critics, off_policy_losses, tiny_trainers
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw


def _library_coefficient(make_loss: Any) -> Raw:
    def probe(i: Inputs) -> list[float]:
        loss = make_loss(i, [0.0, 0.0])
        return critics.moved(loss, SoftUpdate(loss, tau=i["coefficient"]), i)

    return probe


def _program_coefficient(program_polyak: Any) -> Raw:
    return lambda i: program_polyak({**i, "tau": 1.0 - i["coefficient"]})


def _target_noise(i: Inputs) -> list[float]:
    wide = off_policy_losses.smoothed_actions(i, policy_noise=5.0, noise_clip=0.3)
    narrow = off_policy_losses.smoothed_actions(i, policy_noise=0.01, noise_clip=0.5)
    return [float(np.max(np.abs(wide))), float(np.std(narrow))]


def _next_observation(i: Inputs) -> Any:
    environment = ending_both_ways()
    loss, actor = tiny_trainers.off_policy_loss("sac", environment)
    trainer = tiny_trainers.sac(environment, loss, actor, frames=int(i["steps"]))
    stored = trainer.replay_buffer[:]["next", "observation"].reshape(-1)
    return stored[[2, 4]].numpy()


PROBES: Mapping[tuple[str, str], Raw] = {
    ("sac.target_update.parameter", "library"): _library_coefficient(off_policy_losses.sac),
    ("sac.target_update.parameter", "script"): _program_coefficient(
        off_policy_losses.sac_program_polyak
    ),
    ("td3.target_update.parameter", "library"): _library_coefficient(off_policy_losses.td3),
    ("td3.target_update.parameter", "script"): _program_coefficient(
        off_policy_losses.td3_program_polyak
    ),
    ("td3.target_noise.parameter", "library"): _target_noise,
    ("replay.next_observation", "trainer"): _next_observation,
}
