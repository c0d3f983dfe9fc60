"""Keys of the JSON files that CI reads: they stay, whatever the code calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rlregress.report import upgrade_data

from ..upgrade.test_result import upgrade
from ..upgrade.test_upgrade_ci_formats import CHANGED

#: one key a line, as paths; of what was written before the names of the code changed.
STORED_KEYS = Path(__file__).with_name("json_keys.txt")


def keys(value: Any, path: str) -> set[str]:
    """Return all keys below a value, as paths; items of lists are one."""
    if isinstance(value, dict):
        return {
            statement
            for name, inner in value.items()
            for statement in ({f"{path}/{name}"} | keys(inner, f"{path}/{name}"))
        }
    if isinstance(value, list):
        return {statement for inner in value for statement in keys(inner, f"{path}/[]")}
    return set()


def found_keys(report: Path) -> set[str]:
    """Return the keys of a verdict, its evidence, and an upgrade."""
    keys_found = set()
    for name in ("verdict.json", "evidence.json"):
        keys_found |= keys(json.loads((report / name).read_text()), name)
    plain = json.loads(
        json.dumps(upgrade_data.convert_upgrade_to_plain_data(upgrade(CHANGED)), default=str)
    )
    keys_found |= keys(plain, "upgrade.json")
    return keys_found


def test_no_key_is_lost(night):
    """New keys are allowed; renamed or removed ones break readers."""
    _, _, report = night({"sb3-ppo-Hopper-v4-short": 0.5})
    missing = set(STORED_KEYS.read_text().splitlines()) - found_keys(report)
    assert sorted(missing) == []


def test_a_lost_key_is_found():
    """A lost key of an item of a list is found, too."""
    before = keys({"a": [{"b": 1}, {"c": {"d": 2}}]}, "x")
    assert before == {"x/a", "x/a/[]/b", "x/a/[]/c", "x/a/[]/c/d"}
    assert before - keys({"a": [{"b": 1}]}, "x") == {"x/a/[]/c", "x/a/[]/c/d"}
