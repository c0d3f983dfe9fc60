"""What a Gaussian policy makes of its bounds: the actions that reach the environment.

Thesis, appendix C.3, figure 14: two ways to keep an action within its bounds give other
distributions of the same Gaussian, and another deterministic action.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import sqrt

import numpy as np

from rlregress.frameworks.base import Adapter, TrainingRequest
from rlregress.frameworks.heads import Heads
from rlregress.frameworks.isolation import isolated
from rlregress.frameworks.scripted import Scripted
from rlregress.hyperparameters import hyperparameter_set
from rlregress.model.executed_actions import HIGH, LOW, Actions


@contextmanager
def _quietly() -> Iterator[None]:
    """What a framework logs and warns of while it trains is no part of the answer."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with isolated(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def executed(adapter: Adapter, mean: float, variance: float, steps: int, seed: int) -> Actions:
    """Train PPO's own loop for one rollout, with a learning rate of 0, and watch the environment.

    Raises:
        UserError: the framework cannot be set to it.
    """
    received: list[np.ndarray] = []
    one_rollout = {
        "learning_rate": 0.0,
        "rollout_steps": steps,
        "minibatch_size": steps,
        "epochs": 1,
        "anneal_learning_rate": False,
    }
    own = hyperparameter_set(adapter.name)["ppo"]
    given = {**own, **{name: value for name, value in one_rollout.items() if name in own}}

    def fix(heads: Heads) -> None:
        heads.fix_policy([mean], [sqrt(variance)])

    request = TrainingRequest(
        algorithm="ppo",
        make_env=lambda: Scripted(LOW, HIGH, received=received),
        hyperparameters=given,
        total_steps=steps,
        seed=seed,
        prepare=fix,
    )
    with _quietly():
        deterministic = adapter.train(request).policy(np.zeros((1, 1), dtype=np.float32))
    return Actions(
        framework=adapter.title,
        mean=mean,
        variance=variance,
        executed=np.concatenate(received[:steps]),
        deterministic=float(np.ravel(deterministic)[0]),
    )


def every(
    adapters: Sequence[Adapter],
    means: Sequence[float],
    variance: float,
    steps: int,
    seed: int,
    done: Callable[[], None] = lambda: None,
) -> list[Actions]:
    """The actions of every framework that trains PPO, for every mean; ``done()`` after each."""
    found = []
    for adapter in adapters:
        for mean in means if "ppo" in adapter.algorithms else ():
            found.append(executed(adapter, mean, variance, steps, seed))
            done()
    return found
