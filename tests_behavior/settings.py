"""The hyperparameters that make toy problems short, and what is documented of each framework.

``baselines/behavior/<framework>.yaml`` holds, by topic and algorithm, ``changes`` to
``baselines/hyperparameters/<framework>.yaml`` and facts about the framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rlregress import suite
from rlregress.errors import UserError

_FACTS = {
    "stores",
    "value_in_last_reward",
    "first_row_from_before_seeding",
    "warm_up_is_stored",
    "truncation_is_termination",
}
_FIELDS = {"total_steps", "changes", *_FACTS}
_STORED = {"observations", "next_observations", "rewards", "done", "terminated"}


@dataclass(frozen=True)
class Setting:
    """How one algorithm of one framework is trained for one topic.

    Attributes:
        hyperparameters: the whole set, changes applied.
        total_steps: environment steps; 0 where the test decides.
        stores: the fields of ``Transitions`` that are documented to be stored.
        value_in_last_reward: the reward of a truncated step is documented to be stored with the
            discounted value of the final observation added.
        first_row_from_before_seeding: the first observation of a training is documented to be of
            an episode that the seeding of the environments has cut off.
        warm_up_is_stored: what is collected before learning starts is documented to be kept.
        truncation_is_termination: no value is documented to follow a truncated step either.
    """

    hyperparameters: Mapping[str, Any]
    total_steps: int = 0
    stores: tuple[str, ...] = ()
    value_in_last_reward: bool = False
    first_row_from_before_seeding: bool = False
    warm_up_is_stored: bool = True
    truncation_is_termination: bool = False


def _read(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read: {error}; expected a YAML file") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is empty or no table; expected topics or algorithms as keys")
    return content


def _entry(table: Any, key: str, path: Path, kind: str) -> dict[str, Any]:
    if not isinstance(table, dict) or not isinstance(table.get(key), dict):
        known = sorted(table) if isinstance(table, dict) else []
        raise UserError(f"{path} has no {kind} '{key}'; found: {', '.join(known) or 'nothing'}")
    return table[key]


def setting(framework: str, topic: str, algorithm: str) -> Setting:
    """The setting of ``baselines/behavior``; UserError names file and key of what is wrong."""
    path = suite.baselines() / "behavior" / f"{framework}.yaml"
    sets = suite.baselines() / "hyperparameters" / f"{framework}.yaml"
    found = dict(_entry(_entry(_read(path), topic, path, "topic"), algorithm, path, "algorithm"))
    place = f"{path}: {topic} of {algorithm}"
    unknown = sorted(set(found) - _FIELDS)
    if unknown:
        raise UserError(
            f"{place} has the unknown key '{unknown[0]}'; known: {', '.join(sorted(_FIELDS))}"
        )
    unknown = sorted(set(found.get("stores", ())) - _STORED)
    if unknown:
        raise UserError(
            f"{place} stores the unknown field '{unknown[0]}'; known: {', '.join(sorted(_STORED))}"
        )
    if not isinstance(found.get("total_steps", 0), int):
        raise UserError(f"{place}: total_steps is '{found['total_steps']}'; expected a number")
    changes = found.pop("changes", {})
    if not isinstance(changes, dict):
        raise UserError(f"{place}: changes is '{changes}'; expected a table of hyperparameters")
    base = _entry(_read(sets), algorithm, sets, "algorithm")
    unknown = sorted(set(changes) - set(base))
    if unknown:
        raise UserError(
            f"{place} changes '{unknown[0]}', which {sets} does not have; it has: "
            f"{', '.join(sorted(base))}"
        )
    found["stores"] = tuple(found.get("stores", ()))
    return Setting(hyperparameters={**base, **changes}, **found)
