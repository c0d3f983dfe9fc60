"""Probes of Stable-Baselines3, one file per family; all of them ask the class defaults."""

from __future__ import annotations

from typing import Mapping, Tuple

from rlregress.frameworks.base import Probe
from rlregress.frameworks.sb3.probes import ppo, rollout, sac, td3

PROBES: Mapping[Tuple[str, str], Probe] = {
    (detail, "library"): probe
    for family in (sac, td3, ppo, rollout)
    for detail, probe in family.PROBES.items()
}
