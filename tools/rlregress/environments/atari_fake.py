"""A scripted game in place of an Atari game.

Every picture says which frame of the game it is, every action that arrives is kept, and lives,
rewards and the end of the game are chosen frame by frame. No ROM is needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

NOOP, FIRE, SECOND, OTHER = range(4)
#: how many times a lucky draw is made: the most extreme of them is taken.
DRAWS = 400


class _Console:
    """The console that reports lives, like ``unwrapped.ale`` of a real game."""

    def __init__(self, game: AtariGame) -> None:
        self._game = game

    def lives(self) -> int:
        return self._game.lives


class AtariGame(gymnasium.Env):
    """A game of four actions (NOOP, FIRE and two more) that goes on for ever unless told otherwise.

    Frame t of a game shows the colour ``first_pixel + t`` everywhere and gives reward 0. What is
    queued with ``play`` happens in the frames that come next instead.

    Args:
        fire: whether the second action is called FIRE; the ball then waits for it.
        shape: of a picture, uint8.
        picture: what every frame shows, of that shape; without it a single colour.

    Attributes:
        actions: all that have arrived since the list was last cleared.
        resets: how many times the game was started.
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
        # some preprocessing insists on a game whose frames nobody skips
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
        """Names of the actions, by number."""
        return ["NOOP", "FIRE" if self._fire else "UP", "RIGHT", "LEFT"]

    def play(self, **happens: Any) -> None:
        """Queue one frame: ``pixel``, ``reward``, ``lives``, ``over`` (the game ends in it)."""
        self._coming.append(happens)

    def _show(self) -> np.ndarray:
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
        return self._show(), {"lives": self.lives}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.actions.append(int(action))
        self.frames += 1
        happens = self._coming.popleft() if self._coming else {}
        self._pixel = happens.get("pixel", self._first_pixel + self.frames)
        self.lives = happens.get("lives", self.lives)
        over = bool(happens.get("over", False))
        reward = float(happens.get("reward", 0.0))
        return self._show(), reward, over, False, {"lives": self.lives}

    def render(self) -> np.ndarray:
        """The picture that is shown."""
        return self._show()


class Lucky:
    """A generator whose every draw is the least, or the most, that the draw can give.

    Args:
        generator: any of NumPy's; every method of it that draws one number may be asked.
        most: the most; otherwise the least.
    """

    def __init__(self, generator: Any, most: bool) -> None:
        self._generator = generator
        self._choose = max if most else min

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        draw = getattr(self._generator, name)
        return lambda *a, **k: self._choose(draw(*a, **k) for _ in range(DRAWS))
