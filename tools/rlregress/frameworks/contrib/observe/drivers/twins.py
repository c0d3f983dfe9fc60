"""The driver of TQC, which extends SAC."""

from __future__ import annotations

from sb3_contrib.tqc import tqc

from rlregress.frameworks.sb3.observe.drivers import twins


class QuantileDriver(twins.Driver):
    """An agent of TQC, whose loss is a quantile distance and not a function of PyTorch."""

    distances = ((tqc, "quantile_huber_loss"),)
