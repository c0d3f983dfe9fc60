"""The length of a session is estimated from stored runs, corrected by measurements."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rlregress import suite
from rlregress.check.cell_selection import Selection
from rlregress.model.quantities import format_percent
from rlregress.report import plan_text
from tools.tests.nightly import every

from .working import open_stored, plan, run_whole_session

CELLS = "sb3-ppo-Hopper-v4-short,sb3-ppo-HalfCheetah-v4-short,sb3-sac-Hopper-v4-short"
SELECTION = Selection("short", frameworks=("sb3",), cells=CELLS)


pytestmark = pytest.mark.usefixtures("uncollected_tests")


@pytest.fixture(autouse=True)
def no_runs_of_this_checkout(tmp_path, monkeypatch):
    """A plan without --store counts the runs of an empty folder, not those of an earlier gate."""
    monkeypatch.setattr(suite, "locate_checkout_or_current_folder", lambda: tmp_path)


@pytest.fixture
def session(tmp_path):
    """Return two runs each of two cells of PPO and one of SAC, none of them done."""
    return open_stored(SELECTION, tmp_path, 2)


def list_group_cells(session, group):
    """Return the cells of a group, with the estimate of one run."""
    return {c.id: session.estimate_seconds_of_cell(c) for c in session.cells if c.group == group}


def sum_seconds_of_remaining_runs(session, measured):
    """Return the seconds of the two runs of every cell."""
    return sum(seconds for _, seconds in session.estimate_remaining_runs(measured))


def test_runs_that_were_measured_correct_the_estimate(session):
    """Each algorithm by its own runs, one without any by the others'; else stored ones tell."""
    estimates = list_group_cells(session, "sb3-ppo") | list_group_cells(session, "sb3-sac")
    assert len(estimates) == 3
    assert min(estimates.values()) > 0
    expected = 2 * sum(estimates.values())
    assert sum_seconds_of_remaining_runs(session, []) == pytest.approx(expected)
    ppo, sac = list_group_cells(session, "sb3-ppo"), list_group_cells(session, "sb3-sac")
    ppo_run, [(sac_id, seconds)] = next(iter(ppo.items())), sac.items()
    measured = [(ppo_run[0], 3 * ppo_run[1]), (sac_id, 2 * seconds)]
    expected = 2 * (3 * sum(ppo.values()) + 2 * seconds)
    assert sum_seconds_of_remaining_runs(session, measured) == pytest.approx(expected)
    ppo, sac = list_group_cells(session, "sb3-ppo"), list_group_cells(session, "sb3-sac")
    longest = max(ppo, key=ppo.__getitem__)
    measured = [(longest, ppo[longest]), (longest, 3 * ppo[longest])]
    expected = 2 * 2 * (sum(ppo.values()) + sum(sac.values()))
    assert sum_seconds_of_remaining_runs(session, measured) == pytest.approx(expected)


def test_a_plan_of_a_decided_session_has_nothing_left_to_train(stored_selection, trained, tmp_path):
    """Its cells say so, a gate would only judge, and it is its own that is proposed."""
    before = plan(stored_selection, tmp_path, must_detect=0.9)
    assert (before.begun, before.wanted[-1].gate.name) == (False, "--seeds 5")
    run_whole_session(stored_selection, tmp_path)
    done, _ = trained
    runs = Counter(cell for cell, _ in done)
    then = plan(stored_selection, tmp_path, must_detect=0.9)
    text = plan_text.describe_plan(then, 1)
    assert {cell.name: cell.done for cell in then.cells} == runs
    for cell in then.cells:
        assert f"  {cell.name}: decided ({runs[cell.name]} runs done)" in text
    assert "every cell is decided: a check trains no more, and judges" in text
    assert not any("core-minutes" in line or "makespan" in line for line in text)
    assert text[-1].endswith(": sequential, which has begun, detects it")
    brief = plan_text.describe_plan_briefly(then, 1, 120.0)[0]
    assert brief == "2 minutes here with one process: 2 minutes for tests, no trainings."


def test_a_brief_plan_tells_tests_evaluations_and_trainings_apart(session, tmp_path):
    """The smaller drop may be of training returns alone; each is that of the gate's table."""
    planned = plan(SELECTION, tmp_path, 2)
    for tests, minutes in ((1.0, "less than a minute"), (60.0, "1 minute"), (300.0, "5 minutes")):
        first = plan_text.describe_plan_briefly(planned, 1, tests)[0]
        assert re.search(rf" with one process: {minutes} for tests, \d+ minutes for tra", first)
    planned = plan(SELECTION, tmp_path, 2)
    (gate,) = [gate for gate in planned.gates if gate.chosen]
    either, alone = planned.detects["sb3"]["ppo"]
    drops = {name: drop for name, drop in {**gate.cells, **gate.groups}.items() if drop}
    assert either == min(drops.values())
    assert alone == min(drop for name, drop in drops.items() if not name.endswith("training"))
    line = plan_text.describe_plan_briefly(planned, 1, 60.0)[-1]
    assert line.startswith(f"  sb3: ppo {format_percent(either)} ({format_percent(alone)})")


@pytest.mark.parametrize(("looks", "until"), every(3, [(1, 10), (0, 5), (2, 20)]))
def test_a_plan_counts_the_runs_of_the_next_look(stored_selection, trained, tmp_path, looks, until):
    """The plan counts the missing runs of the next look of each undecided cell."""
    _, dial = trained
    # a loss that the group is long in doubt about
    dial["loss"] = 0.3
    session = open_stored(stored_selection, tmp_path)
    before = (0, 5, 10)[looks]
    for cell in session.cells:
        for job in session.list_jobs_of_cell(cell)[:before]:
            session.run_or_read_job(job)
    cells = plan(stored_selection, tmp_path).cells
    open_ = [cell for cell in cells if not cell.is_decided]
    assert len(open_) > 1
    # the last one of the next look, as another process may have done it first
    cell = next(cell for cell in session.cells if cell.id == open_[0].name)
    session.run_or_read_job(session.list_jobs_of_cell(cell)[until - 1])
    planned = plan(stored_selection, tmp_path)
    text = plan_text.describe_plan(planned, 1)
    remaining = {cell.name: until - before for cell in open_}
    remaining[open_[0].name] -= 1
    (done,) = [cell_plan.done for cell_plan in planned.cells if cell_plan.name == cell.id]
    assert done == before + 1
    for cell_plan in planned.cells:
        ending = f", {20 - until} more if it is not decided by them" if until < 20 else ""
        if cell_plan.name in remaining:
            assert (cell_plan.until, cell_plan.undone) == (until, remaining[cell_plan.name])
            beginning = f"  {cell_plan.name}: {cell_plan.undone} of {until} runs to do{ending}"
            beginning += f", {cell_plan.seconds:.0f} CPU"
            assert any(line.startswith(beginning) for line in text)
    assert any(line.startswith(f"of the {'next' if looks else 'first'} look ") for line in text)


GATE = "next: rlregress check --budget short --framework sb3 --algorithm ppo"


@pytest.mark.parametrize(
    ("options", "following"),
    every(3, [(["--single-look", "--environment", "Hopper-v4"],
               f"{GATE} --environment Hopper-v4 --single-look"),
              (["--must-detect", "20%"], f"{GATE} --seeds 5"), ([], GATE)]),
)  # fmt: skip
def test_a_plan_ends_in_the_check_that_it_plans(command, options, following):
    """The last line repeats the options, or those of the cheapest sufficient gate."""
    code, output, _ = command("plan", "--framework", "sb3", "--algorithm", "ppo", *options)
    assert (code, output.splitlines()[-1]) == (0, following)
