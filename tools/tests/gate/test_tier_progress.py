"""How far the tiers of a session are, and how long the rest takes."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from rlregress import suite
from rlregress.gate import tier_progress
from rlregress.gate.tier_progress import TiersProgress
from rlregress.progress import Durations
from rlregress.training import worker_launch

TESTS = [
    *(f"tests_unit/test_gae.py::test_gae[{n}]" for n in range(60)),
    *(f"tests_behavior/test_ladder.py::test_ladder[{n}]" for n in range(20)),
    "tests_performance/test_returns.py::test_run[sb3]",
]


def ended_entry(tier, seconds=0.0, outcome="passed", framework="sb3"):
    """The entry of a test that has ended."""
    return {"tier": tier, "seconds": seconds, "outcome": outcome, "framework": framework}


@pytest.fixture
def said():
    """The lines, in a list."""
    return []


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """No other process waits for a core of this machine."""
    monkeypatch.setattr(tier_progress, "estimate_slowdown", lambda: 1.0)


def make_progress(message, processes=1, runs=(0, 0, 0.0, False)):
    """Formulas take 1 s, behaviour 10 s, as recorded."""
    return TiersProgress(Durations(1.0, 10.0, 1.0, {}), processes, lambda: runs, message.append)


def test_every_tier_is_told_from_the_start(said):
    """What there is, the trainings with the most there can be, and the seconds of all of them."""
    make_progress(said, 2, (3, 40, 140.0, True)).start_tests(TESTS)
    assert said == [
        "formulas 0 of 60, behaviour 0 of 20, trainings 3 of at most 40; about 3 min left"
    ]


def test_no_time_is_foretold_before_this_machine_is_measured(said):
    """Stored seconds alone do not tell how fast it is; tests that ended, or a training, do."""
    progress_ = make_progress(said, 1, (0, 40, 1000.0, False))
    progress_.start_tests(TESTS)
    assert said == [
        "formulas 0 of 60, behaviour 0 of 20, trainings 0 of at most 40; about 0 s so far"
    ]
    for _ in range(30):
        progress_.done(ended_entry("unit", 3.0))
    # 100 s in place of 10 + 1 + 30 for 30 s of formulas, 10 in place of 10 for 200 s of behaviour,
    # 110 in place of 51 for 1000 s of trainings
    assert progress_.line().endswith("about 41 min left")


def test_the_time_left_goes_down_between_tests(said, monkeypatch):
    """A training of minutes is under way, and no test ends."""
    now = [0.0]
    monkeypatch.setattr(tier_progress.time, "monotonic", lambda: now[0])
    progress_ = make_progress(said, 1, (3, 40, 200.0, True))
    progress_.start_tests(TESTS[-1:])
    assert progress_.line().endswith("about 3 min left")
    now[0] = 150.0
    assert progress_.line().endswith("about 50 s left")
    now[0] = 400.0
    assert progress_.line().endswith("about 2 min left")


def test_a_tier_without_tests_is_left_out(said):
    """A session of formulas alone tells of formulas alone."""
    progress_ = make_progress(said)
    progress_.start_tests(TESTS[:60])
    for _ in range(30):
        progress_.done(ended_entry("unit", 1.0))
    assert progress_.line() == "formulas 30 of 60; about 29 s left"


def test_cheap_tests_shorten_neither_trainings_nor_the_report(said):
    """Thirty tests of 1 s took none; 100 s of trainings in two processes and 12 s are left."""
    durations = Durations(1.0, 10.0, 1.0, {"making the report": 12.0})
    progress_ = TiersProgress(durations, 2, lambda: (0, 40, 100.0, False), said.append)
    progress_.start_tests([*TESTS[:30], TESTS[-1]])
    for _ in range(30):
        progress_.done(ended_entry("unit"))
    assert progress_.line().endswith("about 62 s left")


def test_two_workers_know_the_same_tests(said):
    """They are counted once."""
    progress_ = make_progress(said)
    progress_.start_tests(TESTS)
    progress_.start_tests(TESTS)
    assert len(said) == 1


def test_what_tests_take_here_corrects_what_was_recorded(said):
    """Longer on this machine; the first ones, which import, do not tell yet."""
    progress_ = make_progress(said)
    progress_.start_tests(TESTS[:80])
    progress_.done(ended_entry("unit", 30.0))
    for _ in range(28):
        progress_.done(ended_entry("unit", 1.0))
    assert progress_.line() == "formulas 29 of 60, behaviour 0 of 20; about 0 s so far"
    progress_.done(ended_entry("unit", 2.0))
    # 70 s in place of 10 + 1 + 30 for 30 s of formulas; 200 s of behaviour, which they do not tell
    assert progress_.line() == "formulas 30 of 60, behaviour 0 of 20; about 4 min left"
    progress_.done(ended_entry("performance", 100.0))
    assert progress_.line() == "formulas 30 of 60, behaviour 0 of 20; about 4 min left"
    progress_.done(ended_entry("behavior", 20.0))
    # 30 s in place of 20 for 190 s of behaviour
    assert progress_.line() == "formulas 30 of 60, behaviour 1 of 20; about 6 min left"


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize("workers", ["0", pytest.param("1", marks=pytest.mark.nightly)])
def test_a_session_says_how_far_it_is(workers):
    """Lines in place of letters, with workers and without."""
    requested = ["tests_unit/test_gae.py", "--framework", "sb3", "--detail", "gae.truncation"]
    ran = subprocess.run(
        [sys.executable, *suite.pytest_arguments(), *requested, "-q", "--progress", "-n", workers]
        + ["-p", "no:cacheprovider", "-o", "console_output_style=classic"],
        cwd=suite.root(), env=worker_launch.worker_environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in ran.stdout.splitlines() if line and "node" not in line]
    number = re.fullmatch(r"formulas 0 of (\d+); about \d+ s so far", lines[0])
    assert number, ran.stdout
    assert re.fullmatch(rf"formulas after \d+ s: sb3 passed {number[1]} tests", lines[1])
    assert lines[2].startswith("sb3: ")
    assert lines[3].startswith(f"{number[1]} passed")


def test_a_tier_is_reported_when_its_last_test_ends(said):
    """By framework, with what failed and what was skipped; only once, and before the trainings."""
    progress_ = make_progress(said)
    progress_.start_tests(TESTS)
    for number in range(57):
        progress_.done(ended_entry("unit", framework=("sb3", "torchrl")[number % 2]))
    progress_.done(ended_entry("unit", outcome="failed"))
    progress_.done(ended_entry("unit", outcome="skipped", framework="torchrl"))
    assert not [line for line in said if " after " in line]
    progress_.done(ended_entry("unit", outcome="error", framework=""))
    assert [line for line in said if " after " in line] == [
        "formulas after 0 s: sb3 failed 1 of 30 tests; torchrl passed 28 tests, 1 skipped; "
        "the suite itself failed 1 of 1 tests"
    ]
    for _ in range(20):
        progress_.done(ended_entry("behavior"))
    assert said[-1].startswith("behaviour after 0 s: sb3 passed 20 tests")


def test_trainings_are_asked_for_again_when_one_has_ended(said):
    """What they need is dear to say, and no other test changes it."""
    asked = []

    def runs():
        asked.append(len(said))
        return 0, 40, 1000.0, False

    progress_ = TiersProgress(Durations(1.0, 10.0, 1.0, {}), 1, runs, said.append)
    progress_.start_tests(TESTS)
    for tier in ("unit", "behavior", "unit"):
        progress_.done(ended_entry(tier))
    # one that is not needed trains nothing
    progress_.done(ended_entry("performance", outcome="skipped"))
    assert len(asked) == 1
    for number, trained in enumerate(("record", "replay"), 2):
        progress_.done({**ended_entry("performance"), trained: {}})
        assert len(asked) == number
