"""Rates, seeds, noise, running statistics and files, by themselves."""

from __future__ import annotations

import io
import os
import random
import tempfile
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.sb3 import user_code
from rlregress.frameworks.sb3.generated_cases.call_sequences import done, function, used
from rlregress.frameworks.sb3.library import library
from rlregress.probing.option_variants import Subject, recorded

_WIDE = 0.3 * np.ones(2)


def _rated(rate: Any, given: Any) -> Any:
    """What a rate is from the beginning of a training to its end."""
    made = rate(*given)
    return [made(left) for left in (1.0, 0.8, 0.5, 0.2, 0.0)]


def _rates(*others: str) -> dict[str, Any]:
    """What is a rate, in the library's classes too, and what is none."""
    own = user_code.linear(0.5, np.float64)
    given = {"float": 0.5, "int": 2, "own": own, "word": "fast", "none": None}
    made = {"LinearSchedule": (0.5, 0.1, 0.6), "ConstantSchedule": (0.25,), "constant_fn": (0.25,)}
    more = {n: lambda n=n: (library("common.utils", n)(*made[n]),) for n in others}
    return {**{label: (rate,) for label, rate in given.items()}, **more}


def _written(call: Any, given: Any) -> Any:
    """What a function returns, and what it leaves of its arguments."""
    return [call(*given), *map(recorded, given)]


def _slowed(call: Any, rate: Any) -> Any:
    groups: list[dict[str, Any]] = [
        {"params": [nn.Parameter(torch.ones(2))]},
        {"params": [nn.Parameter(torch.zeros(2))], "lr": 0.3},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    call(optimizer, *rate)
    return [group["lr"] for group in optimizer.param_groups]


def _drawn(seed: Any, given: Any) -> Any:
    """What every generator draws after it was seeded, and PyTorch's flags of cuDNN."""
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = False, True
    try:
        seed(*given)
        flags = [int(cudnn.deterministic), int(cudnn.benchmark)]
        return [*flags, random.random(), np.random.rand(), torch.rand(2)]
    finally:
        cudnn.deterministic, cudnn.benchmark = before


def _collected(more: Any, given: Any) -> Any:
    """Whether more is to be collected than so many steps and episodes."""
    words = library("common.type_aliases", "TrainFrequencyUnit")
    unit = getattr(words, given[0], given[0])
    return more(library("common.type_aliases", "TrainFreq")(2, unit), *given[1:])


def _noise(name: str, **given: Any) -> Any:
    kind = library("common.noise", f"{name}ActionNoise")
    return kind(np.zeros(2), _WIDE, **given)


def _put(noise: Any, noises: Any) -> Any:
    # they have moved, and begin anew
    results = [one() for one in noises]
    noise.noises = noises
    return [*results, noise()]


def _noises() -> list[Subject]:
    walk, normal = partial(_noise, "OrnsteinUhlenbeck"), partial(_noise, "Normal")
    draws: Any = (("__call__",), ("__call__",), ("reset",), ("__call__",), ("__repr__",))
    single = {"": lambda: {"mean": np.array([0.1, -0.2]), "sigma": _WIDE}}
    start = {"initial_noise": [lambda: np.array([0.4, -0.2])]}

    def made(base: Any, count: Any) -> Any:
        return lambda: {"base_noise": base() if callable(base) else base, "n_envs": count}

    kits = {"": made(partial(walk, theta=0.5, dt=0.1), 3), "normal": made(normal, 2)}
    wrong = {"none": made(normal, 0), "word": made(normal, "two"), "nothing": made(normal, None)}
    return [
        used("common.noise:NormalActionNoise", single, *draws),
        used("common.noise:OrnsteinUhlenbeckActionNoise", single, *draws, options=start),
        used("common.noise:VectorizedActionNoise",
             {**kits, **wrong, "no noise": made(None, 2), "array": made(_WIDE, 2)},
             *draws, ("reset", [1]), ("__call__",), "n_envs", lambda noise: len(noise.noises),
             lambda noise: _put(noise, [walk(initial_noise=np.zeros(2) + k) for k in range(3)]),
             lambda noise: _put(noise, [noise.base_noise] * 2),
             lambda noise: _put(noise, [normal()] * 3)),
    ]  # fmt: skip


def _statistics() -> Subject:
    rows = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 5.0]])

    def state(kept: Any) -> Any:
        return [kept.mean, kept.var, kept.count]

    def combined(kept: Any) -> Any:
        other = kept.copy()
        other.update(rows)
        kept.combine(other)
        return [*state(kept), *state(other)]

    return used("common.running_mean_std:RunningMeanStd", {"": lambda: {"shape": (2,)}},
                state, ("update", rows), state, ("update", rows[:1] + 4.0), state,
                ("update_from_moments", np.array([0.5, 0.5]), np.array([2.0, 3.0]), 7), state,
                combined)  # fmt: skip


