"""How long a session takes: as the stored runs tell, corrected by what is measured on the way."""

from __future__ import annotations

from collections import Counter

import pytest

from rlregress.gate import evidence, planning
from rlregress.gate.selection import Selection
from rlregress.gate.session import open_session
from rlregress.reporting import plan as plan_report
from rlregress.training import record

from .working import Ended, whole

CELLS = "sb3-ppo-Hopper-v4-short,sb3-ppo-HalfCheetah-v4-short,sb3-sac-Hopper-v4-short"
SELECTION = Selection("short", frameworks=("sb3",), cells=CELLS)


@pytest.fixture
def session(tmp_path):
    """Two runs each of two cells of PPO and one of SAC, none of them done."""
    return open_session(SELECTION, 2, str(tmp_path))


def of(session, group):
    """The cells of a group, with the estimate of one run."""
    return {c.id: session.estimated_seconds(c) for c in session.cells if c.group == group}


def test_without_a_measurement_the_stored_runs_tell(session):
    """Nothing is done: two runs of every cell, as long as the stored ones took."""
    estimates = of(session, "sb3-ppo") | of(session, "sb3-sac")
    assert len(estimates) == 3
    assert min(estimates.values()) > 0
    assert session.seconds_to_do([]) == pytest.approx(2 * sum(estimates.values()))


def test_runs_of_the_same_algorithm_correct_the_estimate(session):
    """PPO takes three times as long here, SAC twice: each is what its own runs say."""
    ppo, sac = of(session, "sb3-ppo"), of(session, "sb3-sac")
    one, [(of_sac, seconds)] = next(iter(ppo.items())), sac.items()
    measured = [(one[0], 3 * one[1]), (of_sac, 2 * seconds)]
    expected = 2 * (3 * sum(ppo.values()) + 2 * seconds)
    assert session.seconds_to_do(measured) == pytest.approx(expected)


def test_runs_of_others_correct_what_has_none_of_its_own(session):
    """Only PPO is measured, one run as estimated and one at three times: SAC takes twice."""
    ppo, sac = of(session, "sb3-ppo"), of(session, "sb3-sac")
    longest = max(ppo.values())
    measured = [
        (max(ppo, key=ppo.__getitem__), longest),
        (max(ppo, key=ppo.__getitem__), 3 * longest),
    ]
    expected = 2 * 2 * (sum(ppo.values()) + sum(sac.values()))
    assert session.seconds_to_do(measured) == pytest.approx(expected)


def _write(session, cell, seconds, status="finished"):
    job = session.jobs(cell)[0]
    path = session.store.path(job)
    path.parent.mkdir(parents=True)
    record.write(
        path,
        {
            "schema": record.SCHEMA, "job": {**job.as_dict(), "key": job.key}, "key": job.key,
            "status": status, "failure": "" if status == "finished" else "NaN",
            "curve": [[100, [1.0]]], "final_return": 1.0, "episode_returns": [1.0], "steps": 100,
            "parameters_sha256": "0", "platform": {}, "time": {"wall_seconds": seconds},
        },
    )  # fmt: skip


def _cost(plan):
    """The line that says how long the session takes."""
    [line] = [line for line in plan_report.lines(plan, 2) if "core-minutes" in line]
    return line


def test_a_plan_goes_by_the_runs_that_are_done(session, tmp_path):
    """One run at four times the estimate: what is left is planned so, and the plan says why."""
    first = planning.plan(SELECTION, 2, str(tmp_path))
    assert "as fast as the stored runs; a busy or slower machine" in _cost(first)
    cell = session.cells[0]
    estimate = session.estimated_seconds(cell)
    _write(session, cell, 4 * estimate)
    _write(session, session.cells[1], 0.1, status="failed")
    then = planning.plan(SELECTION, 2, str(tmp_path))
    left = first.seconds - estimate - session.estimated_seconds(session.cells[1])
    assert (then.measured, then.seconds) == (1, pytest.approx(4 * left))
    assert "at the speed of the 1 runs that are done" in _cost(then)


