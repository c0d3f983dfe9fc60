"""Trainings: their plans, one process per run, and their records."""
