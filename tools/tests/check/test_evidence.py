"""The evidence of a session: nothing that went wrong is missing from it."""

from __future__ import annotations

import json

import pytest

from rlregress import evidence, suite
from rlregress.check import outcome
from rlregress.errors import UserError
from rlregress.training import worker_launch

from ..processes import run_pytest
from .test_outcome import cell

CONFTEST = 'pytest_plugins = ["rlregress.pytest_plugin"]\n'


def session(folder, text: str, *options: str) -> list[dict]:
    """Run pytest on files with this text and one that is no Python; the entries of its evidence."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(text)
    (folder / "test_other.py").write_text("def (\n")
    paths = f"{worker_launch.make_worker_environment()['PYTHONPATH']}:{suite.find_suite_root()}"
    options = ("--continue-on-collection-errors", "--evidence", "evidence.json", *options)
    words = ("-q", "--rootdir", folder, *options)
    run_pytest(*words, code=None, cwd=folder, variables={"PYTHONPATH": paths})
    return json.loads((folder / "evidence.json").read_text())["tests"]


@pytest.mark.usefixtures("warm_python")
def test_errors_and_failures_are_evidence(tmp_path):
    """Failures are assertions and the framework's errors; a verdict has the name of its subject."""
    verdict = cell("any", "holds")["verdict"]
    entries = session(
        tmp_path,
        "from rlregress.errors import UserError\n"
        "def test_user():\n    raise UserError('the store is gone; bring it back')\n"
        "def test_assertion():\n    assert 1 == 2\n"
        "def test_suite(framework):\n    framework.train.train_all()\n"
        "def test_framework(framework):\n"
        "    from stable_baselines3.common.torch_layers import create_mlp\n"
        "    create_mlp(-1, 1, [])\n"
        f"VERDICT = {verdict!r}\n"
        "def test_cell(judged_cell, evidence):\n    evidence(verdict=VERDICT)\n"
        "def test_group(judged_group, evidence):\n    evidence(verdict=VERDICT)\n",
        "--budget=short", "--cells=sb3-ppo-Hopper-v4-short,sb3-ppo-Reacher-v4-short",
        "--framework=sb3",
    )  # fmt: skip
    by_name = {entry["test"].partition("::")[2]: entry for entry in entries}
    # what the suite's own code raised says nothing of the framework
    assert by_name["test_suite[sb3]"]["outcome"] == "error"
    assert by_name["test_framework[sb3]"]["outcome"] == "failed"
    assert by_name["test_user"]["outcome"] == "error"
    assert by_name["test_user"]["message"] == "the store is gone; bring it back"
    assert by_name["test_assertion"]["outcome"] == "failed"
    assert by_name["test_assertion"]["message"].startswith("assert 1 == 2")
    [broken] = [entry for entry in entries if "test_other" in entry["test"]]
    assert broken["outcome"] == "error"
    assert outcome.find_broken_tests([broken])
    kinds = {kind: {entry.get(kind) for entry in entries} for kind in ("cell", "group")}
    assert "sb3-ppo-Reacher-v4-short" in kinds["cell"]
    assert {"sb3-ppo", None} <= kinds["group"]
    assert {*kinds["cell"], *kinds["group"]} - {None} == evidence.collect_verdicts(entries).keys()


@pytest.mark.parametrize(
    ("reason", "owner"),
    [({"throughput": {"algorithm": "ppo"}}, "framework"), ({"not_judged": {"x": "y"}}, "cell")],
)
def test_evidence_without_its_subject_is_refused(tmp_path, reason, owner):
    """A missing subject is one sentence when the evidence is read."""
    path = tmp_path / "evidence.json"
    entry = {"test": "t", "tier": "unit", "outcome": "passed", "seconds": 1.0, "message": ""}
    evidence.write_evidence(path, [{**entry, **reason, owner: "sb3"}])
    read = evidence.read_evidence_file(path)
    assert evidence.collect_throughput(read) or evidence.collect_unjudged_quantities(read)
    for lacking in ({}, {"framework": "", "cell": None}):
        evidence.write_evidence(path, [{**entry, **reason, **lacking}])
        with pytest.raises(UserError, match=f"'t' has '{next(iter(reason))}' and no '{owner}'"):
            evidence.read_evidence_file(path)
