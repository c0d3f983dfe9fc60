"""Missing probes, expectations and faults of a framework are named."""

from __future__ import annotations

from functools import partial

import pytest

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.check import probe_counts
from rlregress.faults import fault_tables
from rlregress.frameworks.sb3 import observe
from rlregress.model.detail_answers import MissingCheck
from rlregress.model.fault_results import DETAILS

#: one that a driver answers, and one that each framework is probed for by itself
DRIVEN, PROBED = "dqn.loss.kind", "nstep.window"


@pytest.fixture
def sb3():
    """Return the adapter, to take something away from."""
    return frameworks.get_adapter("sb3")


def test_a_framework_of_this_repository_lacks_nothing(framework):
    """Every detail is probed, documented and made to fail, or is absent."""
    assert probe_counts.find_missing_checks_of_details(framework, registry.list_detail_ids()) == []


def test_a_missing_probe_is_named_with_an_example(sb3, monkeypatch):
    """The measurement, where a driver is enough; else the probes of the other frameworks."""
    remaining_probes = {
        key: probe
        for key, probe in sb3.observe.list_probes().items()
        if key[0] not in (DRIVEN, PROBED)
    }
    monkeypatch.setattr(observe, "list_probes", lambda: remaining_probes, raising=False)
    gaps = {
        row.detail: row
        for row in probe_counts.find_missing_checks_of_details(sb3, registry.list_detail_ids())
    }
    assert set(gaps) == {DRIVEN, PROBED}
    assert {row.lacks for row in gaps.values()} == {"probe"}
    assert gaps[DRIVEN].example == "rlregress.measurements.dqn.measure_loss_kind, on a driver"
    assert "torchrl.observe.replay" in gaps[PROBED].example


def test_a_detail_without_an_expectation_or_a_fault_is_named(sb3, monkeypatch):
    """A probe alone is not enough."""
    probes = {**sb3.observe.list_probes(), ("dqn.target.double", "script"): partial(int)}
    monkeypatch.setattr(observe, "list_probes", lambda: probes, raising=False)
    faults_loaded = fault_tables.load_faults(DETAILS, ["sb3"])
    faults = [fault for fault in faults_loaded if DRIVEN not in (*fault.turns, *fault.also)]
    monkeypatch.setattr(fault_tables, "load_faults", lambda *_: faults)
    assert probe_counts.find_missing_checks_of_details(
        sb3, {DRIVEN, PROBED, "dqn.target.double"}
    ) == [
        MissingCheck(detail="dqn.target.double", lacks="expectation"),
        MissingCheck(detail=DRIVEN, lacks="fault"),
    ]
