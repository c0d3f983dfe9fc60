"""Environments under a recorder: every reset and step, and seeds where the script gave none.

Runs inside foreign and old environments: gymnasium and NumPy only, Python 3.9 syntax.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

import gymnasium
import numpy as np

from rlregress.tracing.events import part


class Recorded(gymnasium.Wrapper):
    """Records what goes in and what comes out; changes nothing but a missing first seed."""

    def __init__(self, env: Any, recorder: Any, number: int) -> None:
        super().__init__(env)
        self._watch = Watch(recorder, number)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset; the first one with a seed of the tracer's if it comes without."""
        found = self.env.reset(seed=self._watch.seed(seed), options=options)
        self._watch.reset(found)
        return found

    def step(self, action: Any) -> Any:
        """Step."""
        given = self._watch.action(action)
        found = self.env.step(action)
        self._watch.step(given, found)
        return found


class Watch:
    """The events of one environment, or of many that are stepped as one."""

    def __init__(self, recorder: Any, number: int) -> None:
        self._recorder = recorder
        self._number = number
        self._name = f"environment {number}"
        self._begun = False

    def seed(self, seed: Any) -> Any:
        """The seed to reset with."""
        if seed is None and not self._begun:
            self._recorder.unseeded("resets of environments")
            seed = self._number
        self._begun = True
        return seed

    def reset(self, found: Tuple[Any, ...]) -> None:
        """The event of a reset."""
        parts = {"observation": part(found[0])}
        self._recorder.add("reset", self._name, parts, self._recorder.places.nearest(3))

    def action(self, action: Any) -> Any:
        """What goes in, as it is before the environment can change it."""
        self._recorder.new_parameters()
        return part(action)

    def step(self, given: Any, found: Tuple[Any, ...]) -> None:
        """The event of a step."""
        observation, reward, terminated, truncated = found[:4]
        parts: Dict[str, Any] = {
            "action": given,
            "observation": part(observation),
            "reward": part(np.asarray(reward, dtype=np.float64)),
            "flags": part(np.asarray([terminated, truncated], dtype=bool)),
        }
        self._recorder.add("step", self._name, parts, self._recorder.places.nearest(3))
        self._recorder.step_taken()


def install(recorder: Any) -> None:
    """Record what gymnasium makes, and seed spaces that nobody seeded."""
    make = gymnasium.make
    count = [0]

    def number() -> int:
        count[0] += 1
        return count[0] - 1

    def made(*arguments: Any, **options: Any) -> Any:
        return wrap(make(*arguments, **options))

    def wrap(environment: Any) -> Any:
        return Recorded(environment, recorder, number())

    recorder.wrap_environment = wrap
    recorder.replace(gymnasium, "make", made)
    recorder.replace(gymnasium.envs.registration, "make", made)
    _record_vectors(recorder, number)
    _seed_spaces(recorder)


def _record_vectors(recorder: Any, number: Any) -> None:
    """Vector environments that do not step environments of ``gymnasium.make`` in this process."""
    apart = gymnasium.vector.AsyncVectorEnv
    _record_instances(recorder, apart, number)
    make = getattr(gymnasium, "make_vec", None)
    if make is None:
        return

    def made(*arguments: Any, **options: Any) -> Any:
        environment = make(*arguments, **options)
        if not isinstance(environment.unwrapped, (gymnasium.vector.SyncVectorEnv, apart)):
            watch = Watch(recorder, number())
            for name, function in _watched(watch, environment.reset, environment.step).items():
                setattr(environment, name, function)
        return environment

    recorder.replace(gymnasium, "make_vec", made)
    recorder.replace(gymnasium.envs.registration, "make_vec", made)


def _watched(watch: Watch, reset: Any, step: Any) -> Dict[str, Any]:
    def watched_reset(*, seed: Any = None, **options: Any) -> Any:
        found = reset(seed=watch.seed(seed), **options)
        watch.reset(found)
        return found

    def watched_step(actions: Any) -> Any:
        given = watch.action(actions)
        found = step(actions)
        watch.step(given, found)
        return found

    return {"reset": watched_reset, "step": watched_step}


def _record_instances(recorder: Any, owner: Any, number: Any) -> None:
    """Record every environment of a class from its construction on."""
    original = owner.__init__

    def made(environment: Any, *arguments: Any, **options: Any) -> None:
        original(environment, *arguments, **options)
        watch = Watch(recorder, number())
        for name, function in _watched(watch, environment.reset, environment.step).items():
            setattr(environment, name, function)

    recorder.replace(owner, "__init__", made)


def _seed_spaces(recorder: Any) -> None:
    space = gymnasium.spaces.Space
    original = space.np_random

    def np_random(self: Any) -> Any:
        if self._np_random is None:
            recorder.unseeded("sampling of action spaces")
            self.seed(0)
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
