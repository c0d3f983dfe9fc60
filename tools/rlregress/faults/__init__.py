"""Known faults of the frameworks: their tables, copies of a framework with one, and mutants."""
