"""Loop of PPO: schedules, minibatches, early stopping, networks, segments."""

from __future__ import annotations

from rlregress.details.catalogue import Detail

DETAILS: tuple[Detail, ...] = ()
