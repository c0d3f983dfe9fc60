"""skrl: with random actions, SAC, TD3 and DDPG lose the states of models with memory.

While actions are random, `act` returns before it has new states. `record_transition` goes on with
an empty list. The first action of the policy gets that list: models as the documentation writes
them end in an error. Rows stored until then have no states.
"""

import gymnasium
import torch
from skrl.agents.torch.ddpg import DDPG_RNN
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer

GIVEN: list = []


class Remembering(DeterministicMixin, Model):
    """A policy with a state; keeps how many states it is given."""

    def __init__(self, spaces: dict) -> None:
        Model.__init__(self, **spaces, device="cpu")
        DeterministicMixin.__init__(self)
        self.number = torch.nn.Parameter(torch.zeros(1))

    def get_specification(self) -> dict:
        return {"rnn": {"sequence_length": 1, "sizes": [(1, 1, 1)]}}

    def compute(self, inputs: dict, role: str = "") -> tuple:
        GIVEN.append(len(inputs["rnn"]))
        return self.number.expand(len(inputs["observations"]), 1), {"rnn": inputs["rnn"]}


env = wrap_env(gymnasium.make("Pendulum-v1"), verbose=False)
spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
cfg = {
    "random_timesteps": 3,
    "learning_starts": 100,
    "experiment": {"write_interval": 0, "checkpoint_interval": 0},
}
agent = DDPG_RNN(
    models={"policy": Remembering(spaces)},
    memory=RandomMemory(memory_size=8, num_envs=1, device="cpu"),
    cfg=cfg, **spaces, device="cpu",
)  # fmt: skip
options = {"timesteps": 5, "headless": True, "disable_progressbar": True}
SequentialTrainer(env=env, agents=agent, cfg=options).train()
print(f"states that the policy got at its first steps: {GIVEN}")
assert GIVEN[0] == 1, f"expected 1 state at the first step of the policy, found {GIVEN[0]}"
