"""The runs of a cell are described beside their verdict."""

from __future__ import annotations

import math

import pytest

from rlregress.model.cells import CellRuns, ReportedRun
from rlregress.report import descriptive_text

CELL = "sb3-ppo-Hopper-v4-short"
VERDICT = {"stored_mean": 200.0, "new_seeds": 3, "scale": 200.0}


def runs(*returns: float, first: int = 1000) -> tuple[ReportedRun, ...]:
    """Return runs with these returns, which their training episodes double; nan: it failed."""
    return tuple(
        ReportedRun(seed=seed, numbers={"returns": value, "training": 2 * value})
        for seed, value in enumerate(returns, start=first)
    )


STORED = runs(190, 200, 210, first=0)


def test_the_range_is_that_of_the_runs_that_were_judged():
    """The range covers stored runs and the first three new runs, in evaluation and training."""
    cell_runs = CellRuns(stored=STORED, new=runs(180, 195, 205, 900))
    text, later = descriptive_text.describe_distribution(CELL, VERDICT, cell_runs)
    assert text == ("descriptive: stored runs between 190 and 210, new runs between 180 and 205")
    assert later == (
        "not judged here: 1 later run, trained for other verdicts on this cell; the mean of all 4 "
        "is 370 (+85%)"
    )
    training, _ = descriptive_text.describe_distribution(f"{CELL} training", VERDICT, cell_runs)
    assert training.endswith("stored runs between 380 and 420, new runs between 360 and 410")
    new = [ReportedRun(seed=seed, numbers={"critic": -1.0}) for seed in range(2)]
    critic = {"stored_mean": 0.0, "new_seeds": 1, "scale": 1.0}
    cell_runs = CellRuns(stored=(), new=new)
    (later,) = descriptive_text.describe_distribution(f"{CELL} critic", critic, cell_runs)
    assert later.endswith("on this cell; of all 2 the error is x2.72")


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        ((180, math.nan, 205), "new runs between 180 and 205 (1 failed, each counts as the worst"),
        ((math.nan,) * 3, "no new run with a return (3 failed, each counts as the worst"),
    ],
)
def test_failed_runs_are_reported_beside_the_range(returns, message):
    """They count as the worst return in the mean, which so may lie outside of the range."""
    cell_runs = CellRuns(stored=STORED, new=runs(*returns))
    (line,) = descriptive_text.describe_distribution(CELL, VERDICT, cell_runs)
    assert f"stored runs between 190 and 210, {message} return of the environment)" in line


def test_the_mean_of_all_is_left_out_where_a_later_run_has_no_number():
    """A run that failed counts as the worst in the mean above, and could not in this one."""
    cell_runs = CellRuns(stored=STORED, new=runs(180, 195, 205, math.nan, 200))
    _, later = descriptive_text.describe_distribution(CELL, VERDICT, cell_runs)
    assert later == "not judged here: 2 later runs, trained for other verdicts on this cell"


def test_a_published_band_has_no_range():
    """No runs are stored where a band judges."""
    band = {"adjusted_p": 1.0, "effect": 3.0, "new_seeds": 5}
    runs_of_cell = CellRuns(stored=STORED, new=runs(1, 2, 3))
    assert descriptive_text.describe_distribution(CELL, band, runs_of_cell) == []


def test_runs_that_are_not_known_have_no_range():
    """Only the verdict's own description is shown."""
    fields = {**VERDICT, "improvement": 0.5, "stored_middle": 200.0, "new_middle": 201.0}
    (line,) = descriptive_text.describe_distribution(CELL, fields, None)
    assert line.startswith("descriptive: interquartile mean 200 -> 201; a new run is better")
