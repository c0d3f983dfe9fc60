"""Bad input is answered with one clear sentence and exit code 2, never with a traceback."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rlregress import cli, frameworks, suite
from rlregress.gate import baseline

ADAPTER = """
from rlregress.frameworks.base import Adapter

class Absent(Adapter):
    name = "absent"
    title = "Absent"
    packages = ("a-package-nobody-installs",)
    algorithms = ("ppo",)
"""


@pytest.fixture
def command(monkeypatch, capfd):
    """Run the command with arguments; returns exit code, output, error output."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rlregress", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capfd.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def assert_one_sentence(code: int, error: str, *expected: str) -> None:
    """Exit code 2 and a short message that holds every expected part."""
    __tracebackhide__ = True
    assert code == 2, f"exit code {code}: {error}"
    assert "Traceback" not in error
    assert error.startswith("rlregress: ")
    assert len(error.strip().splitlines()) == 1, f"more than one line: {error}"
    for part in expected:
        assert part in error, f"'{part}' is not in: {error}"


@pytest.fixture
def copied_suite(tmp_path, monkeypatch):
    """A copy of the baselines whose files a test may damage."""
    for name in ("tests_unit", "tests_behavior", "tests_performance"):
        (tmp_path / name).mkdir()
    shutil.copytree(suite.baselines(), tmp_path / "baselines")
    monkeypatch.setattr(suite, "root", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def stored():
    """Some stored cell of the short budget."""
    return next(found for found in baseline.every() if found.cell.budget == "short")


@pytest.mark.parametrize("name", ["gate", "plan", "probe"])
def test_unknown_framework(command, name):
    """An unknown framework is named beside the known ones."""
    code, _, error = command(name, "--framework", "sb33")
    assert_one_sentence(code, error, "unknown framework 'sb33'", *frameworks.names())


@pytest.mark.parametrize("name", ["gate", "plan"])
def test_unknown_budget(command, name):
    """An unknown budget is named beside the nearest and the known ones."""
    code, _, error = command(name, "--budget", "shrt")
    assert_one_sentence(code, error, "unknown budget 'shrt'", "did you mean 'short'?", "full")


@pytest.mark.parametrize("name", ["gate", "plan"])
def test_unknown_environment(command, name):
    """An environment that gymnasium does not know is named."""
    code, _, error = command(name, "--budget", "smoke", "--environment", "Hoper-v4")
    assert_one_sentence(code, error, "unknown environment 'Hoper-v4'")


def test_unknown_algorithm(command):
    """An algorithm that no chosen framework has is named beside the known ones."""
    code, _, error = command("plan", "--algorithm", "trpo")
    assert_one_sentence(code, error, "'trpo'", "ppo")


def test_unknown_cells(command):
    """A pattern that matches no stored cell is named beside what is stored."""
    code, _, error = command("plan", "--cells", "*-Humanoid-v4-*")
    assert_one_sentence(code, error, "no stored cell matches '*-Humanoid-v4-*'")


def test_unknown_option_value(command):
    """A value that an option does not have is named beside those that it has."""
    code, _, error = command("gate", "--inconclusive", "maybe")
    assert_one_sentence(code, error, "'maybe'", "pass or fail")


def test_missing_stored_runs(command, stored):
    """A cell without stored runs says how to record some."""
    cell = stored.cell
    code, _, error = command(
        "plan", "--framework", cell.framework, "--algorithm", cell.algorithm,
        "--environment", "Pusher-v4",
    )  # fmt: skip
    assert_one_sentence(code, error, "no stored runs of", "rlregress record --framework")


def test_baseline_of_another_budget(command, copied_suite, stored):
    """Stored runs of another length than the budget's are refused, with both lengths."""
    path = copied_suite / "baselines" / "returns" / f"{stored.cell.id}.toml"
    steps = stored.protocol.total_steps
    text = path.read_text()
    path.write_text(text.replace(f"total_steps = {steps}", f"total_steps = {steps + 7}"))
    code, _, error = command("plan", "--cells", stored.cell.id)
    assert_one_sentence(code, error, path.name, str(steps), str(steps + 7), "record it again")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[:50], "is not valid TOML"),
        (lambda text: text.replace("schema = 1", "schema = 7", 1), "key 'schema' is 7, expected 1"),
        (
            lambda text: text.replace("seed = ", "sed = ", 1),
            "unknown key 'sed'; did you mean 'seed'?",
        ),
        (lambda text: text.replace('algorithm = "', 'algorithm = "x', 1), "expected the cell"),
        (lambda text: text[: text.rindex("[[run]]")], "distinct"),
        (lambda text: text.replace("seed = 1\n", "seed = 0\n", 1), "distinct"),
        (
            lambda text: text.replace("seed = 1\n", "seed = 1000\n", 1),
            "seed' is 1000, expected a number below 1000",
        ),
        (lambda text: re.sub("return = .*", "return = nan", text, count=1), "a finite number"),
        (lambda text: text.replace('"finished"', '"banana"', 1), "'banana'"),
    ],
    ids=["truncated", "schema", "key", "cell", "run", "twice", "new", "nan", "status"],
)
def test_damaged_stored_runs(command, copied_suite, stored, damage, said):
    """A damaged file of stored runs is named with what is wrong in it."""
    path = copied_suite / "baselines" / "returns" / f"{stored.cell.id}.toml"
    path.write_text(damage(path.read_text()))
    code, _, error = command("plan", "--cells", "all")
    assert_one_sentence(code, error, path.name, said)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text + "\n[tiny]\nevaluatoins = 3\n", "'evaluatoins'"),
        (lambda text: text.replace("seeds = 5", "seeds = 0"), "seeds"),
        (lambda text: text.replace("evaluations = 1\n", "evaluations = 'x'\n"), "evaluations"),
        (
            lambda text: text.replace("ppo = 20480", "ppo = -1"),
            "short.total_steps.ppo' is -1, expected a number of at least 1",
        ),
    ],
    ids=["key", "zero", "text", "negative"],
)
def test_a_budget_that_makes_no_sense(command, copied_suite, damage, said):
    """A budget with an unknown key or an impossible value is named with that key."""
    path = copied_suite / "baselines" / "budgets.toml"
    path.write_text(damage(path.read_text()))
    name = "tiny" if "tiny" in path.read_text() else "short"
    code, _, error = command("plan", "--budget", name)
    assert_one_sentence(code, error, "budgets.toml", said)


