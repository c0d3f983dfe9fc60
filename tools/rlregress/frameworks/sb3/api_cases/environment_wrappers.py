"""Monitors, normalisers and other wrappers, called by hand; what they refuse."""

from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Dict, Tuple

import numpy as np

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library
from rlregress.frameworks.sb3.wrappers import Wrappers

_VECTORISED = "common.vec_env"
#: episodes that are counted, and more steps than the longest has.
_EPISODES, _MANY = 2, 40


class _Noting(user_code.Informations):
    """An environment that says where the system is, and with what it was reset."""

    def reset(self, **options: Any) -> Any:
        """The first observation; with the names of what was given."""
        given = super().reset(**options)
        if not isinstance(given, tuple):
            return given
        named = {**(options.get("options") or {}), "seeded": options.get("seed") is not None}
        return given[0], {**given[1], **named}


def _two(wrappers: Wrappers) -> Any:
    return gyms.side_by_side(*(_Noting(wrappers.made(k)) for k in range(2)))


def _played(environment: Any) -> Any:
    """The informations of the step that ends an episode."""
    for _ in range(_MANY):
        *_, info = stepped = environment.step(environment.action_space.low)
        if any(bool(value) for value in stepped[2:-1]):
            return info
    raise RuntimeError("no episode has ended")


def _monitor(model: Any, wrappers: Wrappers, folder: str) -> None:
    """What a monitor refuses before a reset, in an episode and after its end; what it notes."""
    del model, folder
    kind = library("common.monitor", "Monitor")
    for early in (False, True):
        inner = user_code.Informations(wrappers.made(0))
        monitor = kind(inner, allow_early_resets=early, info_keywords=("place",))
        step = [monitor.step, monitor.action_space.low]
        user_code.Capture().capture([accepted(*step), accepted(monitor.reset), accepted(*step)])
        user_code.Capture().capture([accepted(monitor.reset), accepted(monitor.reset)])
        for _ in range(_EPISODES):
            noted = _played(monitor)["episode"]
            user_code.Capture().capture([noted["r"], noted["l"], noted["place"]])
            user_code.Capture().capture([accepted(*step), accepted(monitor.reset)])
        user_code.Capture().capture([monitor.get_total_steps(), *monitor.get_episode_lengths()])
        user_code.Capture().capture(
            [*monitor.get_episode_rewards(), len(monitor.get_episode_times())]
        )


class _Closed(user_code.Changed):
    """An environment that tells when it is closed."""

    def close(self) -> None:
        """As it is."""
        user_code.Capture().capture(["closed"])
        super().close()


