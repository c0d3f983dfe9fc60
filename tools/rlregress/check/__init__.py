"""A check: selects cells, runs and judges them against stored runs, and derives the verdicts."""
