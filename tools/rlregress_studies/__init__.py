"""Studies with what rlregress records: rank, thesis, determinism, claims."""
