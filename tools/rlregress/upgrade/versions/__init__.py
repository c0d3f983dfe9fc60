"""The two versions: what was requested, what it resolves to, and where it is installed."""
