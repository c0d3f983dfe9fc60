"""Spaces and observations: told apart, measured, prepared for networks, and compared."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.generated_cases.call_sequences import make_function_subject
from rlregress.probing.option_variants import Subject

_EDGE = 7


def _make_image_space(*shape: int, low: Any = 0, high: Any = 255, dtype: Any = np.uint8) -> Any:
    return gyms.spaces.Box(low, high, shape, dtype)


def make_space_of_each_kind() -> dict[str, Any]:
    """Return one space of each kind that the library knows, and one that it does not."""
    kinds = gyms.spaces
    box = kinds.Box(-2.0, 3.0, (3,), np.float32)
    return {
        "box": box,
        "matrix": kinds.Box(-1.0, 1.0, (2, 3), np.float32),
        "image": _make_image_space(_EDGE, _EDGE, 3),
        "discrete": kinds.Discrete(4),
        "multi-discrete": kinds.MultiDiscrete([4, 2]),
        "multi-binary": kinds.MultiBinary(3),
        "multi-binary-matrix": kinds.MultiBinary([2, 3]),
        "dict": kinds.Dict({"box": box, "mode": kinds.MultiBinary(2)}),
        "tuple": kinds.Tuple((box, kinds.Discrete(2))),
    }


def _make_image_spaces() -> dict[str, Any]:
    """Return image spaces with 1 to 5 channels, first or last, and spaces similar to images."""
    shape = (_EDGE, _EDGE, 3)
    return {
        **{f"{n} first": _make_image_space(n, _EDGE, _EDGE) for n in range(1, 6)},
        **{f"{n} last": _make_image_space(_EDGE, _EDGE, n) for n in range(1, 6)},
        "middle": _make_image_space(_EDGE, 3, _EDGE),
        "float": _make_image_space(*shape, low=0.0, high=255.0, dtype=np.float32),
        "normalized": _make_image_space(*shape, low=0.0, high=1.0, dtype=np.float32),
        "low": _make_image_space(*shape, low=1),
        "high": _make_image_space(*shape, high=254),
        "flat": _make_image_space(_EDGE, 3),
    }


def _make_array_of_space(space: Any, *rows: int) -> Any:
    """Return an array of zeros and ones in a space's shape, or one for each of its parts."""
    if isinstance(space, gyms.spaces.Dict):
        return {name: _make_array_of_space(part, *rows) for name, part in space.spaces.items()}
    shape = (*rows, *(space.shape or ()))
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) % 2


def _make_observations_of_spaces() -> dict[str, Any]:
    """Return observations of each space: single, batched, in wrong shapes, and mixed batches."""
    space_table = make_space_of_each_kind()
    inputs: dict[str, Any] = {"int": (1, space_table["discrete"])}
    for name, space in space_table.items():
        wrong: list[Any] = [np.zeros(5), np.zeros((2, 5)), np.zeros((2, 2, 3))]
        if name == "dict":
            wrong = [{"box": array, "mode": array} for array in wrong]
        rows = (
            []
            if name == "tuple"
            else [_make_array_of_space(space, *n) for n in ((), (1,), (2,), (2, 2))]
        )
        for number, observation in enumerate([*rows, *wrong]):
            inputs[f"{name} {number}"] = (observation, space)
    alone, both = (
        _make_array_of_space(space_table["dict"]),
        _make_array_of_space(space_table["dict"], 2),
    )
    inputs["one alone"] = {**alone, "box": both["box"]}, space_table["dict"]
    inputs["one of several"] = {**both, "box": alone["box"]}, space_table["dict"]
    return inputs


def _make_tensors_of_spaces() -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    for name, space in make_space_of_each_kind().items():
        scale = 51 if name == "image" else 1
        rows: Any = _make_array_of_space(space, 2) if name != "tuple" else 0.0
        parts = {k: torch.as_tensor(part) for k, part in rows.items()} if name == "dict" else {}
        inputs[name] = (parts or torch.as_tensor(scale * rows), space)
    return inputs


