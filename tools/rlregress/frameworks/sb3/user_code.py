"""User code around Stable-Baselines3: wrappers, networks, schedules, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnvWrapper
from torch import nn

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.library import find_in_library


class Capture:
    """An object whose ``capture`` is recorded by traces: its argument is what a user looks at."""

    def capture(self, numbers: list[Any]) -> list[Any]:
        return numbers


# -- environments -----------------------------------------------------------------------------


class UnboundedActions(gyms.Wrapper):
    """An action space without bounds, around an environment that has bounds."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.action_space = gyms.spaces.Box(-np.inf, np.inf, env.action_space.shape, np.float32)

    def step(self, action: Any) -> Any:
        """Step with the action clipped to the bounds that the inner environment still has."""
        return self.env.step(np.clip(action, -2.0, 2.0))


class MatrixActions(gyms.Wrapper):
    """A wrapper whose actions are matrices of one row."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        space = env.action_space
        low, high = space.low.reshape(1, -1), space.high.reshape(1, -1)
        self.action_space = gyms.spaces.Box(low, high, dtype=space.dtype.type)


class MatrixBits(gyms.library.ObservationWrapper):
    """A wrapper whose binary observations are matrices of one row."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = gyms.spaces.MultiBinary([1, int(env.observation_space.n)])

    def observation(self, observation: Any) -> Any:
        return np.reshape(observation, (1, -1))


class _OwnBox(gyms.spaces.Box):
    """A user's subclass of ``Box`` that changes nothing."""


class OwnSpace(gyms.Wrapper):
    """A wrapper whose observation space is of a class that the user has written."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        space = env.observation_space
        self.observation_space = _OwnBox(space.low, space.high, dtype=space.dtype.type)


class FloatImages(gyms.library.ObservationWrapper):
    """A dictionary whose image has numbers between 0 and 1, with the channels first."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        spaces = env.observation_space.spaces
        height, width, channels = spaces["view"].shape
        view = gyms.spaces.Box(0.0, 1.0, (channels, height, width), np.float32)
        self.observation_space = gyms.spaces.Dict({**spaces, "view": view})

    def observation(self, observation: Any) -> Any:
        """Return the observation with its image in [0, 1], channels first."""
        view = np.moveaxis(observation["view"], -1, 0).astype(np.float32) / 255.0
        return {**observation, "view": view}


class LopsidedGoals(gyms.Wrapper):
    """A wrapper whose reward is not symmetric in the achieved and the desired goal."""

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Return zero beyond the goal, otherwise minus one."""
        del info
        beyond = np.asarray(achieved_goal)[..., 0] > np.asarray(desired_goal)[..., 0]
        return beyond.astype(np.float32) - 1.0

    def step(self, action: Any) -> Any:
        observation, _, *results = self.env.step(action)
        goals = observation["achieved_goal"], observation["desired_goal"]
        return (observation, float(self.compute_reward(*goals, {})), *results)


class PlaceInInfo(gyms.Wrapper):
    """A wrapper whose infos say where the system is; rewards are in single precision."""

    def make_extra_info(self, observation: Any) -> dict[str, Any]:
        """Return the field ``place``: the first number of the state."""
        return {"place": float(observation[0])}

    def step(self, action: Any) -> Any:
        """Return the step with its reward as a NumPy float32."""
        observation, reward, *ends, info = self.env.step(action)
        info = {**info, **self.make_extra_info(observation)}
        return (observation, np.float32(reward), *ends, info)


class SuccessInInfo(PlaceInInfo):
    """A wrapper whose infos say whether an episode was a success."""

    def make_extra_info(self, observation: Any) -> dict[str, Any]:
        """Return infos with ``is_success``: whether the state's second number exceeds -0.5."""
        return {**super().make_extra_info(observation), "is_success": bool(observation[1] > -0.5)}


def make_monitored_environment(env: Any) -> Any:
    """Return a user's environment in a monitor, which also records the info ``place``."""
    return find_in_library("common.monitor", "Monitor")(PlaceInInfo(env), info_keywords=("place",))


