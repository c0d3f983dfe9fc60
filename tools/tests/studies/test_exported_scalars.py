"""Records and verdicts as tables and as scalars."""

from __future__ import annotations

import csv
import sys

import pytest

from rlregress.inside import run_record
from rlregress.studies.exported_scalars import as_csv
from rlregress.training.cell import Job
from rlregress.verdicts.descriptive_statistics import interquartile_mean, probability_of_improvement

from . import night_files

JOB = {
    "cell": {
        "framework": "sb3",
        "algorithm": "ppo",
        "environment": "Pendulum-v1",
        "hyperparameters": "sb3",
        "budget": "short",
    },
    "seed": 1000,
    "protocol": {"total_steps": 200, "evaluate_every": 100, "evaluation_episodes": 2},
    "hyperparameters": {},
    "versions": {"stable-baselines3": "2.9.2", "torch": "2.13.0"},
    "sources": {},
}


def stored(folder, seed, final, failure=""):
    """A run record as a worker writes it, with two evaluations and ten episodes."""
    job = {**JOB, "seed": seed}
    key = Job.of(job).key
    path = folder / "sb3-ppo-Pendulum-v1-short" / f"{seed:04d}-{key}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "schema": 1,
        "job": {**job, "key": key},
        "key": key,
        "status": "failed" if failure else "finished",
        "failure": failure,
        "curve": [[100, [final - 2.0, final]], [200, [final, final]]],
        "episodes": [[20 * number, float(number), 20] for number in range(1, 11)],
        "final_return": None if failure else final,
        "episode_returns": [final, final],
        "training_return": 9.0,
        "critic": None,
        "diagnostics": {"entropy": 1.4, "kl": None},
        "steps": 200,
        "parameters_sha256": "sha256:abc",
        "platform": dict(night_files.MACHINE),
        "time": {"started_at": "2026-11-23T04:16:14Z", "steps_per_cpu_second": 91.0},
    }
    run_record.write(path, content)
    return path


@pytest.fixture
def store(tmp_path):
    """Three runs of a cell, one of them failed."""
    folder = tmp_path / "runs"
    stored(folder, 1000, -10.0)
    stored(folder, 1001, -20.0)
    stored(folder, 1002, -20.0, failure="Traceback\nValueError: nan")
    return folder


def table(path):
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_records_become_tables(command, store, tmp_path):
    """A row for every run, every evaluation and every cell; a failed run has no return."""
    code, text, _ = command("export", str(store), "--csv", str(tmp_path / "csv"))
    assert (code, "runs.csv: 3 rows" in text) == (0, True)
    runs = table(tmp_path / "csv" / "runs.csv")
    assert [run["return"] for run in runs] == ["-10.0", "-20.0", ""]
    assert runs[2]["failure"] == "ValueError: nan"
    assert runs[0]["versions"] == "stable-baselines3==2.9.2 torch==2.13.0"
    evaluations = table(tmp_path / "csv" / "evaluations.csv")
    assert [(of["steps"], of["return"]) for of in evaluations[:2]] == [
        ("100", "-11.0"),
        ("200", "-10.0"),
    ]
    (cell,) = table(tmp_path / "csv" / "cells.csv")
    assert (cell["runs"], cell["mean"]) == ("2", "-15.0")
    assert cell["descriptive_interquartile_mean"] == "-15.0"


def test_records_become_scalars(command, store, tmp_path):
    """TensorBoard reads the curve of each run again, at its steps; twice exported it is one."""
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder = tmp_path / "events"
    for _ in range(2):
        code, text, _ = command("export", str(store), "--tensorboard", str(folder))
    assert (code, "scalars of 3 runs" in text) == (0, True)
    run = next((folder / "sb3-ppo-Pendulum-v1-short").glob("1000-*"))
    assert len(list(run.iterdir())) == 1
    events = reader.EventAccumulator(str(run))
    events.Reload()
    curve = [(of.step, of.value) for of in events.Scalars("evaluation/return")]
    assert curve == [(100, -11.0), (200, -10.0)]
    assert events.Scalars("run/entropy")[0].value == pytest.approx(1.4)
    assert "run/kl" not in events.Tags()["scalars"]


def test_nights_become_tables_and_verdicts(command, tmp_path):
    """A row for every run of every night."""
    folder = night_files.written(tmp_path / "nights", night_files.nights(3, 2))
    code, _, _ = command("export", str(folder), "--csv", str(tmp_path / "csv"))
    rows = table(tmp_path / "csv" / "nights.csv")
    assert (code, len(rows)) == (0, 3 * 2 * 5)
    assert {row["night"] for row in rows} == {"0", "1", "2"}


def test_a_damaged_record_is_said_and_left_out(command, store, tmp_path):
    """The others are exported."""
    path = stored(store, 1003, 5.0)
    path.write_text(path.read_text().replace("5.0", "6.0"))
    code, text, _ = command("export", str(store), "--csv", str(tmp_path / "csv"))
    assert code == 0
    assert "does not match its checksum" in text
    assert len(table(tmp_path / "csv" / "runs.csv")) == 3


def test_what_is_too_large_is_said_and_left_out(command, store, tmp_path):
    """Its square would be infinite, and NumPy would say so with a line of code."""
    path = stored(store, 1003, 1e200)
    code, text, error = command("export", str(store), "--csv", str(tmp_path / "csv"))
    assert (code, error) == (0, "")
    assert f"not exported: {path}: a number of it is as large as 1e+200" in text
    assert len(table(tmp_path / "csv" / "runs.csv")) == 3


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        ("=1+1", "'=1+1"), (" @x", "'@x"), ("-x\n\x1b[2J", "'-x \\x1b[2J"), ("a=b", "a=b"),
        (-1.5, "-1.5"), (-3, "-3"), (None, ""), (float("nan"), ""),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(value, listed):
    """A spreadsheet would do what a file says; numbers stay numbers."""
    (row,) = csv.reader(as_csv([{"a": value, "b": 1}]).splitlines()[1:])
    assert row == [listed, "1"]


def test_wrong_input_is_one_sentence(command, store, tmp_path, monkeypatch):
    """An empty folder, no format, and TensorBoard that is not installed end with exit code 2."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    for arguments, text in (
        ([str(empty), "--csv", str(tmp_path)], "holds neither run records nor the report"),
        ([str(store)], "nothing is wanted"),
        ([str(store), "--tensorboard", str(tmp_path)], "pip install 'rlregress[tensorboard]'"),
    ):
        code, _, error = command("export", *arguments)
        assert (code, text in error, "Traceback" in error) == (2, True, False)


def test_descriptive_numbers_are_those_of_the_paper():
    """The mean of the middle half; the share of pairs in which the new run is better."""
    assert interquartile_mean([0.0, 1.0, 3.0, 100.0]) == 2.0
    assert interquartile_mean([0.0, 1.0, 3.0, 100.0, float("nan")]) == 2.0
    assert probability_of_improvement([1.0, 2.0], [2.0, 3.0]) == (1 + 0.5 + 1 + 1) / 4
    assert probability_of_improvement([3.0], [1.0]) == 0.0
