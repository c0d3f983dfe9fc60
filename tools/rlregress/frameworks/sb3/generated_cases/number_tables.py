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
from rlregress.frameworks.sb3.generated_cases.call_sequences import (
    make_class_subject,
    make_function_subject,
    record_steps,
)
from rlregress.frameworks.sb3.library import find_in_library
from rlregress.probing.option_variants import Subject

_WIDE = 0.3 * np.ones(2)


def _sample_schedule(make_schedule: Any, arguments: Any) -> Any:
    """Return the values of a schedule at five moments, from the first to the last of a training."""
    schedule = make_schedule(*arguments)
    return [schedule(progress) for progress in (1.0, 0.8, 0.5, 0.2, 0.0)]


def _make_rates(*schedules: str) -> dict[str, Any]:
    """Return learning rates by label: numbers, schedules of a user and of SB3, and invalid ones."""
    own = user_code.make_falling_rate(0.5, np.float64)
    rates = {"float": 0.5, "int": 2, "own": own, "word": "fast", "none": None}
    arguments = {
        "LinearSchedule": (0.5, 0.1, 0.6),
        "ConstantSchedule": (0.25,),
        "constant_fn": (0.25,),
    }
    makers = {
        n: lambda n=n: (find_in_library("common.utils", n)(*arguments[n]),) for n in schedules
    }
    return {**{label: (rate,) for label, rate in rates.items()}, **makers}


def _draw_after_seed(set_seed: Any, arguments: Any) -> Any:
    """Return the flags of cuDNN, and the first draw of every generator after seeding."""
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = False, True
    try:
        set_seed(*arguments)
        flags = [int(cudnn.deterministic), int(cudnn.benchmark)]
        return [*flags, random.random(), np.random.rand(), torch.rand(2)]
    finally:
        cudnn.deterministic, cudnn.benchmark = before


def _replace_noises_and_draw(vectorised: Any, noises: Any) -> Any:
    # they have moved, and begin anew
    results = [draw() for draw in noises]
    vectorised.noises = noises
    return [*results, vectorised()]


def _list_noise_subjects() -> list[Subject]:
    walk, normal = (partial(user_code.make_noise, kind, 0.3)
                    for kind in ("OrnsteinUhlenbeck", "Normal"))  # fmt: skip
    draws: Any = (("__call__",), ("__call__",), ("reset",), ("__call__",), ("__repr__",))
    single = {"": lambda: {"mean": np.array([0.1, -0.2]), "sigma": _WIDE}}
    start = {"initial_noise": [lambda: np.array([0.4, -0.2])]}

    def make_vectorised(base: Any, count: Any) -> Any:
        return lambda: {"base_noise": base() if callable(base) else base, "n_envs": count}

    kits = {
        "": make_vectorised(partial(walk, theta=0.5, dt=0.1), 3),
        "normal": make_vectorised(normal, 2),
    }
    wrong = {
        "none": make_vectorised(normal, 0),
        "word": make_vectorised(normal, "two"),
        "nothing": make_vectorised(normal, None),
    }
    return [
        make_class_subject("common.noise:NormalActionNoise", single, *draws),
        make_class_subject("common.noise:OrnsteinUhlenbeckActionNoise", single, *draws,
            options=start),
        make_class_subject("common.noise:VectorizedActionNoise",
            {**kits, **wrong, "no noise": make_vectorised(None, 2),
             "array": make_vectorised(_WIDE, 2)},
            *draws, ("reset", [1]), ("__call__",), "n_envs", lambda noise: len(noise.noises),
            lambda noise: _replace_noises_and_draw(noise,
                [walk(initial_noise=np.zeros(2) + k) for k in range(3)]),
            lambda noise: _replace_noises_and_draw(noise, [noise.base_noise] * 2),
            lambda noise: _replace_noises_and_draw(noise, [normal()] * 3)),
    ]  # fmt: skip


def _make_statistics_subject() -> Subject:
    rows = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 5.0]])

    def state(statistics: Any) -> Any:
        return [statistics.mean, statistics.var, statistics.count]

    def combined(statistics: Any) -> Any:
        copied = statistics.copy()
        copied.update(rows)
        statistics.combine(copied)
        return [*state(statistics), *state(copied)]

    return make_class_subject("common.running_mean_std:RunningMeanStd",
        {"": lambda: {"shape": (2,)}}, state, ("update", rows), state, ("update", rows[:1] + 4.0),
        state, ("update_from_moments", np.array([0.5, 0.5]), np.array([2.0, 3.0]), 7), state,
        combined)  # fmt: skip


