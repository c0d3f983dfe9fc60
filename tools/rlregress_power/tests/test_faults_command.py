"""The command that injects faults, and its page."""

from __future__ import annotations

from dataclasses import replace

import pytest
import typer

from rlregress import frameworks
from rlregress.model.fault_results import DETAILS, Fault
from rlregress.report.html.page import Facts
from rlregress_power import faults_page, probe_server
from rlregress_power.cli import faults as commands
from tools.tests.report.test_check_page import stands_alone

FACTS = Facts("a title", "today", 90.0, "a machine", "rlregress selftest faults")


def test_a_framework_with_several_copies_is_seeded_once(monkeypatch):
    """Faults are seeded once, however many copies of their framework there are."""
    requested = []
    copies = [
        frameworks.get_adapter("sb3"),
        frameworks.get_adapter("sb3"),
        frameworks.get_adapter("torchrl"),
    ]
    monkeypatch.setattr(frameworks, "list_installed_adapters", lambda: copies)
    monkeypatch.setattr(
        commands, "run_instrument", lambda _, faults, *options: requested.extend(faults) or True
    )
    with pytest.raises(typer.Exit):
        commands.faults()
    assert {fault.framework for fault in requested} == {"sb3", "torchrl"}
    assert len(set(requested)) == len(requested)


def test_faults_that_were_not_seen_come_first():
    """The change of each fault is shown by lines; a fault that could not be probed is no miss."""
    fault = Fault(
        name="a_fault", file="a.py", old="x = 0.5 * y", new="x = 1.0 * y",
        turns=("sac.actor_loss",), finds="other",
    )  # fmt: skip
    result = probe_server.make_result_of_probes(fault, {"sac.actor_loss": {"library": "other"}})
    unseen = probe_server.make_result_of_probes(replace(fault, name="unseen"), {})
    broken = probe_server.make_result_of_probes(
        replace(fault, name="broken"), {"": {"": "it ended"}}
    )
    rows = [
        faults_page.make_row_of_fault(DETAILS, fault_result)
        for fault_result in (result, unseen, broken)
    ]
    page = stands_alone(faults_page.make_faults_page(rows, "1 of 3 were seen", FACTS))
    assert page.texts("h2")[1:] == ["Not as expected", "Could not be probed", "As expected"]
    wrong, unasked = page.texts("article", "finding")
    assert "unseen ✕ not as expected" in wrong
    assert "broken – could not be probed" in unasked
    assert page.texts("del")[0] == "0.5"
    assert "a_fault a.py x = 0.5 * y → x = 1.0 * y" in page.texts("table")[0]
    assert "1 of 3 not as expected" in page.texts("article", "card")[0]
