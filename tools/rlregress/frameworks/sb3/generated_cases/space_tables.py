"""Spaces and observations: told apart, and turned."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

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


def _make_zeros_and_ones(space: Any, *rows: int) -> Any:
    """Return an array of zeros and ones in a space's shape, or one for each of its parts."""
    if isinstance(space, gyms.spaces.Dict):
        return {name: _make_zeros_and_ones(part, *rows) for name, part in space.spaces.items()}
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
            else [_make_zeros_and_ones(space, *n) for n in ((), (1,), (2,), (2, 2))]
        )
        for number, observation in enumerate([*rows, *wrong]):
            inputs[f"{name} {number}"] = (observation, space)
    alone, both = (_make_zeros_and_ones(space_table["dict"], *rows) for rows in ((), (2,)))
    inputs["one alone"] = {**alone, "box": both["box"]}, space_table["dict"]
    inputs["one of several"] = {**both, "box": alone["box"]}, space_table["dict"]
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


def list_subjects() -> dict[str, list[Subject]]:
    """Return the calls to generate for functions of spaces and observations, by part."""
    prepared = partial("common.preprocessing:{}".format)
    images = {name: (space,) for name, space in _make_image_spaces().items()}
    both = {"check_channels": True, "normalized_image": True}
    return {
        "spaces": [
            make_function_subject(prepared("is_image_space"), images, together=[both]),
            make_function_subject(prepared("is_image_space_channels_first"), images),
            make_function_subject(prepared("maybe_transpose"), _make_images_in_both_orders()),
            make_function_subject(
                "common.utils:is_vectorized_observation", _make_observations_of_spaces()
            ),
        ]
    }
