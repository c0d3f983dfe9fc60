"""Finds the release or the commit that changed a behaviour, and the function behind it."""
