"""Many runs on many machines: a list of runs, one command for one of them, and who calls it."""
