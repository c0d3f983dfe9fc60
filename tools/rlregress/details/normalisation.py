"""Normalisation of observations and rewards, and the wrappers around continuous tasks."""

from __future__ import annotations

from rlregress.details.catalogue import Detail

DETAILS: tuple[Detail, ...] = ()
