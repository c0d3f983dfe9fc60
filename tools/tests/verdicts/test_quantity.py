"""Critics beside returns: one family with stated shares, the same looks, words of their own."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

from rlregress.evidence import convert_to_plain_data
from rlregress.inside import critic
from rlregress.model import quantities
from rlregress.model.quantities import CRITIC, DIAGNOSTICS, RETURNS, TRAINING
from rlregress.report import words
from rlregress.verdicts.family import adjust_by_holm, adjust_by_holm_with_names
from rlregress.verdicts.looks import make_single_look
from rlregress.verdicts.permutation import compute_permutation_p_values
from rlregress.verdicts.power import estimate_smallest_drop
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import take_possible_looks
from tools.tests.nightly import every
from tools.tests.simulations import simulate_gates
from tools.tests.simulations.simulate_gates import NOTHING, Change, draw_secondary, draw_session
from tools.tests.verdicts.three_looks import LOOKS, healthy, verdicts_at


def numbers(seed, size, factor=1.0):
    """Return numbers of critics whose errors are about 1.1 times ``factor`` [size]."""
    return np.random.default_rng(seed).normal(-np.log(1.1 * factor), 0.1, size)


def critic_sample(stored, new, group=""):
    """Return the sample of a cell's critics."""
    return CellSample(stored, new, group=group, quantity=CRITIC)


def session(change, loss, growth, correlation, seeds=(3, 5, 7)):
    """Return a simulated session of one group, and what the simulation decides of it."""
    rng = np.random.default_rng(13)
    stored, new = draw_session(rng, 1, 1, 8, 7, change)
    samples = {RETURNS: (stored, new)}
    for quantity, by in ((TRAINING, loss), (CRITIC, math.log(growth))):
        samples[quantity] = draw_secondary(rng, stored, new, quantity, correlation, by)
    evidence = simulate_gates.join_evidence([
        simulate_gates.evidence_of(*numbers, seeds, rng, name) for name, numbers in samples.items()
    ])  # fmt: skip
    looks = dataclasses.replace(LOOKS, run_counts=seeds)
    judged = simulate_gates.judge_sessions(evidence, looks, quantities=tuple(samples))
    return samples, judged, looks


@pytest.mark.parametrize(
    ("change", "loss", "growth"),
    every(3, [(Change(0.4), 0.3, 1.3), (NOTHING, 0.0, 1.0), (Change(collapsed=0.5), 0.0, 1.0)]),
)
def test_the_simulation_of_all_numbers_decides_as_the_check_does(change, loss, growth):
    """Decisions and runs of the vectorised simulation are those of judge_cells."""
    samples, judged, looks = session(change, loss, growth, 0.5)
    cells = {
        quantity.make_verdict_name(str(e)): CellSample(
            stored[0, 0, e], new[0, 0, e], group=quantity.make_verdict_name("g"), quantity=quantity
        )
        for quantity, (stored, new) in samples.items()
        for e in range(8)
    }
    result = verdicts_at(cells, looks)
    for row, quantity in enumerate(samples):
        group = result.groups[quantity.make_verdict_name("g")].verdict
        assert (group == "regressed") == judged.group_drop[0, row]
        for e in range(8):
            verdict = result.cells[quantity.make_verdict_name(str(e))].verdict
            assert (verdict == "regressed") == judged.cell_drop[0, row, e]
            assert (verdict == "improved") == judged.cell_gain[0, row, e]
    for e in range(8):
        used = max(
            result.cells[quantity.make_verdict_name(str(e))].new_seeds for quantity in samples
        )
        assert used == judged.runs[0, 0, e]


def cell_and_critic(factor, new=20, mean=1000.0):
    """Return an unchanged cell, and its critic whose error has grown by ``factor``."""
    return {
        "cell": CellSample(healthy(1, 20), healthy(2, new, mean)),
        "cell critic": critic_sample(numbers(3, 20), numbers(4, new, factor)),
    }


@pytest.mark.parametrize(
    ("factor", "mean", "cell_verdict", "critic_verdict"),
    [(2.0, 1000.0, "holds", "regressed"), (1.0, 500.0, "regressed", "holds"),
     (0.5, 1000.0, "holds", "improved")],
)  # fmt: skip
def test_a_cell_and_its_critic_have_their_own_verdicts(factor, mean, cell_verdict, critic_verdict):
    """An error twice as large regresses the critic alone, half of the return the cell alone."""
    cell, critic = verdicts_at(cell_and_critic(factor, mean=mean)).cells.values()
    assert (cell.verdict, critic.verdict) == (cell_verdict, critic_verdict)
    assert (cell.quantity, critic.quantity) == ("returns", "critic")
    assert "critic" not in cell.reason
    if critic_verdict == "regressed":
        assert "the critic's error is 1.9" in critic.reason
        assert "this is the critic, not the return" in critic.reason


