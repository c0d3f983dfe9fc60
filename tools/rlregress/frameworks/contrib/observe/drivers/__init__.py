"""Drivers of SB3-Contrib, one file per family."""
