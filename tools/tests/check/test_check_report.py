"""The report of a check on every framework that is installed, copies of scripts included."""

from __future__ import annotations

import json
import re

import pytest

from rlregress import frameworks
from rlregress.check import cell_selection, check_run
from rlregress.check.session import Session
from rlregress.check_options import CheckOptions
from rlregress.cli import check as check_command
from rlregress.cli import upgrade as upgrade_command
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.upgrade_result import Upgrade
from rlregress.report.html.page import Facts
from rlregress.trace.recording_processes import make_current_runtime
from rlregress.upgrade.versions import requested
from rlregress.upgrade.versions.prepared_versions import PreparedVersion

from ..report import simulated
from .test_outcome import cell


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Judge installed frameworks by tests that all pass; return the exit code and the report."""

    def write_evidence(options):
        entries = simulated.detail_entries("no detail", options.frameworks)
        selected = (options.frameworks,) if options.frameworks else ()
        session = Session(cell_selection.Selection("short", selected), 0, "", 0.05, 1000)
        for name in session.list_names_to_judge():
            passed = {**cell(name, "holds"), "framework": session.find_framework(name)}
            entries.append({**passed, "tier": "performance"})
        options.evidence.write_text(json.dumps({"schema": 1, "tests": entries}))

    def judge(framework=None):
        monkeypatch.setattr(check_run, "run_session_and_throughput", write_evidence)
        options = CheckOptions(report=tmp_path, store=str(tmp_path / "runs"), frameworks=framework)
        return check_command.judge_and_report_check(options), tmp_path

    return judge


def test_every_installed_framework_has_a_verdict(judged):
    """Those with stored runs hold; of others the formulas hold, and the exit code is 0."""
    code, report = judged()
    result = json.loads((report / "verdict.json").read_text())
    names = {adapter.full_name for adapter in frameworks.list_installed_adapters()}
    assert set(result["frameworks"]) == names == set(result["versions"])
    verdicts = {name: judgement["verdict"] for name, judgement in result["frameworks"].items()}
    session = Session(cell_selection.Selection("short"), 0, "", 0.05, 1000)
    trained = {session.find_framework(name) for name in session.list_names_to_judge()}
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


def test_check_and_upgrade_keep_each_others_report(judged):
    """Both may lie in one folder; only the files of the check before are replaced."""
    _, report = judged("sb3")
    own = read_files(report)
    versions = [
        PreparedVersion(
            requested.parse_requested_version("installed"), make_current_runtime(label), "not made"
        )
        for label in VERSIONS
    ]
    facts = Facts("a title", "today", 1.0, "a machine", "a command")
    upgrade_command.write_upgrade_report(
        Upgrade(old=versions[0].info, new=versions[1].info, frameworks=()), report, facts
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
