"""skrl (https://skrl.readthedocs.io), of its agents those on PyTorch that act alone."""

from __future__ import annotations

from rlregress.frameworks.base import ProbedAdapter


class Skrl(ProbedAdapter):
    """PPO, SAC, TD3, DDPG, DQN and TRPO, with models as its documentation writes them."""

    name = "skrl"
    title = "skrl"
    packages = ("skrl", "torch")
    modules = ("skrl",)
    public = (
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
    )


ADAPTER = Skrl()
