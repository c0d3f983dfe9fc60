"""What shows differences: probes, recorded trainings, direct calls, old files, returns."""
