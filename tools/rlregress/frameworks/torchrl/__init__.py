"""TorchRL (https://docs.pytorch.org/rl)."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter


class TorchRL(Adapter):
    """TorchRL: its loss modules, collectors and trainers.

    Three things differ and are probed apart: ``library`` (class defaults of losses and modules),
    ``trainer`` (``torchrl.trainers.algorithms``) and ``script`` (``sota-implementations``).
    """

    name = "torchrl"
    title = "TorchRL"
    packages = ("torchrl", "tensordict", "torch")
    modules = ("torchrl", "tensordict")
    algorithms = ("ppo", "sac", "td3")
    scopes = ("library", "trainer", "script")


ADAPTER = TorchRL()
