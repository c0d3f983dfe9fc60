"""Differences between two versions, read from their files before anything runs."""
