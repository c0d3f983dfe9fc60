"""Defaults of SB3-Contrib's algorithms, read from constructed agents by SB3's code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sb3_contrib import QRDQN, TQC, TRPO, CrossQ, MaskablePPO, RecurrentPPO

from rlregress.frameworks.sb3 import read as of_sb3
from rlregress.probing.families import read_each_or_mark_unread

#: (algorithm whose hyperparameters it has, scope) -> the class, and if its actions are discrete.
#: What TRPO has of PPO's: its trust region is a detail.
_CELLS: Mapping[tuple[str, str], tuple[Any, bool]] = {
    ("sac", "library"): (TQC, False),
    ("sac", "CrossQ"): (CrossQ, False),
    ("dqn", "library"): (QRDQN, True),
    ("ppo", "MaskablePPO"): (MaskablePPO, True),
    ("ppo", "RecurrentPPO"): (RecurrentPPO, False),
    ("ppo", "TRPO"): (TRPO, False),
}


def map_hyperparameters_to_own_names() -> dict[tuple[str, str], dict[str, str]]:
    """Return (algorithm, scope) -> hyperparameter -> keyword of the class that sets it."""
    return {
        cell: of_sb3.split_names_by_keyword(cell[0], algorithm_class)[0]
        for cell, (algorithm_class, _) in _CELLS.items()
    }


def read_defaults() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (algorithm, scope) -> hyperparameter -> value of an agent made without arguments."""
    return read_each_or_mark_unread(
        {cell: partial(_read_defaults_of_new_agent, *cell) for cell in _CELLS}
    )


def _read_defaults_of_new_agent(algorithm: str, scope: str) -> dict[str, Any]:
    algorithm_class, discrete = _CELLS[algorithm, scope]
    agent = of_sb3.construct_small_agent(algorithm_class, discrete)
    return of_sb3.read_values_of_agent(algorithm, agent)
