"""skrl: an agent with memory can be given to one trainer only.

Each trainer makes an agent ready, which creates the tensors of its memory unless they exist.
`create_tensor` compares the last dimension of a tensor of states with all of its dimensions, finds
them different, and ends in an error. `init` of PPO_RNN calls it so for each state of its models.
"""

import torch
from skrl.memories.torch import RandomMemory

memory = RandomMemory(memory_size=8, num_envs=1, device="cpu")
found = "one tensor"
try:
    for _ in range(2):
        memory.create_tensor("rnn_policy_0", size=(1, 3), dtype=torch.float32, keep_dimensions=True)
except ValueError as error:
    found = f"{type(error).__name__}: {error}"
assert found == "one tensor", f"expected one tensor, found {found}"
