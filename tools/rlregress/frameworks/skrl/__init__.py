"""skrl (https://skrl.readthedocs.io): its single agents on PyTorch."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Framework

#: PPO, SAC, TD3, DDPG, DQN and TRPO, with models as its documentation writes them.
ADAPTER = Adapter(
    "skrl",
    __name__,
    Framework(
        title="skrl",
        packages=("skrl", "torch"),
        modules=("skrl",),
        public=(
            *(
                f"skrl.agents.torch.{name}"
                for name in ("a2c", "ddpg", "dqn", "ppo", "sac", "td3", "trpo")
            ),
            "skrl.memories.torch",
            "skrl.models.torch",
            "skrl.resources.noises.torch",
            "skrl.resources.preprocessors.torch",
            "skrl.resources.schedulers.torch",
            "skrl.trainers.torch",
            "skrl.utils.model_instantiators.torch",
            "skrl.utils.runner.torch",
        ),
        algorithms=("ppo", "sac", "td3"),
        behavior_only=("dqn", "ddpg"),
        recorded_methods=(
            "rlregress.frameworks.skrl.train.builtin_trainings:TensorReader.read_numbers",
            "skrl.resources.preprocessors.torch.running_standard_scaler:RunningStandardScaler.forward",
        ),
        logged=("skrl.agents.torch.base:Agent.track_data",),
    ),
)
