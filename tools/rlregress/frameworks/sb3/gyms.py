"""The environment library that the installed Stable-Baselines3 uses: gymnasium, or gym.

Environments of this suite are written for gymnasium. ``convert_environment`` converts one for a
version before 2.0, which uses gym: there ``reset`` returns the observation alone, and ``step`` four
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common import base_class
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from rlregress.probing.interface import Unsupported

#: the library itself, its environments, spaces and wrappers.
library: Any = getattr(base_class, "gym", gymnasium)
spaces: Any = library.spaces
Env: Any = library.Env
Wrapper: Any = library.Wrapper

_SAME = library is gymnasium


def convert_environment(environment: Any) -> Any:
    """Return a gymnasium environment in the form that this version accepts."""
    if _SAME or isinstance(environment, (Env, VecEnv)):
        return environment
    return OldGymEnv(environment)


def convert_space(original: Any) -> Any:
    """Return a gymnasium space in the form that this version accepts.

    Raises:
        Unsupported: the library has no such space.
    """
    kinds = gymnasium.spaces
    if _SAME or not isinstance(original, gymnasium.Space):
        return original
    if isinstance(original, kinds.Box):
        return spaces.Box(original.low, original.high, dtype=original.dtype.type)
    if isinstance(original, kinds.Discrete) and int(original.start) == 0:
        return spaces.Discrete(int(original.n))
    if isinstance(original, kinds.MultiDiscrete):
        return spaces.MultiDiscrete(original.nvec)
    if isinstance(original, kinds.MultiBinary):
        return spaces.MultiBinary(original.n)
    if isinstance(original, kinds.Dict):
        return spaces.Dict({name: convert_space(part) for name, part in original.spaces.items()})
    raise Unsupported(f"{library.__name__} {library.__version__} has no space {original}")


class OldGymEnv(Env):
    """A gymnasium environment with the interface of gym 0.21; delegates all other attributes.

    Args:
        environment: the gymnasium environment, its time limit included.
    """

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._next_seed: int | None = None
        self._draws, _ = library.utils.seeding.np_random(None)
        self.observation_space = convert_space(environment.observation_space)
        self.action_space = convert_space(environment.action_space)
        self.metadata = dict(environment.metadata)
        self.metadata["render.modes"] = list(self.metadata.get("render_modes", ()))
        self.spec = environment.spec

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        if isinstance(self._environment, gymnasium.Wrapper):
            return self._environment.get_wrapper_attr(name)
        return getattr(self._environment, name)

    @property
    def np_random(self) -> Any:
        """The environment's generator if it has gym's methods, else one that has them."""
        own = self._environment.unwrapped.np_random
        return own if hasattr(own, "randint") else self._draws

    def seed(self, seed: int | None = None) -> list[Any]:
        """Seed the next reset; later resets continue its random numbers."""
        self._next_seed = seed
        self._draws, seeded = library.utils.seeding.np_random(seed)
        return [seeded]

    def reset(self, **options: Any) -> Any:
        if options.get("seed") is not None:
            # passed as to an environment of gymnasium
            self.seed(options.pop("seed"))
        seed, self._next_seed = self._next_seed, None
        return self._environment.reset(seed=seed, options=options or None)[0]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Return (observation, reward, done, info); the info names a truncation."""
        observation, reward, terminated, truncated, info = self._environment.step(action)
        if truncated:
            info = {**info, "TimeLimit.truncated": not terminated}
        return observation, float(reward), bool(terminated or truncated), info

    def render(self, mode: str = "human", **options: Any) -> Any:
        """Render the environment in the mode that it was made with."""
        del mode, options
        return self._environment.render()

    def close(self) -> None:
        self._environment.close()


def make_generator(seed: int) -> Any:
    """Return a generator of random numbers, of the kind that the library gives its environments."""
    return np.random.default_rng(seed) if _SAME else library.utils.seeding.np_random(seed)[0]


def vectorise_environments(*environments: Any) -> Any:
    """Return environments in a ``DummyVecEnv``."""
    return DummyVecEnv(
        [lambda env=environment: convert_environment(env) for environment in environments]
    )


def find_env_util() -> Any:
    """Return the module with the functions that make vectorised environments."""
    try:
        from stable_baselines3.common import env_util as module
    except ImportError:  # its name until 0.9
        from stable_baselines3.common import cmd_util as module
    return module


def make_vec_env(make_env: Callable[[], Any], environments: int) -> Any:
    """Make environments by SB3's function ``make_vec_env``, each within a ``Monitor``."""
    return find_env_util().make_vec_env(
        lambda: convert_environment(make_env()), n_envs=environments
    )


@contextmanager
def register_temporarily(name: str, make_env: Callable[..., Any]) -> Iterator[None]:
    """Register an environment by name within the block."""
    registration = library.envs.registration
    registration.register(id=name, entry_point=make_env)
    try:
        yield
    finally:
        getattr(registration.registry, "env_specs", registration.registry).pop(name)


def reset_to_observation(environment: Any) -> Any:
    """Return the observation of a reset, of an environment or wrapper of the library."""
    result = environment.reset()
    return result[0] if _SAME else result


def step_to_triple(environment: Any, action: Any) -> tuple[Any, float, bool]:
    """Step an environment of Gym or Gymnasium; return (observation, reward, whether it ended)."""
    observation, reward, *ends, _ = environment.step(action)
    return observation, reward, any(map(bool, ends))
