"""Entries of an upgrade, and those that a reviewer accepts."""
