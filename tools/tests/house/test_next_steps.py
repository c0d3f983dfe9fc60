"""What commands end in: the next step, whose command is a real one."""

from __future__ import annotations

import json
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
    after.suggest_after_verify(FOLDER, wrong=False, damaged=True, missing=False),
    after.suggest_after_verify(FOLDER, wrong=False, damaged=False, missing=False),
    claims.after_claims(["one"]),
    rank.after_study(),
    histories.after_histories(["sb3"]),
]


@pytest.mark.parametrize("step", STEPS)
def test_the_command_of_a_step_is_understood(step, pytestconfig):
    """Options and names of a step are the program's own."""
    _, colon, line = step.partition(": ")
    line = line.partition(", and ")[0]
    assert colon
    assert why_not_understood(Command("", 0, line, in_text=False), pytestconfig) == ""


@pytest.mark.parametrize("name", ["my runs", "a; touch x", "$HOME", "it's"])
def test_a_path_in_a_command_is_one_word_of_it(name):
    """Whoever copies it, copies it into a shell."""
    path = Path(name)
    for step in (
        after.suggest_after_trace(path, repeats=True),
        after.suggest_after_launch(path),
        after.suggest_after_verify(path, wrong=False, damaged=False, missing=False),
    ):
        assert name in shlex.split(step.partition(": ")[2])


@pytest.mark.parametrize(
    ("arguments", "code", "step"),
    [
        (["study", "thesis"], 0, rank.after_study()),
        (
            ["selftest", "histories", "--show", "--framework", "sb3"],
            0,
            histories.after_histories([]),
        ),
        (
            ["runs", "status", "--verify", "--store", "."],
            0,
            "Judge by these runs: rlregress check --fresh-seeds --store {here}",
        ),
    ],
)
def test_a_command_ends_in_its_next_step(command, monkeypatch, tmp_path, arguments, code, step):
    """In the last line that it prints."""
    monkeypatch.chdir(tmp_path)
    ended, printed, _ = command(*arguments)
    assert ended == code
    assert printed.splitlines()[-1] == f"next: {step.format(here=tmp_path)}"


@pytest.mark.nightly
def test_data_for_programs_has_no_next_step(command):
    """What is printed as JSON stays JSON; every detail of two frameworks is asked for it."""
    ended, printed, beside = command("compare", "cleanrl@0.4.8", "sb3", "--json")
    assert ended == 0
    assert beside.splitlines()[0].endswith(" details of cleanrl@0.4.8, sb3")
    assert json.loads(printed)
    ended, printed, _ = command("compare", "cleanrl@0.4.8", "sb3")
    assert ended == 0
    assert "next: Read those of the algorithm that you use" in printed
    ended, printed, _ = command("details", "--installed", "--framework", "sb3")
    assert ended == 0
    assert printed.splitlines()[-1] == f"next: {after.suggest_after_probe([])}"
