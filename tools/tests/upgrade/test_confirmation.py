"""An alarm is believed only where the new version is worse than the old one trained again."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rlregress.check import baseline_runs
from rlregress.check_options import CheckOptions
from rlregress.model.upgrade_result import ReturnsVerdict
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade import cascade
from rlregress.upgrade.evidence import return_gate
from rlregress.upgrade.evidence.confirmation import (
    collect_judged_numbers,
    confirm_against_old_runs,
    list_alarmed_cells,
)
from rlregress.upgrade.evidence.return_gate import confirm_alarm_by_old_runs
from rlregress.upgrade.upgrade_options import Options
from tools.tests.check.stored import with_critics

from .test_result import SB3, of, traced

CELLS = {
    baseline.cell.id: baseline.cell
    for baseline in baseline_runs.load_all_baselines()
    if baseline.cell.id in ("sb3-ppo-Hopper-v4-short", "sb3-ppo-InvertedPendulum-v4-short")
}
HOPPER = "sb3-ppo-Hopper-v4-short"


def entry(name, verdict, **fields):
    """Return the evidence that a test of returns attaches."""
    return {"test": "tests_performance/test_returns.py", "framework": "sb3",
            "verdict": {"verdict": verdict, **fields}} | name  # fmt: skip


def test_what_fell_is_trained_again():
    """Cells that fell and all cells of a group that fell, each once; nothing that holds."""
    entries = [
        entry({"cell": "b"}, "regressed"),
        entry({"cell": "c"}, "holds"),
        entry({"group": "g"}, "regressed", cells=["a", "b"]),
        entry({"group": "h"}, "inconclusive", cells=["d"]),
        {"record": {"cell": "c", "seed": 1, "final_return": 1.0}},
    ]
    assert list_alarmed_cells(entries) == ["a", "b"]


def test_returns_are_read_by_seed():
    """The runs of one cell in the order of their seeds; a failed run has no return."""
    records = [("a", 1001, 2.0), ("b", 1000, 9.0), ("a", 1000, 1.0), ("a", 1002, None)]
    entries = [
        {"record": {"cell": cell, "seed": seed, "final_return": value,
                    "status": "failed" if value is None else "finished"}}
        for cell, seed, value in records
    ]  # fmt: skip
    np.testing.assert_array_equal(collect_judged_numbers(entries, "a"), [1.0, 2.0, np.nan])


def test_a_critic_that_fell_is_trained_again():
    """Its name stands beside those of cells; its numbers are those of the runs that finished."""
    critic_fields = {"states": 9, "bootstrapped": 0.0, "mean": 50.0, "spread": 20.0}
    rows = [
        {**critic_fields, "explained_variance": 1.0, "bias": 2.0},
        {**critic_fields, "finite": False},
        None,
        critic_fields,
    ]
    records = [
        {"cell": "a", "seed": seed, "final_return": None if critic is None else 1.0,
         "critic": critic, "status": "failed" if critic is None else "finished"}
        for seed, critic in enumerate(rows)
    ]  # fmt: skip
    entries = [
        entry({"cell": "a"}, "holds"),
        entry({"critic": "a critic"}, "regressed"),
        entry({"critic": "g critic"}, "regressed", cells=["b critic", "c critic"]),
        *({"record": record} for record in records),
    ]
    assert list_alarmed_cells(entries) == ["a critic", "b critic", "c critic"]
    numbers = collect_judged_numbers(entries, "a critic")
    np.testing.assert_allclose(numbers, -np.log([2.0, 100.0, np.nan, np.nan]))
    np.testing.assert_array_equal(collect_judged_numbers(entries, "a"), [1.0, 1.0, np.nan, 1.0])


def runs(mean, seed, n=10, deviation=5.0):
    """Returns of ``n`` runs."""
    return list(np.random.default_rng(seed).normal(mean, deviation, n))


def test_a_drop_from_the_old_version_trained_again_is_confirmed():
    """Stored runs and the old version at about 225, the new version at 100: the upgrade did it.

    A failed run counts as the worst return of its environment: nine of ten confirm the drop, too.
    """
    only = {HOPPER: CELLS[HOPPER]}
    verdict = confirm_against_old_runs(
        only, {HOPPER: runs(225, 0)}, {HOPPER: runs(100, 1)}, alpha=0.05
    )
    assert verdict.verdict == "regressed"
    assert verdict.lines[0].startswith(
        "confirmed: the new version is worse than the old version trained again"
    )
    assert "the upgrade -5" in verdict.lines[1]
    crashed = {HOPPER: [225.0, *[np.nan] * 9]}
    assert (
        confirm_against_old_runs(only, {HOPPER: runs(225, 0)}, crashed, alpha=0.05).verdict
        == "regressed"
    )


def test_an_unlucky_baseline_is_not_the_upgrades_fault():
    """The old version trained again at 100, too: the drop is of the stored runs, as it says."""
    only = {HOPPER: CELLS[HOPPER]}
    judged = confirm_against_old_runs(
        only, {HOPPER: runs(100, 0)}, {HOPPER: runs(100, 1)}, alpha=0.05
    )
    assert judged.verdict == "inconclusive"
    assert judged.lines[0].startswith("not confirmed")
    assert "age and luck of the stored runs -5" in judged.lines[1]
    assert "the upgrade +" in judged.lines[1] or "the upgrade -0%" in judged.lines[1]


def test_a_common_drop_that_no_cell_shows_alone_is_confirmed_by_the_group():
    """Both cells 0.9 deviations down: neither is rejected beside the other, their group is."""
    spread = 20 * np.array([-1.5, -1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 1.5])
    old, new = dict.fromkeys(CELLS, 200 + spread), dict.fromkeys(CELLS, 182 + spread)
    alone = [
        confirm_against_old_runs({n: CELLS[n]}, {n: old[n]}, {n: new[n]}, 0.05 / 3).verdict
        for n in CELLS
    ]
    assert alone == ["inconclusive", "inconclusive"]
    assert confirm_against_old_runs(CELLS, old, new, alpha=0.05).verdict == "regressed"


def test_a_drop_too_small_to_matter_is_not_confirmed():
    """Five of 200 at a deviation of 1 is rejected, and below the floor of 5 %."""
    old = {name: runs(200, seed, 8, 1.0) for seed, name in enumerate(CELLS)}
    new = {name: [value - 5.0 for value in old[name]] for name in CELLS}
    assert confirm_against_old_runs(CELLS, old, new, alpha=0.05).verdict == "inconclusive"


def test_a_critic_is_confirmed_by_critics(tmp_path, monkeypatch):
    """Errors of 1.1 and 2.1: confirmed as a factor, with the stored critics beside them."""
    with_critics([CELLS[HOPPER]], tmp_path / "stored", monkeypatch)
    name = f"{HOPPER} critic"
    cells = {name: CELLS[HOPPER]}
    old, new = runs(-np.log(1.1), 0, deviation=0.1), runs(-np.log(2.1), 1, deviation=0.1)
    judged = confirm_against_old_runs(cells, {name: old}, {name: new}, alpha=0.05)
    assert judged.verdict == "regressed"
    assert judged.lines[1].startswith(f"{name}: error stored 1.")
    assert "the upgrade x1.88" in judged.lines[1]
    assert (
        confirm_against_old_runs(cells, {name: new}, {name: new}, alpha=0.05).verdict
        == "inconclusive"
    )
    # certain, and below the floor of a critic
    old, new = (runs(-np.log(error), 0, deviation=0.001) for error in (1.1, 1.13))
    assert (
        confirm_against_old_runs(cells, {name: old}, {name: new}, alpha=0.05).verdict
        == "inconclusive"
    )


def record_critics(name, errors, seed=1000):
    """Evidence of runs of a cell whose critics have these errors; None: a run has no critic."""
    critic_fields = {"states": 9, "bootstrapped": 0.0, "mean": 50.0, "spread": 20.0}
    critic_fields["explained_variance"] = 1.0
    critics = [None if error is None else {**critic_fields, "bias": error} for error in errors]
    records = [
        {"cell": name, "seed": seed + n, "final_return": 225.0 + n, "status": "finished",
         "critic": critic}
        for n, critic in enumerate(critics)
    ]  # fmt: skip
    return [{"outcome": "passed", "record": record} for record in records]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("fell", [(), (HOPPER,)], ids=["critic", "both"])
def test_a_critic_that_the_old_version_does_not_log_is_not_confirmed(tmp_path, monkeypatch, fell):
    """It is said to be missing, not to be as it was; a return that fell too is asked alone."""
    with_critics([CELLS[HOPPER]], tmp_path / "stored", monkeypatch)
    fresh = record_critics(HOPPER, [None] * 10, 2000)
    monkeypatch.setattr("rlregress.check.check_run.run_tests_of_returns", lambda *_: fresh)
    new = record_critics(HOPPER, [2.0 + 0.01 * n for n in range(10)])
    for values in new:
        values["record"]["final_return"] -= 125.0
    new += [entry({"critic": f"{HOPPER} critic"}, "regressed")]
    new += [entry({"cell": name}, "regressed") for name in fell]
    options = CheckOptions(
        report=tmp_path, frameworks="sb3", algorithms="ppo", cells="all", store=str(tmp_path)
    )
    alarm = ReturnsVerdict(verdict="regressed", lines=("the lines of the alarm",), report=tmp_path)
    judged = confirm_alarm_by_old_runs(alarm, new, Runtime("old"), options, lambda _: None)
    text = (
        f"the alarm on {HOPPER} critic could not be confirmed: the old version's runs have no "
        "critic that can be compared"
    )
    assert judged.verdict == ("regressed" if fell else "inconclusive")
    last_lines = judged.lines[2:] if fell else judged.lines
    assert last_lines == (text if fell else f"inconclusive: {text}", *alarm.lines)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_runs_without_a_number_are_not_counted_in_a_line(tmp_path, monkeypatch):
    """Half of the old version's critics are there: five are counted; of the new one none."""
    with_critics([CELLS[HOPPER]], tmp_path / "stored", monkeypatch)
    name = f"{HOPPER} critic"
    half, none = [*runs(-0.1, 0, 5, 0.1), *[np.nan] * 5], [np.nan] * 10
    cells = {name: CELLS[HOPPER]}
    rows = [confirm_against_old_runs(cells, {name: half}, {name: new}, 0.05).lines[1]
            for new in (runs(-0.7, 1, deviation=0.1), none)]  # fmt: skip
    assert " the old version again 1.1 (5), the new version 1.97 (10)" in rows[0]
    assert rows[1] == f"{name}: the runs of the new version have no critic that can be compared"