def test_a_plan_of_a_decided_session_has_nothing_left_to_train(chosen, trained, tmp_path):
    """Its cells say so, its costs are those of other gates, and it is what sees a drop for less."""
    whole(chosen, tmp_path)
    done, _ = trained
    before = planning.plan(chosen, 0, str(tmp_path / "empty"), must_see=0.9)
    assert all("still" not in line for line in plan_report.lines(before, 1))
    assert not any(cell.decided for cell in before.cells)
    then = planning.plan(chosen, 0, str(tmp_path), must_see=0.9)
    runs = Counter(cell for cell, _ in done)
    assert {cell.name: cell.done for cell in then.cells} == runs
    shown = plan_report.lines(then, 1)
    for cell in then.cells:
        assert f"  {cell.name}: decided ({runs[cell.name]} runs done)" in shown
    sequential, five, ten, _ = then.gates
    assert (sequential.left, sequential.most_left) == (five.left, five.most_left) == (0, 0)
    seconds = {cell.name: cell.seconds for cell in then.cells}
    assert ten.left == pytest.approx(sum((10 - n) * seconds[c] for c, n in runs.items() if n < 10))
    assert then.wanted[-1].gate == sequential
    assert shown[-1].endswith("sequential sees it for the least: its runs are done")


def test_a_plan_counts_what_is_done_of_what_it_costs(chosen, trained, tmp_path):
    """Ended after four of fifteen runs: those of the first look that are left, and the rest."""
    _, dial = trained
    dial["left"] = 4
    with pytest.raises(Ended):
        whole(chosen, tmp_path)
    planned = planning.plan(chosen, 0, str(tmp_path))
    assert sum(cell.done for cell in planned.cells) == 4
    assert not any(cell.decided for cell in planned.cells)
    gate, seconds = planned.gates[0], {cell.name: cell.seconds for cell in planned.cells}
    trained_so_far = sum(cell.done * seconds[cell.name] for cell in planned.cells)
    assert gate.most - gate.most_left == pytest.approx(trained_so_far)
    assert gate.expected - gate.left == pytest.approx(trained_so_far)
    [line] = [line for line in plan_report.lines(planned, 1) if "still to train, at most" in line]
    assert line.split()[-4] == f"{gate.most_left / 60:.1f}"


GATE = "next: rlregress gate --budget short --framework sb3 --algorithm ppo"


@pytest.mark.parametrize(
    ("options", "following"),
    [
        ([], GATE),
        (["--fixed", "--environment", "Hopper-v4"], f"{GATE} --environment Hopper-v4 --fixed"),
        (["--must-see", "20%"], f"{GATE} --seeds 5"),
    ],
)
def test_a_plan_ends_in_the_gate_that_it_plans(command, options, following):
    """With the options that it was asked with, or with those of the cheapest gate that sees it."""
    code, output, _ = command("plan", "--framework", "sb3", "--algorithm", "ppo", *options)
    assert (code, output.splitlines()[-1]) == (0, following)


def test_a_plan_that_proposes_two_gates_names_both(command):
    """One for a drop in any cell, another for one in common, each with what it sees."""
    arguments = ["plan", "--framework", "sb3", "--must-see", "20%"]
    code, output, _ = command(*arguments)
    (any_one, alone), (common, together) = [
        line.removeprefix("next: ").rsplit(": ", 1) for line in output.splitlines()[-2:]
    ]
    assert code == 0
    assert any_one.startswith("a drop of 20% in any one cell")
    assert common.startswith("a drop of 20% that the cells of a group have in common")
    assert alone == "rlregress gate --budget short --framework sb3"
    assert together == f"{alone} --seeds 5"


def test_a_plan_proposes_no_gate_that_does_not_see_what_it_must(command):
    """It ends in what is missing; a study is nothing for a gate on one machine."""
    _, output, _ = command("plan", "--framework", "sb3", "--algorithm", "ppo", "--must-see", "5.1%")
    assert "next:" not in output
    _, output, _ = command("plan", "--cells", "thesis", "--framework", "sb3", "--algorithm", "ppo")
    assert output.splitlines()[-1].startswith(
        "next: rlregress launch --budget full --framework sb3 --algorithm ppo"
    )


def test_only_what_was_trained_now_is_measured():
    """A run that was in the store already, and one that failed, do not tell how long runs take."""
    records = {
        "trained": ("finished", 61.5),
        "kept": ("finished", 0.02),
        "failed": ("failed", 61.5),
    }
    entries = [
        {"seconds": seconds, "record": {"cell": id, "status": status, "time": {"wall_seconds": 60}}}
        for id, (status, seconds) in records.items()
    ]
    assert evidence.measured([*entries, {"seconds": 1.0}]) == [("trained", 61.5)]
