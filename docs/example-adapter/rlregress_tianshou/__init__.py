"""Tianshou (https://tianshou.org) for rlregress: an adapter and its expectations.

It probes Tianshou's own DQN for all 13 details ``dqn.*`` of the catalogue. Twelve of them have a
measurement that every framework shares (``rlregress.measurements.dqn``); ``driver`` is what a
measurement needs of Tianshou, ``probes`` is the table, and ``tianshou.toml`` is what Tianshou
documents, with a fault for each detail.
"""

from __future__ import annotations

from pathlib import Path

from rlregress.frameworks.base import Adapter


class Tianshou(Adapter):
    """Tianshou's DQN, in two scopes.

    ``library``: ``DQN`` with a target network, ``Collector`` and ``OffPolicyTrainer``.
    ``trainer``: what ``tianshou.highlevel`` makes of parameters that are not set.
    """

    name = "tianshou"
    title = "Tianshou"
    packages = ("tianshou", "torch")
    modules = ("tianshou",)
    scopes = ("library", "trainer")

    def expectations(self):
        """The file beside this one."""
        return Path(__file__).with_name("tianshou.toml")