PENDULUM = "sb3-ppo-InvertedPendulum-v4-short"


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(
    ("missing", "reason", "message"),
    [
        ("pytest", "the trainings did not run: ", "built for another Python"),
        pytest.param("mujoco", f"the training of {PENDULUM}",
                     "MuJoCo is not installed", marks=pytest.mark.nightly),
    ],
)  # fmt: skip
def test_an_alarm_is_inconclusive_where_the_old_version_cannot_train(
    tmp_path, missing, reason, message
):
    """An old version whose package is broken confirms nothing; the first line says why."""
    broken = tmp_path / "packages" / missing
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('built for another Python')\n")
    record = {"cell": PENDULUM, "final_return": 20.0, "status": "finished"}
    entries = [{"record": {**record, "seed": 1000 + n}} for n in range(3)]
    entries.append(entry({"cell": PENDULUM}, "regressed"))
    rows = []
    options = CheckOptions(
        report=tmp_path / "report", frameworks="sb3", algorithms="ppo", cells="all",
        store=str(tmp_path / "runs"), workers=1,
    )  # fmt: skip
    lines = (f"{PENDULUM}: regressed",)
    alarm = ReturnsVerdict(verdict="regressed", lines=lines, report=options.report)
    runtime = Runtime("old", paths=[str(broken.parent)])
    judged = confirm_alarm_by_old_runs(alarm, entries, runtime, options, rows.append)
    assert judged.verdict == "inconclusive"
    assert judged.lines[0].startswith(
        "inconclusive: the alarm could not be confirmed, as the old version could not be trained "
        "again: " + reason
    )
    assert message in judged.lines[0]
    assert judged.lines[1:] == alarm.lines
    assert rows == [f"sb3: training the old version again with fresh seeds, as {PENDULUM} fell"]


def test_an_upgrade_trains_as_it_was_told(tmp_path, monkeypatch):
    """With so many processes and looks as the upgrade was asked for: of all stored cells."""
    requested = []

    def alone(python, options, environment):
        requested.append(options)
        return "it is not trained here"

    monkeypatch.setattr(return_gate.check_run, "run_tests_of_returns", alone)
    options = Options("a", "b", tmp_path, workers=1, one_look=True)
    versions = (SimpleNamespace(runtime=Runtime("old")), SimpleNamespace(runtime=Runtime("new")))
    judged = cascade._judge_returns(of(traced("ppo", "diverged")), SB3, versions, options)
    assert judged.returns.lines == ("it is not trained here",)
    (session,) = requested
    assert (session.workers, session.one_look) == (1, True)
    assert (session.frameworks, session.algorithms, session.cells) == ("sb3", "ppo", "all")
