"""How far a command is: in place on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import io
import re
import time

import pytest

from rlregress import progress
from rlregress.progress import CommandStage, Durations, Estimate


@pytest.fixture
def clock(monkeypatch):
    """Return the time in seconds, which tests move; a part of each stage takes a stored second."""
    now = [0.0]
    stored = Durations(1.0, 1.0, 2.0, dict.fromkeys(("one", "two", "three"), 1.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "read_durations", lambda: stored)
    monkeypatch.setattr(progress, "estimate_slowdown", lambda: 1.0)
    return now


@pytest.fixture
def printed(monkeypatch):
    """Return the output of forty parts of 0.01 s, on a terminal or elsewhere."""
    monkeypatch.setattr(progress, "ON_TERMINAL", 0.02)
    monkeypatch.setattr(progress, "IN_LOG", 0.16)

    def work(terminal):
        stream = io.StringIO()
        stream.isatty = lambda: terminal
        with progress.show_progress(lambda line: stream.write(f"{line}\n"), stream=stream) as say:
            progress.begin_stage("parts", 40)
            for number in range(40):
                time.sleep(0.01)
                progress.count_done_parts()
                if number == 30:
                    say("a result")
        return stream.getvalue()

    return work


def test_a_terminal_shows_one_line_in_place(printed):
    """It is cleared before a result is printed, and when the command ends."""
    text = printed(terminal=True)
    shown = text.split("\r\x1b[K")
    assert shown[-1] == ""
    assert "a result\n" in shown
    rows = [line for line in shown if line.startswith("parts: ")]
    assert len(rows) >= 10
    assert text.count("\n") == 1


def test_elsewhere_there_is_a_line_now_and_then(printed):
    """Each says how much is done, of how much, and how long the rest takes."""
    started = time.monotonic()
    lines = printed(terminal=False).splitlines()
    most = 1 + (time.monotonic() - started) / 0.16
    rows = [re.fullmatch(r"parts: (\d+) of 40, about (\d+) s left", line) for line in lines]
    assert lines.count("a result") == 1
    assert 1 <= sum(row is not None for row in rows) <= most


def expect(*stages):
    """Return an estimate that expects these stages."""
    estimate = Estimate()
    estimate.expect_stages(stages)
    return estimate


def test_later_stages_count_in_the_time_left(clock):
    """A stage of 4 s with a start of 2 s took 17 s, and 5 s as stored count as measured before."""
    last = CommandStage("three", 4, at_once=2, starts=0)
    estimate = expect(CommandStage("one", 4), CommandStage("two", 6), last)
    estimate.begin_stage("one")
    clock[0] = 17.0
    estimate.begin_stage("two", 6)
    assert estimate.estimate_seconds_left() == pytest.approx(2 * (6 + 2) + 2 * 2)
    clock[0] = 22.0
    assert estimate.estimate_seconds_left() == pytest.approx(2 * (6 + 2) + 2 * 2 - 5)


def test_later_stages_take_longer_on_a_busy_machine(clock, monkeypatch):
    """With three processes per core the estimate is three times as long, until it is measured."""
    monkeypatch.setattr(progress, "estimate_slowdown", lambda: 3.0)
    estimate = expect(CommandStage("one", 8), CommandStage("two", 8))
    estimate.begin_stage("one")
    assert estimate.estimate_seconds_left() == pytest.approx(3 * (8 + 2) * 2)
    clock[0] = 15.0
    estimate.begin_stage("two")
    assert estimate.estimate_seconds_left() == pytest.approx(2 * (8 + 2))


def test_no_more_time_is_left_than_the_command_may_take(clock):
    """Ten seconds for the judgement follow the limit; then no time is predicted."""
    estimate = expect(CommandStage("one", 100))
    estimate.limit_seconds(30.0)
    estimate.begin_stage("one")
    clock[0] = 10.0
    assert estimate.estimate_seconds_left() == pytest.approx(20.0 + 10.0)
    clock[0] = 40.0
    assert estimate.format_progress_line() == "one: about 40 s so far"


def test_no_time_is_left_unknown_silently(clock):
    """Without stored seconds the line reports the time so far."""
    estimate = expect(CommandStage("one"), CommandStage("unknown"))
    estimate.begin_stage("one")
    clock[0] = 10.0
    assert estimate.format_progress_line() == "one: about 10 s so far"
    estimate.begin_stage("unknown")
    assert estimate.estimate_seconds_left() is None
