"""Upgrades: what changed between two versions, where, and whether it matters."""
