"""Trainings of RecurrentPPO, TQC and QR-DQN, by the code that trains and watches SB3's agents."""

from __future__ import annotations

from functools import partial

import numpy as np
from sb3_contrib import QRDQN, TQC, RecurrentPPO
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
