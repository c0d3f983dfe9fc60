"""Probes of SB3-Contrib, one file per family; all of them ask the class defaults."""

from __future__ import annotations

from typing import Mapping, Tuple

from rlregress.frameworks import families
from rlregress.frameworks.base import Probe, absences

_FAMILIES = families.load_all(
    __name__, ("sac", "sac_loop", "dqn", "quantiles", "trpo", "maskable", "ars")
)

#: (detail id, scope) -> probe.
PROBES: Mapping[Tuple[str, str], Probe] = {
    (detail, "library"): probe for family in _FAMILIES for detail, probe in family.PROBES.items()
}

_ACTOR_CRITICS = "of its MaskablePPO only the masks are probed, of its RecurrentPPO nothing yet"
_OF_SB3 = "is the code of Stable-Baselines3, and checked there"

#: detail id, or family -> what this framework does not have.
ABSENT: Mapping[str, str] = {
    **absences(_FAMILIES),
    "td3": "has no TD3",
    "ddpg": "has no DDPG",
    **dict.fromkeys(("ppo", "gae", "policy", "advantage"), _ACTOR_CRITICS),
    **dict.fromkeys(
        ("normalisation", "normaliser", "atari", "replay", "nstep", "collection"), _OF_SB3
    ),
    **dict.fromkeys(("nstep", "collection", "logging", "networks", "optimizer"), _OF_SB3),
    **dict.fromkeys(("adaptive", "deviation", "recurrent"), _ACTOR_CRITICS),
    **dict.fromkeys(("symmetry", "curiosity", "distillation"), "has nothing of the kind"),
}
