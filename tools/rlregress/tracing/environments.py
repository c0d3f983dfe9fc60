"""Environments under a recorder: every reset and step, and seeds where the script gave none.

Runs inside foreign and old environments: gymnasium and NumPy only, Python 3.9 syntax.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any, Dict, Optional, Tuple

import gymnasium
import numpy as np

from rlregress.tracing.events import part
from rlregress.tracing.seeds import SEED

#: attribute of an environment that is recorded. Its methods are replaced in its class: what is
#: copied, pickled or looked at is the environment itself, without a wrapper around it.
_WATCH = "_rlregress_watch"


class Watch:
    """The events of one environment, or of many that are stepped as one.

    Args:
        count: how many environments there are already; they are numbered as they are first used.
    """

    def __init__(self, recorder: Any, count: Any) -> None:
        self._recorder = recorder
        self._count = count
        self._number: Optional[int] = None
        self._begun = False
        self._busy = False

    def __deepcopy__(self, memo: Any) -> Watch:
        # an environment of its own, with a generator that was seeded with the original's
        copy = Watch(self._recorder, self._count)
        copy._begun = self._begun
        return copy

    def __reduce__(self) -> Any:
        # the recorder does not travel: what comes out is None
        return type(None), ()

    def number(self) -> int:
        """The environment's number, by the order of their first use."""
        if self._number is None:
            self._number = next(self._count)
        return self._number

    def reset(self, original: Any, environment: Any, *arguments: Any, **options: Any) -> Any:
        """Reset; the first one with a seed of the tracer's if it comes without."""
        if self._busy:
            return original(environment, *arguments, **options)
        self._recorder.check()
        self.number()
        if not arguments and options.get("seed") is None and self._needs_seed(environment):
            self._recorder.unseeded("resets of environments")
            options["seed"] = SEED + self.number()
        self._begun = True
        found = self._undisturbed(original, environment, *arguments, **options)
        self._add("reset", {"observation": part(found[0])})
        return found

    def step(self, original: Any, environment: Any, action: Any) -> Any:
        """Step."""
        if self._busy:
            return original(environment, action)
        self._recorder.check()
        self._recorder.new_parameters()
        # as it is before the environment can change it
        given = part(action)
        found = self._undisturbed(original, environment, action)
        self._stepped(given, found)
        return found

    def _needs_seed(self, environment: Any) -> bool:
        if self._begun:
            return False
        known = inspect.signature(environment.unwrapped.reset).parameters.values()
        return any(p.name == "seed" or p.kind is p.VAR_KEYWORD for p in known)

    def _undisturbed(self, original: Any, *arguments: Any, **options: Any) -> Any:
        # a class's own method may call its parent's, which may be replaced, too
        self._busy = True
        try:
            return original(*arguments, **options)
        finally:
            self._busy = False

    def _stepped(self, given: Any, found: Tuple[Any, ...]) -> None:
        observation, reward, terminated, truncated = found[:4]
        parts: Dict[str, Any] = {
            "action": given,
            "observation": part(observation),
            "reward": part(np.asarray(reward, dtype=np.float64)),
            "flags": part(np.asarray([terminated, truncated], dtype=bool)),
        }
        self._add("step", parts)
        self._recorder.step_taken()

    def _add(self, kind: str, parts: Dict[str, Any]) -> None:
        place = self._recorder.places.nearest(3)
        self._recorder.add(kind, f"environment {self.number()}", parts, place)


def install(recorder: Any) -> None:
    """Record what gymnasium makes, and seed spaces that nobody seeded."""
    count = itertools.count()
    make = gymnasium.make

    def made(*arguments: Any, **options: Any) -> Any:
        return watch(make(*arguments, **options))

    def watch(environment: Any) -> Any:
        return _watch(environment, recorder, count)

    recorder.wrap_environment = watch
    recorder.replace(gymnasium, "make", made)
    recorder.replace(gymnasium.envs.registration, "make", made)
    _record_vectors(recorder, watch)
    _seed_spaces(recorder)


def _watch(environment: Any, recorder: Any, count: Any) -> Any:
    """Record an environment from now on."""
    if _WATCH not in vars(environment):
        vars(environment)[_WATCH] = Watch(recorder, count)
        for name in ("reset", "step"):
            owner = type(environment)
            if not hasattr(vars(owner).get(name), _WATCH):
                recorder.replace(owner, name, _method(getattr(owner, name), name))
    return environment


def _method(original: Any, name: str) -> Any:
    """A method that tells an environment's watch, where there is one, what it does."""

    # without the recorder: a script's own class is pickled with its methods
    @functools.wraps(original)
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        watch = vars(self).get("_rlregress_watch")
        if watch is None:
            return original(self, *arguments, **options)
        return getattr(watch, name)(original, self, *arguments, **options)

    setattr(method, _WATCH, True)
    return method


def _record_vectors(recorder: Any, watch: Any) -> None:
    """Vector environments that do not step environments of ``gymnasium.make`` in this process."""
    apart = gymnasium.vector.AsyncVectorEnv
    original = apart.__init__

    def begun(environment: Any, *arguments: Any, **options: Any) -> None:
        original(environment, *arguments, **options)
        watch(environment)

    recorder.replace(apart, "__init__", begun)
    make = getattr(gymnasium, "make_vec", None)
    if make is None:
        return

    def made(*arguments: Any, **options: Any) -> Any:
        environment = make(*arguments, **options)
        if isinstance(environment.unwrapped, (gymnasium.vector.SyncVectorEnv, apart)):
            return environment
        return watch(environment)

    recorder.replace(gymnasium, "make_vec", made)
    recorder.replace(gymnasium.envs.registration, "make_vec", made)


def _seed_spaces(recorder: Any) -> None:
    space = gymnasium.spaces.Space
    original = space.np_random

    def np_random(self: Any) -> Any:
        if self._np_random is None:
            recorder.unseeded("sampling of action spaces")
            self.seed(SEED)
        return original.__get__(self)

    recorder.replace(space, "np_random", property(np_random))
    for kind in ("Box", "Discrete", "MultiDiscrete", "MultiBinary"):
        _record_samples(recorder, getattr(gymnasium.spaces, kind), kind)


def _record_samples(recorder: Any, owner: Any, kind: str) -> None:
    sample = owner.sample

    def sampled(self: Any, *arguments: Any, **options: Any) -> Any:
        value = sample(self, *arguments, **options)
        at = recorder.places.nearest(2)
        if at is not None:
            recorder.add("draw", f"{kind}.sample", {"value": part(value)}, at)
        return value

    recorder.replace(owner, "sample", sampled)
