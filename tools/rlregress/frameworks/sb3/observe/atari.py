"""Probes of Atari preprocessing: ``AtariWrapper``, ``make_atari_env`` and the policy for images."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.sb3.observe.helpers import atari_games
from rlregress.measurements import atari
from rlregress.measurements.atari import ABSENT
from rlregress.probing.interface import Probe

__all__ = ["ABSENT", "PROBES", "make_atari_player"]

make_atari_player = atari_games.make_player_of_whole_game
_PREPROCESSING = atari.Preprocessing(
    atari_games.make_player_of_wrapper,
    atari_games.make_player_of_noop_wrapper,
    atari_games.make_player_of_stack,
    atari_games.make_player_of_whole_game,
    atari_games.make_vision_of_constant_image,
)
PROBES: Mapping[str, Probe] = {
    id: partial(measure, _PREPROCESSING) for id, measure in atari.MEASUREMENTS.items()
}
