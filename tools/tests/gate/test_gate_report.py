"""The report of a gate on every framework that is installed, copies of scripts included."""

from __future__ import annotations

import json
import re

import pytest

from rlregress import frameworks
from rlregress.cli import check as gate_command
from rlregress.cli import upgrade as upgrade_command
from rlregress.details import requested_names
from rlregress.gate import cell_selection, gate_run
from rlregress.gate.session import open_session
from rlregress.gate_options import GateOptions
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.upgrade_result import Upgrade
from rlregress.model.verdict import COULD_NOT_JUDGE
from rlregress.reporting.html.page import Facts
from rlregress.tracing.recording_processes import current
from rlregress.upgrade import requested
from rlregress.upgrade.side_environments import Prepared

from .test_outcome import cell, entry


def answers(adapter):
    """One entry for every detail and scope that a framework is asked."""
    for detail, scope in requested_names.list_probes(adapter):
        test_entry = entry(
            f"tests_unit::t[{detail}-{adapter.full_name}-{scope}]", adapter.full_name
        )
        yield {**test_entry, "detail": detail, "scope": scope, "found": "half"}


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Judge the installed frameworks by tests that all pass; the exit code and the report.

    Called with a beginning of ids, these details are left out; with a framework, all others are.
    """

    def judge(without="nothing", framework_name=""):
        monkeypatch.setattr(gate_run, "run_gate", lambda options: evidence(options, without))
        options = GateOptions(
            report=tmp_path, store=str(tmp_path / "runs"), frameworks=framework_name or None
        )
        return gate_command.judge(options), tmp_path

    def evidence(options, without):
        framework_name = options.frameworks
        adapters = [a for a in frameworks.installed() if framework_name in (None, a.full_name)]
        result = [
            {**entry(f"{tier}::t[{adapter.full_name}]", adapter.full_name), "tier": tier}
            for adapter in adapters
            for tier in ("unit", "behavior")
        ]
        result += [
            answer
            for adapter in adapters
            for answer in answers(adapter)
            if not answer["detail"].startswith(without)
        ]
        selected = cell_selection.Selection("short", (framework_name,) if framework_name else ())
        session = open_session(selected, 0, "", 0.05, 1000)
        for name in session.verdict_names():
            passed = {**cell(name, "holds"), "framework": session.find_framework(name)}
            result.append({**passed, "tier": "performance"})
        options.evidence.write_text(json.dumps({"schema": 1, "tests": result}))

    return judge


def test_every_installed_framework_has_a_verdict(judged):
    """Those with stored runs hold; of others the formulas hold, and the exit code is 0."""
    code, report = judged()
    result = json.loads((report / "verdict.json").read_text())
    names = {adapter.full_name for adapter in frameworks.installed()}
    assert set(result["frameworks"]) == names == set(result["versions"])
    verdicts = {
        name: framework_name["verdict"] for name, framework_name in result["frameworks"].items()
    }
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


def test_gate_and_upgrade_leave_each_others_report(judged):
    """Both may lie in one folder; only the files of the gate before are replaced."""
    _, report = judged(framework_name="sb3")
    own = {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()}
    asked_ = requested.parse("installed")
    sides = [Prepared(asked_, current(label), "not made") for label in VERSIONS]
    facts = Facts("a title", "today", 1.0, "a machine", "a command")
    upgrade_command.write(
        Upgrade(old=sides[0].info, new=sides[1].info, frameworks=()), report, facts
    )
    of_upgrade = {
        "upgrade.html", "upgrade.md", "upgrade.json", "upgrade.xml", "upgrade.sarif",
    }  # fmt: skip
    after = {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()}
    assert after.keys() == own.keys() | of_upgrade
    assert {name: after[name] for name in own} == own
    (report / "verdict.json").write_text("of the gate before")
    judged(framework_name="sb3")
    assert {name: (report / name).read_bytes() for name in of_upgrade} == {
        name: after[name] for name in of_upgrade
    }
    assert "of the gate before" not in (report / "verdict.json").read_text()


def test_details_that_were_not_asked_are_said_first(judged, capsys):
    """Without the details of GAE nothing holds: the verdict says so, and what to do about it."""
    code, report = judged(without="gae.", framework_name="sb3")
    verdicts = json.loads((report / "verdict.json").read_text())["frameworks"]
    assert (code, {n: framework_name["verdict"] for n, framework_name in verdicts.items()}) == (
        2,
        {"sb3": COULD_NOT_JUDGE},
    )
    text, printed = (report / "summary.md").read_text(), capsys.readouterr().out
    ids = {id for id, _ in requested_names.list_probes(frameworks.get("sb3"))}
    gae = {id for id in ids if id.startswith("gae.")}
    message = f"{len(gae)} of {len(ids)} details were not checked: gae."
    [card] = [
        framework_name
        for framework_name in text.split("\n## ")
        if framework_name.startswith("sb3 ")
    ]
    assert ": could not judge\n" in card
    assert f"\n- {message}" in card
    assert "hold" not in card
    # a line of the screen is wrapped, and cut where it is long
    first = message.partition(": ")[0]
    assert f"verdict sb3: could not judge ({first}" in " ".join(printed.split())
    assert "Check the rest: `rlregress test tests_unit/test_details.py" in text
