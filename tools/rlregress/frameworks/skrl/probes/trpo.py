"""Probes of TRPO: its own ``update`` on a rollout of known actions."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.driven import fill
from rlregress.frameworks.layers import last_linear
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import Training
from rlregress.frameworks.skrl.probes.helpers import instantiated


def _step(actions: Sequence[float], advantages: Any, **settings: Any) -> Tuple[float, float]:
    """One update of a Gaussian from mean 0 and deviation 1: its mean, log of its deviation."""
    count = len(actions)
    training = Training(
        "trpo",
        # observations of 0: of the layer of the mean the bias alone counts
        Scripted(observations=0.0, next_observations=0.0),
        rows=count,
        hidden=0,
        rollouts=count,
        learning_epochs=1,
        mini_batches=1,
        **settings,
    )
    policy = training.models["policy"]
    fill(policy.parameters(), 0.0)
    sampling = compat.SAMPLING
    sample = getattr(training.memory, sampling)
    numbers = torch.tensor(np.array(actions), dtype=torch.float32)[:, None]

    def sampled(*arguments: Any, **keywords: Any) -> Any:
        called = instantiated.called(policy, numbers)
        with torch.no_grad():
            training.stored("log_prob")[:, 0] = compat.log_prob(called(torch.zeros(count, 1)))
        training.stored("actions")[:, 0] = numbers
        training.stored("advantages")[:, 0, 0] = torch.as_tensor(advantages, dtype=torch.float32)
        return sample(*arguments, **keywords)

    with mock.patch.object(training.memory, sampling, sampled):
        training.run(count)
    return float(last_linear(policy).bias.detach()), float(policy.log_std.detach())


def _divergence(**settings: Any) -> float:
    """KL divergence of an update that moves the mean alone."""
    mean, _ = _step([1.0, -1.0], np.array([1.0, -1.0]), **settings)
    return 0.5 * mean**2


def _bound(inputs: Inputs) -> np.ndarray:
    bound = float(inputs["bound"])
    return np.array([bound * _divergence() / _divergence(max_kl_divergence=bound)])


def _damping(inputs: Inputs) -> np.ndarray:
    bound = float(inputs["bound"])
    return np.array([_divergence(max_kl_divergence=bound) / bound])


def _line_search(inputs: Inputs) -> np.ndarray:
    bound = float(inputs["bound"])
    shares = []
    for actions, advantages in zip(inputs["actions"], inputs["advantages"]):
        _, log_std = _step(actions, advantages, max_kl_divergence=bound, damping=0.0)
        shares.append(abs(log_std) / np.sqrt(bound))
    return np.array(shares)


def _expected(inputs: Inputs) -> np.ndarray:
    action, bound = float(inputs["action"]), float(inputs["bound"])
    _, log_std = _step([action, -action], np.ones(2), max_kl_divergence=bound, damping=0.0)
    return np.array([abs(log_std) / np.sqrt(bound)])


def _direction(inputs: Inputs) -> np.ndarray:
    mean, log_std = _step([inputs["action"]] * 2, np.ones(2), max_kl_divergence=1e-3, damping=0.0)
    return np.array([log_std / mean])


def _critic_updates(inputs: Inputs) -> np.ndarray:
    rows = 2 * int(inputs["batch_size"])
    training = Training("trpo", rows=rows, rollouts=rows)
    steps: List[None] = []
    with watched_updates.before_steps(training.optimizers["critic"], lambda: steps.append(None)):
        training.run(rows)
    return np.array([len(steps) / 2])


PROBES: Mapping[str, Probe] = {
    "trpo.kl.bound": _bound,
    "trpo.damping": _damping,
    "trpo.line_search": _line_search,
    "trpo.line_search.expected": _expected,
    "trpo.direction": _direction,
    "trpo.critic_updates": _critic_updates,
}
