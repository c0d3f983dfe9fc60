"""."""

PROBES: dict = {}
