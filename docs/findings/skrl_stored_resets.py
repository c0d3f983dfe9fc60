"""skrl: with vector environments of gymnasium 1, a step that only resets is stored as a transition.

Those environments reset themselves in the step after an end: its action is ignored and its reward
is 0. skrl stores that step like any other. It leads from the last observation of one episode to the
first of the next, and a value is bootstrapped through it.
"""

import gymnasium
import torch
from skrl.agents.torch import Agent, AgentCfg, ExperimentCfg
from skrl.envs.wrappers.torch import wrap_env
from skrl.trainers.torch import SequentialTrainer


class Noting(Agent):
    """Keeps the rewards and the ends that it is asked to record."""

    def init(self, *, trainer_cfg: dict | None = None) -> None:
        self.rows: list = []

    def act(self, observations, states, *, timestep, timesteps) -> tuple:
        return torch.zeros(1, 1, dtype=torch.long), {}

    def record_transition(self, *, rewards, terminated, **others) -> None:
        self.rows.append((float(rewards), bool(terminated)))

    def pre_interaction(self, **step) -> None: ...

    def post_interaction(self, **step) -> None: ...

    def update(self, **step) -> None: ...


SILENT = ExperimentCfg(write_interval=0, checkpoint_interval=0)
env = wrap_env(gymnasium.make_vec("CartPole-v1", num_envs=1), verbose=False)
agent = Noting(
    models={},
    cfg=AgentCfg(experiment=SILENT),
    observation_space=env.observation_space,
    device="cpu",
)
options = {"timesteps": 60, "headless": True, "disable_progressbar": True}
SequentialTrainer(env=env, agents=agent, cfg=options).train()
ends = sum(ended for _, ended in agent.rows)
unpaid = sum(reward == 0.0 for reward, _ in agent.rows)
print(f"CartPole pays 1 for every step; {ends} ends, {unpaid} stored steps with reward 0")
assert unpaid == 0, f"expected no step that only resets, found {unpaid}"
