"""skrl: a loaded memory is not sampled.

`Memory.load` puts the loaded tensors into attributes of the memory. Sampling reads the tensors that
were made with it, which stay as they were: not-a-number, in a new memory. The number of rows is not
loaded either.
"""

import tempfile
from pathlib import Path

import torch
from skrl.memories.torch import RandomMemory


def memory() -> RandomMemory:
    """Two rows of a reward each."""
    made = RandomMemory(memory_size=2, num_envs=1, device="cpu")
    made.create_tensor("rewards", size=1, dtype=torch.float32)
    return made


saved, loaded = memory(), memory()
for reward in (1.0, 2.0):
    saved.add_samples(rewards=torch.full((1, 1), reward))
with tempfile.TemporaryDirectory() as folder:
    saved.save(folder)
    (path,) = Path(folder).glob("memories/*.pt")
    loaded.load(str(path))
rewards = loaded.get_tensor_by_name("rewards").flatten().tolist()
print(f"saved 2 rows with rewards 1 and 2; loaded {len(loaded)} rows with rewards {rewards}")
assert rewards == [1.0, 2.0], f"expected rewards 1 and 2, found {rewards}"
