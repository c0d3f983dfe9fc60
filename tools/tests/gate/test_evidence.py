"""The evidence of a session: nothing that went wrong is missing from it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rlregress import evidence, suite
from rlregress.errors import UserError
from rlregress.gate import outcome
from rlregress.training import worker_launch

from .test_outcome import cell

CONFTEST = 'pytest_plugins = ["rlregress.pytest_plugin"]\n'


@pytest.fixture
def session(tmp_path, warm_python):
    """Run pytest on a file with this text and options; returns the entries of its evidence."""

    def run(text: str, *options: str) -> list[dict]:
        (tmp_path / "conftest.py").write_text(CONFTEST)
        (tmp_path / "test_some.py").write_text(text)
        environment = worker_launch.environment()
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_some.py"]
            + ["--evidence", "evidence.json", "--rootdir", str(tmp_path)]
            + [*options],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": environment["PYTHONPATH"] + f":{suite.root()}"},
            capture_output=True,
            check=False,
        )
        return json.loads((tmp_path / "evidence.json").read_text())["tests"]

    return run


def test_a_file_that_cannot_be_collected_is_evidence(session):
    """A file with a syntax error makes the suite one that could not judge."""
    entries = session("def (\n")
    assert [entry["outcome"] for entry in entries] == ["error"]
    assert outcome.broken(entries)


def test_a_user_error_in_a_test_is_no_regression(session):
    """A test that ends in a user error says nothing about a framework."""
    entries = session(
        "from rlregress.errors import UserError\n"
        "def test_it():\n    raise UserError('the store is gone; bring it back')\n"
    )
    assert entries[0]["outcome"] == "error"
    assert entries[0]["message"] == "the store is gone; bring it back"


def test_a_failed_assertion_is_a_failure(session):
    """Control: an assertion that does not hold is a failed test."""
    entries = session("def test_it():\n    assert 1 == 2\n")
    assert entries[0]["outcome"] == "failed"
    assert entries[0]["message"].startswith("assert 1 == 2")


def test_a_verdict_carries_the_name_of_its_cell_or_group(session):
    """What was judged is told by name, and is not read out of the id of the test."""
    verdict = cell("any", "holds")["verdict"]
    entries = session(
        f"VERDICT = {verdict!r}\n"
        "def test_cell(judged_cell, evidence):\n    evidence(verdict=VERDICT)\n"
        "def test_group(judged_group, evidence):\n    evidence(verdict=VERDICT)\n",
        "--budget=short",
    )
    kinds = {kind: {entry.get(kind) for entry in entries} for kind in ("cell", "group")}
    assert "sb3-ppo-Reacher-v4-short" in kinds["cell"]
    assert {"sb3-ppo", None} <= kinds["group"]
    assert {*kinds["cell"], *kinds["group"]} - {None} == evidence.verdicts(entries).keys()


@pytest.mark.parametrize(
    ("reason", "of"),
    [({"throughput": {"algorithm": "ppo"}}, "framework"), ({"not_judged": {"x": "y"}}, "cell")],
)
def test_what_is_filed_under_nothing_is_refused(tmp_path, reason, of):
    """In one sentence when it is read, and not by a KeyError when it is exported."""
    path = tmp_path / "evidence.json"
    entry = {"test": "t", "tier": "unit", "outcome": "passed", "seconds": 1.0, "message": ""}
    evidence.write(path, [{**entry, **reason, of: "sb3"}])
    read = evidence.read(path)
    assert evidence.throughput(read) or evidence.not_judged(read)
    for lacking in ({}, {"framework": "", "cell": None}):
        evidence.write(path, [{**entry, **reason, **lacking}])
        with pytest.raises(UserError, match=f"'t' has '{next(iter(reason))}' and no '{of}'"):
            evidence.read(path)
