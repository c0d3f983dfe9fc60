"""skrl: a memory made without `num_envs` stores what belongs together in different rows.

`add_samples` of a memory of one environment takes the steps of several at once. It moves its index
behind each tensor in turn: the second tensor of a transition begins where the first one ended.
`num_envs` is 1 unless it is given, and nothing warns.
"""

import torch
from skrl.memories.torch import RandomMemory

memory = RandomMemory(memory_size=8, device="cpu")
for name in ("observations", "rewards"):
    memory.create_tensor(name, size=1, dtype=torch.float32)
rows = torch.tensor([[1.0], [2.0]])
memory.add_samples(observations=rows, rewards=rows)
stored = [memory.get_tensor_by_name(name).flatten().tolist() for name in ("observations", "rewards")]
print(f"observations {stored[0]}, rewards {stored[1]}")
assert stored[1][:2] == [1.0, 2.0], f"expected the rewards 1 and 2 beside them, found {stored[1]}"
