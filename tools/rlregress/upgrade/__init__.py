"""An upgrade judged: the old version beside the new one, what changed, where, and whether it matters."""
