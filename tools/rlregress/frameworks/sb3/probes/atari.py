"""Probes of Atari preprocessing."""

from __future__ import annotations

from typing import Mapping

from rlregress.frameworks.base import Probe

PROBES: Mapping[str, Probe] = {}
ABSENT: Mapping[str, str] = {}
