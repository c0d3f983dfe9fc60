"""PPO of skrl 1.4 on Pendulum, as a user would write it: 768 steps, which takes a few seconds."""

import argparse

import gymnasium
import torch
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveRL
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from torch import nn
from torch.optim.lr_scheduler import LinearLR

ROLLOUT = 256


class Policy(GaussianMixin, Model):
    """A Gaussian around a network's output, in the range of the torque."""

    def __init__(self, observations, actions, device):
        Model.__init__(self, observations, actions, device)
        GaussianMixin.__init__(self, clip_actions=True)
        self.network = nn.Sequential(
            nn.Linear(self.num_observations, 64), nn.Tanh(), nn.Linear(64, self.num_actions)
        )
        self.log_std = nn.Parameter(torch.zeros(self.num_actions))

    def compute(self, inputs, role):
        """Mean and log of the standard deviation of the action."""
        return 2.0 * torch.tanh(self.network(inputs["states"])), self.log_std, {}


class Value(DeterministicMixin, Model):
    """The value of an observation."""

    def __init__(self, observations, actions, device):
        Model.__init__(self, observations, actions, device)
        DeterministicMixin.__init__(self)
        self.network = nn.Sequential(nn.Linear(self.num_observations, 64), nn.Tanh())
        self.value = nn.Linear(64, 1)

    def compute(self, inputs, role):
        """The value."""
        return self.value(self.network(inputs["states"])), {}


def main():
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3 * ROLLOUT)
    parser.add_argument("--adaptive", action="store_true", help="adapt the learning rate")
    args = parser.parse_args()
    if args.adaptive:
        schedule, settings = KLAdaptiveRL, {"kl_threshold": 0.01}
    else:
        schedule, settings = LinearLR, {"end_factor": 0.1, "total_iters": 12}
    set_seed(1)
    environment = wrap_env(gymnasium.make("Pendulum-v1"), verbose=False)
    observations, actions = environment.observation_space, environment.action_space
    device = environment.device
    agent = PPO(
        models={
            "policy": Policy(observations, actions, device),
            "value": Value(observations, actions, device),
        },
        memory=RandomMemory(memory_size=ROLLOUT, num_envs=environment.num_envs, device=device),
        observation_space=observations,
        action_space=actions,
        device=device,
        cfg={
            "rollouts": ROLLOUT,
            "learning_epochs": 4,
            "mini_batches": 4,
            "learning_rate_scheduler": schedule,
            "learning_rate_scheduler_kwargs": settings,
            "clip_predicted_values": True,
            "time_limit_bootstrap": True,
            "entropy_loss_scale": 0.01,
            "rewards_shaper": lambda rewards, *_: (rewards + 8.0) / 8.0,
            "state_preprocessor": RunningStandardScaler,
            "state_preprocessor_kwargs": {"size": observations, "device": device},
            "value_preprocessor": RunningStandardScaler,
            "value_preprocessor_kwargs": {"size": 1, "device": device},
            "experiment": {"write_interval": 0, "checkpoint_interval": 0},
        },
    )
    training = {"timesteps": args.steps, "headless": True, "disable_progressbar": True}
    SequentialTrainer(cfg=training, env=environment, agents=agent).train()


if __name__ == "__main__":
    main()
