"""SB3-Contrib: RecurrentPPO cannot train with MultiBinary actions.

Since 2.7.1 the rollout buffer stores actions in the dtype of their space, int8 here. PPO reads them
as float32; the minibatches of RecurrentPPO leave them as they are, and their log-probability is an
error.
"""

import gymnasium
import numpy as np
from sb3_contrib import RecurrentPPO


class TwoSwitches(gymnasium.Env):
    """An environment that one observation describes."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    action_space = gymnasium.spaces.MultiBinary(2)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple:
        return np.zeros(1, np.float32), 1.0, False, False, {}


agent = RecurrentPPO("MlpLstmPolicy", TwoSwitches(), n_steps=8, batch_size=8, device="cpu")
try:
    agent.learn(8)
except RuntimeError as error:
    found = str(error)
else:
    found = "an update"
print(f"MultiBinary(2): {found}")
assert found == "an update", f"expected an update with MultiBinary actions, found '{found}'"
