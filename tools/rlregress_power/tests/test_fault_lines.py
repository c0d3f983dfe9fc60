"""Lines about faults that traces or scenarios detect or miss, and how many have to be detected."""

from __future__ import annotations

from dataclasses import replace

import pytest
import typer

from rlregress import frameworks
from rlregress.model.fault_results import (
    DETAILS,
    OPTIONS,
    TRACES,
    Fault,
    FaultResult,
    Mutant,
    MutantResult,
)
from rlregress.report.html.page import PageInfo
from rlregress_power import faults_page, faults_text, instruments, probe_server
from rlregress_power.cli import faults as commands
from tools.tests.report.test_check_page import stands_alone

FAULT = Fault(
    framework="sb3", algorithm="sac", name="n", file="a/b.py", old="x", new="y",
    turns=("a/b.py train",), finds="loss", option="k=1", function="f",
)  # fmt: skip
RIGHT = FaultResult(
    fault=FAULT, detected=True, by={"loss": "a/b.py:3 train"}, in_place=True, named=True,
    verdict="diverged",
)  # fmt: skip
ELSEWHERE = replace(
    RIGHT, in_place=False, named=False, by={"step": "a/c.py:4 step"}, failure="ValueError: no"
)
MISSED = replace(ELSEWHERE, detected=False, by={}, verdict="equal", failure="")


def report(instrument, results):
    """Return the lines and the summary of some faults."""
    told = [
        line
        for result in results
        for line in faults_text.describe_result_of_instrument(instrument, result)
    ]
    return "\n".join([*told, faults_text.summarise_results(instrument, results), ""])


def test_a_trace_is_reported_with_its_place(snapshot):
    """A fault under an option is reported with its training."""
    snapshot("traced.txt", report(TRACES, [RIGHT, ELSEWHERE, MISSED]))
    mutant = Mutant(file="a/b.py", function="f", line=1, operator="k", old="x", new="y", text="")
    missed = MutantResult(fault=mutant, trainings=("t1", "t2"))
    seeded = [
        None, replace(missed, detected_by="t1"), replace(missed, misfit="why"), missed,
        replace(missed, trainings=()),
    ]  # fmt: skip
    results = [instruments._judge_fault_under_option(FAULT, outcome) for outcome in seeded]
    snapshot("under-options.txt", report(OPTIONS, results))


@pytest.mark.parametrize(
    ("instrument", "results", "enough"),
    [
        (DETAILS, [RIGHT, MISSED], False),
        (DETAILS, [RIGHT, ELSEWHERE], True),
        (TRACES, [RIGHT] * 9 + [MISSED], True),
        (TRACES, [RIGHT] * 8 + [ELSEWHERE] * 2, False),
        (OPTIONS, [RIGHT] * 8 + [ELSEWHERE, MISSED], True),
        (OPTIONS, [replace(MISSED, fits=False)], False),
        (OPTIONS, [RIGHT, replace(MISSED, fits=False)], True),
    ],
)
def test_how_many_suffice(instrument, results, enough):
    """All faults have to be detected, or nine in ten; of traces nine in ten in the right place."""
    assert instruments.INSTRUMENTS[instrument].detects_enough(results) is enough


FACTS = PageInfo("a title", "today", 90.0, "a machine", "rlregress selftest faults")


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
