"""How far the tiers of a session are, and how long the rest takes."""

from __future__ import annotations

import pytest

from rlregress.check import tier_progress
from rlregress.check.tier_progress import TiersProgress
from rlregress.progress import Durations

TESTS = [
    *(f"tests_unit/test_gae.py::test_gae[{n}]" for n in range(60)),
    *(f"tests_behavior/test_ladder.py::test_ladder[{n}]" for n in range(20)),
    "tests_performance/test_returns.py::test_run[sb3]",
]


def ended_entry(tier, seconds=0.0, outcome="passed", framework="sb3"):
    """Return the entry of a test that has ended."""
    return {"tier": tier, "seconds": seconds, "outcome": outcome, "framework": framework}


@pytest.fixture
def printed():
    """Return the lines, in a list."""
    return []


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """No other process waits for a core of this machine."""
    monkeypatch.setattr(tier_progress, "estimate_slowdown", lambda: 1.0)


def make_progress(printed, processes=1, runs=(0, 0, 0.0, False), tests=TESTS):
    """Start tests whose formulas take 1 s, and behaviour 10 s, as recorded."""
    durations = Durations(1.0, 10.0, 1.0, {})
    progress = TiersProgress(durations, processes, lambda: runs, printed.append)
    progress.note_tests_to_run(tests)
    return progress


def test_the_first_line_has_every_tier(printed):
    """The first line has all tests, the most trainings there can be, and the time of all."""
    make_progress(printed, 2, (3, 40, 140.0, True))
    assert printed == [
        "formulas 0 of 60, behaviour 0 of 20, trainings 3 of at most 40; about 3 min left"
    ]


def test_no_time_is_foretold_before_this_machine_is_measured(printed):
    """Stored seconds alone do not tell how fast it is; tests that ended, or a training, do."""
    progress = make_progress(printed, 1, (0, 40, 1000.0, False))
    assert printed == [
        "formulas 0 of 60, behaviour 0 of 20, trainings 0 of at most 40; about 0 s so far"
    ]
    for _ in range(30):
        progress.count_ended_test(ended_entry("unit", 3.0))
    # 95 s in place of 5 + 1 + 30 for 30 s of formulas, 5 in place of 5 for 200 s of behaviour,
    # 100 in place of 41 for 1000 s of trainings
    assert progress.format_progress_line().endswith("about 45 min left")


def test_the_time_left_goes_down_between_tests(printed, monkeypatch):
    """A training of minutes is under way, and no test ends."""
    now = [0.0]
    monkeypatch.setattr(tier_progress.time, "monotonic", lambda: now[0])
    progress = make_progress(printed, 1, (3, 40, 200.0, True), TESTS[-1:])
    assert progress.format_progress_line().endswith("about 3 min left")
    now[0] = 150.0
    assert progress.format_progress_line().endswith("about 50 s left")
    now[0] = 400.0
    assert progress.format_progress_line().endswith("about 2 min left")


def test_durations_here_correct_recorded_ones(printed):
    """Longer on this machine; the first ones, which import, do not tell yet."""
    progress = make_progress(printed, tests=TESTS[:80])
    progress.count_ended_test(ended_entry("unit", 30.0))
    for _ in range(28):
        progress.count_ended_test(ended_entry("unit", 1.0))
    assert (
        progress.format_progress_line() == "formulas 29 of 60, behaviour 0 of 20; about 0 s so far"
    )
    progress.count_ended_test(ended_entry("unit", 2.0))
    # 70 s in place of 10 + 1 + 30 for 30 s of formulas; 200 s of behaviour, which they do not tell
    assert (
        progress.format_progress_line() == "formulas 30 of 60, behaviour 0 of 20; about 4 min left"
    )
    progress.count_ended_test(ended_entry("performance", 100.0))
    assert (
        progress.format_progress_line() == "formulas 30 of 60, behaviour 0 of 20; about 4 min left"
    )
    progress.count_ended_test(ended_entry("behavior", 20.0))
    # 30 s in place of 20 for 190 s of behaviour
    assert (
        progress.format_progress_line() == "formulas 30 of 60, behaviour 1 of 20; about 6 min left"
    )


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
