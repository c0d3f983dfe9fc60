"""Trainings of RecurrentPPO, TQC and QR-DQN, by the code that trains and watches SB3's agents."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from sb3_contrib import QRDQN, TQC, RecurrentPPO
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from sb3_contrib.qrdqn import qrdqn
from sb3_contrib.tqc import tqc

from rlregress.frameworks.sb3.train import (
    collection,
    normalised,
    resume,
    sampling,
    seeded,
    training,
)
from rlregress.probing.samples import note_compared_targets


def _make_initial_memory(policy: Any, rows: int, for_values: bool = False) -> dict[str, Any]:
    size = (policy.lstm_actor.num_layers, rows, policy.lstm_actor.hidden_size)
    nothing = (torch.zeros(size), torch.zeros(size))
    states = nothing if for_values else RNNStates(nothing, nothing)
    return {"lstm_states": states, "episode_starts": torch.ones(rows)}


#: Which class an algorithm is: as in ``read``, but of PPO the one with collection and
#: minibatches that no other has. Its policy has a memory; its value is that of an observation
#: alone, so that what an update reads says what it was computed from.
LIBRARY = training.Library(
    "SB3-Contrib",
    {"ppo": RecurrentPPO, "sac": TQC, "dqn": QRDQN},
    networks={
        "ppo": {"enable_critic_lstm": False, "lstm_hidden_size": 16},
        # a loss compares each with each: of 200, the default, and 1024 rows it takes seconds
        "dqn": {"n_quantiles": 10},
    },
    memory=_make_initial_memory,
)


def _average_quantiles(targets: np.ndarray, rows: int) -> np.ndarray:
    return targets.reshape(rows, -1).mean(1, dtype=np.float64)


_noted = partial(
    note_compared_targets,
    losses=[(module, "quantile_huber_loss") for module in (qrdqn, tqc)],
    select=_average_quantiles,
)
train = partial(training.train, library=LIBRARY)
collect_transitions = partial(collection.collect_transitions, library=LIBRARY)
collect_minibatches = partial(sampling.collect_minibatches, library=LIBRARY, note_targets=_noted)
train_and_resume = partial(resume.train_and_resume, library=LIBRARY)
train_seeded = partial(seeded.train_seeded, library=LIBRARY)
describe_sources_of_chance = seeded.describe_sources_of_chance
collect_running_statistics = partial(normalised.collect_running_statistics, library=LIBRARY)
