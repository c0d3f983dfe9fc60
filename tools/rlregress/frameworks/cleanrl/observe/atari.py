"""Probes of Atari preprocessing: ``make_env`` and ``Agent`` of ``ppo_atari.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from rlregress.environments.atari_play import Player
from rlregress.frameworks.cleanrl.observe.helpers import atari_games
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements import atari
from rlregress.measurements.atari import ABSENT
from rlregress.probing.interface import Inputs

__all__ = ["ABSENT", "PROBES", "make_atari_player"]


def _make_probe(measure: atari.Measure) -> Callable[..., np.ndarray]:
    def measure_source(source: Source, inputs: Inputs) -> np.ndarray:
        preprocessing = atari.Preprocessing(
            partial(atari_games.make_player_of_wrapper, source),
            partial(atari_games.make_player_of_noop_wrapper, source),
            partial(atari_games.make_player_of_stack, source),
            partial(atari_games.make_player_of_whole_game, source),
            partial(atari_games.make_vision_of_constant_image, source),
        )
        return measure(preprocessing, inputs)

    return measure_source


PROBES: Mapping[str, Callable[..., np.ndarray]] = {
    id: _make_probe(measure) for id, measure in atari.MEASUREMENTS.items()
}


def make_atari_player(make_env: Callable[[], Any], source: Source) -> Player:
    """Return a player of the game of ``make_env`` within all wrappers of a training."""
    return atari_games.make_player_of_whole_game(source, make_env)
