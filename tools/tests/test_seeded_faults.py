"""The suite can turn red: a seeded fault fails the test of its detail, with a readable message."""

from __future__ import annotations

import json

import pytest

from rlregress import frameworks
from rlregress.details import catalogue
from rlregress.errors import UserError
from rlregress.gate import faults

INSTALLED = sorted(
    {adapter.name for adapter in frameworks.installed() if adapter.expectations() is None}
)
ESSENTIAL = [pair for pair in faults.chosen(INSTALLED, []) if pair[1].essential]


def _beside(fault):
    """What the fault moves, and what stands beside it: ``sac.critic_loss``, ``td3``."""
    return sorted({id.rpartition(".")[0] for id in fault.turns} | {*fault.turns, *fault.also})


@pytest.mark.parametrize(
    ("name", "fault"), ESSENTIAL, ids=[f"{of}-{fault.name}" for of, fault in ESSENTIAL]
)
def test_a_seeded_fault_turns_its_test_red(name, fault, tmp_path):
    """``pytest tests_unit`` fails for the fault's details and names detail, variants, numbers."""
    if faults.fault_line(frameworks.get(name), fault) is None:
        pytest.skip(f"the faults of {name} were chosen on another version than the installed one")
    evidence = tmp_path / "evidence.json"
    ended = faults.run_seeded(
        name,
        fault,
        ["-m", "pytest", "tests_unit", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        + ["--framework", name, "--detail", ",".join(_beside(fault)), "--evidence", str(evidence)],
    )
    assert ended.returncode == 1, ended.stdout[-2000:]
    entries = [e for e in json.loads(evidence.read_text())["tests"] if "detail" in e]
    failed = [entry for entry in entries if entry["outcome"] == "failed"]
    assert {entry["detail"] for entry in failed} == set(fault.turns) | set(fault.also)
    for id in fault.turns:
        messages = [entry["message"] for entry in failed if entry["detail"] == id]
        assert messages
        for first, *rest in map(str.splitlines, messages):
            assert first.startswith(f"{id}: {fault.finds} (documented: ")
            assert any(line.strip().startswith("observed: [") for line in rest)
            assert any(line.strip().startswith(f"expected of {fault.finds}: [") for line in rest)


@pytest.mark.parametrize("name", INSTALLED)
def test_every_detail_has_a_seeded_fault(name):
    """For each detail that a framework is probed for there is a fault that moves it."""
    known = faults.load(name)
    covered = {id for fault in known for id in fault.turns + fault.also}
    asked = {id for id, _ in frameworks.get(name).probes()}
    assert asked - covered == set(faults.without(name))


@pytest.mark.parametrize("name", INSTALLED)
def test_faults_name_known_variants(name):
    """What a fault turns a detail into is a variant of that detail."""
    for fault in faults.load(name):
        for id in fault.turns:
            assert not fault.finds or fault.finds in catalogue.get(id).variants, fault.name


def test_a_fault_that_does_not_fit_says_so():
    """A fault whose text is not in this version's code names file, text and number of matches."""
    name, fault = next(
        (of, one)
        for of, one in faults.chosen(INSTALLED, [])
        if frameworks.get(of).locate(one.file) is not None
    )
    other = faults.Fault(fault.name, fault.file, "no such text", "", fault.turns, fault.finds)
    with (
        pytest.raises(UserError, match="does not fit this version: .* 'no such text' 0 times"),
        faults.seeded(name, other),
    ):
        pass


def test_an_unknown_fault_is_named():
    """A name that no fault has is answered with the nearest one."""
    name = faults.chosen(INSTALLED, [])[0][1].name
    with pytest.raises(UserError, match=f"did you mean .*{name}"):
        faults.chosen(INSTALLED, [name[:-1]])
