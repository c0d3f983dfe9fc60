"""The simulation of a study: its runs, the orders that are compared, and how near they come."""

from __future__ import annotations

from statistics import mean

import pytest

from rlregress.gate.schedule import STARTUP_SECONDS
from tools.tests.simulations import simulate_launch


@pytest.fixture(scope="module")
def thesis() -> simulate_launch.Matrix:
    """The runs of the thesis, five of each cell."""
    return simulate_launch.matrix("thesis", 5)


def test_the_runs_are_those_of_the_study(thesis):
    """288 cells, five of each, none without a length, the first of every cell before the second."""
    assert len(thesis.cells) == len(thesis.expected) == len(thesis.spreads) == 1440
    assert len(set(thesis.cells[:288])) == 288
    assert thesis.cells[288:576] == thesis.cells[:288]
    assert min(thesis.expected) > 600 + STARTUP_SECONDS


def test_every_order_does_every_run_once(thesis):
    """Arrays of Slurm keep those together that need the same time, the longest first."""
    every = simulate_launch.orders(thesis)
    for order in every.values():
        assert sorted(order(simulate_launch.np.random.default_rng(0))) == list(range(1440))
    arrays = simulate_launch.as_arrays(thesis, simulate_launch.slurm_arrays.USUAL_ARRAY_SIZE)
    lengths = [thesis.expected[number] for number in arrays]
    assert lengths[0] == max(lengths)
    assert lengths != sorted(lengths, reverse=True)
    longest = simulate_launch.longest_first(thesis)
    assert [thesis.expected[n] for n in longest] == sorted(thesis.expected, reverse=True)


def test_longest_first_ends_near_the_bound(thesis):
    """On 24, 256 and 4096 workers; as listed and at random runs end later.

    How near depends on the stored runs: with fewer than six runs a worker a tenth is left over.
    """
    for workers, most, gain in ((24, 1.01, 0.005), (256, 1.15, 0.05), (4096, 1.01, 0.0)):
        found = simulate_launch.ratios(thesis, workers, 3)
        for name in ("longest first", "Slurm arrays", simulate_launch.TIGHTER):
            assert 1.0 <= mean(found[name]) <= most, (workers, name)
        for name in ("as listed", "random"):
            assert min(found[name]) >= max(found["longest first"]) + gain, (workers, name)


def test_it_prints_a_table(capsys):
    """One line for each number of runs and workers, with what bounds it."""
    simulate_launch.main(["--seeds", "1", "--workers", "24", "4096", "--draws", "2"])
    head, _, few, many = capsys.readouterr().out.splitlines()
    assert head.count("|") == few.count("|") == many.count("|") == 11
    assert few.startswith("| 288 |")
    assert "| all runs |" in few
    assert "| the longest run | 1.000 (1.000) |" in many
