"""Lines about faults that traces or scenarios detect or miss, and how many have to be detected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.model.fault_results import (
    DETAILS,
    OPTIONS,
    TRACES,
    Fault,
    FaultResult,
    Mutant,
    MutantResult,
)
from rlregress_power import faults_text, instruments

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
    """The lines of a fault found, found elsewhere, and missed name the expected place."""
    snapshot("traced.txt", report(TRACES, [RIGHT, ELSEWHERE, MISSED]))


def test_a_fault_under_an_option_is_reported_with_its_training(snapshot):
    """Such a fault is of another version, detected, impossible, missed, or never runs."""
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
