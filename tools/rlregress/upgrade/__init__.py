"""Upgrades: the changes between two versions, their places, and their effects."""
