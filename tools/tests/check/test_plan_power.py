"""A plan states what each gate would detect, how long it takes, and the cheapest one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rlregress.check import cell_selection
from rlregress.check.judging import train_and_judge_session
from rlregress.check.schedule import bound_makespan_from_below, compute_makespan, predict_makespan
from rlregress.model.quantities import format_percent
from rlregress.report import plan_text

from .working import open_stored, plan, with_three_runs


@pytest.mark.usefixtures("trained")
def test_a_plan_compares_gates_and_proposes_the_cheapest(stored_selection, tmp_path):
    """A drop that all see is left to the cheapest gate; one that none sees says what lacks."""
    planned = plan(stored_selection, tmp_path, must_detect=1.0)
    gates = {gate.name: gate for gate in planned.gates}
    assert list(gates) == ["sequential", "--seeds 5", "--seeds 10", "--seeds 20"]
    sequential, many = gates["sequential"], gates["--seeds 20"]
    assert sequential.chosen
    assert sequential.expected < 0.5 * many.expected
    assert sequential.most == many.most
    for name, drop in sequential.groups.items():
        assert many.groups[name] <= drop < gates["--seeds 5"].groups[name]
    common = planned.wanted[-1]
    assert common.gate is min(planned.gates, key=lambda gate: gate.expected)
    for proposal in plan(stored_selection, tmp_path, must_detect=0.051).wanted:
        assert proposal.gate is None
        assert proposal.missing
        for sentence in proposal.missing.values():
            assert "about" in sentence or "not even" in sentence


def test_a_gate_detects_the_drop_in_its_table(stored_selection, tmp_path):
    """The requested drop is compared with the percentage in the table."""
    planned = plan(stored_selection, tmp_path)
    drops = [drop for gate in planned.gates for drop in gate.groups.values() if drop]
    shown_drops = {float(format_percent(drop).removesuffix("%")) / 100: drop for drop in drops}
    assert any(share < drop for share, drop in shown_drops.items()), "no drop was rounded down"
    for share, drop in shown_drops.items():
        seeing = [gate for gate in planned.gates if drop in gate.groups.values()]
        (_, common) = plan(stored_selection, tmp_path, must_detect=share).wanted
        assert common.gate is not None
        assert common.gate.expected <= min(gate.expected for gate in seeing)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"budget": "full", "cells": "thesis", "hyperparameters": "original"}, 8),
        ({"budget": "smoke"}, 1),
    ],
)
def test_power_is_unknown_without_stored_runs(tmp_path, options, count):
    """The proposal says how many cells it is about, and that it would need stored runs."""
    requested = cell_selection.Selection(frameworks=["sb3"], algorithms=["ppo"], **options)
    planned = plan(requested, tmp_path, must_detect=0.125)
    line = plan_text.describe_plan(planned, 1)[-1]
    drop = f"a drop of 12.5% in any one of {count} cells"
    assert line.startswith(f"{drop}: what a check detects is not ")
    assert "none of these cells has any" in line


def test_plan_and_check_agree_on_power_where_a_cell_is_not_tested(
    trained, tmp_path, with_stored_critics
):
    """A cell that no three runs could reject is not counted; ``--seeds 3`` needs no reason."""
    _, dial = trained
    dial["worse"] = 0.0
    cells = with_stored_critics
    with_three_runs(cells[0])
    selection = cell_selection.Selection("short", cells=",".join(cell.id for cell in cells))
    planned = plan(selection, tmp_path, 3)
    [gate] = [gate for gate in planned.gates if gate.chosen]
    verdicts = train_and_judge_session(open_stored(selection, tmp_path, 3))
    detectable = {name: verdict.visible_fraction for name, verdict in verdicts.items()}
    assert detectable[cells[0].id] is None
    for name, drop in [*gate.cells.items(), *gate.groups.items()]:
        assert drop == (detectable[name] and pytest.approx(detectable[name])), name
    for name, factor in gate.critics.items():
        assert factor == (detectable[name] and pytest.approx(np.exp(detectable[name]))), name
    assert "one look" not in planned.description


@pytest.mark.parametrize(
    ("lengths", "workers", "seconds"),
    # Graham's example, where 6 is possible, and the longest last
    [([], 2, 0.0), ([5.0], 4, 5.0), ([3.0, 3.0, 2.0, 2.0, 2.0], 2, 7.0),
     ([2.0, 2.0, 2.0, 3.0, 3.0], 2, 7.0), ([1.0, 1.0, 1.0, 3.0], 2, 4.0),
     ([3.0, 1.0, 1.0, 1.0], 2, 3.0)],
)  # fmt: skip
def test_the_next_run_starts_on_the_first_free_worker(lengths, workers, seconds):
    """Runs start in their order, whatever their lengths."""
    assert compute_makespan(lengths, workers) == seconds


def test_no_order_is_faster_than_the_bound():
    """Longest first equals it; a prediction has the spread of recorded runs."""
    lengths = [7.0, 6.0, 5.0, 3.0, 2.0, 1.0]
    ends = [compute_makespan(order, 2) for order in itertools.permutations(lengths)]
    assert bound_makespan_from_below(lengths, 2) == min(ends) == 12.0
    assert compute_makespan(lengths, 2) == 12.0 < max(ends) == 15.0
    assert bound_makespan_from_below(lengths, 100) == 7.0
    prediction = predict_makespan([1.0, 1.0, 3.0, 1.0], [(1.0,)] * 4, 2)
    assert prediction.seconds == prediction.low == prediction.high == prediction.bound == 3.0
    ratios = (0.5, 1.5)
    alone = predict_makespan([100.0], [ratios], 1)
    many = predict_makespan([1.0] * 400, [ratios] * 400, 1)
    assert (alone.low, alone.high) == (50.0, 150.0)
    assert 340 < many.low < many.seconds < many.high < 460


@pytest.mark.parametrize("expected", [[], [3.0, 0.0]])
def test_nothing_is_predicted_of_a_run_that_nobody_knows(expected):
    """A length of 0 means that no stored run tells."""
    assert predict_makespan(expected, [(1.0,)] * len(expected), 2) is None
