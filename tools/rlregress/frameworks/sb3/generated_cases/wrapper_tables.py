"""Monitors, normalisers and other wrappers of environments, by themselves."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.sb3 import user_code
from rlregress.frameworks.sb3.generated_cases.call_sequences import (
    Named,
    Noting,
    done,
    environment,
    function,
    lowest,
    moved,
    several,
    used,
)
from rlregress.frameworks.sb3.library import library
from rlregress.probing.option_variants import Call, Subject

#: more steps than the longest episode has.
_MANY = 12
_KINDS = (user_code.Informations, user_code.MatrixActions, user_code.MatrixBits)


def vectorised(name: str) -> Any:
    """A class or function of the library's environments side by side."""
    return library("common.vec_env", name)


def _played(made: Any) -> Any:
    """What is noted at the end of an episode, but for the time that it took."""
    for _ in range(_MANY):
        *_, info = stepped = made.step(made.action_space.low)
        if any(bool(value) for value in stepped[2:-1]):
            return {**info["episode"], "t": 0}
    return "no end"


def _step(made: Any) -> Any:
    return made.step(made.action_space.low)[:-1]


def _monitors() -> Subject:
    ends = (_played, _step, ("reset",))
    given = ("reset", Named(options={"level": 3}))
    return used("common.monitor:Monitor", {"": lambda: {"env": Noting(environment())}},
                _step, ("reset",), _step, ("reset",), given, ("reset",), *ends, *ends, given,
                _played,
                ("get_total_steps",), ("get_episode_lengths",), ("get_episode_rewards",),
                lambda made: len(made.get_episode_times()), ("close",),
                lambda made: made.env.closed, options={"info_keywords": [("place",)],
                                                       "reset_keywords": [("options",)]}
                )  # fmt: skip


def _several() -> Any:
    return several(2, around=Noting)


class Pictured(user_code.Changed):
    """An environment that shows a picture of itself."""

    render_mode = "rgb_array"
    metadata = {"render_modes": ["rgb_array"], "render_fps": 7}

    def render(self, *given: Any, **named: Any) -> Any:
        """One row of grey."""
        del given, named
        return np.full((1, 2, 3), 7, np.uint8)


def _together(made: Any, _: Any) -> Any:
    """Attributes and methods of environments side by side, of all and of some; pictures."""
    at, place = partial(Named, indices=[1]), np.array([1.0, 2.0, 3.0])
    methods = [("env_method", "extra_info", place, Named(indices=n)) for n in (None, 0, [1, 0])]
    kinds = [("env_is_wrapped", kind, Named(indices=n)) for kind in _KINDS for n in (None, 0)]
    return done(made, ("set_attr", "mark", 3), ("get_attr", "mark"), ("set_attr", "mark", 4, at()),
                ("get_attr", "mark"), ("get_attr", "mark", 1), ("get_attr", "nothing"),
                ("has_attr", "mark"), ("has_attr", "nothing"), *methods, *kinds,
                lambda envs: list(envs.get_images()), ("render",), "render_mode",
                lambda envs: envs.unwrapped.metadata.get("render_fps"), "num_envs", ("close",),
                lambda envs: [inner.closed for inner in envs.unwrapped.envs])  # fmt: skip


def _seeded(made: Any, _: Any) -> Any:
    """Seeds and options that the next reset passes on, once."""
    infos: Any = lambda envs: [sorted(info) for info in envs.unwrapped.reset_infos]  # noqa: E731
    once = (("seed", 3), ("reset",), infos, ("reset",), infos)
    options: Any = ({"level": 1}, [{"level": 2}, {}], None)
    return done(made, *once, *(step for each in options for step in (("set_options", each), *once)),
                ("seed", None), ("reset",))  # fmt: skip


def _stepped(made: Any, _: Any) -> Any:
    """Steps beyond the ends of episodes."""
    space = made.observation_space
    results = getattr(space, "spaces", {"": space}).values()
    bounds = [[p.shape, str(p.dtype), p.low, p.high] for p in results if hasattr(p, "low")]
    return done(made, lambda _: bounds, ("reset",), *[moved] * _MANY)


