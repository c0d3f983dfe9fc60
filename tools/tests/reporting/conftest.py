"""Gates on simulated nights, for the tests of their pages."""

from __future__ import annotations

import json

import pytest

from rlregress.commands import gate as gate_command
from rlregress.gate import run

from . import simulated


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Judge the installed frameworks by a simulated night; exit code, page, and report folder.

    Called with shares that cells lose, with the beginning of ids of details that are not asked,
    with further entries, and with the number of new runs that the night has at most.
    """

    def judged(lost=None, without="no detail", more=(), cells="default"):
        def evidence(options):
            session = options.session()
            known = {cell.id: stored for cell, stored in session.stored.items()}
            found = simulated.of_details(without) + simulated.of_runs(known, lost or {})
            text = json.dumps({"schema": 1, "tests": [*found, *more]})
            options.evidence.write_text(text)
            options.junit.write_text("<testsuites/>")

        monkeypatch.setattr(run, "run", evidence)
        report = tmp_path / "report"
        options = run.GateOptions(report=report, store=str(tmp_path / "runs"), cells=cells)
        code = gate_command.judge(options)
        return code, (report / "report.html").read_text("utf-8"), report

    return judged