def test_stored_runs_are_not_overwritten_by_fewer(command, copied_suite, stored, tmp_path):
    """Recording two seeds over more stored ones is refused before anything is trained."""
    cell = stored.cell
    code, _, error = command(
        "record", "--framework", cell.framework, "--algorithm", cell.algorithm,
        "--environment", cell.environment, "--seeds", "2", "--store", str(tmp_path / "runs"),
    )  # fmt: skip
    assert_one_sentence(code, error, f"{cell.id}.toml", "--replace")


def test_a_store_that_cannot_be_written(command, tmp_path):
    """A store that is a file is named before anything is trained."""
    (tmp_path / "file").write_text("")
    code, _, error = command("plan", "--store", str(tmp_path / "file"))
    assert_one_sentence(code, error, "cannot be written", "--store")


def test_a_default_cell_without_stored_runs(command, copied_suite, stored):
    """A cell that gate.toml names and that is not stored is named, not dropped."""
    named = "nobody-ppo-Hopper-v4-short"
    (copied_suite / "baselines" / "gate.toml").write_text(f'[default]\ncells = ["{named}"]\n')
    code, _, error = command("plan")
    assert_one_sentence(code, error, "gate.toml", named, "no stored runs")


@pytest.mark.parametrize("name", ["budgets.toml", "gate.toml"])
def test_malformed_toml(command, copied_suite, name):
    """A file that is not TOML is named."""
    (copied_suite / "baselines" / name).write_text("[short\n")
    code, _, error = command("plan")
    assert_one_sentence(code, error, name)


def test_missing_package(tmp_path):
    """A framework whose package is not installed says which one, and how to install it."""
    (tmp_path / "absent_adapter.py").write_text(ADAPTER)
    info = tmp_path / "absent_adapter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: absent-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[rlregress.frameworks]\nabsent = absent_adapter:Absent\n"
    )
    library = Path(cli.__file__).parents[1]
    ended = subprocess.run(
        [sys.executable, "-m", "rlregress.cli", "gate", "--framework", "absent"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(library)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert_one_sentence(ended.returncode, ended.stderr, "a-package-nobody-installs", "pip install")
