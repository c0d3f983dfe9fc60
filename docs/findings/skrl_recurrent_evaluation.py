"""skrl: an evaluation of PPO, A2C or TRPO with memory ends in an error.

`record_transition` of PPO_RNN, A2C_RNN and TRPO_RNN reads `outputs` of the value network, which
only a training computes. One model for both policy and value can be evaluated.
"""

import gymnasium
import torch
from skrl.agents.torch.ppo import PPO_RNN
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.trainers.torch import SequentialTrainer


class Remembering(Model):
    """A model with a state."""

    def __init__(self, spaces: dict) -> None:
        super().__init__(**spaces, device="cpu")
        self.number = torch.nn.Parameter(torch.zeros(1))

    def get_specification(self) -> dict:
        return {"rnn": {"sequence_length": 1, "sizes": [(1, 1, 1)]}}

    def compute(self, inputs: dict, role: str = "") -> tuple:
        outputs = self.number.expand(len(inputs["observations"]), 1)
        return outputs, {"rnn": inputs["rnn"], "log_std": outputs}


class Policy(GaussianMixin, Remembering):
    """Of actions."""

    def __init__(self, spaces: dict) -> None:
        Remembering.__init__(self, spaces)
        GaussianMixin.__init__(self)


class Value(DeterministicMixin, Remembering):
    """Of values."""

    def __init__(self, spaces: dict) -> None:
        Remembering.__init__(self, spaces)
        DeterministicMixin.__init__(self)


env = wrap_env(gymnasium.make("Pendulum-v1"), verbose=False)
spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
cfg = {"experiment": {"write_interval": 0, "checkpoint_interval": 0}}
agent = PPO_RNN(
    models={"policy": Policy(spaces), "value": Value(spaces)},
    memory=RandomMemory(memory_size=8, num_envs=1, device="cpu"),
    cfg=cfg, **spaces, device="cpu",
)  # fmt: skip
options = {"timesteps": 4, "headless": True, "disable_progressbar": True}
found = "an evaluation"
try:
    SequentialTrainer(env=env, agents=agent, cfg=options).eval()
except UnboundLocalError as error:
    found = f"{type(error).__name__}: {error}"
assert found == "an evaluation", f"expected an evaluation, found {found}"
