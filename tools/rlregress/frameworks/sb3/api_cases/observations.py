"""Spaces and observations: told apart, measured, prepared for networks, and refused."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import torch

from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library
from rlregress.frameworks.sb3.wrappers import Wrappers

#: edge of the images; the numbers of channels that are tried.
_EDGE, _CHANNELS = 7, (1, 2, 3, 4, 5)


def _image(*shape: int, low: Any = 0, high: Any = 255, dtype: Any = np.uint8) -> Any:
    return gyms.spaces.Box(low, high, shape, dtype)


def _spaces() -> Dict[str, Any]:
    """One space of each kind that the library knows, and one that it does not."""
    spaces = gyms.spaces
    box = spaces.Box(-2.0, 3.0, (3,), np.float32)
    return {
        "box": box,
        "matrix": spaces.Box(-1.0, 1.0, (2, 3), np.float32),
        "image": _image(_EDGE, _EDGE, 3),
        "discrete": spaces.Discrete(4),
        "multi-discrete": spaces.MultiDiscrete([4, 2]),
        "multi-binary": spaces.MultiBinary(3),
        "multi-binary-matrix": spaces.MultiBinary([2, 3]),
        "dict": spaces.Dict({"box": box, "mode": spaces.MultiBinary(2)}),
        "tuple": spaces.Tuple((box, spaces.Discrete(2))),
    }


def _images() -> List[Any]:
    """Images of every number of channels, first, last, in the middle; and what looks like one."""
    first = [_image(n, _EDGE, _EDGE) for n in _CHANNELS]
    last = [_image(_EDGE, _EDGE, n) for n in _CHANNELS]
    shape = (_EDGE, _EDGE, 3)
    likely = [
        _image(_EDGE, 3, _EDGE),
        _image(*shape, low=0.0, high=255.0, dtype=np.float32),
        _image(*shape, low=0.0, high=1.0, dtype=np.float32),
        _image(*shape, low=1),
        _image(*shape, high=254),
        _image(_EDGE, 3),
    ]
    return [*first, *last, *likely]


def _tell_spaces(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Which spaces are images, in which order; how large observations and actions are."""
    del model, wrappers, folder
    module = "common.preprocessing"
    is_image = library(module, "is_image_space")
    first = library(module, "is_image_space_channels_first")
    images = _images()
    user_code.Capture().capture([bool(is_image(image)) for image in images])
    user_code.Capture().capture([bool(is_image(image, check_channels=True)) for image in images])
    user_code.Capture().capture([bool(first(image)) for image in images[:-1]])
    for name in ("get_obs_shape", "get_flattened_obs_dim", "get_action_dim"):
        measure = library(module, name)
        user_code.Capture().capture(
            [name, *(answer(measure, space) for space in _spaces().values())]
        )
    refuse_nested = library(module, "check_for_nested_spaces")
    spaces = gyms.spaces
    inner = _spaces()["dict"]
    for image_space in (
        inner,
        spaces.Dict({"one": inner}),
        spaces.Tuple((inner,)),
        spaces.Discrete(2),
    ):
        user_code.Capture().capture([accepted(refuse_nested, image_space)])


