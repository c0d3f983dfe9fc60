"""Behaviour that no source states and that hurts who does not know it."""

from __future__ import annotations

from rlregress.details.catalogue import Detail

DETAILS: tuple[Detail, ...] = ()
