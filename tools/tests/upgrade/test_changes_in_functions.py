"""The gate on changes that were chosen before any was judged: rewrites, small faults, constants.

Most of the last group stand behind bounds, masks and factors that no training meets. They take an
hour on one core: ``pytest -m nightly``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rlregress.model import differences as model

from .test_real_faults import Edit, judge  # noqa: F401 - a fixture

CHANGES = tomllib.loads(Path(__file__).with_name("changes.toml").read_text(encoding="utf-8"))
#: what the gate does not find, and why: it is never called the same.
NOT_FOUND = {"truncation: every end bootstraps": "the key is always there, whatever its default"}
ROWS = [
    pytest.param(kind, row, id=f"{kind}: {row['what']}")
    for kind, rows in CHANGES.items()
    for row in rows
]


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_a_fault_is_changed_and_a_rewrite_is_not(kind, row, judge):  # noqa: F811
    """By trainings or by direct calls."""
    edit = Edit(row["framework"], row["algorithm"], row["file"], row["old"], row["new"])
    result = judge(edit, scenarios=[row["scenario"]] if "scenario" in row else [])
    if kind == "rewrite":
        # of what is evaluated only sometimes it is not known whether it was
        same = (model.UNCHANGED, model.ROUNDED, model.PARTLY, model.COULD_NOT_JUDGE)
        assert result.verdict in same
    elif row["what"] in NOT_FOUND:
        assert result.verdict in (model.COULD_NOT_JUDGE, model.PARTLY)
    else:
        assert result.verdict == model.CHANGED