def _close(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Environments that are closed: in a monitor, side by side, in a wrapper."""
    del model, folder
    kind = library("common.monitor", "Monitor")
    kind(_Closed(wrappers.made(0))).close()
    copies = gyms.side_by_side(*(_Closed(wrappers.made(k)) for k in range(2)))
    library(_VECTORISED, "VecMonitor")(copies).close()


def _monitor_of_words(model: Any, wrappers: Wrappers, folder: str) -> None:
    """A monitor that notes what every reset is given, and refuses one without."""
    del model, folder
    kind = library("common.monitor", "Monitor")
    monitor = kind(_Noting(wrappers.made(0)), reset_keywords=("options",))
    user_code.Capture().capture([accepted(monitor.reset)])
    monitor.reset(options={"level": 3})
    noted = _played(monitor)["episode"]
    user_code.Capture().capture([noted["options"]["level"], noted["l"]])


def _call_several(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Attributes and methods of environments side by side, of all and of some."""
    del model, folder
    environment = library(_VECTORISED, "VecMonitor")(_two(wrappers))
    environment.set_attr("mark", 3)
    environment.set_attr("mark", 4, indices=[1])
    user_code.Capture().capture([environment.get_attr("mark"), environment.get_attr("mark", 1)])
    place = np.array([1.0, 2.0, 3.0])
    for indices in (None, 0, [1, 0]):
        returned = environment.env_method("extra_info", place + 1.0, indices=indices)
        user_code.Capture().capture([len(returned), *returned])
    for kind in (user_code.Informations, user_code.MatrixBits):
        found = [environment.env_is_wrapped(kind), environment.env_is_wrapped(kind, indices=0)]
        user_code.Capture().capture([int(value) for some in found for value in some])
    user_code.Capture().capture([accepted(environment.get_attr, "nothing")])


def _reset_with_options(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Seeds and options that the next reset passes on, once."""
    del model, folder
    inner = _two(wrappers)
    environment = library(_VECTORISED, "VecMonitor")(inner)
    if not hasattr(environment, "set_options"):
        raise Unsupported("environments side by side take no options")
    for options in ({"level": 1}, [{"level": 2}, {}], None):
        environment.set_options(options)
        user_code.Capture().capture([list(environment.seed(3)), environment.reset()])
        user_code.Capture().capture(
            [repr(sorted(reset_info.items())) for reset_info in inner.reset_infos]
        )
        environment.reset()
        user_code.Capture().capture(
            [repr(sorted(reset_info.items())) for reset_info in inner.reset_infos]
        )
    np.random.seed(2)
    user_code.Capture().capture([list(environment.seed(None))])


def _look_through(model: Any, wrappers: Wrappers, folder: str) -> None:
    """What is found through wrappers; a name that two of them have is refused."""
    del model, folder
    inner = _two(wrappers)
    normaliser, monitor = library(_VECTORISED, "VecNormalize"), library(_VECTORISED, "VecMonitor")
    once = monitor(normaliser(inner, clip_obs=2.5))
    twice = monitor(normaliser(normaliser(inner)))
    user_code.Capture().capture([once.clip_obs, int(once.unwrapped is inner), once.num_envs])
    user_code.Capture().capture(
        [accepted(getattr, twice, "clip_obs"), accepted(getattr, once, "nothing")]
    )
    found, unwrap = library(_VECTORISED, "is_vecenv_wrapped"), "unwrap_vec_normalize"
    for environment in (once, inner):
        kinds = (normaliser, monitor, library(_VECTORISED, "VecFrameStack"))
        user_code.Capture().capture([int(found(environment, kind)) for kind in kinds])
        user_code.Capture().capture([type(library(_VECTORISED, unwrap)(environment)).__name__])
    single = user_code.Informations(user_code.MatrixActions(wrappers.made(0)))
    wrapped = library("common.env_util", "is_wrapped")
    unwrapped = library("common.env_util", "unwrap_wrapper")
    for kind in (user_code.Informations, user_code.MatrixActions, user_code.MatrixBits):
        user_code.Capture().capture(
            [int(wrapped(single, kind)), type(unwrapped(single, kind)).__name__]
        )


def _moved(environment: Any) -> Any:
    return environment.step(np.stack([environment.action_space.low] * environment.num_envs))


def _normalise(model: Any, wrappers: Wrappers, folder: str) -> None:
    """A normaliser before its first step, after it, frozen, saved and loaded; there and back."""
    del model
    kind = library(_VECTORISED, "VecNormalize")
    for observed, rewarded in ((True, True), (False, True), (True, False)):
        options = {"norm_obs": observed, "norm_reward": rewarded, "epsilon": 1e-3}
        environment = kind(_two(wrappers), clip_obs=1.0, clip_reward=0.5, gamma=0.8, **options)
        environment.seed(1)
        user_code.Capture().capture([environment.get_original_reward(), environment.reset()])
        user_code.Capture().capture(
            [environment.get_original_reward(), environment.get_original_obs()]
        )
        for training in (True, False):
            environment.training = training
            user_code.Capture().capture(list(_moved(environment)[:3]))
            original = [environment.get_original_reward(), environment.get_original_obs()]
            user_code.Capture().capture([*original, environment.returns, environment.ret_rms.var])
        numbers, rewards = np.array([[0.5, -1.0, 9.0]]), np.array([0.25, 7.0])
        user_code.Capture().capture(
            [environment.normalize_obs(numbers), environment.unnormalize_obs(numbers)]
        )
        there = environment.normalize_reward(rewards)
        user_code.Capture().capture([there, environment.unnormalize_reward(there)])
        path = os.path.join(folder, "normaliser.pkl")
        environment.save(path)
        again = kind.load(path, _two(wrappers))
        error = accepted(getattr, again, "nothing")
        user_code.Capture().capture([again.returns, error, int("AttributeError" in repr(error))])
        again.seed(1)
        user_code.Capture().capture([again.reset(), again.returns, again.normalize_reward(rewards)])
        again.training = True
        _moved(again)
        user_code.Capture().capture([again.returns, again.reset(), again.returns])
        more = gyms.side_by_side(*(_Noting(wrappers.made(k)) for k in range(3)))
        more.render_mode = "rgb_array"
        again = kind.load(path, more)
        user_code.Capture().capture(
            [again.num_envs, again.returns, int(vars(again).get("render_mode") is not None)]
        )
        user_code.Capture().capture([accepted(again.set_venv, _two(wrappers))])


def _normalise_wrongly(model: Any, wrappers: Wrappers, folder: str) -> None:
    """What a normaliser refuses: names without a dictionary, choices, other spaces, none at all."""
    del model
    kind, stack = library(_VECTORISED, "VecNormalize"), library(_VECTORISED, "VecFrameStack")
    user_code.Capture().capture([accepted(kind, _two(wrappers), norm_obs_keys=["state"])])
    dictionary = gyms.side_by_side(wrappers.like("dict"))
    for keys in (["state"], ["mode"], None):
        user_code.Capture().capture([accepted(kind, dictionary, norm_obs_keys=keys)])
    user_code.Capture().capture([accepted(kind, gyms.side_by_side(wrappers.like("multi-binary")))])
    images = gyms.side_by_side(wrappers.like("dict-image"))
    both = answer(kind, images, norm_obs_keys=["state", "view"], clip_obs=2.0)
    if isinstance(both, kind):
        view = both.observation_space.spaces["view"]
        user_code.Capture().capture([str(view.dtype), view.low.min(), view.high.max()])
        both.seed(1)
        user_code.Capture().capture([both.reset(), both.get_original_obs()])
    images = kind(gyms.side_by_side(wrappers.like("image")), clip_obs=2.0)
    space = images.observation_space
    user_code.Capture().capture([str(space.dtype), space.low.min(), space.high.max()])
    older_state = kind(dictionary, norm_obs_keys=["state"]).__getstate__()
    older_state.pop("norm_obs_keys", None)
    older_one = kind.__new__(kind)
    older_one.__setstate__(older_state)
    user_code.Capture().capture(
        [repr(getattr(older_one, "norm_obs_keys", None)), int(older_one.venv is None)]
    )
    path = os.path.join(folder, "normaliser.pkl")
    kind(_two(wrappers)).save(path)
    user_code.Capture().capture([accepted(kind.load, path, stack(_two(wrappers), 2))])
    synchronised = library(_VECTORISED, "sync_envs_normalization")
    bare = gyms.side_by_side(wrappers.made(0))
    user_code.Capture().capture([accepted(synchronised, kind(_two(wrappers)), bare)])
    other = library(_VECTORISED, "VecMonitor")(bare)
    user_code.Capture().capture([accepted(synchronised, kind(_two(wrappers)), other)])


def _stack_frames(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Stacked frames in each order, over the end of an episode; orders that are none."""
    del model, folder
    stack = library(_VECTORISED, "VecFrameStack")
    orders: Tuple[Any, ...] = ("first", "last", None)
    for order in orders:
        environment = stack(_two(wrappers), 3, channels_order=order)
        environment.seed(4)
        user_code.Capture().capture(
            [environment.observation_space.shape, environment.reset().copy()]
        )
        for _ in range(12):
            observations, _, _, infos = _moved(environment)
            last = [info.get("terminal_observation") for info in infos]
            user_code.Capture().capture(
                [observations.copy(), *(frame for frame in last if frame is not None)]
            )
    for wrong in ("middle", {"state": "last"}):
        user_code.Capture().capture([accepted(stack, _two(wrappers), 2, channels_order=wrong)])
    unstackable = gyms.side_by_side(wrappers.like("multi-binary"))
    user_code.Capture().capture([accepted(stack, unstackable, 2)])


def _wrap_wrongly(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Images that are none, and dictionaries that are none."""
    del model, folder
    bare = gyms.side_by_side(wrappers.made(0))
    transpose = library(_VECTORISED, "VecTransposeImage")
    first = gyms.side_by_side(wrappers.like("image-channels-first"))
    for environment in (bare, first, gyms.side_by_side(wrappers.like("multi-binary"))):
        user_code.Capture().capture(
            [accepted(transpose, environment), accepted(transpose, environment, True)]
        )
    user_code.Capture().capture(
        [accepted(library(_VECTORISED, "VecExtractDictObs"), bare, "state")]
    )
    images = np.arange(24).reshape(2, 3, 4)
    turned = [transpose.transpose_image(array) for array in (images, images[None])]
    user_code.Capture().capture(turned)


def _warned(call: Callable[[], Any]) -> Any:
    """How often the library warns, and whether it refuses."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept = accepted(call)
    return [kept, len([warning for warning in caught if warning.category is UserWarning])]


def _check_numbers(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Numbers that are none: in actions, said once, every time, or refused."""
    del model, folder
    kind = library(_VECTORISED, "VecCheckNan")
    shape = (2, *wrappers.spaces.action_space.shape)
    actions = [np.full(shape, number) for number in (0.0, np.nan, np.inf)]
    cases = [
        {"raise_exception": True},
        {"raise_exception": True, "check_inf": False},
        {"warn_once": True},
        {"warn_once": False},
        {"warn_once": False, "check_inf": False},
    ]
    for options in cases:
        environment = kind(_two(wrappers), **options)
        environment.reset()
        for given in (*actions, actions[1]):
            user_code.Capture().capture(_warned(lambda: environment.step_async(given)))  # noqa: B023
    environment = kind(_two(wrappers))
    found = [environment.check_array_value("name", action) for action in actions]
    user_code.Capture().capture([repr(problem) for problem in found])


def _describe_spaces(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Spaces of several parts, in the words in which environments side by side keep them."""
    del model, wrappers, folder
    spaces = gyms.spaces
    box, choice = spaces.Box(-1.0, 1.0, (2,), np.float32), spaces.Discrete(3)
    described = library("common.vec_env.util", "obs_space_info")
    rebuilt = library("common.vec_env.util", "dict_to_obs")
    numbers = np.ones((1, 2))
    cases: Dict[str, Any] = {
        "one": (box, {None: numbers}),
        "dict": (spaces.Dict({"a": box, "b": choice}), {"a": numbers, "b": np.zeros(1)}),
        "tuple": (spaces.Tuple((box, choice)), {0: numbers, 1: np.zeros(1)}),
        "too short": (spaces.Tuple((box, choice)), {0: numbers}),
        "too long": (box, {None: numbers, "a": numbers}),
    }
    for name, (space, kept) in cases.items():
        user_code.Capture().capture(
            [name, repr(answer(described, space)), answer(rebuilt, space, kept)]
        )


def _make_several(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Environments side by side by the function for it: seeds, wrappers, monitors, beginnings."""
    del model, folder
    make = getattr(gyms.env_util(), "make_vec_env")  # noqa: B009
    word = {"info_keywords": ("place",)}
    places = [lambda **given: user_code.Informations(wrappers.made(given.get("first", 0)))]
    environment = make(
        places[0], 2, seed=7, env_kwargs={"first": 1}, monitor_kwargs=word, start_index=3
    )
    user_code.Capture().capture([environment.reset(), environment.action_space.sample()])
    for _ in range(12):
        infos = _moved(environment)[3]
        noted = [info["episode"] for info in infos if "episode" in info]
        user_code.Capture().capture([[note["r"], note["l"], note["place"]] for note in noted])
    wrapped = make(places[0], 1, seed=7, wrapper_class=user_code.MatrixActions)
    user_code.Capture().capture(
        [wrapped.action_space.shape, wrapped.env_is_wrapped(user_code.MatrixActions)]
    )


USED = {
    "monitor": _monitor,
    "monitor-of-words": _monitor_of_words,
    "environments-closed": _close,
    "calls-of-several": _call_several,
    "resets-with-options": _reset_with_options,
    "wrappers-looked-through": _look_through,
    "normaliser": _normalise,
    "normaliser-refused": _normalise_wrongly,
    "frames-stacked": _stack_frames,
    "wrappers-refused": _wrap_wrongly,
    "numbers-checked": _check_numbers,
    "spaces-described": _describe_spaces,
    "several-made": _make_several,
}
