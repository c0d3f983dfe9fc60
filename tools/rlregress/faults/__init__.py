"""Known faults of the frameworks: their tables, copies with one of them, and mutants."""
