"""How far something is: often where somebody looks on, seldom in a file or a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time

import pytest

from rlregress import progress
from rlregress.progress import Progress

#: forty parts of 0.05 s; a line every 0.2 s on a terminal, every 1.5 s elsewhere.
WORK = """
import time
from rlregress import progress
progress.ON_TERMINAL, progress.ELSEWHERE = 0.2, 1.5
counted = progress.Progress(40, print, "parts")
for _ in range(40):
    time.sleep(0.05)
    counted.done()
"""


def lines_of(terminal):
    """What the work prints to a pseudo-terminal, or to a pipe."""
    command = [sys.executable, "-u", "-c", WORK]
    if not terminal:
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        return ended.stdout.splitlines()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs) as process:
        process.wait()
    os.close(theirs)
    text = os.read(ours, 100_000).decode()
    os.close(ours)
    return text.split("\r\n")[:-1]


@pytest.mark.parametrize(("terminal", "least", "most"), [(True, 5, 10), (False, 1, 2)])
def test_a_terminal_is_told_often_and_a_pipe_seldom(terminal, least, most):
    """Each line says how much is done, of how much, and how long the rest takes."""
    lines = lines_of(terminal)
    assert least <= len(lines) <= most
    rows = [re.fullmatch(r"parts: (\d+) of 40, about (\d+) s left", line) for line in lines]
    assert all(rows)
    done = [int(row[1]) for row in rows]
    assert done == sorted(done)
    assert int(rows[-1][2]) <= int(rows[0][2])


def test_the_time_left_is_measured_on_the_way(monkeypatch):
    """Half of it in 300 s leaves 300 s; what was there before took none of the time."""
    now, text = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    counted = Progress(110, text.append, "parts")
    counted.done(10, kept=True)
    for step in range(50):
        now[0] = 6.0 * (step + 1)
        counted.done()
    assert text[0] == "parts: 10 of 100, about 9 min left"
    assert text[-1] == "parts: 50 of 100, about 5 min left"
    assert len(text) == 5


def test_what_comes_before_the_first_part_is_not_repeated(monkeypatch):
    """Imports of 300 s before a hundred parts of 1 s leave less than a hundred seconds."""
    now, text = [300.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    counted = Progress(100, text.append, "parts")
    now[0] = 600.0
    for _ in range(50):
        counted.done()
        now[0] += 1.0
    assert text[0] == "parts: 4 of 100, about 96 s left"


def test_a_command_that_says_nothing_says_what_it_does(monkeypatch):
    """Once for each while in which it said nothing else."""
    monkeypatch.setattr(progress, "ELSEWHERE", 0.4)
    monkeypatch.setattr(progress.sys.stdout, "isatty", lambda: False)
    text = []
    progress.begin("probing")
    with progress.kept_alive(text.append) as say:
        time.sleep(1.0)
        for _ in range(5):
            say("a line")
            time.sleep(0.1)
    assert text[0].startswith("probing: about ")
    assert text.count("a line") == 5
    assert 1 <= len(text) - 5 <= 3


def test_nothing_is_foretold_from_the_first_parts(monkeypatch):
    """They begin with imports."""
    now, text = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    counted = Progress(10, text.append, "parts")
    for _ in range(3):
        now[0] += 100.0
        counted.done()
    assert text == []
    now[0] += 100.0
    counted.done()
    assert text == ["parts: 4 of 10, about 10 min left"]
