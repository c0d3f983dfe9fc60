"""skrl: the states that agents with memory store for the policy are those after a step.

`record_transition` makes the states before a step and those after it one dictionary
(`self._rnn_initial_states = self._rnn_final_states`). From the second step on, `act` writes the new
states of the policy into both, before they are stored. An update begins its sequences with them:
the ratio of a policy that has not moved is not 1. States of the value network are right.
"""

import gymnasium
import torch
from skrl.agents.torch.ppo import PPO_RNN
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.trainers.torch import SequentialTrainer

GIVEN: dict = {"policy": [], "value": []}


class Counting(Model):
    """Its state is the number of its steps; keeps what it is given."""

    def __init__(self, spaces: dict) -> None:
        super().__init__(**spaces, device="cpu")
        self.number = torch.nn.Parameter(torch.zeros(1))

    def get_specification(self) -> dict:
        return {"rnn": {"sequence_length": 1, "sizes": [(1, 1, 1)]}}

    def compute(self, inputs: dict, role: str = "") -> tuple:
        (state,) = inputs["rnn"]
        GIVEN[role].append(float(state.flatten()[0]))
        outputs = self.number.expand(len(inputs["observations"]), 1)
        return outputs, {"rnn": [state + 1.0], "log_std": outputs}


class Policy(GaussianMixin, Counting):
    """Of actions."""

    def __init__(self, spaces: dict) -> None:
        Counting.__init__(self, spaces)
        GaussianMixin.__init__(self)


class Value(DeterministicMixin, Counting):
    """Of values."""

    def __init__(self, spaces: dict) -> None:
        Counting.__init__(self, spaces)
        DeterministicMixin.__init__(self)


STEPS = 6
env = wrap_env(gymnasium.make("Pendulum-v1"), verbose=False)
spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
memory = RandomMemory(memory_size=STEPS, num_envs=1, device="cpu")
cfg = {"rollouts": 100, "experiment": {"write_interval": 0, "checkpoint_interval": 0}}
agent = PPO_RNN(
    models={"policy": Policy(spaces), "value": Value(spaces)},
    memory=memory, cfg=cfg, **spaces, device="cpu",
)  # fmt: skip
options = {"timesteps": STEPS, "headless": True, "disable_progressbar": True}
SequentialTrainer(env=env, agents=agent, cfg=options).train()
for role, given in GIVEN.items():
    stored = memory.get_tensor_by_name(f"rnn_{role}_0").flatten().tolist()
    print(f"{role}: steps began with {given}, stored is {stored}")
stored = memory.get_tensor_by_name("rnn_policy_0").flatten().tolist()
assert stored == GIVEN["policy"], f"expected the states {GIVEN['policy']}, found {stored}"