def test_the_effect_of_a_critic_is_the_logarithm_of_a_factor():
    """No growth beyond the largest error is detectable."""
    wide = critic_sample(numbers(1, 20) - 3.0, numbers(2, 20, 2.0) - 3.0)
    result = verdicts_at({"cell critic": wide}).cells["cell critic"]
    assert result.scale == 1.0
    assert np.exp(-result.effect_fraction) == pytest.approx(2.0, rel=0.1)
    assert result.interval[0] < result.effect < result.interval[1]
    assert quantities.LARGEST_ERROR == critic.LARGEST_ERROR
    spread = np.array([-0.6, -0.3, 0.0, 0.3, 0.6])
    for error, is_seen in ((0.1, True), (60.0, False)):
        cells = {f"{n} critic": critic_sample(spread - np.log(error), spread - np.log(error), "g")
                 for n in range(3)}  # fmt: skip
        verdicts = verdicts_at(cells, make_single_look(5))
        for quantity in [*verdicts.cells.values(), *verdicts.groups.values()]:
            assert (quantity.visible_fraction is not None) == is_seen
        assert all(quantity.verdict == "inconclusive" for quantity in verdicts.cells.values())


def test_holm_with_weights_and_both_directions_by_hand():
    """Levels that are shared by weight, and the p-value of a change."""
    # 0.01 / 0.8, 0.02 / 0.15, 0.01 / 0.05: sums of the weights left are 1, 0.2, 0.05
    adjusted = adjust_by_holm([0.02, 0.01, 0.01], [0.15, 0.8, 0.05])
    np.testing.assert_allclose(adjusted, [0.02 / 0.15 * 0.2, 0.01 / 0.8, 0.02 / 0.15 * 0.2])
    p = [0.02, 0.01, 0.01]
    np.testing.assert_allclose(adjust_by_holm(p, 7.0), adjust_by_holm(p))
    by_name = adjust_by_holm_with_names({"a": 0.01, "b": 0.04}, {"a": 4.0})
    assert by_name == {"a": pytest.approx(0.0125), "b": 0.04}
    cell = logged(1.38)
    rows = compute_permutation_p_values([cell.stored], [cell.new], np.random.default_rng(0))
    assert rows.exact
    result = verdicts_at({"cell entropy": cell}).cells["cell entropy"]
    assert result.p_gain == pytest.approx(min(1, 2 * min(rows.drop[0], rows.gain[0])))


def test_a_family_states_its_first_levels():
    """Two cells and their group at 0.8 / 3 of alpha each, one critic at 0.2 of it."""
    cells = {
        "a": CellSample(healthy(1, 10), healthy(2, 5), group="g"),
        "b": CellSample(healthy(3, 10), healthy(4, 5), group="g"),
        "a critic": critic_sample(numbers(5, 10), numbers(6, 5), "g critic"),
    }
    course = take_possible_looks(cells, dict.fromkeys(cells, make_single_look(5)), Rules())
    assert course.get_family_size_and_alpha(RETURNS) == (3, pytest.approx(0.04))
    assert course.get_family_size_and_alpha(CRITIC) == (1, pytest.approx(0.01))
    weights = course.compute_holm_weights(is_drop_family=True)
    level = {key: weight / sum(weights.values()) for key, weight in weights.items()}
    assert level["cell", "a"] == level["group", "g"] == pytest.approx(0.8 / 3)
    assert level["cell", "a critic"] == pytest.approx(0.2)
    result = verdicts_at(cells, make_single_look(5)).cells
    assert result["a"].hypotheses == result["a critic"].hypotheses == 4
    p = {key: verdicts_at(cells, make_single_look(5)).groups["g"].p_drop for key in weights}
    p |= {("cell", name): result[name].p_drop for name in cells}
    adjusted = adjust_by_holm(list(p.values()), [0.8 / 3 if k[1] != "a critic" else 0.2 for k in p])
    assert [course.adjusted_drop[key] for key in p] == pytest.approx(adjusted)
    critic = result["a critic"]
    drop = estimate_smallest_drop(10, make_single_look(5), 1, 0.05 * 0.2).drop
    assert critic.visible_drop == pytest.approx(drop * critic.stored_sd)


def test_an_undecided_critic_asks_for_the_next_runs_of_its_cell():
    """The cell is accepted after five runs; a critic that is worse by half a deviation goes on."""
    cells = cell_and_critic(1.08, new=5)
    course = take_possible_looks(cells, dict.fromkeys(cells, LOOKS), Rules())
    assert course.needed == {"cell critic": 10}
    assert course.undecided == {"cell critic"}
    unchanged = cell_and_critic(1.0, new=5)
    assert not take_possible_looks(unchanged, dict.fromkeys(unchanged, LOOKS), Rules()).needed


