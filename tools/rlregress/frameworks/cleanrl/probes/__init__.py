"""Probes of CleanRL's scripts, one module per family.

Each module has ``PROBES``: detail id -> probe(source, inputs), where ``source`` is the copy of the
scripts that is asked.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.probes import ddpg
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs, Probe, absences

_FAMILIES: Sequence[Any] = [
    importlib.import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
    if not module.ispkg
]

#: detail id, or family -> what no copy of this framework has.
ABSENT: Mapping[str, str] = {
    **absences(_FAMILIES),
    "qrdqn": "has no QR-DQN",
    "tqc": "has no TQC",
    "trpo": "has no TRPO",
    "ars": "has no ARS",
    "policy.exported": "exports no policy",
    "maskable": "masks no actions",
    "crossq": "has no CrossQ",
    "adaptive": "has a learning rate that no divergence moves (ppo.learning_rate.adaptive)",
    "deviation": "is asked where its deviation starts alone (ppo.log_std)",
    "recurrent": "of its script with an LSTM nothing is probed yet",
    "symmetry": "mirrors nothing",
    "curiosity": "of its script with random network distillation nothing is probed yet",
    "distillation": "has no distillation",
    "normaliser": "normalises around its environments, step by step",
}


def absent(source: Source) -> Mapping[str, str]:
    """Detail id -> what this copy of the scripts does not have, or cannot be asked."""
    ended = dict.fromkeys(ddpg.PROBES, ddpg.ENDS_FOR_GYM) if source.for_gym else {}
    return {**ABSENT, **ended}


def _bound(probe: Callable[..., np.ndarray], source: Source) -> Probe:
    """The probe of one copy of the scripts."""

    @functools.wraps(probe)
    def probe_of_source(inputs: Inputs) -> np.ndarray:
        with warnings.catch_warnings():
            # how the scripts make their tensors is slow, which is no finding here
            warnings.filterwarnings("ignore", "Creating a tensor from a list", UserWarning)
            return probe(source, inputs)

    return probe_of_source


@functools.lru_cache(maxsize=16)
def bound_to(source: Source) -> Mapping[tuple[str, str], Probe]:
    """(detail id, "script") -> probe of this copy of the scripts."""
    without = absent(source)
    return MappingProxyType(
        {
            (detail, "script"): _bound(probe, source)
            for family in _FAMILIES
            for detail, probe in family.PROBES.items()
            if detail not in without
        }
    )
