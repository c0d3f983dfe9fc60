"""Replay buffers and n-step returns."""

from __future__ import annotations

from rlregress.details.catalogue import Detail

DETAILS: tuple[Detail, ...] = ()
