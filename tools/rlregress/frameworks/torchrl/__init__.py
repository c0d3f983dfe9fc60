"""TorchRL (https://docs.pytorch.org/rl)."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Trained, TrainingRequest, Transitions


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

    def probes(self):
        from rlregress.frameworks.torchrl.probes import PROBES

        return PROBES

    def train(self, request: TrainingRequest) -> Trained:
        from rlregress.frameworks.torchrl.training import train

        return train(request)

    def transitions(self, request: TrainingRequest, environments: int = 1) -> Transitions:
        from rlregress.frameworks.torchrl.collection import transitions

        return transitions(request, environments)


ADAPTER = TorchRL()
