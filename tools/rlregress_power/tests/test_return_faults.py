"""Faults of returns, replays and throughput: their checks are measured and reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.check import stored_throughput
from rlregress.faults import fault_tables
from rlregress.faults.injection import find_fault_line
from rlregress.model.fault_results import REPLAYS, RETURNS, THROUGHPUT, Fault, FaultResult
from rlregress.training.throughput_measurement import Measurement
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS
from rlregress_power import faults_text, replay_power, return_gates
from rlregress_power.instruments import INSTRUMENTS
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


SOURCE = """
def train(self):
    if self.sde:
        self.noise(
            1,
        )
    loss = self.loss(
        2,
    )
"""


@pytest.mark.parametrize(("line", "runs"), [(3, True), (4, False), (5, False), (8, True)])
def test_a_line_runs_if_its_statement_does(tmp_path, line, runs):
    """A line counts as run if its own statement ran, without the statements inside of it."""
    path = tmp_path / "a.py"
    path.write_text(SOURCE)
    assert replay_power._is_statement_executed(path, line, {3, 7}) == runs


def test_faults_are_drawn_from_the_files_that_a_replay_counts(monkeypatch):
    """Drawn faults fit the installed code, in files whose lines the record counts."""
    pytest.importorskip("stable_baselines3")
    trail = replay_power._find_stored_replay("sb3", "td3").run.trail
    faults = replay_power.draw_faults_of_replayed_files("sb3", "td3", 20, 3)
    assert len(faults) == 20
    assert {fault.file for fault in faults} <= set(trail.lines)
    assert all(replay_power.injection.find_fault_line(fault) for fault in faults)
    assert faults == replay_power.draw_faults_of_replayed_files("sb3", "td3", 20, 3)


def test_what_replays_detected_is_counted_by_lines_that_run():
    """A fault whose line never runs is none that a replay should detect."""
    fault = Fault(name="x", framework="sb3", algorithm="td3")
    first = {"replay": "update 1, gradients"}
    result = FaultResult(fault=fault, detected=True, by=first, executed=1, cpu_minutes=0.1)
    never, broken = FaultResult(fault=fault), FaultResult(fault=fault, trouble="no replay")
    (line,) = faults_text.describe_result_of_instrument(REPLAYS, never)
    assert " ".join(line.split()) == "NOT DETECTED sb3 td3 x: its line never runs, 0 CPU seconds"
    assert faults_text.summarise_results(REPLAYS, [result, never, broken]) == (
        "1 of 2 faults were detected by one replay each, 1 of the 1 whose line runs, 0 CPU minutes "
        "in all; 1 could not be judged"
    )


@pytest.mark.nightly
def test_a_replay_detects_a_fault_that_it_runs():
    """A changed discount differs at the first update; a line that never runs changes nothing."""
    if frameworks.get_adapter("sb3") not in frameworks.list_installed_adapters():
        pytest.skip("Stable-Baselines3 is not installed")
    [discount] = fault_tables.select_faults(RETURNS, ["sb3"], ["td3_discount_0.9"])
    unused = Fault(
        framework="sb3", algorithm="td3", name="unused",
        file="stable_baselines3/common/off_policy_algorithm.py",
        old="self.actor.reset_noise(env.num_envs)", new="pass", occurrence=1,
    )  # fmt: skip
    detected, missed = replay_power.judge_faults_by_replay([discount, unused], 1, print)
    assert detected.by["replay"].startswith("update 1, gradients (td3.py: ")
    assert (detected.detected, bool(detected.executed)) == (True, True)
    assert (missed.detected, bool(missed.executed), missed.trouble) == (False, False, "")


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
    stored = stored_throughput.StoredThroughput(**conditions, process=tuple(SOUND))
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
