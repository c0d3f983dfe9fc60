"""Environments with discrete actions, by name: games of the Arcade Learning Environment, others.

A game is seen through Gymnasium's own preprocessing: no-op starts, four frames a step, 84 x 84 in
grey, four of these pictures at once.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from rlregress.errors import UserError
from rlregress.missing_packages import MissingPackage, installed
from rlregress.model.extra_packages import not_installed

#: what names of games begin with
GAMES = "ALE/"


def is_game(name: str) -> bool:
    """Whether a name is that of a game of the Arcade Learning Environment."""
    return name.startswith(GAMES)


def _known(name: str) -> None:
    if not is_game(name):
        return
    for module in ("ale_py", "cv2"):
        if not installed(module):
            raise MissingPackage(
                f"'{name}' is a game of the Arcade Learning Environment: {not_installed(module)}"
            )
    import ale_py

    gymnasium.register_envs(ale_py)


def check(name: str) -> None:
    """UserError unless DQN can be trained in the environment of that name."""
    _known(name)
    try:
        environment: Any = gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
        raise UserError(
            f"--environment is '{name}', which Gymnasium cannot make: "
            f"{str(error).rstrip('.')}; expected a name such as CartPole-v1 or ALE/Breakout-v5"
        ) from None
    actions, observations = environment.action_space, environment.observation_space
    environment.close()
    if not isinstance(actions, gymnasium.spaces.Discrete):
        raise UserError(
            f"--environment is '{name}', whose actions are {actions}; expected discrete ones, as "
            "DQN needs them"
        )
    if not is_game(name) and (
        not isinstance(observations, gymnasium.spaces.Box) or len(observations.shape) != 1
    ):
        raise UserError(
            f"--environment is '{name}', whose observations are {observations}; "
            "expected vectors, or a "
            f"game, whose name begins with {GAMES}"
        )


def _sign(reward: Any) -> float:
    return float(np.sign(reward))


def make(name: str, sticky: float = 0.0, bare: bool = False, training: bool = True) -> Any:
    """One environment.

    Args:
        name: as Gymnasium knows it.
        sticky: probability with which a game repeats the action before, at each frame.
        bare: a game as it is, one frame a step, for scripts that preprocess it themselves.
        training: a lost life ends an episode of a game, and rewards are their sign; otherwise
            games are whole and rewards are the score.
    """
    if not is_game(name):
        return gymnasium.make(name)
    _known(name)
    game: Any = gymnasium.make(name, frameskip=1, repeat_action_probability=sticky)
    if bare:
        return game
    wrapped: Any = gymnasium.wrappers.AtariPreprocessing(game, terminal_on_life_loss=training)
    wrapped = gymnasium.wrappers.FrameStackObservation(wrapped, 4)
    return gymnasium.wrappers.TransformReward(wrapped, _sign) if training else wrapped