def _normaliser(made: Any, _: Any) -> Any:
    """Before the first step, after it, frozen and there and back."""
    made.observation_space.seed(3)
    rows = made.observation_space.sample()
    original = (("get_original_reward",), ("get_original_obs",))
    turns = [(partial(_train, training), moved, *original, "returns", lambda e: e.ret_rms.var)
             for training in (True, False)]  # fmt: skip
    rewards = np.array([0.25, 7.0])
    return done(made, *original, ("reset",), *original, *turns[0], *turns[1],
                ("normalize_obs", rows), ("unnormalize_obs", rows),
                ("normalize_reward", rewards), ("unnormalize_reward", rewards),
                *original)  # fmt: skip


def _train(training: bool, made: Any) -> None:
    made.training = training


def _saved(made: Any, _: Any) -> Any:
    """Saved after a step, and loaded around others; as an older version wrote it; not put twice."""
    made.reset()
    moved(made)
    more = several(3, around=Noting)
    more.render_mode = "rgb_array"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "normaliser.pkl")
        made.save(path)
        again, other = (type(made).load(path, envs) for envs in (_several(), more))
        stacked = vectorised("VecFrameStack")(_several(), 2)
        state = made.__getstate__()
        state.pop("norm_obs_keys", None)
        kind: Any = type(made)
        older = kind.__new__(kind)
        older.__setstate__(state)
        rewards = np.array([0.25, 7.0])
        return done(
            made,
            lambda _: done(again, "returns", "nothing", ("normalize_reward", rewards), ("reset",),
                           "returns", partial(_train, True), moved, "returns", ("reset",),
                           "returns", ("set_venv", _several())),
            lambda _: done(other, "num_envs", "returns", lambda e: vars(e).get("render_mode")),
            lambda _: [vars(older).get("norm_obs_keys", "none"), older.venv is None],
            lambda _: type(made).load(path, stacked).num_envs,
        )  # fmt: skip


def _venv(count: int, kind: str, **given: Any) -> dict[str, Any]:
    return {"venv": several(count, kind, around=Noting if kind == "box" else None), **given}


def _around(name: str, *kinds: str, call: Call = _stepped, **more: Any) -> Subject:
    """A wrapper of environments side by side, of these observations."""
    given, keys = more.pop("given", {}), more.pop("keys", ())
    kits = {kind: partial(_venv, 2, kind, **given) for kind in kinds}
    kits.update((f"{kind} {'-'.join(names)}", partial(_venv, 1, kind, norm_obs_keys=names))
                for kind in ("dict", "dict-image") for names in keys)  # fmt: skip
    return used(f"common.vec_env:{name}", kits, lambda made: call(made, ""), **more)


