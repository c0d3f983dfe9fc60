"""Entries of an upgrade, and what a reviewer accepts of them."""
