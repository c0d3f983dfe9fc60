"""TorchRL (https://docs.pytorch.org/rl)."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Framework

#: TorchRL: its loss modules, collectors and trainers.
#: Three things differ and are probed apart: ``library`` (class defaults of losses and modules),
#: ``trainer`` (``torchrl.trainers.algorithms``) and ``script`` (``sota-implementations``).
ADAPTER = Adapter(
    "torchrl",
    __name__,
    Framework(
        title="TorchRL",
        packages=("torchrl", "tensordict", "torch"),
        modules=("torchrl", "tensordict"),
        public=(
            "torchrl.collectors",
            "torchrl.data",
            "torchrl.data.replay_buffers",
            "torchrl.data.tensor_specs",
            "torchrl.envs",
            "torchrl.envs.transforms",
            "torchrl.envs.utils",
            "torchrl.modules",
            "torchrl.objectives",
            "torchrl.objectives.utils",
            "torchrl.objectives.value",
            "torchrl.objectives.value.functional",
            "torchrl.record",
            "torchrl.trainers",
            "torchrl.trainers.algorithms",
            "torchrl.trainers.algorithms.configs",
            "tensordict.nn",
        ),
        algorithms=("ppo", "sac", "td3"),
        behavior_only=("dqn", "ddpg"),
        scopes=("library", "trainer", "script"),
        # modules of several releases: what is not there is not watched
        recorded_methods=(
            "torchrl.envs.common:EnvBase.reset",
            "torchrl.envs.common:EnvBase.step",
            "torchrl.envs.common:EnvBase.step_and_maybe_reset",
            "torchrl.envs.transforms.transforms:Transform.forward",
            "torchrl.envs.transforms._base:Transform.forward",
            "torchrl.collectors.collectors:DataCollectorBase.iterator",
            "torchrl.collectors._base:BaseCollector.iterator",
        ),
        logged=(
            "torchrl.trainers.trainers:Trainer._log",
            "torchrl.record.loggers.common:Logger.log_scalar",
        ),
        stores_files=True,
        in_one_process={
            "ParallelEnv": "SerialEnv",
            "MultiSyncDataCollector": "SyncDataCollector",
            "MultiaSyncDataCollector": "SyncDataCollector",
            "aSyncDataCollector": "SyncDataCollector",
            "MultiSyncCollector": "Collector",
            "MultiAsyncCollector": "Collector",
            "AsyncCollector": "Collector",
            "ReplayBuffer": "prefetch=0",
        },
    ),
)
