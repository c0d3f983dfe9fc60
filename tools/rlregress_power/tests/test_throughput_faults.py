"""Faults that cost time or memory are measured and reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.check import stored_throughput
from rlregress.faults import fault_tables
from rlregress.model.fault_results import THROUGHPUT
from rlregress.training.throughput_measurement import Measurement
from rlregress_power import faults_text
from rlregress_power.instruments import INSTRUMENTS

SOUND = [Measurement(0.5 + number / 1000, 400.0, 60.0, 250.0, 400.0) for number in range(10)]


def seed(*faults):
    """Return the results of faults."""
    return list(INSTRUMENTS[THROUGHPUT].run(faults, 1, print))


@pytest.fixture
def fault():
    """Return a fault of an installed framework that can be changed."""
    installed = {
        adapter.name
        for adapter in frameworks.list_installed_adapters()
        if adapter.framework.modules
    }
    return fault_tables.load_faults(THROUGHPUT, sorted(installed))[0]


@pytest.fixture
def measured(monkeypatch, fault):
    """Store ten processes; in each new one the fault's quantity is at least a fifth worse."""
    conditions = stored_throughput.collect_current_conditions(fault.framework, fault.algorithm)
    stored = stored_throughput.Stored(**conditions, process=tuple(SOUND))
    monkeypatch.setattr(
        stored_throughput, "load_stored_throughput", lambda framework: {fault.algorithm: stored}
    )
    requested = []

    def measure(framework, algorithm, seed, environment):
        requested.append(environment)
        sound = SOUND[seed % 10]
        return replace(sound, **{attribute: getattr(sound, attribute) * factor})

    attribute, factor = stored_throughput.QUANTITIES[fault.turns[0]], 0.8
    if fault.turns == ("peak memory",):
        factor = 1.25
    monkeypatch.setattr(stored_throughput.throughput_measurement, "measure_throughput", measure)
    return requested


def test_what_a_fault_slows_down_is_seen(fault, measured):
    """Every process runs the copy with the fault, whose quantity is reported as regressed."""
    (judged,) = seed(fault)
    assert judged.detected, judged
    assert all("rlregress-fault-" in environment["PYTHONPATH"] for environment in measured)
    assert len(measured) == stored_throughput.PROCESSES
    first, *lines = faults_text.describe_result_of_instrument(THROUGHPUT, judged)
    assert first.startswith("detected ")
    assert any("regressed" in line for line in lines)
    assert faults_text.summarise_results(THROUGHPUT, [judged]).startswith("1 of 1")


def test_a_fault_that_slows_nothing_down_is_not_seen(fault, measured, monkeypatch):
    """A change of another quantity does not count; without stored processes nothing is judged."""
    other_quantity = next(name for name in stored_throughput.QUANTITIES if name not in fault.turns)
    (judged,) = seed(replace(fault, turns=(other_quantity,)))
    assert not judged.detected
    assert faults_text.describe_result_of_instrument(THROUGHPUT, judged)[0].startswith(
        "NOT DETECTED"
    )
    monkeypatch.setattr(stored_throughput, "load_stored_throughput", lambda framework: {})
    (judged,) = seed(fault)
    assert "measure it with: rlregress baseline record --framework" in judged.trouble
    assert not judged.detected


def test_a_fault_that_cannot_be_measured_is_said(fault, measured):
    """A fault that does not fit the installed version is reported; the next one is judged."""
    elsewhere = replace(fault, old="no such line")
    unfit, result = seed(elsewhere, fault)
    assert "does not fit this version" in unfit.trouble
    assert faults_text.describe_result_of_instrument(THROUGHPUT, unfit)[0].startswith(
        "COULD NOT JUDGE"
    )
    assert result.detected


def test_faults_are_measured_one_after_another(command):
    """More workers than one are refused: each would slow the others down."""
    code, _, error = command("selftest", "faults", "--throughput", "--workers", "2")
    assert (code, len(error.strip().splitlines())) == (2, 1)
    assert "expected 1 with --throughput" in error
