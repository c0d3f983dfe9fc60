"""Loop of TD3: number of updates, optimisers, exploration, data collection."""

from __future__ import annotations

from rlregress.details.catalogue import Detail

DETAILS: tuple[Detail, ...] = ()
