"""Atari preprocessing: the ten Atari details of PPO."""

from __future__ import annotations

from rlregress.details.catalogue import Detail

DETAILS: tuple[Detail, ...] = ()
