"""RSL-RL: a model of images alone cannot normalise its observations.

With ``obs_normalization`` a CNN model whose sets of observations are all images has nothing to
normalise, and says so nowhere: its first statistics are an error about an empty list of tensors.
"""

import torch
from rsl_rl.models import CNNModel
from tensordict import TensorDict

given = TensorDict({"camera": torch.zeros(2, 1, 8, 8)}, batch_size=[2])
layers = {"output_channels": [2], "kernel_size": 3, "activation": "elu"}
model = CNNModel(given, {"actor": ["camera"]}, "actor", 1, cnn_cfg=layers, obs_normalization=True)
model(given)
try:
    model.update_normalization(given)
except ValueError as error:
    found = str(error)
else:
    found = "statistics"
print(f"images alone, obs_normalization=True: {found}")
assert found == "statistics", f"expected nothing to normalise, found '{found}'"
