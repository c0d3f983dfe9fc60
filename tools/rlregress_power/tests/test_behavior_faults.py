"""Behaviour tests turn red by a fault that they name; probes that a fault can change."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.faults import fault_tables, injection
from rlregress.model.fault_results import BEHAVIOR, Fault
from rlregress_power import faults_text, instruments, probe_coverage
from tools.tests.small_adapters import SmallAdapter

pytestmark = pytest.mark.usefixtures("warm_python")

INSTALLED = sorted(
    {
        adapter.name
        for adapter in frameworks.list_installed_adapters()
        if adapter.framework.expectations is None
    }
)
FAULTS = fault_tables.select_faults(BEHAVIOR, INSTALLED, [])
CASES = [
    pytest.param(
        fault,
        id=f"{fault.framework}-{fault.algorithm}-{fault.name}",
        marks=() if fault.essential else pytest.mark.nightly,
    )
    for fault in FAULTS
]


def fits(fault):
    """Return whether the line is in the copy of the framework that is installed."""
    return injection.find_fault_line(fault) is not None


def seed(fault):
    """Return the result of behaviour tests for one fault, and the line that reports it."""
    (result,) = instruments.INSTRUMENTS[BEHAVIOR].run([fault], 1, print)
    (line,) = faults_text.describe_result_of_instrument(BEHAVIOR, result)
    return result, line


@pytest.mark.parametrize("fault", CASES)
def test_a_seeded_fault_turns_its_behaviour_test_red(fault):
    """The named tests of ``tests_behavior`` fail on the copy, with the expected words."""
    adapter = frameworks.get_adapter(fault.framework)
    algorithms = (*adapter.framework.algorithms, *adapter.framework.behavior_only)
    if fault.algorithm not in algorithms or not fits(fault):
        pytest.skip(f"the fault was chosen on another copy of {fault.framework}")
    result, line = seed(fault)
    assert result.detected, line


@pytest.mark.nightly
def test_a_fault_that_changes_nothing_is_not_detected():
    """Control: if the line is replaced by itself, no test fails, and the report says so."""
    fault = next(fault for fault in FAULTS if fault.essential and fits(fault))
    result, line = seed(replace(fault, new=fault.old))
    assert (result.by, result.trouble, result.detected) == ({}, "", False)
    assert "NOT AS EXPECTED" in line
    assert "no test failed (expected: test_" in line


FAULT = Fault(
    framework="sb3", algorithm="ppo", name="n", file="a/b.py", old="x", new="y",
    turns=("t.py::a", "t.py::b"), finds="wrong",
)  # fmt: skip


@pytest.mark.parametrize(
    ("failed", "detected"),
    [
        ({"t.py::a": "", "t.py::b": "it is wrong here"}, True),
        ({"t.py::a": "wrong", "t.py::b": "", "t.py::c": ""}, True),
        ({"t.py::a": "wrong"}, False),
        ({"t.py::a": "", "t.py::b": ""}, False),
        ({}, False),
    ],
)
def test_all_named_tests_have_to_fail_with_the_words(failed, detected):
    """A fault is missed if a named test passes, or if no failure has the words."""
    result = instruments.make_behavior_result(FAULT, failed)
    assert result.detected is detected
    total = faults_text.summarise_results(BEHAVIOR, [result])
    assert total == f"{int(detected)} of 1 injected faults made their behaviour tests fail"


def test_a_fault_of_another_version_is_not_seeded(monkeypatch):
    """The report says that the fault does not fit this version, and nothing is detected."""
    monkeypatch.setattr(frameworks, "get_adapter", lambda name: SmallAdapter())
    result, line = seed(FAULT)
    assert not result.detected
    assert line == f"{'NOT INJECTED':<16}sb3 ppo n: does not fit this version of sb3"


TEXT = textwrap.dedent(
    """\
    LIMIT = 3

    class Agent:
        kind = "a"

        def act(self, x, scale=2):
            if x:
                y = (
                    x * scale
                )
                return y
            return 0
    """
)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (1, None),  # a constant of the module
        (4, None),  # an attribute of a class
        (6, None),  # the default of an argument
        (9, range(8, 11)),  # a statement of several lines
        (12, range(12, 13)),
    ],
)
def test_statement_of_a_line(line, lines):
    """Only a statement in the body of a function runs when the function does."""
    assert probe_coverage.find_lines_of_statement(TEXT, line) == lines


def test_cells_are_those_that_reach_the_statement(tmp_path):
    """A probe that does not run the changed statement runs the same code as before."""
    path = tmp_path / "agent.py"
    path.write_text(TEXT)
    executed = {
        str(path.resolve()): {
            ("one", "library"): frozenset({7, 8, 11}),
            ("other", "library"): frozenset({7, 12}),
        }
    }
    assert probe_coverage.find_probes_of_line(executed, path, 9) == {("one", "library")}
    assert probe_coverage.find_probes_of_line(executed, path, 12) == {("other", "library")}
    assert probe_coverage.find_probes_of_line(executed, path, 1) is None
    assert probe_coverage.find_probes_of_line(executed, path, 1, script=True) == set(), (
        "no probe reaches it"
    )
    assert probe_coverage.find_probes_of_line({}, path, 9) == set()
    assert probe_coverage.find_probes_of_line({}, path, 9, script=True) is None
