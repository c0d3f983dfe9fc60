"""How far the tiers of a session are."""

from __future__ import annotations

import pytest

from rlregress.check import tier_progress
from rlregress.check.tier_progress import TiersProgress

TESTS = [
    *(f"tests_unit/test_gae.py::test_gae[{n}]" for n in range(60)),
    *(f"tests_behavior/test_ladder.py::test_ladder[{n}]" for n in range(20)),
    "tests_performance/test_returns.py::test_run[sb3]",
]


def ended_entry(tier, outcome="passed", framework="sb3"):
    """Return the entry of a test that has ended."""
    return {"tier": tier, "outcome": outcome, "framework": framework}


@pytest.fixture
def printed():
    """Return the lines, in a list."""
    return []


def make_progress(printed, runs=(0, 0)):
    """Start the tests."""
    progress = TiersProgress(lambda: runs, printed.append)
    progress.register_tests_to_run(TESTS)
    return progress


def test_a_line_has_every_tier_and_the_time_so_far(printed, monkeypatch):
    """It has all tests, the most trainings there can be, and no prediction."""
    now = [0.0]
    monkeypatch.setattr(tier_progress.time, "monotonic", lambda: now[0])
    progress = make_progress(printed, (3, 40))
    rows = "formulas 0 of 60, behaviour 0 of 20, trainings 3 of at most 40"
    assert printed == [f"{rows}; 0 s so far"]
    progress.count_ended_test(ended_entry("unit"))
    now[0] = 150.0
    assert progress.format_progress_line() == f"{rows.replace('0 of 60', '1 of 60')}; 2 min so far"


def test_a_tier_is_reported_when_its_last_test_ends(printed):
    """The summary of a tier counts failed and skipped tests per framework, once."""
    progress = make_progress(printed)
    for number in range(57):
        progress.count_ended_test(ended_entry("unit", framework=("sb3", "torchrl")[number % 2]))
    progress.count_ended_test(ended_entry("unit", outcome="failed"))
    progress.count_ended_test(ended_entry("unit", outcome="skipped", framework="torchrl"))
    assert not [line for line in printed if " after " in line]
    progress.count_ended_test(ended_entry("unit", outcome="error", framework=""))
    assert [line for line in printed if " after " in line] == [
        "formulas after 0 s: sb3 failed 1 of 30 tests; torchrl passed 28 tests, 1 skipped; "
        "the suite itself failed 1 of 1 tests"
    ]
    for _ in range(20):
        progress.count_ended_test(ended_entry("behavior"))
    assert printed[-1].startswith("behaviour after 0 s: sb3 passed 20 tests")
