"""Spaces and observations: told apart, measured, prepared for networks, and refused."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import torch

from rlregress.frameworks.sb3 import gyms, own
from rlregress.frameworks.sb3.asked import library
from rlregress.frameworks.sb3.by_hand import accepted, answer
from rlregress.frameworks.sb3.surroundings import Surroundings

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


def _tell_spaces(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Which spaces are images, in which order; how large observations and actions are."""
    del model, surroundings, folder
    module = "common.preprocessing"
    is_image = library(module, "is_image_space")
    first = library(module, "is_image_space_channels_first")
    images = _images()
    own.Shown().value([bool(is_image(each)) for each in images])
    own.Shown().value([bool(is_image(each, check_channels=True)) for each in images])
    own.Shown().value([bool(first(each)) for each in images[:-1]])
    for name in ("get_obs_shape", "get_flattened_obs_dim", "get_action_dim"):
        measure = library(module, name)
        own.Shown().value([name, *(answer(measure, each) for each in _spaces().values())])
    refuse_nested = library(module, "check_for_nested_spaces")
    spaces = gyms.spaces
    inner = _spaces()["dict"]
    for each in (inner, spaces.Dict({"one": inner}), spaces.Tuple((inner,)), spaces.Discrete(2)):
        own.Shown().value([accepted(refuse_nested, each)])


