"""A scripted game that replaces an Atari game.

The colour of a picture is the number of its frame. The game records every action. Lives, rewards
and the end of the game are scripted frame by frame. No ROM is needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

NOOP, FIRE, SECOND, OTHER = range(4)
#: number of draws of which ``ExtremeGenerator`` takes the most extreme
DRAWS = 400


class _Console:
    """The console that reports lives, like ``unwrapped.ale`` of a real game."""

    def __init__(self, game: AtariGame) -> None:
        self._game = game

    def lives(self) -> int:
        return self._game.lives


class AtariGame(gymnasium.Env):
    """A game of four actions (NOOP, FIRE and two more) that does not end by itself.

    Frame t of a game shows the colour ``first_pixel + t`` everywhere and gives reward 0. Frames
    queued with ``queue_frame`` come first.

    Args:
        fire: whether the second action is called FIRE; the ball then waits for it.
        shape: shape of a picture, uint8.
        picture: the picture of every frame; None: one colour.

    Attributes:
        actions: the received actions, until a test clears the list.
        resets: number of games started.
        frames: frames since the start of the game.
        lives: lives left; three at the start.
    """

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        fire: bool = True,
        shape: Sequence[int] = (8, 8, 3),
        picture: Any = None,
        first_pixel: int = 10,
    ) -> None:
        self._shape = tuple(shape)
        self.observation_space = gymnasium.spaces.Box(0, 255, self._shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(4)
        # some preprocessing rejects a game whose id lacks NoFrameskip
        self.spec = EnvSpec("ProbeNoFrameskip-v4", entry_point=f"{__name__}:AtariGame")
        self.render_mode = "rgb_array"
        self.ale = _Console(self)
        self.actions: list[int] = []
        self.resets = 0
        self.frames = 0
        self.lives = 3
        self._fire = fire
        self._picture = None if picture is None else np.asarray(picture, dtype=np.uint8)
        self._first_pixel = first_pixel
        self._pixel = first_pixel
        self._coming: deque[dict[str, Any]] = deque()

    def get_action_meanings(self) -> list[str]:
        """Return the names of the actions, by number."""
        return ["NOOP", "FIRE" if self._fire else "UP", "RIGHT", "LEFT"]

    def queue_frame(self, **happens: Any) -> None:
        """Queue one frame: ``pixel``, ``reward``, ``lives``, ``over`` (the game ends in it)."""
        self._coming.append(happens)

    def _draw_picture(self) -> np.ndarray:
        if self._picture is not None:
            return self._picture.copy()
        return np.full(self._shape, self._pixel % 256, dtype=np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game; queued frames stay queued."""
        super().reset(seed=seed)
        self.resets += 1
        self.frames = 0
        self.lives = 3
        self._pixel = self._first_pixel
        return self._draw_picture(), {"lives": self.lives}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.actions.append(int(action))
        self.frames += 1
        happens = self._coming.popleft() if self._coming else {}
        self._pixel = happens.get("pixel", self._first_pixel + self.frames)
        self.lives = happens.get("lives", self.lives)
        over = bool(happens.get("over", False))
        reward = float(happens.get("reward", 0.0))
        return self._draw_picture(), reward, over, False, {"lives": self.lives}

    def render(self) -> np.ndarray:
        return self._draw_picture()


class ExtremeGenerator:
    """A random generator that returns the smallest or largest of many draws.

    Args:
        generator: a generator of NumPy; its methods that draw one number can be called.
        largest: whether to return the largest draw.
    """

    def __init__(self, generator: Any, largest: bool) -> None:
        self._generator = generator
        self._choose = max if largest else min

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        draw = getattr(self._generator, name)
        return lambda *a, **k: self._choose(draw(*a, **k) for _ in range(DRAWS))
