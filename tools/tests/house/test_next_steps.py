"""What commands end in: the next step, whose command is a real one."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rlregress.report import next_steps as after
from rlregress_power.cli import histories
from rlregress_studies.cli import claims, rank

from .command_lines import why_not_understood
from .page_contents import Command

FOLDER = Path("runs")
STEPS = [
    after.suggest_after_probe(["sac.critic_loss.scale sb3 library"]),
    after.suggest_after_probe([]),
    after.suggest_after_trace(FOLDER / "a.trace", repeats=True),
    after.suggest_after_diff(diverged=True),
    after.suggest_after_golden_file(FOLDER / "a.golden", "train.py", repeats=True),
    after.suggest_after_launch(FOLDER),
    after.suggest_after_verify(FOLDER, has_wrong=False, has_damaged=True, has_missing=False),
    after.suggest_after_verify(FOLDER, has_wrong=False, has_damaged=False, has_missing=False),
    claims.suggest_after_claims(["one"]),
    rank.suggest_after_study(),
    histories.suggest_after_histories(["sb3"]),
]


@pytest.mark.parametrize("step", STEPS)
def test_the_command_of_a_step_is_understood(step, pytestconfig):
    """Options and names of a step are the program's own."""
    _, colon, line = step.partition(": ")
    line = line.partition(", and ")[0]
    assert colon
    assert why_not_understood(Command("", 0, line, in_text=False), pytestconfig) == ""


@pytest.mark.parametrize("name", ["my runs", "it's"])
def test_a_path_in_a_command_is_one_word_of_it(name):
    """Whoever copies it, copies it into a shell."""
    path = Path(name)
    for step in (
        after.suggest_after_trace(path, repeats=True),
        after.suggest_after_launch(path),
        after.suggest_after_verify(path, has_wrong=False, has_damaged=False, has_missing=False),
    ):
        assert name in shlex.split(step.partition(": ")[2])


def test_a_command_ends_in_its_next_step(command, monkeypatch, tmp_path):
    """In the last line that it prints."""
    monkeypatch.chdir(tmp_path)
    ended, printed, _ = command("runs", "status", "--verify", "--store", ".")
    assert ended == 0
    assert printed.splitlines()[-1] == (
        f"next: Judge by these runs: rlregress check --fresh-seeds --store {tmp_path}"
    )
