"""Helpers of several families of probes of Stable-Baselines3; no module here has probes."""
