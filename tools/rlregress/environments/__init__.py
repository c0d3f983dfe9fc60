"""Scripted Atari games, scenes played in them, and measurements of networks that see them."""
