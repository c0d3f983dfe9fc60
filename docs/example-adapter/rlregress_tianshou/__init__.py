"""Tianshou (https://tianshou.org) for rlregress: an adapter and its expectations.

It probes Tianshou's own DQN for all 13 details ``dqn.*`` of the catalogue. Twelve of them have a
measurement that every framework shares (``rlregress.measurements.dqn``); ``driver`` is what a
measurement needs of Tianshou, ``observe`` has the probes, and ``tianshou.toml`` is what Tianshou
documents, with a fault for each detail.
"""

from __future__ import annotations

from pathlib import Path

from rlregress.frameworks.base import Adapter, Framework

#: Tianshou's DQN, in two scopes.
#: ``library``: ``DQN`` with a target network, ``Collector`` and ``OffPolicyTrainer``.
#: ``trainer``: what ``tianshou.highlevel`` makes of parameters that are not set.
ADAPTER = Adapter(
    "tianshou",
    __name__,
    Framework(
        title="Tianshou",
        packages=("tianshou", "torch"),
        modules=("tianshou",),
        scopes=("library", "trainer"),
        expectations=Path(__file__).with_name("tianshou.toml"),
    ),
)
