"""Faults by one replay each: their detection, and the lines that a replay runs."""

from __future__ import annotations

import pytest

from rlregress import frameworks
from rlregress.faults import fault_tables
from rlregress.model.fault_results import REPLAYS, RETURNS, Fault, FaultResult
from rlregress_power import faults_text, replay_power

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
