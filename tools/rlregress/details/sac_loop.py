"""Loop of soft actor-critic: order and number of updates, optimisers, data collection."""

from __future__ import annotations

from rlregress.details.catalogue import Detail

DETAILS: tuple[Detail, ...] = ()
