"""Probes of SB3-Contrib, one file per family, all with the defaults of its classes.

Where several classes have one detail, the scopes of all but the first are their names: see
``Framework.scopes``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress.probing import families
from rlregress.probing.interface import Probe

_ACTOR_CRITICS = "is not probed yet on its on-policy classes"
_OF_SB3 = "uses the code of Stable-Baselines3, which is checked there"


def _expand_probe_to_scopes(
    family: Any, detail_id: str, probe_or_scopes: Any
) -> Mapping[str, Probe]:
    """Return scope -> probe; a single probe has the scope "library".

    Args:
        probe_or_scopes: a probe of "library", scopes with their probes, or names of classes.
    """
    if isinstance(probe_or_scopes, tuple):
        return {name: family.make_probe_of_class(detail_id, name) for name in probe_or_scopes}
    if isinstance(probe_or_scopes, Mapping):
        return probe_or_scopes
    return {"library": probe_or_scopes}


def list_probes() -> Mapping[tuple[str, str], Probe]:
    """Return (detail id, scope) -> probe."""
    return {
        (detail, scope): probe
        for family in families.import_families(__name__)
        for detail, of_detail in family.PROBES.items()
        for scope, probe in _expand_probe_to_scopes(family, detail, of_detail).items()
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
