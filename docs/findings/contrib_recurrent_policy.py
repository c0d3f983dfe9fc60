"""SB3-Contrib: the saved policy of RecurrentPPO does not load if its LSTM has another size.

`policy.save` writes the arguments with which the policy is made again. The size of the LSTM and its
number of layers are not among them.
"""

import tempfile
from pathlib import Path

from sb3_contrib import RecurrentPPO
from sb3_contrib.ppo_recurrent import MlpLstmPolicy

model = RecurrentPPO(MlpLstmPolicy, "CartPole-v1", policy_kwargs={"lstm_hidden_size": 16})
with tempfile.TemporaryDirectory() as folder:
    model.policy.save(Path(folder) / "policy")
    try:
        MlpLstmPolicy.load(Path(folder) / "policy")
    except RuntimeError as error:
        message = str(error).splitlines()[0]
        print(f"a saved policy does not load: {message}")
        raise AssertionError(f"expected a policy, found: {message}") from None
print("the saved policy loads")
