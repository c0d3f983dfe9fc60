"""What frameworks answer to the questions of the catalogue, as data."""

from __future__ import annotations

#: what begins the reason of a judgement without an answer
UNASKED = "could not be probed: "
