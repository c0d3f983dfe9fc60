"""Faults that change learning or its cost fit the code, and their checks are reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.faults import fault_tables
from rlregress.faults.injection import find_fault_line
from rlregress.model.fault_results import RETURNS, THROUGHPUT, Fault, FaultResult
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS
from rlregress_power import faults_text, return_gates
from tools.tests.check.test_outcome import cell

FAULTS = [
    x
    for name in (RETURNS, THROUGHPUT)
    for x in fault_tables.load_faults(name, frameworks.list_framework_names())
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_a_line_of_the_installed_code(fault):
    """Its fragment stands in the framework's file, in the place that it names."""
    adapter = frameworks.get_adapter(fault.framework)
    if adapter not in frameworks.list_installed_adapters():
        pytest.skip(f"{fault.framework} is not installed")
    place = find_fault_line(fault)
    if place is None and not adapter.framework.modules:
        pytest.skip("the copy of the scripts that is here is another one")
    assert place is not None
    assert fault.old.splitlines()[0] in place[0].read_text("utf-8").splitlines()[place[1] - 1]


def test_gates_on_unchanged_code_have_seeds_of_their_own(monkeypatch):
    """No run of one gate is a run of another, so that their false alarms are independent."""
    requested = []

    def alone(python, options, environment):
        requested.append(options.first_seed)
        return "nothing is trained here"

    monkeypatch.setattr(return_gates.check_run, "run_tests_of_returns", alone)
    faults = fault_tables.select_faults(RETURNS, ["sb3"], [], ["ppo"])
    judged = list(return_gates.judge_faults_by_returns(faults, 1, print, gates=3))
    assert requested == [1000 + gate * SEQUENTIAL_LOOKS.max_runs for gate in range(3)]
    assert [check_result.trouble for check_result in judged] == ["nothing is trained here"] * 3
    assert not any(check_result.has_regressed or check_result.detected for check_result in judged)


def test_the_verdict_of_a_gate_is_printed_with_its_cost():
    """Each cell has its verdict, runs and minutes; a gate that could not judge is marked."""
    verdict = cell("a-ppo-X", "regressed")["verdict"]
    fault, tiny = (Fault(framework="a", algorithm="ppo", name=x) for x in ("no_entropy", "tiny"))
    result = FaultResult(fault=fault, verdicts={"a-ppo-X": verdict}, runs=15, cpu_minutes=6.25)
    same = {"a-ppo-X": {**verdict, "verdict": "holds"}}
    missed = FaultResult(fault=tiny, verdicts=same, runs=20, cpu_minutes=8.0)
    gone = Fault(framework="a", algorithm="sac", name="gone")
    broken = FaultResult(fault=gone, trouble="there is no a/sac.py")
    first, *further_lines = faults_text.describe_result_of_instrument(RETURNS, result)
    assert " ".join(first.split()) == "regressed a ppo no_entropy: 15 runs, 6.2 CPU minutes"
    assert "a-ppo-X: 100 -> 90 (-10%" in further_lines[0]
    assert faults_text.describe_result_of_instrument(RETURNS, missed)[0].startswith("not regressed")
    (line,) = faults_text.describe_result_of_instrument(RETURNS, broken)
    assert line == "COULD NOT JUDGE a sac gone: there is no a/sac.py"
    assert faults_text.summarise_results(RETURNS, [result, missed, broken]) == (
        "1 of 3 checks ended in regressed, 14 CPU minutes in all; 1 could not judge"
    )


@pytest.mark.nightly
def test_a_fault_that_no_training_enters_is_not_judged(monkeypatch):
    """A change of a branch that is never taken is reported and not judged; another one is."""
    options = return_gates._make_check_options

    def short(*words):
        return replace(options(*words), budget="smoke", environments="Pendulum-v1", cells="default")

    monkeypatch.setattr(return_gates, "_make_check_options", short)
    file, branch = "stable_baselines3/td3/td3.py", "if self._n_updates % self.policy_delay == 0:"
    new = f"{branch}\n                pass"
    never = Fault(framework="sb3", algorithm="td3", name="never", file=file, old=branch, new=new)
    always = replace(never, name="always", new="if True:")
    unseen, result = return_gates.judge_faults_by_returns([never, always], 1, print)
    assert "the first run of every cell is the same" in unseen.trouble
    assert unseen.runs == 0
    assert "the same" not in result.trouble
    assert result.runs > 0, result
