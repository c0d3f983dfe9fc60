"""Scripted Atari games, with what plays and looks at them."""
