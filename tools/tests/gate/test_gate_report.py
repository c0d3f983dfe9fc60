"""The report of a gate on every framework that is installed, copies of scripts included."""

from __future__ import annotations

import json
import re

import pytest

from rlregress import frameworks
from rlregress.cli import check as gate_command
from rlregress.cli import upgrade as upgrade_command
from rlregress.gate import cell_selection, gate_run
from rlregress.gate.session import open_session
from rlregress.gate_options import GateOptions
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.upgrade_result import Upgrade
from rlregress.report.html.page import Facts
from rlregress.trace.recording_processes import current
from rlregress.upgrade import requested
from rlregress.upgrade.side_environments import Prepared

from ..report import simulated
from .test_outcome import cell


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Judge installed frameworks by tests that all pass; return the exit code and the report."""

    def write_evidence(options):
        entries = simulated.detail_entries("no detail", options.frameworks)
        selected = (options.frameworks,) if options.frameworks else ()
        session = open_session(cell_selection.Selection("short", selected), 0, "", 0.05, 1000)
        for name in session.verdict_names():
            passed = {**cell(name, "holds"), "framework": session.find_framework(name)}
            entries.append({**passed, "tier": "performance"})
        options.evidence.write_text(json.dumps({"schema": 1, "tests": entries}))

    def judge(framework=None):
        monkeypatch.setattr(gate_run, "run_gate", write_evidence)
        options = GateOptions(report=tmp_path, store=str(tmp_path / "runs"), frameworks=framework)
        return gate_command.judge(options), tmp_path

    return judge


def test_every_installed_framework_has_a_verdict(judged):
    """Those with stored runs hold; of others the formulas hold, and the exit code is 0."""
    code, report = judged()
    result = json.loads((report / "verdict.json").read_text())
    names = {adapter.full_name for adapter in frameworks.installed()}
    assert set(result["frameworks"]) == names == set(result["versions"])
    verdicts = {name: judgement["verdict"] for name, judgement in result["frameworks"].items()}
    session = open_session(cell_selection.Selection("short"), 0, "", 0.05, 1000)
    trained = {session.find_framework(name) for name in session.verdict_names()}
    assert {"sb3", "torchrl"} <= trained
    expected = {name: "holds" if name in trained else "formulas hold" for name in names}
    assert verdicts == expected
    assert (code, result["unjudged"]) == (0, [])
    text = (report / "summary.md").read_text()
    # with the version, of what is a package
    headings = re.findall(r"^## (\S+?)(?: \(.*\))?: (.*)$", text, re.MULTILINE)
    assert dict(headings) == verdicts


def read_files(folder):
    """Return name -> content of the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_gate_and_upgrade_keep_each_others_report(judged):
    """Both may lie in one folder; only the files of the gate before are replaced."""
    _, report = judged("sb3")
    own = read_files(report)
    sides = [
        Prepared(requested.parse("installed"), current(label), "not made") for label in VERSIONS
    ]
    facts = Facts("a title", "today", 1.0, "a machine", "a command")
    upgrade_command.write(
        Upgrade(old=sides[0].info, new=sides[1].info, frameworks=()), report, facts
    )
    after = read_files(report)
    names = {f"upgrade.{suffix}" for suffix in ("html", "md", "json", "xml", "sarif")}
    assert after.keys() == own.keys() | names
    assert own.items() <= after.items()
    (report / "verdict.json").write_text("of the gate before")
    judged("sb3")
    replaced = read_files(report)
    assert {name: replaced[name] for name in names} == {name: after[name] for name in names}
    assert b"of the gate before" not in replaced["verdict.json"]
