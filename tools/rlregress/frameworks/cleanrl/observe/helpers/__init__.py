"""Helpers of several families of probes of CleanRL's scripts; no module here has probes."""
