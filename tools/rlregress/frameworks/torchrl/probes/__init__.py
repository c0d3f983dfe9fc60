"""Probes of TorchRL's implementation details, one module per family.

``library`` probes drive losses, modules and estimators with their class defaults; ``trainer``
probes run ``torchrl.trainers.algorithms``; ``script`` probes call or run the programs of
``sota-implementations``.
"""

from __future__ import annotations

from typing import Mapping, Tuple

from rlregress.frameworks.base import Probe
from rlregress.frameworks.torchrl.probes import gae, ppo, sac, td3
from rlregress.frameworks.torchrl.probes.quiet import quietly

#: (detail id, scope) -> probe.
PROBES: Mapping[Tuple[str, str], Probe] = {
    cell: quietly(probe) for family in (sac, td3, ppo, gae) for cell, probe in family.PROBES.items()
}
