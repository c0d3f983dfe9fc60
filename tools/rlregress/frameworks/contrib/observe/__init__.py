"""Probes of SB3-Contrib, one file per family, all with the defaults of its classes.

Where several classes have one detail, the scopes of all but the first are their names: see
``Framework.scopes``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rlregress.probing import families
from rlregress.probing.interface import Probe

_ACTOR_CRITICS = "is not probed yet on its on-policy classes"
_OF_SB3 = "uses the code of Stable-Baselines3, which is checked there"


def list_probes() -> Mapping[tuple[str, str], Probe]:
    """Return (detail id, scope) -> probe; a probe without a scope has the scope "library"."""
    return {
        (detail, scope): probe
        for family in families.import_families(__name__)
        for detail, probes in family.PROBES.items()
        for scope, probe in (probes if isinstance(probes, Mapping) else {"library": probes}).items()
    }


#: detail id, or family -> why this framework does not have it.
ABSENT: Mapping[str, str] = {
    "td3": "has no TD3",
    "ddpg": "has no DDPG",
    **dict.fromkeys(("policy", "advantage"), _ACTOR_CRITICS),
    **dict.fromkeys(
        ("normalisation", "normaliser", "atari", "replay", "nstep", "collection"), _OF_SB3
    ),
    **dict.fromkeys(("logging", "networks", "optimizer"), _OF_SB3),
    "adaptive": "has no learning rate that follows the divergence",
    "deviation": "has only a probe of its initial deviation (ppo.log_std)",
    **dict.fromkeys(("symmetry", "curiosity", "distillation"), "has no such feature"),
}
