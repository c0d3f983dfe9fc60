"""Ranks implementations by existing runs."""
