"""An alarm is believed only where the new version is worse than the old one trained again."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from rlregress.check import baseline_runs
from rlregress.check_options import CheckOptions
from rlregress.model.upgrade_result import ReturnsVerdict
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade import cascade
from rlregress.upgrade.evidence import return_gate
from rlregress.upgrade.evidence.return_gate import (
    collect_judged_numbers,
    confirm_against_old_runs,
    confirm_alarm_by_old_runs,
    list_alarmed_cells,
)
from rlregress.upgrade.upgrade_options import Options
from tools.tests.check.stored import with_critics

from .test_result import SB3, of, traced

PENDULUM, HOPPER = "sb3-ppo-InvertedPendulum-v4-short", "sb3-ppo-Hopper-v4-short"
CELLS = {
    name: baseline_runs.load_baseline(baseline_runs.locate_returns_folder() / f"{name}.toml").cell
    for name in (HOPPER, PENDULUM)
}
CRITIC = f"{HOPPER} critic"
CRITIC_FIELDS = {"states": 9, "bootstrapped": 0.0, "mean": 50.0, "spread": 20.0}


def entry(name, verdict, **fields):
    """Return the evidence that a test of returns attaches."""
    return {"test": "tests_performance/test_returns.py", "framework": "sb3",
            "verdict": {"verdict": verdict, **fields}} | name  # fmt: skip


def run(cell, seed, final_return, critic=None, failure=""):
    """Return the evidence of a run; one without a return has failed."""
    status = "failed" if final_return is None else "finished"
    record = {"cell": cell, "seed": seed, "final_return": final_return, "status": status,
              "critic": critic and CRITIC_FIELDS | critic, "failure": failure}  # fmt: skip
    return {"outcome": "passed", "record": record}


def draw(mean, seed, n=10, deviation=5.0):
    """Return the numbers of ``n`` runs."""
    return list(np.random.default_rng(seed).normal(mean, deviation, n))


def confirm(old, new, name=HOPPER, alpha=0.05):
    """Return the confirmation of an alarm on one cell, or on its critic."""
    cells = {name: CELLS[HOPPER]} if name == CRITIC else {name: CELLS[name]}
    return confirm_against_old_runs(cells, {name: old}, {name: new}, alpha)


def test_what_fell_is_trained_again_and_read_by_seed():
    """Cells, critics and groups that fell, each once; failed runs have no number."""
    entries = [
        entry({"cell": "b"}, "regressed"), entry({"cell": "c"}, "holds"),
        entry({"group": "g"}, "regressed", cells=["a", "b"]),
        entry({"group": "h"}, "inconclusive", cells=["d"]),
        entry({"critic": "a critic"}, "regressed"), run("c", 1, 1.0),
    ]  # fmt: skip
    assert list_alarmed_cells(entries) == ["a", "a critic", "b"]
    critic = {"explained_variance": 1.0, "bias": 2.0}
    entries = [run("a", 1001, 2.0, {"finite": False}), run("b", 1000, 9.0),
               run("a", 1000, 1.0, critic), run("a", 1002, None),
               run("a", 1003, 4.0, {"bias": None})]  # fmt: skip
    np.testing.assert_array_equal(collect_judged_numbers(entries, "a"), [1.0, 2.0, np.nan, 4.0])
    numbers = collect_judged_numbers(entries, "a critic")
    np.testing.assert_allclose(numbers, -np.log([2.0, 100.0, np.nan, np.nan]))


@pytest.mark.parametrize(
    ("old", "new", "verdict", "parts"),
    [
        # stored runs and the old version at about 225, the new version at 100: the upgrade did it
        (draw(225, 0), draw(100, 1), "regressed", ["confirmed: ", "the upgrade -5"]),
        # the worst return of the environment counts for a failed run
        (draw(225, 0), [225.0, *[np.nan] * 9], "regressed", ["confirmed: "]),
        # the old version trained again at 100, too: the stored runs were lucky
        (draw(100, 0), draw(100, 1), "inconclusive",
         ["not confirmed: ", "age and luck of the stored runs -5"]),
        # five of 200 at a deviation of 1 is rejected, and below the floor of 5 %
        (draw(200, 0, 8, 1.0), draw(195, 0, 8, 1.0), "inconclusive", ["not confirmed: "]),
    ],
)  # fmt: skip
def test_a_drop_from_the_old_version_trained_again_is_confirmed(old, new, verdict, parts):
    """The lines say whether the upgrade did it, or the age and the luck of the stored runs."""
    judged = confirm(old, new)
    assert judged.verdict == verdict
    assert judged.lines[0].startswith(parts[0])
    assert all(part in judged.lines[1] for part in parts[1:])


def test_a_common_drop_that_no_cell_shows_alone_is_confirmed_by_the_group():
    """Both cells 0.9 deviations down: neither is rejected beside the other, their group is."""
    spread = 20 * np.array([-1.5, -1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 1.5])
    old, new = 200 + spread, 182 + spread
    alone = {confirm(old, new, name, 0.05 / 3).verdict for name in CELLS}
    assert alone == {"inconclusive"}
    of_both = dict.fromkeys(CELLS, old), dict.fromkeys(CELLS, new)
    both = confirm_against_old_runs(CELLS, *of_both, alpha=0.05)
    assert both.verdict == "regressed"


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_critic_is_confirmed_by_critics(tmp_path, monkeypatch):
    """Errors of 1.1 and 2.1: confirmed as a factor, with the stored critics beside them."""
    with_critics([CELLS[HOPPER]], tmp_path / "stored", monkeypatch)
    old, new = draw(-np.log(1.1), 0, deviation=0.1), draw(-np.log(2.1), 1, deviation=0.1)
    judged = confirm(old, new, CRITIC)
    assert judged.verdict == "regressed"
    assert judged.lines[1].startswith(f"{CRITIC}: error stored 1.")
    assert "the upgrade x1.88" in judged.lines[1]
    assert confirm(new, new, CRITIC).verdict == "inconclusive"
    # certain, and below the floor of a critic
    near = [draw(-np.log(error), 0, deviation=0.001) for error in (1.1, 1.13)]
    assert confirm(*near, CRITIC).verdict == "inconclusive"
    # runs without a number are not counted in a line
    half, none = [*old[:5], *[np.nan] * 5], [np.nan] * 10
    assert " (5), the new version 2.05 (10)" in confirm(half, new, CRITIC).lines[1]
    assert "have no critic that can be compared" in confirm(half, none, CRITIC).lines[1]


@pytest.fixture
def confirm_alarm(tmp_path):
    """Confirm an alarm on cells of PPO by training the old version again."""

    def confirm_alarm(entries, runtime):
        options = CheckOptions(report=tmp_path / "report", frameworks="sb3", algorithms="ppo",
                               cells="all", store=str(tmp_path / "runs"), workers=1)  # fmt: skip
        alarm = ReturnsVerdict(verdict="regressed", lines=("the alarm",), report=options.report)
        judged = confirm_alarm_by_old_runs(alarm, entries, runtime, options, lambda _: None)
        assert judged.lines[-1] == "the alarm"
        return judged

    return confirm_alarm


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("fell", [(), (HOPPER,)], ids=["critic", "both"])
def test_a_critic_that_the_old_version_does_not_log_is_not_confirmed(
    tmp_path, monkeypatch, confirm_alarm, fell
):
    """It is said to be missing, not to be as it was; a return that fell too is asked alone."""
    with_critics([CELLS[HOPPER]], tmp_path / "stored", monkeypatch)
    fresh = [run(HOPPER, 2000 + n, 225.0 + n) for n in range(10)]
    monkeypatch.setattr(return_gate.check_run, "run_tests_of_returns", lambda *_: fresh)
    new = [run(HOPPER, 1000 + n, 100.0 + n, {"explained_variance": 1.0, "bias": 2.0 + 0.01 * n})
           for n in range(10)]  # fmt: skip
    new += [entry({"critic": CRITIC}, "regressed")]
    new += [entry({"cell": name}, "regressed") for name in fell]
    judged = confirm_alarm(new, Runtime("old"))
    assert judged.verdict == ("regressed" if fell else "inconclusive")
    missing = [line for line in judged.lines if "have no critic that can be compared" in line]
    assert len(missing) == 1
    assert missing[0].startswith("inconclusive: ") == (not fell)


FELL = [*(run(PENDULUM, 1000 + n, 20.0) for n in range(3)), entry({"cell": PENDULUM}, "regressed")]


@pytest.mark.parametrize(
    ("fresh", "reason"),
    [
        ([run(PENDULUM, 2000, None, failure="E: no MuJoCo")] * 3, "all 3 runs .*: E: no MuJoCo"),
        ([], f"there is no run of {PENDULUM}"),
        # it did not even begin
        ("the trainings did not run: E: another Python", "did not run: E: another Python"),
        ([{"outcome": "failed", "message": "E: damaged"}], "E: damaged"),
    ],
)
def test_an_alarm_is_inconclusive_where_no_run_of_the_old_version_ended_well(
    monkeypatch, confirm_alarm, fresh, reason
):
    """They tell nothing of the old version's returns; the first line says why."""
    monkeypatch.setattr(return_gate.check_run, "run_tests_of_returns", lambda *_: fresh)
    judged = confirm_alarm(FELL, Runtime("old"))
    assert judged.verdict == "inconclusive"
    assert re.search(reason, judged.lines[0])


def test_an_upgrade_trains_as_it_was_told(tmp_path, monkeypatch):
    """With so many processes and looks as the upgrade was asked for: of all stored cells."""
    requested = []

    def alone(python, options, environment):
        requested.append(options)
        return "it is not trained here"

    monkeypatch.setattr(return_gate.check_run, "run_tests_of_returns", alone)
    options = Options("a", "b", tmp_path, workers=1, one_look=True)
    versions = (SimpleNamespace(runtime=Runtime("old")), SimpleNamespace(runtime=Runtime("new")))
    judged = cascade._train_new_version_and_judge_returns(
        of(traced("ppo", "diverged")), SB3, versions, options
    )
    assert judged.returns.lines == ("it is not trained here",)
    (session,) = requested
    assert (session.workers, session.one_look) == (1, True)
    assert (session.frameworks, session.algorithms, session.cells) == ("sb3", "ppo", "all")
