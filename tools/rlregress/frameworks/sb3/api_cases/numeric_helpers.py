"""Rates, seeds, noise and running statistics, asked by hand."""

from __future__ import annotations

import contextlib
import random
from typing import Any, Dict, Iterator, List

import numpy as np
import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import compat, user_code
from rlregress.frameworks.sb3.api_cases import accepted
from rlregress.frameworks.sb3.scenario_request import library
from rlregress.frameworks.sb3.wrappers import Wrappers

_PROGRESS = (1.0, 0.8, 0.5, 0.2, 0.0)


def _ask_rates(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rates that are constant, fall, or are a user's own; what is no rate is refused."""
    del model, wrappers, folder
    rate = library("common.utils", "FloatSchedule")
    falling = library("common.utils", "LinearSchedule")(0.5, 0.1, 0.6)
    constant = library("common.utils", "ConstantSchedule")(0.25)
    own_rate = user_code.linear(0.5, np.float64)
    for given in (0.5, 2, falling, constant, own_rate, rate(falling)):
        user_code.Capture().capture([rate(given)(left) for left in _PROGRESS])
    user_code.Capture().capture([falling(left) for left in _PROGRESS])
    user_code.Capture().capture([accepted(rate, "fast"), accepted(rate, None)])


def _ask_old_rates(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rates by the functions of older versions."""
    del model, wrappers, folder
    rate = library("common.utils", "get_schedule_fn")
    constant = library("common.utils", "constant_fn")
    for given in (0.5, 2, constant(0.25), user_code.linear(0.5)):
        user_code.Capture().capture([rate(given)(left) for left in _PROGRESS])
    user_code.Capture().capture([accepted(rate, "fast")])


def _change_rates(model: Any, wrappers: Wrappers, folder: str) -> None:
    """The rate of an optimiser with two groups; targets that follow by a share."""
    del model, wrappers, folder
    first, second = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(2))
    groups: List[Dict[str, Any]] = [{"params": [first]}, {"params": [second], "lr": 0.3}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    library("common.utils", "update_learning_rate")(optimizer, 0.05)
    user_code.Capture().capture([group["lr"] for group in optimizer.param_groups])
    follow = library("common.utils", "polyak_update")
    for share in (0.0, 0.25, 1.0):
        follow([first], [second], share)
        user_code.Capture().capture([second.detach().clone()])
    user_code.Capture().capture([accepted(follow, [first, first], [second], 0.5)])
    together = library("common.utils", "zip_strict")
    for some in ([3, 4], [3]):
        try:
            user_code.Capture().capture([len(list(together([1, 2], some)))])
        except ValueError:
            user_code.Capture().capture(["refused"])


def _summarise(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Means of nothing and of something, explained variance, parameters by name, devices."""
    del wrappers, folder
    mean = library("common.utils", "safe_mean")
    explained = library("common.utils", "explained_variance")
    numbers = np.array([1.0, 2.0, 4.0])
    user_code.Capture().capture([mean([]), mean([1, 2]), mean(numbers)])
    user_code.Capture().capture(
        [explained(numbers - 0.5, numbers), explained(numbers[::-1], numbers)]
    )
    user_code.Capture().capture(
        [explained(numbers, np.ones(3)), accepted(explained, numbers[None], numbers)]
    )
    named = library("common.utils", "get_parameters_by_name")(model.policy, ["bias", "log_std"])
    user_code.Capture().capture([len(named), *named])
    device = library("common.utils", "get_device")
    user_code.Capture().capture([str(device("cpu")), str(device(torch.device("cpu")))])


@contextlib.contextmanager
def _flags() -> Iterator[Any]:
    """PyTorch's flags of how cuDNN computes, as they were afterwards."""
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    try:
        yield cudnn
    finally:
        cudnn.deterministic, cudnn.benchmark = before


def _seed(model: Any, wrappers: Wrappers, folder: str) -> None:
    """What every generator draws after it was seeded, and what is said to cuDNN."""
    del wrappers, folder
    seed = library("common.utils", "set_random_seed")
    with _flags() as cudnn:
        cudnn.deterministic, cudnn.benchmark = False, True
        model.set_random_seed(5)
        user_code.Capture().capture([int(cudnn.deterministic), int(cudnn.benchmark)])
        user_code.Capture().capture([model.action_space.sample()])
        for options in ({}, compat.taken(seed, using_cuda=True)):
            seed(3, **options)
            user_code.Capture().capture([int(cudnn.deterministic), int(cudnn.benchmark)])
            user_code.Capture().capture([random.random(), np.random.rand(), torch.rand(2)])


def _noise_of_several(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Noise of several environments: drawn, reset in some, made of others, and refused."""
    del model, wrappers, folder
    module = "common.noise"
    walk, normal = (
        library(module, "OrnsteinUhlenbeckActionNoise"),
        library(module, "NormalActionNoise"),
    )
    several = library(module, "VectorizedActionNoise")
    zeros, wide = np.zeros(2), 0.3 * np.ones(2)
    np.random.seed(4)
    noise = several(walk(zeros + 0.1, wide, theta=0.5, dt=0.1), 3)
    user_code.Capture().capture([noise() for _ in range(3)])
    noise.reset([1])
    user_code.Capture().capture([noise()])
    noise.reset()
    user_code.Capture().capture(
        [noise(), noise.n_envs, len(noise.noises), repr(noise), repr(noise.base_noise)]
    )
    others = [walk(zeros, wide, initial_noise=zeros + k) for k in range(3)]
    # they have moved, and begin anew
    user_code.Capture().capture([further_noise() for further_noise in others])
    noise.noises = others
    user_code.Capture().capture([noise()])
    narrow = normal(zeros, wide)
    user_code.Capture().capture([narrow(), repr(narrow)])
    for wrong in ([narrow] * 3, [noise.base_noise] * 2, 3):
        user_code.Capture().capture([accepted(setattr, noise, "noises", wrong)])
    for base, count in ((narrow, 0), (narrow, "two"), (narrow, None), (None, 2), (wide, 2)):
        user_code.Capture().capture([accepted(several, base, count)])


def _statistics(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Running means and variances: of batches, of moments, copied and combined."""
    del model, wrappers, folder
    kind = library("common.running_mean_std", "RunningMeanStd")
    rows = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 5.0]])
    first, second = kind(shape=(2,)), kind(epsilon=1.0, shape=(2,))
    first.update(rows)
    first.update(rows[:1] + 4.0)
    second.update_from_moments(np.array([0.5, 0.5]), np.array([2.0, 3.0]), 7)
    for statistics in (first, second):
        user_code.Capture().capture([statistics.mean, statistics.var, statistics.count])
    if not hasattr(first, "combine"):
        raise Unsupported("running statistics cannot be combined")
    kept = first.copy()
    first.combine(second)
    for statistics in (kept, first):
        user_code.Capture().capture([statistics.mean, statistics.var, statistics.count])


USED = {
    "rates": _ask_rates,
    "rates-by-old-names": _ask_old_rates,
    "rates-changed": _change_rates,
    "summaries": _summarise,
    "seeds": _seed,
    "noise-of-several": _noise_of_several,
    "statistics": _statistics,
}
