"""An upgrade judged: version A beside version B, what changed, where, and whether it matters."""