def _opened(call: Any, given: Any) -> Any:
    """What is opened, and which files are there then; paths are below a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "taken"))
        path, *rest = given
        where = os.path.join(folder, path) if isinstance(path, str) else path
        return done(call, lambda opens: opens(where, *rest).close(),
                    lambda _: sorted(os.listdir(folder)))  # fmt: skip


def _kept(save: Any, given: Any) -> Any:
    """What is read again from a path in folders that are not there yet, and from memory."""
    read, memory = library("common.save_util", "load_from_pkl"), io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new", "below", "rows")
        save(path, *given)
        save(memory, *given)
        memory.seek(0)
        return [os.listdir(os.path.dirname(path)), read(path), read(memory)]


def _files() -> list[Subject]:
    kept = {"number": 3, "list": [1, 2.5], "array": np.arange(3.0), "none": None, "rate": abs}

    def closed() -> Any:
        file = io.BytesIO()
        file.close()
        return (file, "r")

    def read(back: Any, given: Any) -> Any:
        again = back(library("common.save_util", "data_to_json")(kept), *given)
        return [sorted(again), *(again[name] for name in ("number", "list", "array"))]

    def set_deeply(write: Any, _: Any) -> Any:
        look = library("common.save_util", "recursive_getattr")
        policy = user_code.Compiled(user_code.Compiled(nn.Linear(1, 1)))
        write(policy, "_orig_mod._orig_mod.mark", 3)
        return done(lambda *given: look(policy, *given),
                    ("__call__", "_orig_mod._orig_mod.mark"), ("__call__", "none", 4),
                    ("__call__", "_orig_mod.none.none"))  # fmt: skip

    paths = {"": ("rows", "w"), "folder": ("taken", "w"), "mode": ("rows", "a"),
             "none": ("none", "r"), "closed": closed, "number": (3, "r"),
             "memory": lambda: (io.BytesIO(), "a")}  # fmt: skip
    own = {"": (), "own": ({"array": np.zeros(1), "other": 1},), "list": ([1],)}
    return [
        function("common.save_util:open_path", paths, _opened, skip=("verbose",),
                 options={"suffix": ["zip"]}),
        function("common.save_util:save_to_pkl", {"": ({"rows": 3},)}, _kept, skip=("verbose",)),
        function("common.save_util:json_to_data", own, read),
        function("common.save_util:is_json_serializable", {n: (v,) for n, v in kept.items()}),
        function("common.save_util:recursive_setattr", {"": ()}, set_deeply),
    ]  # fmt: skip


def subjects() -> dict[str, list[Subject]]:
    """Functions of numbers, noise, statistics and files."""
    utils, numbers = partial("common.utils:{}".format), np.array([1.0, 2.0, 4.0])
    layers = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    means = {"none": ([],), "list": ([1, 2],), "array": (numbers,)}
    wrong = {"": numbers - 0.5, "turned": numbers[::-1], "shapes": numbers[None]}
    explained = {label: (given, numbers) for label, given in wrong.items()}
    explained["constant"] = (numbers, np.ones(3))
    follow = {
        f"{n} {share}": lambda n=n, share=share: ([torch.ones(2)] * n, [torch.zeros(2)], share)
        for n, share in ((1, 0.0), (1, 0.25), (1, 1.0), (2, 0.5))
    }
    more = {f"{word} {n} {m}": (word, n, m) for word in ("STEP", "EPISODE", "month")
            for n, m in ((0, 0), (2, 0), (0, 2), (3, 1))}  # fmt: skip
    return {
        "numbers": [
            function(utils("FloatSchedule"), _rates("LinearSchedule", "ConstantSchedule"), _rated),
            function(utils("LinearSchedule"), {"": (0.5, 0.1, 0.6)}, _rated),
            function(utils("ConstantSchedule"), {"": (0.25,)}, _rated),
            function(utils("get_linear_fn"), {"": (1.0, 0.1, 0.5)}, _rated),
            function(utils("get_schedule_fn"), _rates("constant_fn"), _rated),
            function(utils("update_learning_rate"), {"": (0.05,)}, _slowed),
            function(utils("polyak_update"), follow, _written),
            function(utils("zip_strict"), {"": ([1, 2], [3, 4]), "fewer": ([1, 2], [3])},
                     lambda together, given: list(together(*given))),
            function(utils("safe_mean"), means),
            function(utils("explained_variance"), explained),
            function(utils("get_parameters_by_name"), {"": (layers, ["bias", "mean"])}),
            function(utils("get_device"), {"word": ("cpu",), "device": (torch.device("cpu"),)}),
            function(utils("set_random_seed"), {"": (3,)}, _drawn),
            function(utils("should_collect_more_steps"), more, _collected),
            *_noises(), _statistics(),
        ],
        "files": _files(),
    }  # fmt: skip
