"""What a version of Stable-Baselines3 before 2.0 is given: environments and spaces of gym."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.probing.interface import Unsupported

OLD = gyms.library.__name__ == "gym"
on_gym = pytest.mark.skipif(not OLD, reason="the installed Stable-Baselines3 stands on gymnasium")


class Counting(gymnasium.Env):
    """Ends as its script says; its observation tells the seed and the steps since the reset."""

    def __init__(self, *ends):
        self.observation_space = spaces.Box(-1e9, 1e9, (2,), np.float64)
        self.action_space = spaces.Discrete(3)
        self.ends, self.seeds, self.received = list(ends), [], []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        return np.zeros(2), {}

    def step(self, action):
        self.received.append(action)
        return np.ones(2), np.float32(2.0), *self.ends.pop(0), {"own": 1}


@pytest.mark.parametrize(
    ("terminated", "truncated", "done", "message"),
    [
        (False, False, False, {}),
        (True, False, True, {}),
        (False, True, True, {"TimeLimit.truncated": True}),
        (True, True, True, {"TimeLimit.truncated": False}),
    ],
)
def test_a_step_answers_with_four_values(terminated, truncated, done, message):
    """Done for whatever reason; of a truncation the info tells, as gym's TimeLimit does."""
    environment = Counting((terminated, truncated))
    observation, reward, ended, info = gyms.Native(environment).step(2)
    assert observation.tolist() == [1.0, 1.0]
    assert (reward, ended, info) == (2.0, done, {"own": 1, **message})
    assert environment.received == [2]


def test_a_seed_is_that_of_the_next_reset():
    """``seed`` seeds the reset after it; the ones after that go on from there."""
    environment = Counting()
    native = gyms.Native(environment)
    assert native.reset().tolist() == [0.0, 0.0]
    native.seed(7)
    native.reset()
    native.reset()
    assert environment.seeds == [None, 7, None]


def test_a_seed_at_a_reset_seeds_all_generators():
    """As gymnasium has it: the environment's, and the one that wrappers of gym draw from."""
    environment = Counting()
    first, second = gyms.Native(environment), gyms.Native(Counting())
    for native in (first, second):
        native.reset(seed=7)
    assert environment.seeds == [7]
    assert first._draws.random() == second._draws.random()


def test_what_gym_does_not_have_is_asked_of_the_environment():
    """Attributes are those of the environment, within its wrappers too; private ones are not."""
    environment = Counting()
    wrapped = gyms.Native(gymnasium.wrappers.TimeLimit(environment, 3))
    assert wrapped.received is environment.received
    with pytest.raises(AttributeError):
        wrapped._secret  # noqa: B018


def test_what_is_native_stays_as_it_is():
    """An environment that this version takes is handed over itself."""
    environment = gyms.convert_environment(Counting())
    assert gyms.convert_environment(environment) is environment
    assert isinstance(environment, gyms.Env)


@on_gym
@pytest.mark.parametrize(
    "given",
    [
        spaces.Box(-1.0, 2.0, (3,), np.float32),
        spaces.Box(np.array([-1.0, -np.inf]), np.array([2.0, 3.0]), dtype=np.float64),
        spaces.Box(0, 255, (3, 8, 8), np.uint8),
        spaces.Discrete(4),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(5),
    ],
)
def test_a_space_has_the_same_elements_in_gym(given):
    """Shape, dtype and bounds are kept; elements of one are elements of the other."""
    made = gyms.convert_space(given)
    assert isinstance(made, gyms.spaces.Space)
    assert (made.shape, np.dtype(made.dtype)) == (given.shape, given.dtype)
    for name in ("low", "high", "n", "nvec"):
        assert np.array_equal(getattr(made, name, 0), getattr(given, name, 0))
    assert all(given.contains(np.asarray(made.sample(), given.dtype)) for _ in range(20))


@on_gym
def test_a_dictionary_is_one_of_the_parts_in_gym():
    """Parts keep their names and are spaces of gym themselves."""
    made = gyms.convert_space(
        spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0.0, 1.0, (2,))})
    )
    assert isinstance(made, gyms.spaces.Dict)
    assert isinstance(made.spaces["a"], gyms.spaces.Discrete)
    assert made.spaces["b"].shape == (2,)


@on_gym
def test_a_space_that_gym_does_not_have_is_not_offered():
    """Discrete actions that do not start at 0 are said to be missing, not shifted."""
    with pytest.raises(Unsupported, match="gym 0.21.0 has no space"):
        gyms.convert_space(spaces.Discrete(3, start=1))


def test_advantages_are_left_as_they_are_by_a_normalisation():
    """Their mean and deviation are said to be 0 and 1; what comes out is an ordinary tensor."""
    torch = pytest.importorskip("torch")
    given = torch.tensor([1.0, 5.0])
    as_they_are = given.as_subclass(compat._AsTheyAre)
    normalised = (as_they_are - as_they_are.mean()) / (as_they_are.std() + 1e-8)
    assert type(normalised) is torch.Tensor
    assert normalised.tolist() == given.tolist()
    assert normalised.mean().item() == 3.0
