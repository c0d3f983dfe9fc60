"""How far a command is: in place on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import io
import re
import time

import pytest

from rlregress import progress


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
    """Each says how much is done, of how much, and the time so far."""
    started = time.monotonic()
    lines = printed(terminal=False).splitlines()
    most = 1 + (time.monotonic() - started) / 0.16
    rows = [re.fullmatch(r"parts: \d+ of 40, \d+ s so far", line) for line in lines]
    assert lines.count("a result") == 1
    assert 1 <= sum(row is not None for row in rows) <= most


def test_a_stage_of_unknown_length_shows_what_is_done(monkeypatch):
    """Before a stage begins there is no line; the parts of the last stage are not counted again."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    running = progress.Progress()
    assert running.format_progress_line() == ""
    running.begin_stage("recording", 4)
    running.count_done_parts(3)
    now[0] = 95.0
    assert running.format_progress_line() == "recording: 3 of 4, 95 s so far"
    running.begin_stage("searching")
    now[0] = 120.0
    assert running.format_progress_line() == "searching: 2 min so far"
    running.count_done_parts()
    assert running.format_progress_line() == "searching: 1 done, 2 min so far"
