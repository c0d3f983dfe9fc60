"""SB3-Contrib: the saved linear policy of ARS does not load.

`policy.save` writes the arguments with which the policy is made again. Among them is `net_arch`,
which the linear policy does not take.
"""

import tempfile
from pathlib import Path

from sb3_contrib import ARS
from sb3_contrib.ars.policies import ARSLinearPolicy

model = ARS("LinearPolicy", "Pendulum-v1")
with tempfile.TemporaryDirectory() as folder:
    model.policy.save(Path(folder) / "policy")
    try:
        ARSLinearPolicy.load(Path(folder) / "policy")
    except TypeError as error:
        message = str(error).splitlines()[0]
        print(f"a saved policy does not load: {message}")
        raise AssertionError(f"expected a policy, found: {message}") from None
print("the saved policy loads")
