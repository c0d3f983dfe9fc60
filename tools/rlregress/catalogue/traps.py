"""Traps: undocumented behaviour that harms users who are unaware of it."""

from __future__ import annotations

from rlregress.catalogue import traps_estimators, traps_policies, traps_training
from rlregress.catalogue.registry import Detail

DETAILS: tuple[Detail, ...] = (
    *traps_estimators.DETAILS,
    *traps_policies.DETAILS,
    *traps_training.DETAILS,
)
