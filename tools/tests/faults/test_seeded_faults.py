"""The suite can turn red: a seeded fault fails the test of its detail, with a readable message."""

from __future__ import annotations

import json
import re

import pytest

from rlregress import frameworks, suite
from rlregress.details import catalogue
from rlregress.errors import UserError
from rlregress.faults import probed

INSTALLED = sorted(
    {adapter.name for adapter in frameworks.installed() if adapter.expectations() is None}
)
ESSENTIAL = [pair for pair in probed.chosen(INSTALLED, []) if pair[1].essential]


def _files_of(fault):
    """The files of tests_unit that assert what the fault turns, and all that they assert."""
    files, asserted = [], set()
    for path in sorted((suite.root() / "tests_unit").glob("test_*.py")):
        ids = set(re.findall(r'mark\.detail\("([^"]+)"\)', path.read_text(encoding="utf-8")))
        if ids & set(fault.turns):
            files.append(f"tests_unit/{path.name}")
            asserted |= ids
    return files, asserted


@pytest.mark.parametrize(
    ("name", "fault"), ESSENTIAL, ids=[f"{of}-{fault.name}" for of, fault in ESSENTIAL]
)
def test_a_seeded_fault_turns_its_test_red(name, fault, tmp_path):
    """``pytest tests_unit`` fails for the fault's details and names detail, variants, numbers."""
    if probed.fault_line(frameworks.get(name), fault) is None:
        pytest.skip(f"the faults of {name} were chosen on another version than the installed one")
    files, asserted = _files_of(fault)
    evidence = tmp_path / "evidence.json"
    ended = probed.run_seeded(
        name,
        fault,
        ["-m", "pytest", *files, "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        + ["--framework", name, "--evidence", str(evidence)],
    )
    assert ended.returncode == 1, ended.stdout[-2000:]
    entries = json.loads(evidence.read_text())["tests"]
    failed = {entry["detail"]: entry for entry in entries if entry["outcome"] == "failed"}
    assert set(failed) == (set(fault.turns) | set(fault.also)) & asserted
    for id in fault.turns:
        first, *rest = failed[id]["message"].splitlines()
        assert first.startswith(f"{id}: {fault.finds} (documented: ")
        assert any(line.strip().startswith("observed: [") for line in rest)
        assert any(line.strip().startswith(f"expected of {fault.finds}: [") for line in rest)


@pytest.mark.parametrize("name", INSTALLED)
def test_every_detail_has_a_seeded_fault(name):
    """For each detail that a framework is probed for there is a fault that moves it."""
    known = probed.load(name)
    covered = {id for fault in known for id in fault.turns + fault.also}
    asked = {id for id, _ in frameworks.get(name).probes()}
    assert asked - covered == set(probed.without(name))


@pytest.mark.parametrize("name", INSTALLED)
def test_faults_name_known_variants(name):
    """What a fault turns a detail into is a variant of that detail."""
    for fault in probed.load(name):
        for id in fault.turns:
            assert not fault.finds or fault.finds in catalogue.get(id).variants, fault.name


def test_a_fault_that_does_not_fit_says_so():
    """A fault whose text is not in this version's code names file, text and number of matches."""
    name, fault = next(
        (of, one)
        for of, one in probed.chosen(INSTALLED, [])
        if frameworks.get(of).locate(one.file) is not None
    )
    other = probed.Fault(fault.name, fault.file, "no such text", "", fault.turns, fault.finds)
    with (
        pytest.raises(UserError, match="does not fit this version: .* 'no such text' 0 times"),
        probed.seeded(name, other),
    ):
        pass


def test_an_unknown_fault_is_named():
    """A name that no fault has is answered with the nearest one."""
    name = probed.chosen(INSTALLED, [])[0][1].name
    with pytest.raises(UserError, match=f"did you mean .*{name}"):
        probed.chosen(INSTALLED, [name[:-1]])
