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
    # modules of several releases: what is not there is not watched
    watched = (
        "torchrl.envs.common:EnvBase.reset",
        "torchrl.envs.common:EnvBase.step",
        "torchrl.envs.common:EnvBase.step_and_maybe_reset",
        "torchrl.envs.transforms.transforms:Transform.forward",
        "torchrl.envs.transforms._base:Transform.forward",
        "torchrl.collectors.collectors:DataCollectorBase.iterator",
        "torchrl.collectors._base:BaseCollector.iterator",
    )
    in_one_process = {
        "ParallelEnv": "SerialEnv",
        "MultiSyncDataCollector": "SyncDataCollector",
        "MultiaSyncDataCollector": "SyncDataCollector",
        "aSyncDataCollector": "SyncDataCollector",
        "MultiSyncCollector": "Collector",
        "MultiAsyncCollector": "Collector",
        "AsyncCollector": "Collector",
        "ReplayBuffer": "prefetch=0",
    }


ADAPTER = TorchRL()
