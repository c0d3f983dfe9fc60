"""Short trainings, which ``rlregress upgrade`` records: Tianshou's trainer, two environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from rlregress.probing.capabilities import raise_if_argument_unknown
from rlregress.probing.interface import TraceTraining


def _train_dqn(
    make_env: Callable[..., Any], seed: int, **options: Any
) -> Mapping[str, torch.Tensor]:
    """Train, and return the parameters; global random generators have been seeded."""
    options = {"target_update_freq": 5, **options}
    raise_if_argument_unknown(DQN, options)
    environments = [make_env(discrete=True, first=first) for first in (0, 1)]
    venv = DummyVectorEnv([lambda own=own: own for own in environments])
    venv.seed(seed)
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=3, action_shape=3, hidden_sizes=[16]),
        action_space=environments[0].action_space,
        eps_training=0.2,
    )
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), **options)
    collector = Collector(algorithm, venv, VectorReplayBuffer(64, 2), exploration_noise=True)
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=48,
            collection_step_num_env_steps=4,
            batch_size=8,
            show_progress=False,
            verbose=False,
        )
    )
    return policy.state_dict()


def list_builtin_trainings() -> Mapping[str, TraceTraining]:
    """Return trainings by title."""
    return {
        "dqn": _train_dqn,
        "dqn n-step": partial(_train_dqn, n_step_return_horizon=3),
        "dqn huber": partial(_train_dqn, huber_loss_delta=1.0),
        "dqn single": partial(_train_dqn, is_double=False),
    }
