"""The sequential gate: what each look decides, what it waits for, and its error rates."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from rlregress.errors import UserError
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS, Looks, make_single_look
from rlregress.verdicts.missing import suggest_seeds_of_cell, suggest_seeds_of_group
from rlregress.verdicts.power import estimate_smallest_group_drop
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import take_possible_looks
from tools.tests.simulations import simulate_gates
from tools.tests.simulations.simulate_gates import NOTHING, draw_session, measure
from tools.tests.verdicts.three_looks import LOOKS, healthy, verdicts_at

#: looks whose permutations are few enough to be enumerated
SHORT = dataclasses.replace(LOOKS, run_counts=(3, 5, 7))


def course(cells, looks=LOOKS, **rules):
    """Return the decisions of the runs so far."""
    return take_possible_looks(cells, dict.fromkeys(cells, looks), Rules(**rules))


def until_decided(cells, looks=LOOKS):
    """Give every cell the block that it asks for, until nothing is asked for; the runs used."""
    so_far = {name: dataclasses.replace(cell, new=[]) for name, cell in cells.items()}
    while needed := course(so_far, looks).needed:
        for name, seeds in needed.items():
            so_far[name] = dataclasses.replace(so_far[name], new=cells[name].new[:seeds])
    return {name: len(cell.new) for name, cell in so_far.items()}, verdicts_at(so_far, looks)


def group_of(size, mean=1000.0, factor=1.0, stored=20):
    """Return so many cells of one group, with another mean of the new runs, or a share of it."""
    return {
        f"c{i}": CellSample(healthy(i, stored), factor * healthy(60 + i, 20, mean), group="g")
        for i in range(size)
    }


def test_the_error_is_spent_once():
    """The weights of the looks sum to 1, and P is the least p over its weight."""
    assert sum(LOOKS.weights) == pytest.approx(1.0)
    assert LOOKS.combine_p_values_of_looks([0.02]) == pytest.approx(0.2)
    assert LOOKS.combine_p_values_of_looks([0.02, 0.01, 0.5]) == pytest.approx(0.05)
    assert make_single_look(5).combine_p_values_of_looks([0.02]) == pytest.approx(0.02)


def test_a_cell_gets_runs_until_it_is_decided():
    """A healthy one three, a ruined one six, a doubtful one more."""
    cells = {"healthy": CellSample(healthy(1, 20, sd=300.0), healthy(2, 20, sd=300.0))}
    cells["ruined"] = CellSample(healthy(3, 20), healthy(4, 20, 500.0))
    used, result = until_decided(cells, SEQUENTIAL_LOOKS)
    assert used == {"healthy": 3, "ruined": 6}
    assert SEQUENTIAL_LOOKS.run_counts[:2] == (3, 6)
    verdicts = {name: (verdict.verdict, verdict.look) for name, verdict in result.cells.items()}
    assert verdicts == {"healthy": ("holds", 1), "ruined": ("regressed", 2)}
    alone = Looks(SEQUENTIAL_LOOKS.run_counts[:1], SEQUENTIAL_LOOKS.weights[:1])
    assert not alone.could_reject_at_level(20, 0.05)
    cells = {f"c{i}": CellSample(healthy(i, 20), healthy(60 + i, 20)) for i in range(8)}
    cells["drop"] = CellSample(healthy(40, 20), healthy(42, 20, 900.0))
    used, result = until_decided(cells)
    assert used["drop"] == 20
    drop = result.cells["drop"]
    assert (drop.verdict, drop.look, min(used.values())) == ("regressed", 3, 5)


def test_a_look_waits_for_whole_blocks():
    """Runs beyond it are ignored; an improvement is judged at the first only."""
    cells = {
        "a": CellSample(healthy(1, 20), healthy(2, 4)),
        "b": CellSample(healthy(3, 20), healthy(4, 5)),
    }
    waiting = course(cells)
    assert (waiting.needed, waiting.look) == ({"a": 5}, 0)
    assert waiting.undecided == {"a", "b"}
    with pytest.raises(UserError, match="a has 4 of 5 new runs"):
        verdicts_at(cells)
    stored, new = healthy(1, 20), healthy(2, 20)
    first = verdicts_at({"cell": CellSample(stored, new[:5])})
    ruined = np.concatenate([new[:5], np.zeros(15)])
    assert verdicts_at({"cell": CellSample(stored, ruined)}) == first
    later = np.concatenate([healthy(2, 5, 900.0), healthy(3, 15, 1500.0)])
    for new, runs, verdict in ((healthy(2, 20, 1500.0), 5, "improved"), (later, 10, "holds")):
        used, result = until_decided({"cell": CellSample(healthy(1, 20), new)})
        assert (used["cell"], result.cells["cell"].verdict) == (runs, verdict)


def test_a_suspicious_group_goes_on_as_a_whole():
    """It detects a common drop."""
    cells = group_of(6, 930.0)
    alone = {name: dataclasses.replace(cell, group="") for name, cell in cells.items()}
    grouped, separate = course(cells), course(alone)
    assert all(grouped.count_looks_taken(name) > 1 for name in cells)
    assert any(separate.count_looks_taken(name) == 1 for name in cells)
    group = verdicts_at(group_of(8, factor=0.9)).groups["g"]
    assert group.verdict == "regressed"
    assert group.interval[0] < group.effect_fraction < group.interval[1] < 0
    assert group.new_seeds == 8 * LOOKS.run_counts[group.look - 1]


def test_inconclusive_says_how_many_seeds_would_decide():
    """A wide law names the stored or new seeds that see a drop of half, and they do see it."""
    stored = healthy(1, 10, sd=900.0)
    cells = {"cell": CellSample(stored, healthy(2, 20, sd=900.0))}
    verdict = verdicts_at(cells).cells["cell"]
    assert verdict.verdict == "inconclusive"
    assert "to detect a drop of 50%: about" in verdict.reason
    assert suggest_seeds_of_cell(stored, LOOKS, 1, 0.05, 0.5) in verdict.reason
    few = suggest_seeds_of_cell(healthy(1, 10, sd=3000.0), LOOKS, 100, 0.05, 0.06)
    assert few == "not even 500 stored and new seeds would detect a drop of 6%"


def test_seeds_of_a_group_are_those_that_its_power_takes():
    """Far beyond the floor a group's drop shrinks with the root of the seeds, floor or not."""

    def detects(seeds):
        return estimate_smallest_group_drop(
            [seeds] * 2, make_single_look(seeds), [0.25] * 2, 3, floor=0.05
        )

    now = estimate_smallest_group_drop([20] * 2, SEQUENTIAL_LOOKS, [0.25] * 2, 3, floor=0.05)
    text = suggest_seeds_of_group(20, [0.25] * 2, SEQUENTIAL_LOOKS, now, 0.1)
    named = int(text.split("about ")[1].split()[0])
    assert detects(named) <= 0.1 < detects(named // 3)


def test_nothing_changed_rings_in_at_most_five_per_cent_of_the_sessions():
    """False alarms of 16 cells stay at alpha, with three looks as with one; single tests do not."""
    gates = 200
    single = make_single_look(5)
    same, at_once = measure(16, 10, [SEQUENTIAL_LOOKS, single], NOTHING, gates)
    for result in (same, at_once):
        assert result.false_alarm[0] < 0.05 + 3 * math.sqrt(0.05 * 0.95 / gates)
    assert 3 < same.runs[0] < 4.5
    # the control: three looks, each with the whole error
    greedy = Looks(SEQUENTIAL_LOOKS.run_counts, (1.0, 1.0, 1.0), (1.0, 1.0), (1.0, 1.0))
    rng = np.random.default_rng(14)
    stored, new = draw_session(rng, gates, 1, 10, SEQUENTIAL_LOOKS.max_runs)
    p = simulate_gates.evidence_of(stored, new, greedy.run_counts, rng).drop.min(axis=0)
    assert (p < 0.05).any(axis=(1, 2)).mean() > 0.3


def test_the_simulation_command_prints_the_table(capsys):
    """One row per size and gate; each share with its Monte Carlo error."""
    simulate_gates.main(
        ["--cells", "8", "--stored", "5", "--new", "5", "--gates", "4", "--drop-gates", "2"]
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[3] for line in lines[2:]] == ["sequential", "fixed 5"]
    assert all(line.count("±") == 10 for line in lines[2:])
