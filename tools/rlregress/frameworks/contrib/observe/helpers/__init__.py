"""Helpers of SB3-Contrib's probes."""