def _open_and_list_files(open_path: Any, arguments: Any) -> Any:
    """Open and close a file in a new folder; return any error and the folder's files."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "taken"))
        path, *further = arguments
        where = os.path.join(folder, path) if isinstance(path, str) else path
        return record_steps(open_path, lambda opens: opens(where, *further).close(),
            lambda _: sorted(os.listdir(folder)))  # fmt: skip


def _save_and_read(save: Any, arguments: Any) -> Any:
    """Save to a path in new folders and to memory, and return the restored objects."""
    read, memory = find_in_library("common.save_util", "load_from_pkl"), io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new", "below", "rows")
        save(path, *arguments)
        save(memory, *arguments)
        memory.seek(0)
        return [os.listdir(os.path.dirname(path)), read(path), read(memory)]


def _list_file_subjects() -> list[Subject]:
    content = {"number": 3, "list": [1, 2.5], "array": np.arange(3.0), "none": None, "rate": abs}

    def make_closed_file() -> Any:
        file = io.BytesIO()
        file.close()
        return (file, "r")

    def read_back_json(decode: Any, arguments: Any) -> Any:
        restored = decode(find_in_library("common.save_util", "data_to_json")(content), *arguments)
        return [sorted(restored), *(restored[name] for name in ("number", "list", "array"))]

    def set_and_get_nested_attribute(set_nested: Any, _: Any) -> Any:
        look = find_in_library("common.save_util", "recursive_getattr")
        policy = user_code.CompiledModule(user_code.CompiledModule(nn.Linear(1, 1)))
        set_nested(policy, "_orig_mod._orig_mod.mark", 3)
        return record_steps(lambda *arguments: look(policy, *arguments),
            ("__call__", "_orig_mod._orig_mod.mark"), ("__call__", "none", 4),
            ("__call__", "_orig_mod.none.none"))  # fmt: skip

    paths = {"": ("rows", "w"), "folder": ("taken", "w"), "mode": ("rows", "a"),
             "none": ("none", "r"), "closed": make_closed_file, "number": (3, "r"),
             "memory": lambda: (io.BytesIO(), "a")}  # fmt: skip
    own = {"": (), "own": ({"array": np.zeros(1), "other": 1},), "list": ([1],)}
    return [
        make_function_subject("common.save_util:open_path", paths, _open_and_list_files,
            skip=("verbose",), options={"suffix": ["zip"]}),
        make_function_subject("common.save_util:save_to_pkl", {"": ({"rows": 3},)}, _save_and_read,
            skip=("verbose",)),
        make_function_subject("common.save_util:json_to_data", own, read_back_json),
        make_function_subject("common.save_util:is_json_serializable",
            {n: (v,) for n, v in content.items()}),
        make_function_subject("common.save_util:recursive_setattr", {"": ()},
            set_and_get_nested_attribute),
    ]  # fmt: skip


def list_subjects() -> dict[str, list[Subject]]:
    """Return the calls to generate for rates, seeds, noise, statistics and files, by part."""
    utils, numbers = partial("common.utils:{}".format), np.array([1.0, 2.0, 4.0])
    wrong = {"": numbers - 0.5, "turned": numbers[::-1], "shapes": numbers[None]}
    explained = {label: (arguments, numbers) for label, arguments in wrong.items()}
    explained["constant"] = (numbers, np.ones(3))
    return {
        "numbers": [
            make_function_subject(utils("FloatSchedule"),
                _make_rates("LinearSchedule", "ConstantSchedule"), _sample_schedule),
            make_function_subject(utils("LinearSchedule"), {"": (0.5, 0.1, 0.6)}, _sample_schedule),
            make_function_subject(utils("ConstantSchedule"), {"": (0.25,)}, _sample_schedule),
            make_function_subject(utils("get_linear_fn"), {"": (1.0, 0.1, 0.5)}, _sample_schedule),
            make_function_subject(utils("get_schedule_fn"), _make_rates("constant_fn"),
                _sample_schedule),
            make_function_subject(utils("zip_strict"),
                {"": ([1, 2], [3, 4]), "fewer": ([1, 2], [3])},
                lambda chain, arguments: list(chain(*arguments))),
            make_function_subject(utils("explained_variance"), explained),
            make_function_subject(utils("set_random_seed"), {"": (3,)}, _draw_after_seed),
            *_list_noise_subjects(), _make_statistics_subject(),
        ],
        "files": _list_file_subjects(),
    }  # fmt: skip