def _tell_normalised_images(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Which spaces are images whose numbers are normalised already."""
    del model, surroundings, folder
    is_image = library("common.preprocessing", "is_image_space")
    for checked in (False, True):
        options = {"check_channels": checked, "normalized_image": True}
        own.Shown().value([bool(is_image(each, **options)) for each in _images()])


def _array(space: Any, *rows: int) -> Any:
    """Numbers of a space, so many times side by side."""
    shape = (*rows, *(space.shape or ()))
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) % 2


def _batched(space: Any, *rows: int) -> Any:
    if isinstance(space, gyms.spaces.Dict):
        return {name: _array(part, *rows) for name, part in space.spaces.items()}
    return _array(space, *rows)


def _tell_observations(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Whether an observation is one or several, in every kind of space; wrong shapes."""
    del surroundings, folder
    told = library("common.utils", "is_vectorized_observation")
    for name, space in _spaces().items():
        if name == "tuple":
            own.Shown().value([name, answer(told, np.zeros(3), space)])
            continue
        rows = [_batched(space), _batched(space, 1), _batched(space, 2), _batched(space, 2, 2)]
        for wrong in (np.zeros(5), np.zeros((2, 5))):
            rows.append({"box": wrong, "mode": wrong} if name == "dict" else wrong)
        own.Shown().value([name, *(answer(told, each, space) for each in rows)])
    own.Shown().value([answer(told, 1, _spaces()["discrete"])])
    space = _spaces()["dict"]
    alone, both = _batched(space), _batched(space, 2)
    mixed = [{**alone, "box": both["box"]}, {**both, "box": alone["box"]}]
    own.Shown().value([answer(told, each, space) for each in mixed])
    for observation in (np.zeros(5), np.zeros((2, 2, 3)), {"box": np.zeros(3)}):
        own.Shown().value([accepted(model.predict, observation)])


def _mix_interfaces(model: Any, surroundings: Surroundings, folder: str) -> None:
    """An observation with the informations of a reset, which is none."""
    del folder
    observation = gyms.reset(surroundings.made(0))
    own.Shown().value([accepted(model.predict, (observation, {}))])


def _prepare(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Observations as networks take them: one-hot, scaled, transposed; on a device."""
    del model, surroundings, folder
    prepared = library("common.preprocessing", "preprocess_obs")
    for name, space in _spaces().items():
        if name in ("dict", "tuple"):
            continue
        batch = torch.as_tensor(_array(space, 2) if name != "image" else 51 * _array(space, 2))
        for scaled in (True, False):
            own.Shown().value([name, answer(prepared, batch, space, normalize_images=scaled)])
    own.Shown().value([answer(prepared, torch.zeros(1), _spaces()["tuple"])])
    transposed = library("common.preprocessing", "maybe_transpose")
    space = _image(3, _EDGE, _EDGE)
    for shape in ((3, 7, 7), (7, 7, 3), (2, 3, 7, 7), (2, 7, 7, 3), (7, 7, 2), (7, 3, 7)):
        own.Shown().value(list(transposed(np.zeros(shape, np.uint8), space).shape))
    own.Shown().value(list(transposed(np.zeros((7, 7, 3), np.uint8), _image(7, 7, 3)).shape))
    # as many channels as rows and columns: the shape does not tell the order
    numbers = np.arange(128, dtype=np.uint8).reshape(2, 4, 4, 4)
    own.Shown().value([transposed(each, _image(4, 4, 4)) for each in (numbers, numbers[0])])


def _prepare_dictionaries(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Dictionaries as networks take them, and what is no observation."""
    del model, surroundings, folder
    space = _spaces()["dict"]
    tensors = library("common.utils", "obs_as_tensor")
    device = torch.device("cpu")
    observation = tensors(_batched(space, 2), device)
    own.Shown().value([tensors(np.ones(2), device), observation])
    own.Shown().value([library("common.preprocessing", "preprocess_obs")(observation, space)])
    own.Shown().value([answer(tensors, [1.0, 2.0], device)])


class _Spaced:
    """Two spaces, as an environment has them."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        self.observation_space, self.action_space = observation_space, action_space


def _compare_spaces(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Environments whose spaces are not those of the agent; another number of environments."""
    del folder
    spaces = list(_spaces().values())
    correct = library("common.utils", "check_for_correct_spaces")
    for each in ((spaces[0], spaces[3]), (spaces[0], spaces[4]), (spaces[1], spaces[3])):
        own.Shown().value([accepted(correct, _Spaced(*each), spaces[0], spaces[3])])
    stack = library("common.vec_env", "VecFrameStack")
    others = [
        own.UnboundedActions(surroundings.made(0)),
        stack(gyms.side_by_side(surroundings.made(0)), 2),
    ]
    for other in others:
        own.Shown().value([accepted(model.set_env, other)])
    several = gyms.side_by_side(*(surroundings.made(k) for k in range(model.n_envs + 1)))
    own.Shown().value([accepted(model.set_env, several)])


def _compare_shapes(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Spaces that have to have the same shapes and names."""
    del model, surroundings, folder
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
    own.Shown().value([accepted(same, *pair) for pair in pairs])


def _rows(observations: List[Any]) -> Any:
    """Observations side by side."""
    if isinstance(observations[0], dict):
        return {name: np.stack([each[name] for each in observations]) for name in observations[0]}
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
            own.Shown().value([model.predict(observation, deterministic=False)[0]])


def _answer(model: Any, surroundings: Surroundings, folder: str) -> None:
    """Actions, values and probabilities of one observation, and of one, two and three together."""
    del folder
    single = [gyms.reset(surroundings.made(k)) for k in range(3)]
    asked = [single[0], *(_rows(single[:count]) for count in (1, 2, 3))]
    policy = model.policy
    torch.manual_seed(7)
    np.random.seed(7)
    for observation in asked:
        for best in (True, False):
            for actor in (model, policy):
                told = answer(actor.predict, observation, deterministic=best)
                parts = told if isinstance(told, tuple) else (told, None)
                shown = [each if each is not None else "none" for each in parts]
                own.Shown().value([type(parts[0]).__name__, *shown])
        if not hasattr(policy, "obs_to_tensor"):
            continue
        alone = {"none": observation} if not isinstance(observation, dict) else observation
        for each in (observation, alone):
            own.Shown().value([answer(getattr(policy, "is_vectorized_observation", len), each)])
        tensor, together = policy.obs_to_tensor(observation)
        own.Shown().value([int(together), tensor])
        if not hasattr(policy, "evaluate_actions"):
            continue
        with torch.no_grad():
            actions, values, chances = policy(tensor)
            best = policy(tensor, deterministic=True)[0]
            own.Shown().value([actions, values, chances, best])
            told = policy.evaluate_actions(tensor, actions)
            own.Shown().value([each if each is not None else "none" for each in told])
            own.Shown().value([policy.predict_values(tensor)])
            own.Shown().value([policy.get_distribution(tensor).mode()])
    if hasattr(model, "exploration_rate"):
        _meet_epsilon(model, single[0])
    if hasattr(policy, "action_dist") and hasattr(policy, "evaluate_actions"):
        known, policy.action_dist = policy.action_dist, None
        own.Shown().value([accepted(policy.predict, single[0])])
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
