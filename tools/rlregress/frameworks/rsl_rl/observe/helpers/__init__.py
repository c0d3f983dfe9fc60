"""Helpers of RSL-RL's probes."""
