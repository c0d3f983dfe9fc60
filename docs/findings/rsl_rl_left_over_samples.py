"""RSL-RL: the samples that minibatches leave over are always the last ones of a rollout.

`mini_batch_generator` draws a permutation of as many rows as all minibatches hold, and not of all
rows. What is left over is never trained on, in no epoch of no rollout. That all epochs have one
permutation is known: https://github.com/leggedrobotics/rsl_rl/issues/26
"""

import torch
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

STEPS, ENVIRONMENTS = 5, 3
observed = TensorDict({"policy": torch.zeros(ENVIRONMENTS, 1)}, batch_size=[ENVIRONMENTS])
storage = RolloutStorage("rl", ENVIRONMENTS, STEPS, observed, [1])
for step in range(STEPS):
    row = RolloutStorage.Transition()
    row.observations, row.actions = observed, torch.zeros(ENVIRONMENTS, 1)
    row.rewards, row.dones = torch.zeros(ENVIRONMENTS), torch.zeros(ENVIRONMENTS)
    row.values = torch.full((ENVIRONMENTS, 1), float(step))
    row.actions_log_prob = torch.zeros(ENVIRONMENTS)
    row.distribution_params = (torch.zeros(ENVIRONMENTS, 1),)
    storage.add_transition(row)

read = set()
for _ in range(1000):
    for batch in storage.mini_batch_generator(num_mini_batches=4, num_epochs=5):
        read |= set(batch.values.flatten().tolist())
print(f"of the steps 0 to {STEPS - 1}, 1000 updates read {sorted(int(step) for step in read)}")
assert len(read) == STEPS, f"expected every step to be read some time, found {sorted(read)}"
