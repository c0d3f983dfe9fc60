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
observed, paid = (memory.get_tensor_by_name(n).flatten() for n in ("observations", "rewards"))
print(f"observations {observed.tolist()}, rewards {paid.tolist()}")
assert paid[0] == 1.0, f"expected the rewards beside the observations, found {paid.tolist()}"
