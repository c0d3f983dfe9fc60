"""Trainings: what to run, one process per run, and what remains of it."""
