"""The report of a gate on every framework that is installed, copies of scripts included."""

from __future__ import annotations

import json

import pytest

from rlregress import frameworks
from rlregress.commands import gate as gate_command
from rlregress.gate import run, selection
from rlregress.gate.session import open_session

from .test_outcome import cell, entry


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Judge the installed frameworks by tests that all pass; the exit code and the report."""

    def evidence(options):
        found = [
            {**entry(f"{tier}::t[{adapter.full_name}]", adapter.full_name), "tier": tier}
            for adapter in frameworks.installed()
            for tier in ("unit", "behavior")
        ]
        session = open_session(selection.Selection("short"), 0, "", 0.05, 1000)
        for name in session.verdict_names():
            passed = {**cell(name, "holds"), "framework": session.framework_of(name)}
            found.append({**passed, "tier": "performance"})
        options.evidence.write_text(json.dumps({"schema": 1, "tests": found}))

    monkeypatch.setattr(run, "run", evidence)
    options = run.GateOptions(report=tmp_path, store=str(tmp_path / "runs"))
    return gate_command.judge(options), tmp_path


def test_every_installed_framework_has_a_verdict(judged, capsys):
    """Those with stored runs hold; of others the formulas hold, and the exit code is 0."""
    code, report = judged
    found = json.loads((report / "verdict.json").read_text())
    names = {adapter.full_name for adapter in frameworks.installed()}
    assert set(found["frameworks"]) == names == set(found["versions"])
    verdicts = {name: of["verdict"] for name, of in found["frameworks"].items()}
    assert verdicts["sb3"] == verdicts["torchrl"] == "holds"
    assert {verdicts[name] for name in names - {"sb3", "torchrl"}} <= {"formulas hold"}
    assert (code, found["unjudged"]) == (0, [])
    text = (report / "summary.md").read_text()
    assert all(f"## {name}: {verdict}" in text for name, verdict in verdicts.items())