def test_runs_without_a_number_are_evidence_for_nothing():
    """One in five counts as the mean of the others; with more, the critic cannot hold."""
    stored, new = numbers(1, 20), numbers(2, 5)
    few, many = (
        verdicts_at(
            {"cell critic": critic_sample(stored, np.where(np.arange(5) < missing, np.nan, new))},
            make_single_look(5),
        ).cells["cell critic"]
        for missing in (1, 2)
    )
    assert (few.verdict, few.new_mean) == ("holds", pytest.approx(new[1:].mean()))
    assert (many.verdict, many.visible_fraction) == ("inconclusive", None)
    assert "2 of 5 new runs have no critic that can be compared" in many.reason
    assert "80 % power" not in many.reason


def test_a_factor_is_that_of_the_runs_that_have_a_number():
    """Two of five new runs without one, the others three times as wrong: x3, and no power."""
    stored, new = numbers(1, 20), numbers(2, 5, 3.0)
    new[:2] = np.nan
    cells = {f"{n} critic": critic_sample(stored + n / 100, new + n / 100, "g") for n in range(2)}
    verdicts = verdicts_at(cells, make_single_look(5))
    factor = np.exp(stored.mean() - new[2:].mean())
    for quantity in [*verdicts.cells.values(), *verdicts.groups.values()]:
        assert quantity.verdict == "regressed"
        assert np.exp(-quantity.effect_fraction) == pytest.approx(factor)
        assert f"{factor:.2f} times what it was" in quantity.reason
        assert quantity.interval[0] < quantity.effect_fraction < quantity.interval[1]
        assert quantity.visible_fraction is None


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_missing_critics_have_no_power():
    """The new error is a dash, and so is the factor; no power is stated, of cell or group."""
    none = np.full(5, np.nan)
    cells = {f"{n} critic": critic_sample(numbers(n, 20), none, "g critic") for n in range(2)}
    verdicts = verdicts_at(cells, make_single_look(5))
    for name, quantity in {**verdicts.cells, **verdicts.groups}.items():
        assert quantity.verdict == "inconclusive"
        text = words.format_verdict(name, convert_to_plain_data(quantity))
        assert not re.search(r"\d %? ?[a-z ]+ would be detected", text + quantity.reason)
        assert "would be detected with 80 % power" in text
        assert (
            ("error -;" in text)
            if "cells" in convert_to_plain_data(quantity)
            else (" -> - sd of " in text)
        )
        assert "no critic that can be compared" in quantity.reason


# -- diagnostics -------------------------------------------------------------------------------

ENTROPY = DIAGNOSTICS["entropy"]


def logged(mean, new=5, seed=5):
    """Entropies of stored runs about 1.4 nats, of new ones about ``mean``."""
    rng = np.random.default_rng(seed)
    samples = (rng.normal(1.4, 0.02, 20), rng.normal(mean, 0.02, new))
    return CellSample(*samples, group="g entropy", quantity=ENTROPY)


def with_entropy(mean, new=5):
    """Return a healthy cell and what its framework logs of the entropy."""
    return {"cell": CellSample(healthy(1, 20), healthy(2, new)), "cell entropy": logged(mean, new)}


@pytest.mark.parametrize("mean", [1.1, 1.7])
def test_a_diagnostic_moves_in_both_directions(mean):
    """Entropy lost or gained is moved, at the first look, while the return holds."""
    cell, entropy = verdicts_at(with_entropy(mean)).cells.values()
    assert (cell.verdict, entropy.verdict, entropy.looks) == ("holds", "moved", (5,))
    assert "entropy changed by" in entropy.reason
    assert np.isnan(entropy.adjusted_drop)


def test_a_diagnostic_asks_for_no_runs_and_costs_drops_nothing():
    """A small change of one holds."""
    cells = with_entropy(1.39)
    course = take_possible_looks(cells, dict.fromkeys(cells, LOOKS), Rules())
    assert not course.needed
    assert course.get_family_size_and_alpha(RETURNS) == (1, 0.05)
    assert course.get_family_size_and_alpha(ENTROPY) == (1, pytest.approx(0.05 * 0.25 / 1.05))
    alone = verdicts_at({"cell": cells["cell"]}).cells["cell"]
    assert verdicts_at(cells).cells["cell"].adjusted_drop == alone.adjusted_drop
    result = verdicts_at(with_entropy(1.36)).cells["cell entropy"]
    assert result.verdict == "holds"
    assert "the smallest change detected with 80 % power is a change of" in result.reason
