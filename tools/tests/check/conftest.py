"""Sessions whose stored cells are real and whose trainings have known returns."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.check import baseline_runs, cell_selection
from rlregress.check.cell_selection import Selection
from rlregress.inside import run_record
from rlregress.training import worker_launch
from tools.tests.training.test_records import content
from tools.tests.verdicts.three_looks import LOOKS

from .stored import critic, entropy, with_critics, with_returns_alone
from .working import SessionEnded


@pytest.fixture
def stored_selection(tmp_path, monkeypatch):
    """Return three stored cells of one group: ten returns of each."""
    names = [f"sb3-ppo-{name}-v4-short" for name in ("HalfCheetah", "Hopper", "InvertedPendulum")]
    cells = cell_selection.choose_cells(Selection("short", cells=",".join(names)))
    group = [cell for cell in cells if cell.group == cells[0].group]
    with_returns_alone(group, tmp_path / "returns alone", monkeypatch)
    return Selection("short", cells=",".join(cell.id for cell in group))


@pytest.fixture
def trained(monkeypatch):
    """Trainings with known returns: (cell, seed) of every one, and a dial for what they lose.

    On the same dial: the logarithm of the factor by which the critics' errors grow, and the mean
    entropy; None: the records have none. Sessions have the looks of ``three_looks``.
    """
    monkeypatch.setattr("rlregress.check.session.SEQUENTIAL_LOOKS", LOOKS)
    monkeypatch.setattr("rlregress.check.candidates.SEQUENTIAL_LOOKS", LOOKS)
    done: list[tuple[str, int]] = []
    dial = {"loss": 0.0, "left": 10_000, "worse": None, "entropy": None}

    def train(job, attempt, pinned):
        if dial["left"] == 0:
            raise SessionEnded
        dial["left"] -= 1
        done.append((job.cell.id, job.seed))
        path = baseline_runs.locate_baseline(job.cell)
        stored = np.array(baseline_runs.load_baseline(path).returns)
        rng = np.random.default_rng([job.seed, len(job.cell.id)])
        value = float(rng.choice(stored) - dial["loss"] * abs(stored.mean()))
        record = content(job) | {
            "curve": [], "final_return": value, "episode_returns": [value],
            "steps": job.protocol.total_steps, "training_return": None,
            "critic": None if dial["worse"] is None else critic(rng, dial["worse"]),
            "diagnostics": dial["entropy"] and entropy(rng, dial["entropy"]),
        }  # fmt: skip
        run_record.write_record_with_checksum(attempt.record, record)

    monkeypatch.setattr(worker_launch, "_train_until_recorded", train)
    monkeypatch.setattr("rlregress.check.session._POLL_SECONDS", 0.01)
    return done, dial


@pytest.fixture
def stored_cells(stored_selection):
    """Return the cells of ``stored_selection``."""
    ids = stored_selection.cells.split(",")
    return [item.cell for item in baseline_runs.load_all_baselines() if item.cell.id in ids]


@pytest.fixture
def with_stored_critics(stored_cells, tmp_path, monkeypatch):
    """Return the stored cells, whose runs have critics."""
    with_critics(stored_cells, tmp_path / "stored", monkeypatch)
    return stored_cells
