"""skrl: the evaluation of a trained DQN explores.

`SequentialTrainer.eval` calls `act` with the number of the step, as a training does. DQN then
explores by the schedule of the training, which begins anew. The return of the evaluation is that of
a policy that acts at random most of the time.
"""

import gymnasium
import torch
from skrl.agents.torch.dqn import DQN
from skrl.envs.wrappers.torch import wrap_env
from skrl.models.torch import DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer


class Asked(DeterministicMixin, Model):
    """Action values; counts how often it is asked for them."""

    calls = 0

    def __init__(self, spaces: dict) -> None:
        Model.__init__(self, **spaces, device="cpu")
        DeterministicMixin.__init__(self)
        self.values = torch.nn.Parameter(torch.tensor([[1.0, 0.0]]))

    def compute(self, inputs: dict, role: str = "") -> tuple:
        Asked.calls += 1
        return self.values.expand(len(inputs["observations"]), 2), {}


env = wrap_env(gymnasium.make("CartPole-v1"), verbose=False)
spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
cfg = {
    "exploration_scheduler": lambda timestep, timesteps: 1.0 - timestep / timesteps,
    "experiment": {"write_interval": 0, "checkpoint_interval": 0},
}
agent = DQN(models={"q_network": Asked(spaces)}, cfg=cfg, **spaces, device="cpu")
options = {"timesteps": 400, "headless": True, "disable_progressbar": True}
SequentialTrainer(env=env, agents=agent, cfg=options).eval()
print(f"400 steps of an evaluation, {Asked.calls} of them by the action values")
assert Asked.calls == 400, f"expected 400 steps by the action values, found {Asked.calls}"
