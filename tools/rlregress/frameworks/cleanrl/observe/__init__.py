"""Probes of CleanRL's scripts, one module per family.

Each module has ``PROBES``: detail id -> probe(source, inputs), where ``source`` is the copy of the
scripts that is probed.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements.ddpg import MEASUREMENTS as OF_DDPG
from rlregress.probing import families
from rlregress.probing.interface import Probe

#: why a script that was written for gym cannot be probed for details of DDPG
_ENDS_FOR_GYM = (
    "the script of 0.4.8 ends in an error, as it makes its policy without the environment that "
    "this needs"
)
__getattr__ = families.make_lazy_getattr(__name__, atari=["make_atari_player"])


def list_probes(source: Source) -> Mapping[tuple[str, str], Probe]:
    """Return (detail id, "script") -> probe of this copy of the scripts."""
    without = list_absent_details(source)
    return {
        cell: functools.partial(probe, source)
        for cell, probe in families.list_probes(__name__, "script").items()
        if cell[0] not in without
    }


def list_absent_details(source: Source) -> Mapping[str, str]:
    """Return detail or family -> why this copy lacks it, or why it cannot be probed."""
    unprobed = dict.fromkeys(OF_DDPG, _ENDS_FOR_GYM) if source.for_gym else {}
    return {
        **families.list_reasons_of_absent_details(__name__),
        "qrdqn": "has no QR-DQN",
        "tqc": "has no TQC",
        "trpo": "has no TRPO",
        "ars": "has no ARS",
        "policy.exported": "exports no policy",
        "maskable": "masks no actions",
        "crossq": "has no CrossQ",
        "adaptive": "has no learning rate that follows the divergence (ppo.learning_rate.adaptive)",
        "deviation": "has only a probe of its initial deviation (ppo.log_std)",
        "recurrent": "has a script with an LSTM, which is not probed yet",
        "symmetry": "has no symmetry loss",
        "curiosity": "has a script with random network distillation, which is not probed yet",
        "distillation": "has no distillation",
        "normaliser": "normalises around its environments, step by step",
        **unprobed,
    }
