"""Studies on the runs that rlregress records: rank, thesis, determinism, claims."""