class FakeAtari(gyms.Env):
    """A game with three actions and three lives, which the library's Atari wrappers accept.

    Args:
        environment: one of the library's, with images and three choices.
    """

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        shape = environment.observation_space.shape
        self.observation_space = gyms.spaces.Box(0, 255, (*shape[:2], 3), np.uint8)
        self.action_space = environment.action_space
        self.spec = None
        self.ale, self._lives, self._t = self, 0, 0

    @property
    def np_random(self) -> Any:
        return self._environment.np_random

    def seed(self, seed: Any = None) -> Any:
        """Seed the environment, which versions before 2.0 do by this method."""
        return self._environment.seed(seed)

    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "FIRE", "RIGHT"]

    def lives(self) -> int:
        return self._lives

    def reset(self, **options: Any) -> Any:
        self._lives, self._t = 3, 0
        returned = self._environment.reset(**options)
        if isinstance(returned, tuple):
            return (self._color_image(returned[0]), *returned[1:])
        return self._color_image(returned)

    def step(self, action: Any) -> Any:
        """Return the result of a step; every third step costs a life."""
        observation, reward, *ends, info = self._environment.step(action)
        self._t += 1
        self._lives = 0 if any(ends) else max(1, 3 - self._t // 3)
        return (self._color_image(observation), np.float32(reward / 3.0), *ends, info)

    def _color_image(self, image: Any) -> Any:
        return np.repeat(image, 3, axis=2)


class ReducedFloat64Rewards(VecEnvWrapper):
    """Rewards as float64, scaled by 0.75, as a user scales them."""

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Return the step with its rewards as float64, three quarters of each."""
        observations, rewards, dones, infos = self.venv.step_wait()
        return observations, np.asarray(rewards, np.float64) * 0.75, dones, infos


# -- agents -----------------------------------------------------------------------------------


def make_noise(kind: str, deviation: float, **options: Any) -> Any:
    """Return noise of a class of the library for actions of two numbers."""
    noise = find_in_library("common.noise", f"{kind}ActionNoise")
    return noise(np.zeros(2), deviation * np.ones(2), **options)


#: kind of a features extractor -> makes its layers for observations of that size.
_LAYERS: dict[str, Callable[[int], list[nn.Module]]] = {
    "batch norm": lambda size: [nn.BatchNorm1d(size)],
    "dropout": lambda size: [nn.Linear(size, size), nn.Dropout(0.5)],
    "without bias": lambda size: [nn.Linear(size, size, bias=False), nn.Tanh()],
}


def make_extractor_class(kind: str) -> Any:
    """Return the class of a features extractor with layers of ``_LAYERS``, as a user writes one."""
    base = find_in_library("common.torch_layers", "BaseFeaturesExtractor")

    class UserExtractor(base):  # type: ignore[misc, valid-type]
        """A features extractor with as many features as an observation has numbers."""

        def __init__(self, observation_space: Any) -> None:
            size = int(np.prod(observation_space.shape))
            super().__init__(observation_space, size)
            self.layers = nn.Sequential(nn.Flatten(), *_LAYERS[kind](size))

        def forward(self, observations: Any) -> Any:
            return self.layers(observations)

    return UserExtractor


def make_recording_buffer_class(name: str) -> Any:
    """Return a subclass of a buffer of the library whose ``add`` captures its arguments."""
    base = find_in_library("common.buffers", name)

    class RecordingBuffer(base):  # type: ignore[misc, valid-type]
        """The same buffer, with an ``add`` that captures its arguments."""

        def add(self, *arguments: Any, **named: Any) -> None:
            Capture().capture([value for value in arguments if not isinstance(value, list)])
            super().add(*arguments, **named)

    return RecordingBuffer


class CompiledModule(nn.Module):
    """A module within another, as ``torch.compile`` returns it; nothing is compiled here."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._orig_mod = module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)


class SilentCallback(BaseCallback):
    """A callback whose ``_on_step`` returns None, not whether to continue."""

    def _on_step(self) -> Any:
        return None


class StartingCallback(BaseCallback):
    """A callback that captures the number of requested steps when the training begins."""

    def _on_training_start(self) -> None:
        Capture().capture([int(self.locals["total_timesteps"])])

    def _on_step(self) -> bool:
        return True


class CountingCallback(BaseCallback):
    """A callback that captures the number of steps at each step, and ends the training.

    Args:
        steps: the number after which the training ends.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps

    def _on_step(self) -> bool:
        Capture().capture([self.num_timesteps, self.model.num_timesteps])
        return self.num_timesteps < self._steps


def list_learning_rates(model: Any) -> list[float]:
    """Return the learning rates of the optimisers of a policy, its parts and its temperature."""
    parts = [model.policy, *model.policy.children()]
    optimizers = [getattr(part, "optimizer", None) for part in parts]
    optimizers.append(getattr(model, "ent_coef_optimizer", None))
    # a part that no optimiser moves has none, and so has a temperature that is given
    present = [optimizer for optimizer in optimizers if optimizer is not None]
    return [float(group["lr"]) for optimizer in present for group in optimizer.param_groups]


def make_falling_rate(initial: float, number: Any = float) -> Callable[[float], Any]:
    """Return a schedule that falls linearly to a tenth of ``initial``, as a number of that type.

    It does not fall to 0, as rounding would decide an update with a clipping range of 0.
    """
    return lambda progress_remaining: number((0.1 + 0.9 * max(progress_remaining, 0.0)) * initial)
