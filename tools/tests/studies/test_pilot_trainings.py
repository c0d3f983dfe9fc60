"""A pilot study is read from the records of its trainings, with a fault and without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlregress.cli import pilot as pilot_command
from rlregress.errors import UserError
from rlregress.faults import fault_tables
from rlregress.inside import run_record
from rlregress.model.fault_results import RETURNS
from rlregress.studies.pilot import pilot_costs, pilot_trainings
from rlregress.studies.pilot.pilot_costs import MEASURES
from rlregress.training.cell import Cell, Job, Protocol

ONE, TWO = "sb3-ppo-One-v0-pilot", "sb3-ppo-Two-v0-pilot"


def write(folder, cell: str, seed: int, mean: float, **changes) -> None:
    """A finished run of ten evaluations that rise to ``mean``, of six CPU seconds each."""
    of_cell = Cell("sb3", "ppo", cell.split("-", 2)[2].removesuffix("-pilot"), "sb3", "pilot")
    job = Job(of_cell, seed, Protocol(10_000, 1000, 1), {}, {}, {})
    rng = np.random.default_rng([seed, int(mean)])
    rising = np.linspace(0.1, 1.0, 10) * mean + rng.normal(size=10)
    content = {
        "schema": run_record.SCHEMA, "job": {**job.as_dict(), "key": job.key}, "key": job.key,
        "status": "finished", "failure": "",
        "curve": [[1000 * (k + 1), [value]] for k, value in enumerate(rising.tolist())],
        "curve_cpu_seconds": [[6.0 * (k + 1), 0.6] for k in range(10)],
        "episodes": [[1000 * (k + 1), None if k == 3 else 5.0, 1000] for k in range(10)],
        "final_return": float(rising[-1]), "episode_returns": [], "steps": 10_000,
        "parameters_sha256": "0", "platform": {}, "time": {},
        "critic": {
            "states": 9, "bootstrapped": 0.0, "explained_variance": 0.5, "bias": 0.0, "mean": 1.0,
        }, **changes,
    }  # fmt: skip
    path = folder / cell / f"{seed:04d}-0.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    run_record.write(path, content)


@pytest.fixture
def store(tmp_path):
    """Six runs of two cells unchanged, and of one of them with a fault that halves the return."""
    for seed in range(6):
        write(tmp_path / pilot_trainings.UNCHANGED, ONE, seed, 100.0)
        write(tmp_path / pilot_trainings.UNCHANGED, TWO, seed, 40.0)
        write(tmp_path / "slower", ONE, seed, 50.0)
    return tmp_path


def test_every_cell_has_the_faults_that_were_trained_in_it(store):
    """A cell without runs of a fault is priced by a common drop alone."""
    studied = dict(pilot_trainings.study(store))
    assert list(studied) == [ONE, TWO]
    best = studied[ONE][0]
    assert list(best.faults) == ["slower"]
    assert best.measure in ("final", "late", "area")
    assert 2 <= best.faults["slower"] / best.minutes <= 5  # a few runs of those minutes
    assert studied[TWO][0].faults == {}


def test_a_run_that_failed_is_left_out(store):
    """What it would count as depends on the environment's worst return, which a study lacks."""
    write(store / "slower", ONE, 9, 50.0, status="failed", failure="NaN", final_return=None)
    assert len(pilot_trainings.curves(store / "slower", {})[ONE]) == 6


def test_a_damaged_record_is_named(store):
    """A record that is not what its seal says ends the study with a sentence."""
    path = next((store / "slower" / ONE).glob("*.json"))
    path.write_text(path.read_text().replace("finished", "Finished"))
    with pytest.raises(UserError, match=f"{path.name} is damaged"):
        list(pilot_trainings.study(store))


def test_the_table_prints_minutes_and_what_is_not_seen(store):
    """One column for each fault; what training episodes do not show is a dash."""
    prices = dict(pilot_trainings.study(store))[ONE]
    text = "\n".join(pilot_costs.lines(ONE, prices))
    assert "| judged by | steps | CPU minutes a run | unchanged | drop of 20 % | slower |" in text
    assert "1 of 1 faults are `regressed` by " in text
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    assert sorted(rows[1:]) == sorted(MEASURES)
    assert rows[1] == prices[0].measure
    blind = [price for price in prices if price.measure == "training area"]
    assert pilot_costs.lines(ONE, blind)[4].endswith("| - |")
    swapped = [replace(price, faults=price.gains, gains=price.faults) for price in prices]
    assert pilot_costs.lines(ONE, swapped)[4].endswith(f"({prices[0].faults['slower']:.1f}) |")
    assert "0 of 1 faults are `regressed` by " in "\n".join(pilot_costs.lines(ONE, swapped))


def test_a_study_without_runs_says_how_to_make_some(tmp_path):
    """Nothing to print is one sentence with the command."""
    with pytest.raises(UserError, match="there are no runs of a pilot study in .*; train some"):
        pilot_command.run(None, 2, 1, str(tmp_path))


@pytest.mark.nightly
def test_a_line_of_a_faulty_training_comes_when_its_run_is_done(tmp_path):
    """A run with a fault is told before the next one is done."""
    faults = fault_tables.load(RETURNS, ["sb3"])
    fault = next(missed for missed in faults if missed.algorithm == "td3")
    cell = Cell("sb3", "td3", "InvertedPendulum-v4", "sb3", "smoke")
    values: list[tuple[str, int]] = []

    def say(line: str) -> None:
        values.append((line.partition(": ")[0], len(list(tmp_path.glob("*/*.json")))))

    pilot_trainings._train_seeded(fault, [cell], 2, tmp_path, 1, say)
    assert values == [(f"{cell.id} seed 0", 1), (f"{cell.id} seed 1", 2)]


def test_faulty_trainings_that_cannot_begin_say_why(tmp_path):
    """What the process of a fault says last is the end of one sentence."""
    fault = fault_tables.load(RETURNS, ["sb3"])[0]
    (tmp_path / "file").write_text("no folder")
    cell = Cell("sb3", fault.algorithm, "InvertedPendulum-v4", "sb3", "smoke")
    with pytest.raises(UserError, match="ended with status 1: .*file is no folder"):
        pilot_trainings._train_seeded(fault, [cell], 1, tmp_path / "file" / "runs", 1, print)