def _make_images_in_both_orders() -> dict[str, Any]:
    shapes = ((3, 7, 7), (7, 7, 3), (2, 3, 7, 7), (2, 7, 7, 3), (7, 7, 2), (7, 3, 7))
    numbers = np.arange(128, dtype=np.uint8).reshape(2, 4, 4, 4)
    return {
        **{str(n): (np.zeros(n, np.uint8), _make_image_space(3, _EDGE, _EDGE)) for n in shapes},
        "last": (np.zeros((7, 7, 3), np.uint8), _make_image_space(7, 7, 3)),
        # as many channels as rows and columns: the shape does not tell the order
        "cubes": (numbers, _make_image_space(4, 4, 4)),
        "cube": (numbers[0], _make_image_space(4, 4, 4)),
    }


def _make_space_pairs() -> dict[str, Any]:
    space_table, own = make_space_of_each_kind(), gyms.spaces
    box, inner = space_table["box"], space_table["dict"]
    parts = {"box": space_table["matrix"], "mode": space_table["multi-binary"]}
    return {
        "bounds": (box, own.Box(-1.0, 1.0, (3,), np.float32)),
        "shapes": (box, space_table["matrix"]),
        "same": (inner, inner),
        "parts": (inner, own.Dict(parts)),
        "fewer": (inner, own.Dict({"box": box})),
        "kinds": (inner, box),
        "choices": (space_table["discrete"], own.Discrete(9)),
    }


def _make_agents_with_other_spaces() -> dict[str, Any]:
    space_table = make_space_of_each_kind()
    pairs = (("box", "discrete"), ("box", "multi-discrete"), ("matrix", "discrete"))
    right = space_table["box"], space_table["discrete"]
    return {
        f"{o} {a}": (
            SimpleNamespace(observation_space=space_table[o], action_space=space_table[a]),
            *right,
        )
        for o, a in pairs
    }


def list_subjects() -> dict[str, list[Subject]]:
    """Return the functions of the library on spaces and observations."""
    prepared = partial("common.preprocessing:{}".format)
    space_table, own, device = make_space_of_each_kind(), gyms.spaces, torch.device("cpu")
    alone = {name: (space,) for name, space in space_table.items()}
    images = {name: (space,) for name, space in _make_image_spaces().items()}
    nested = {
        "dict": own.Dict({"one": space_table["dict"]}),
        "tuple": own.Tuple((space_table["dict"],)),
    }
    arrays = {"array": (np.ones(2), device), "list": ([1.0], device)}
    arrays["dict"] = (_make_array_of_space(space_table["dict"], 2), device)
    both = {"check_channels": True, "normalized_image": True}
    return {
        "spaces": [
            make_function_subject(prepared("is_image_space"), images, together=[both]),
            make_function_subject(prepared("is_image_space_channels_first"), images),
            *(make_function_subject(prepared(f"get_{quantity}"), alone)
              for quantity in ("obs_shape", "flattened_obs_dim", "action_dim")),
            make_function_subject(prepared("check_for_nested_spaces"),
                     {**alone, **{f"nested {k}": (v,) for k, v in nested.items()}}),
            make_function_subject(prepared("preprocess_obs"), _make_tensors_of_spaces()),
            make_function_subject(prepared("maybe_transpose"), _make_images_in_both_orders()),
            make_function_subject("common.utils:is_vectorized_observation",
            _make_observations_of_spaces()),
            make_function_subject("common.utils:obs_as_tensor", arrays),
            make_function_subject("common.utils:check_for_correct_spaces",
            _make_agents_with_other_spaces()),
            make_function_subject("common.utils:check_shape_equal", _make_space_pairs()),
            make_function_subject("common.vec_env.util:obs_space_info", alone),
            make_function_subject("common.vec_env.util:dict_to_obs",
            _make_spaces_with_stored_rows()),
        ]
    }  # fmt: skip


def _make_spaces_with_stored_rows() -> dict[str, Any]:
    """Return spaces, each with the rows in which a vectorised environment stores observations."""
    space_table, own, rows = make_space_of_each_kind(), gyms.spaces, np.ones((1, 3))
    parts = own.Tuple((space_table["box"], space_table["discrete"]))
    return {
        "one": (space_table["box"], {None: rows}),
        "dict": (space_table["dict"], {"box": rows, "mode": np.zeros(1)}),
        "tuple": (parts, {0: rows, 1: np.zeros(1)}),
        "too short": (parts, {0: rows}),
        "too long": (space_table["box"], {None: rows, "more": rows}),
    }
