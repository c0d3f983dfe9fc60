"""Environments under a recorder are the environments that a script would have without it."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import pytest

from rlregress.inside.seeds import SEED
from rlregress.probing.toys import Ends

from .scripts import told


def test_copies_made_before_the_first_reset_are_seeded_each(recorder):
    """Copies of an unused environment have different seeds of the tracer's."""
    template = gymnasium.make("CartPole-v1")
    copies = [copy.deepcopy(template) for _ in range(2)]
    for environment in copies:
        environment.reset()
    seeds = [environment.unwrapped.np_random_seed for environment in copies]
    assert seeds == [SEED, SEED + 1] != [0, 1]


def test_a_class_of_the_script_is_pickled_with_its_methods(recorder):
    """Methods of a recorded class take no recorder along when the class itself is pickled."""
    cloudpickle = pytest.importorskip("cloudpickle")
    kind = type("Own", (Ends,), {"__module__": "__main__", "step": lambda s, a: Ends.step(s, a)})
    environment = recorder.wrap_environment(kind())
    environment.reset(seed=1)
    copied = pickle.loads(cloudpickle.dumps(environment))
    copied.step([0.0, 0.0])
    environment.step([0.0, 0.0])
    assert [name for _, name in told(recorder)] == [f"environment {n}" for n in (0, 1, 0)]


def test_environments_are_numbered_as_they_are_first_used(recorder):
    """One that was made before and is never used shifts neither numbers nor seeds."""
    gymnasium.make("CartPole-v1")
    late, first = gymnasium.make("CartPole-v1"), gymnasium.make("CartPole-v1")
    first.reset()
    late.reset()
    late.step(0)
    rows = [("reset", "environment 0"), ("reset", "environment 1"), ("step", "environment 1")]
    assert told(recorder) == rows
    assert [e.unwrapped.np_random_seed for e in (first, late)] == [SEED, SEED + 1]
    assert recorder.seeded == ["resets of environments"]


class Unseeded(Ends):
    """Was written before resets had seeds."""

    def reset(self):
        """Reset."""
        return super().reset(seed=3)


def test_a_reset_that_takes_no_seed_gets_none(recorder):
    """The tracer gives a seed only where there is room for one."""
    environment = recorder.wrap_environment(Unseeded())
    environment.reset()
    assert told(recorder) == [("reset", "environment 0")]
    assert recorder.seeded == []
