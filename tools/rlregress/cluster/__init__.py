"""Many runs on many machines: manifests of runs, one command for one run, and its callers."""
