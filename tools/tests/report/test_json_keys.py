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
        below = [
            {f"{path}/{name}"} | keys(inner, f"{path}/{name}") for name, inner in value.items()
        ]
    else:
        below = [keys(inner, f"{path}/[]") for inner in value] if isinstance(value, list) else []
    return set().union(*below)


def found_keys(report: Path) -> set[str]:
    """Return the keys of a verdict, its evidence, and an upgrade."""
    data = upgrade_data.convert_upgrade_to_plain_data(upgrade(CHANGED))
    keys_found = keys(json.loads(json.dumps(data, default=str)), "upgrade.json")
    for name in ("verdict.json", "evidence.json"):
        keys_found |= keys(json.loads((report / name).read_text()), name)
    return keys_found


def test_no_key_is_lost(night):
    """New keys are allowed; renamed or removed ones break readers."""
    _, _, report = night({"sb3-ppo-Hopper-v4-short": 0.5})
    missing = set(STORED_KEYS.read_text().splitlines()) - found_keys(report)
    assert sorted(missing) == []
