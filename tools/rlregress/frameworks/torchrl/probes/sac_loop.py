"""Probes of the loop of soft actor-critic."""

from __future__ import annotations

from typing import Mapping, Tuple

from rlregress.frameworks.base import Probe

PROBES: Mapping[Tuple[str, str], Probe] = {}
ABSENT: Mapping[str, str] = {}