def _checked(made: Any, _: Any) -> Any:
    """How often it warns of actions that are no numbers, and whether it refuses them."""
    numbers = [lowest(made) * number for number in (0.0, np.nan, np.inf, np.nan)]

    def warned(given: Any, envs: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = done(envs, ("step_async", given), ("check_array_value", "name", given))
        results["warnings"] = len([w for w in caught if w.category is UserWarning])
        return results

    return done(made, ("reset",), *(partial(warned, given) for given in numbers))


def _wrapped() -> dict[str, Any]:
    """Environments in a monitor and a normaliser, in two of them, and in none."""
    inner, normaliser = _several(), vectorised("VecNormalize")
    monitor = vectorised("VecMonitor")
    return {"once": monitor(normaliser(inner, clip_obs=2.5)), "bare": inner,
            "twice": monitor(normaliser(normaliser(inner)))}  # fmt: skip


def _looked(find: Any, given: Any) -> Any:
    """What is found by its kind: whether, or of which class."""
    found = find(*given)
    return found if isinstance(found, bool) else type(found).__name__


def _found() -> list[Subject]:
    wrappers = ("VecNormalize", "VecMonitor", "VecFrameStack")
    sides = {f"{label} {name}": lambda label=label, name=name: (_wrapped()[label], vectorised(name))
             for label in ("once", "bare") for name in wrappers}  # fmt: skip
    both = {label: lambda label=label: (_wrapped()[label],) for label in ("once", "bare")}
    single = {kind.__name__: lambda kind=kind: (_KINDS[0](_KINDS[1](environment())), kind)
              for kind in _KINDS}  # fmt: skip
    names = {label: lambda label=label: (_wrapped()[label],) for label in ("once", "twice")}
    return [
        function("common.vec_env:is_vecenv_wrapped", sides, _looked),
        function("common.vec_env:unwrap_vec_wrapper", sides, _looked),
        function("common.vec_env:unwrap_vec_normalize", both, _looked),
        function("common.env_util:is_wrapped", single, _looked),
        function("common.env_util:unwrap_wrapper", single, _looked),
        function("common.vec_env:VecEnvWrapper", names, lambda _, given: done(
            given[0], "clip_obs", "nothing", lambda e: type(e.unwrapped).__name__)),
        function("common.vec_env:sync_envs_normalization",
                 {name: lambda name=name: (vectorised("VecNormalize")(_several()), _synced()[name])
                  for name in ("same", "bare", "monitor")}),
    ]  # fmt: skip


def _synced() -> dict[str, Any]:
    bare = several(1)
    kinds = {"same": "VecNormalize", "monitor": "VecMonitor"}
    return {"bare": bare, **{label: vectorised(name)(bare) for label, name in kinds.items()}}


def _several_made(make: Any, given: Any) -> Any:
    """Seeds, wrappers, monitors and beginnings of environments that are made together."""
    made = make(lambda **named: user_code.Informations(environment(**named)), **given)
    return done(made, lambda _: made.action_space.shape, lambda _: _stepped(made, ""),
                # what is seeded is inside of a wrapper that has a space of its own
                lambda _: made.envs[0].unwrapped.action_space.sample(),
                ("env_is_wrapped", user_code.MatrixActions))  # fmt: skip


def subjects() -> dict[str, list[Subject]]:
    """Wrappers of one environment and of several, and the functions that look through them."""
    pictures = partial(several, 2, around=Pictured)
    also = {"together": lambda made, _: _together(made, ""), "seeded": _seeded}
    keys = [["state"], ["mode"], ["view"], ["state", "view"]]
    first = {"env_kwargs": {"first": 1}, "monitor_kwargs": {"info_keywords": ("place",)}}
    return {
        "wrappers": [
            _monitors(),
            used("common.vec_env:VecMonitor",
                 {"": lambda: {"venv": _several()}, "pictures": lambda: {"venv": pictures()}},
                 lambda made: _stepped(made, ""), options={"info_keywords": [("place",)]},
                 calls=also, thorough=("pictures",)),
            _around("VecNormalize", "box", "image", "dict", "dict-image", "multi-binary",
                    call=_normaliser, keys=keys,
                    options={"clip_obs": [1.0, 2.0], "clip_reward": [0.5]},
                    calls={"stepped": _stepped, "saved": _saved}),
            _around("VecFrameStack", "box", "image", "multi-binary", "dict-image",
                    given={"n_stack": 3},
                    options={"channels_order": ["first", "last", "middle", {"state": "last"}]}),
            _around("VecTransposeImage", "image", "box", "image-channels-first", "multi-binary",
                    "dict-image", calls={"turned": lambda made, _: [
                        made.transpose_image(np.arange(24).reshape(shape))
                        for shape in ((2, 3, 4), (1, 2, 3, 4))]}),
            _around("VecExtractDictObs", "dict", "box", given={"key": "state"}),
            _around("VecCheckNan", "box", call=_checked,
                    together=[{"raise_exception": True, "check_inf": False},
                              {"warn_once": False, "check_inf": False}]),
            *_found(),
            function("common.env_util:make_vec_env",
                     {"": {"seed": 7, "n_envs": 2, "start_index": 3, **first},
                      "wrapped": {"seed": 7, "wrapper_class": user_code.MatrixActions}},
                     _several_made),
        ]
    }  # fmt: skip
