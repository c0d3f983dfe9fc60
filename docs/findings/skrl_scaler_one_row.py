"""skrl: a batch of one row turns the statistics of RunningStandardScaler into not-a-number.

Found in 1.2.0 to 2.1.1. The variance of the batch is the sample variance, which one row does not
have. Statistics that were good before are lost for good, and so are all later observations. It
happens with a rollout of one step, or if one sample is left over for the last minibatch.

The sample variance is also merged as if it were the variance of the rows. Two rows count twice.
"""

import torch
from skrl.resources.preprocessors.torch import RunningStandardScaler

scaler = RunningStandardScaler(1, device="cpu")
for _ in range(20_000):
    scaler(torch.tensor([[-1.0], [1.0]]), train=True)
print(f"rows -1 and 1, two by two: variance {float(scaler.running_variance):.2f} instead of 1.00")
scaler(torch.tensor([[1.0]]), train=True)
print(f"and one row alone: variance {float(scaler.running_variance):.2f}")
found = float(scaler.running_variance)
assert abs(found - 1.0) < 0.01, f"expected a variance of 1, found {found}"