def _tell_normalised_images(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Which spaces are images whose numbers are normalised already."""
    del model, wrappers, folder
    is_image = library("common.preprocessing", "is_image_space")
    for checked in (False, True):
        options = {"check_channels": checked, "normalized_image": True}
        user_code.Capture().capture([bool(is_image(image, **options)) for image in _images()])


def _array(space: Any, *rows: int) -> Any:
    """Numbers of a space, so many times side by side."""
    shape = (*rows, *(space.shape or ()))
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) % 2


def _batched(space: Any, *rows: int) -> Any:
    if isinstance(space, gyms.spaces.Dict):
        return {name: _array(part, *rows) for name, part in space.spaces.items()}
    return _array(space, *rows)


def _tell_observations(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Whether an observation is one or several, in every kind of space; wrong shapes."""
    del wrappers, folder
    is_vectorized = library("common.utils", "is_vectorized_observation")
    for name, space in _spaces().items():
        if name == "tuple":
            user_code.Capture().capture([name, answer(is_vectorized, np.zeros(3), space)])
            continue
        rows = [_batched(space), _batched(space, 1), _batched(space, 2), _batched(space, 2, 2)]
        for wrong in (np.zeros(5), np.zeros((2, 5))):
            rows.append({"box": wrong, "mode": wrong} if name == "dict" else wrong)
        user_code.Capture().capture([name, *(answer(is_vectorized, row, space) for row in rows)])
    user_code.Capture().capture([answer(is_vectorized, 1, _spaces()["discrete"])])
    space = _spaces()["dict"]
    alone, both = _batched(space), _batched(space, 2)
    mixed = [{**alone, "box": both["box"]}, {**both, "box": alone["box"]}]
    user_code.Capture().capture([answer(is_vectorized, array, space) for array in mixed])
    for observation in (np.zeros(5), np.zeros((2, 2, 3)), {"box": np.zeros(3)}):
        user_code.Capture().capture([accepted(model.predict, observation)])


def _mix_interfaces(model: Any, wrappers: Wrappers, folder: str) -> None:
    """An observation with the informations of a reset, which is none."""
    del folder
    observation = gyms.reset(wrappers.made(0))
    user_code.Capture().capture([accepted(model.predict, (observation, {}))])


def _prepare(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Observations as networks take them: one-hot, scaled, transposed; on a device."""
    del model, wrappers, folder
    prepared = library("common.preprocessing", "preprocess_obs")
    for name, space in _spaces().items():
        if name in ("dict", "tuple"):
            continue
        batch = torch.as_tensor(_array(space, 2) if name != "image" else 51 * _array(space, 2))
        for scaled in (True, False):
            user_code.Capture().capture(
                [name, answer(prepared, batch, space, normalize_images=scaled)]
            )
    user_code.Capture().capture([answer(prepared, torch.zeros(1), _spaces()["tuple"])])
    transposed = library("common.preprocessing", "maybe_transpose")
    space = _image(3, _EDGE, _EDGE)
    for shape in ((3, 7, 7), (7, 7, 3), (2, 3, 7, 7), (2, 7, 7, 3), (7, 7, 2), (7, 3, 7)):
        user_code.Capture().capture(list(transposed(np.zeros(shape, np.uint8), space).shape))
    user_code.Capture().capture(
        list(transposed(np.zeros((7, 7, 3), np.uint8), _image(7, 7, 3)).shape)
    )
    # as many channels as rows and columns: the shape does not tell the order
    numbers = np.arange(128, dtype=np.uint8).reshape(2, 4, 4, 4)
    user_code.Capture().capture(
        [transposed(array, _image(4, 4, 4)) for array in (numbers, numbers[0])]
    )


def _prepare_dictionaries(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Dictionaries as networks take them, and what is no observation."""
    del model, wrappers, folder
    space = _spaces()["dict"]
    tensors = library("common.utils", "obs_as_tensor")
    device = torch.device("cpu")
    observation = tensors(_batched(space, 2), device)
    user_code.Capture().capture([tensors(np.ones(2), device), observation])
    user_code.Capture().capture(
        [library("common.preprocessing", "preprocess_obs")(observation, space)]
    )
    user_code.Capture().capture([answer(tensors, [1.0, 2.0], device)])


class _Spaced:
    """Two spaces, as an environment has them."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        self.observation_space, self.action_space = observation_space, action_space


def _compare_spaces(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Environments whose spaces are not those of the agent; another number of environments."""
    del folder
    spaces = list(_spaces().values())
    correct = library("common.utils", "check_for_correct_spaces")
    for pair in ((spaces[0], spaces[3]), (spaces[0], spaces[4]), (spaces[1], spaces[3])):
        user_code.Capture().capture([accepted(correct, _Spaced(*pair), spaces[0], spaces[3])])
    stack = library("common.vec_env", "VecFrameStack")
    others = [
        user_code.UnboundedActions(wrappers.made(0)),
        stack(gyms.side_by_side(wrappers.made(0)), 2),
    ]
    for space in others:
        user_code.Capture().capture([accepted(model.set_env, space)])
    several = gyms.side_by_side(*(wrappers.made(k) for k in range(model.n_envs + 1)))
    user_code.Capture().capture([accepted(model.set_env, several)])


def _compare_shapes(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Spaces that have to have the same shapes and names."""
    del model, wrappers, folder
    same = library("common.utils", "check_shape_equal")
    spaces, known = gyms.spaces, _spaces()
    box, inner = known["box"], known["dict"]
    pairs = [
        (box, spaces.Box(-1.0, 1.0, (3,), np.float32)),
        (box, known["matrix"]),
        (inner, inner),
        (inner, spaces.Dict({"box": known["matrix"], "mode": known["multi-binary"]})),
        (inner, spaces.Dict({"box": box})),
        (inner, box),
        (known["discrete"], spaces.Discrete(9)),
    ]
    user_code.Capture().capture([accepted(same, *pair) for pair in pairs])


def _rows(observations: List[Any]) -> Any:
    """Observations side by side."""
    if isinstance(observations[0], dict):
        return {
            name: np.stack([observation[name] for observation in observations])
            for name in observations[0]
        }
    return np.stack(observations)


def _meet_epsilon(model: Any, observation: Any) -> None:
    """Actions where the number that is drawn is epsilon itself, or beside it."""
    np.random.seed(11)
    drawn = np.random.rand()
    for epsilon in (drawn, np.nextafter(drawn, 1.0), np.nextafter(drawn, 0.0)):
        model.exploration_rate = epsilon
        for seed in range(4):
            model.action_space.seed(seed)
            np.random.seed(11)
            user_code.Capture().capture([model.predict(observation, deterministic=False)[0]])


def _answer(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Actions, values and probabilities of one observation, and of one, two and three together."""
    del folder
    single = [gyms.reset(wrappers.made(k)) for k in range(3)]
    inputs = [single[0], *(_rows(single[:count]) for count in (1, 2, 3))]
    policy = model.policy
    torch.manual_seed(7)
    np.random.seed(7)
    for observation in inputs:
        for best in (True, False):
            for actor in (model, policy):
                returned = answer(actor.predict, observation, deterministic=best)
                parts = returned if isinstance(returned, tuple) else (returned, None)
                printable = [part if part is not None else "none" for part in parts]
                user_code.Capture().capture([type(parts[0]).__name__, *printable])
        if not hasattr(policy, "obs_to_tensor"):
            continue
        alone = {"none": observation} if not isinstance(observation, dict) else observation
        for given in (observation, alone):
            user_code.Capture().capture(
                [answer(getattr(policy, "is_vectorized_observation", len), given)]
            )
        tensor, together = policy.obs_to_tensor(observation)
        user_code.Capture().capture([int(together), tensor])
        if not hasattr(policy, "evaluate_actions"):
            continue
        with torch.no_grad():
            actions, values, chances = policy(tensor)
            best = policy(tensor, deterministic=True)[0]
            user_code.Capture().capture([actions, values, chances, best])
            returned = policy.evaluate_actions(tensor, actions)
            user_code.Capture().capture(
                [value if value is not None else "none" for value in returned]
            )
            user_code.Capture().capture([policy.predict_values(tensor)])
            user_code.Capture().capture([policy.get_distribution(tensor).mode()])
    if hasattr(model, "exploration_rate"):
        _meet_epsilon(model, single[0])
    if hasattr(policy, "action_dist") and hasattr(policy, "evaluate_actions"):
        known, policy.action_dist = policy.action_dist, None
        user_code.Capture().capture([accepted(policy.predict, single[0])])
        policy.action_dist = known


USED = {
    "observations-answered": _answer,
    "spaces-told-apart": _tell_spaces,
    "normalised-images-told-apart": _tell_normalised_images,
    "observations-told-apart": _tell_observations,
    "observations-with-informations": _mix_interfaces,
    "observations-prepared": _prepare,
    "dictionaries-prepared": _prepare_dictionaries,
    "spaces-compared": _compare_spaces,
    "shapes-compared": _compare_shapes,
}
