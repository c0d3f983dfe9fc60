"""Environments under a recorder: every reset and step, and seeds where the script gave none.

Runs inside foreign and old environments: gymnasium and NumPy only, Python 3.9 syntax.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from rlregress.tracing.events import part


class Recorded(gymnasium.Wrapper):
    """Records what goes in and what comes out; changes nothing but a missing first seed."""

    def __init__(self, env: Any, recorder: Any, number: int) -> None:
        super().__init__(env)
        self._recorder = recorder
        self._name = f"environment {number}"
        self._number = number
        self._begun = False

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset; the first one with a seed of the tracer's if it comes without."""
        if seed is None and not self._begun:
            self._recorder.unseeded("resets of environments")
            seed = self._number
        self._begun = True
        observation, info = self.env.reset(seed=seed, options=options)
        recorder = self._recorder
        parts = {"observation": part(observation)}
        recorder.add("reset", self._name, parts, recorder._places.nearest(2))
        return observation, info

    def step(self, action: Any) -> Any:
        """Step."""
        recorder = self._recorder
        recorder.new_parameters()
        given = part(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        parts = {
            "action": given,
            "observation": part(observation),
            "reward": part(float(reward)),
            "flags": part([float(bool(terminated)), float(bool(truncated))]),
        }
        recorder.add("step", self._name, parts, recorder._places.nearest(2))
        recorder.step_taken()
        return observation, reward, terminated, truncated, info


def install(recorder: Any) -> None:
    """Record what ``gymnasium.make`` makes, and seed spaces that nobody seeded."""
    make = gymnasium.make
    count = [0]

    def made(*arguments: Any, **options: Any) -> Any:
        return wrap(make(*arguments, **options))

    def wrap(environment: Any) -> Any:
        count[0] += 1
        return Recorded(environment, recorder, count[0] - 1)

    recorder.wrap_environment = wrap
    recorder.replace(gymnasium, "make", made)
    if getattr(gymnasium, "envs", None) is not None and hasattr(gymnasium.envs, "registration"):
        recorder.replace(gymnasium.envs.registration, "make", made)
    _seed_spaces(recorder)


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
        at = recorder._places.nearest(2)
        if at is not None:
            recorder.add("draw", f"{kind}.sample", {"value": part(value)}, at)
        return value

    recorder.replace(owner, "sample", sampled)
