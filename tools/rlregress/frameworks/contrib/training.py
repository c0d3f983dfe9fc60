"""SB3-Contrib trainings: RecurrentPPO, TQC and QR-DQN, by the code that trains those of SB3."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from sb3_contrib import QRDQN, TQC, RecurrentPPO
from sb3_contrib.common.recurrent.type_aliases import RNNStates

from rlregress.frameworks.sb3 import training as of_sb3


def _memory(policy: Any, rows: int, of_values: bool = False) -> dict[str, Any]:
    size = (policy.lstm_actor.num_layers, rows, policy.lstm_actor.hidden_size)
    nothing = (torch.zeros(size), torch.zeros(size))
    states = nothing if of_values else RNNStates(nothing, nothing)
    return {"lstm_states": states, "episode_starts": torch.ones(rows)}


#: Which class an algorithm is: as in ``defaults``, but of PPO the one with collection and
#: minibatches that no other has. Its policy has a memory; its value is that of an observation
#: alone, so that what an update reads says what it was computed from.
LIBRARY = of_sb3.Library(
    "SB3-Contrib",
    {"ppo": RecurrentPPO, "sac": TQC, "dqn": QRDQN},
    networks={
        "ppo": {"enable_critic_lstm": False, "lstm_hidden_size": 16},
        # a loss compares each with each: of 200, the default, and 1024 rows it takes seconds
        "dqn": {"n_quantiles": 10},
    },
    memory=_memory,
)
train = partial(of_sb3.train, library=LIBRARY)
