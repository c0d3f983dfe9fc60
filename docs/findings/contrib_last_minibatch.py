"""SB3-Contrib: a last minibatch of one sample makes every parameter not-a-number.

PPO of Stable-Baselines3 leaves such a minibatch as it is (its issue 325). MaskablePPO and
RecurrentPPO divide by the deviation of one advantage.
"""

import torch
from sb3_contrib import MaskablePPO

model = MaskablePPO("MlpPolicy", "CartPole-v1", n_steps=65, batch_size=64, n_epochs=1)
model.learn(65, use_masking=False)
finite = all(bool(torch.isfinite(p).all()) for p in model.policy.parameters())
print(f"after a rollout of 65 steps with minibatches of 64, parameters are finite: {finite}")
assert finite, "expected finite parameters, found not-a-number"
