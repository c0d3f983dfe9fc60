"""skrl: every random action of a warm-up is the same one.

Models draw random actions with `sample_space`. It makes a batch of the space, which gets a copy of
the space's random generator, so that the generator of the space itself never moves. Concerned are
`random_timesteps` of SAC, TD3 and DDPG, and the exploration of DQN: one action for ever.
"""

import gymnasium
import torch
from skrl.utils.spaces.torch import sample_space

space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
actions = [sample_space(space, batch_size=1, backend="native", device="cpu") for _ in range(1000)]
different = len(torch.unique(torch.cat(actions), dim=0))
print(f"1000 random actions, {different} different")
assert different == 1000, f"expected 1000 different actions, found {different}"
