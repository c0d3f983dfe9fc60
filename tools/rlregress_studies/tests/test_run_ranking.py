"""Rankings of runs: from a CSV, from stored runs and from a store."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rlregress.check import baseline_runs
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.training.cell import Job
from rlregress_studies.rank import ranking_report, run_ranking
from rlregress_studies.rank.adastop import GREATER, NOT_SEPARATED, SMALLER, UNDECIDED
from rlregress_studies.rank.run_ranking import (
    ImplementationRun,
    convert_baselines_to_runs,
    rank_implementations,
    read_runs_of_csv,
)
from tools.tests.report.test_check_page import stands_alone
from tools.tests.training.test_records import content

HEADER = "implementation,environment,seed,return"


def runs(name, returns, task="Hopper-v4"):
    """Return one run for each return, with seeds from 0."""
    return [ImplementationRun(name, task, task, seed, value) for seed, value in enumerate(returns)]


def normal(seed, mean, count=10):
    """Return normal returns [count] with standard deviation 10."""
    return list(np.random.default_rng(seed).normal(mean, 10, count))


@pytest.fixture
def three():
    """Return runs of two implementations that are equal, and of one far above them."""
    return runs("a", normal(0, 100)) + runs("b", normal(1, 100)) + runs("c", normal(2, 200))


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    """Change to an empty folder, because reports are written into the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refusal(command):
    """Return a function that runs ``study rank`` to exit code 2, and returns its one sentence."""

    def run(*arguments):
        code, _, error = command("study", "rank", *map(str, arguments))
        assert (code, len(error.strip().splitlines())) == (2, 1)
        assert error.startswith("rlregress: ")
        return error

    return run


def write_csv(path, rows):
    """Write a CSV file of (implementation, environment, seed, return); return its path."""
    path.write_text("\n".join([HEADER, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def csv(tmp_path, three):
    """Return a CSV file with the runs of ``three``, the last run first."""
    rows = [(run.implementation, run.task, run.seed, run.final_return) for run in three]
    return write_csv(tmp_path / "r.csv", rows[::-1])


def test_looks_end_where_all_is_decided_and_go_on_where_it_is_not(three):
    """c, separated at the first look, needs five runs, not ten; of four looks two are possible."""
    clear = runs("a", normal(0, 100)) + runs("b", normal(1, 100)) + runs("c", normal(2, 900))
    (task,) = rank_implementations(clear, looks=2).tasks
    used = {standing.implementation: len(standing.returns) for standing in task.standings}
    assert used == {"a": 10, "b": 10, "c": 5}
    ranking = rank_implementations(three, looks=4)
    assert (ranking.looks, ranking.undecided_count) == (2, 1)
    assert ranking.tasks[0].get_decision("a", "b") == UNDECIDED


@pytest.mark.parametrize("ceiling", [1, 1000])
def test_a_ceiling_that_is_left_at_a_later_look_hides_no_difference_elsewhere(ceiling):
    """Both are at the ceiling at the first look, and each fails once at the second."""
    low, high = [1, 2, 3, 4, 5] * 2, [4, 5, 6, 7, 8] * 2
    near = runs("a", low, "X") + runs("b", high, "X")
    at_ceiling = [
        run
        for name, seed in (("a", 8), ("b", 5))
        for run in runs(name, [0 if i == seed else ceiling for i in range(10)], "Y")
    ]
    decided = {
        task.name: task.get_decision("b", "a")
        for task in rank_implementations(near + at_ceiling).tasks
    }
    assert decided == {"X": GREATER, "Y": NOT_SEPARATED}


def test_a_run_that_failed_counts_as_the_worst_return(three):
    """An environment with one implementation is named and left out."""
    failed = runs("d", [None, *normal(4, 150, 9)])
    (task,) = rank_implementations(three + failed).tasks
    (d,) = [standing for standing in task.standings if standing.implementation == "d"]
    lowest = min(run.final_return for run in three + failed if run.final_return is not None)
    assert d.returns[0] == lowest
    assert d.failed == 1
    ranking = rank_implementations(three + runs("a", normal(5, 1), "Ant-v4"))
    assert ranking.alone == ("Ant-v4",)
    assert [task.name for task in ranking.tasks] == ["Hopper-v4"]
    assert "not ranked" in ranking_report.describe_ranking(ranking)[-1]


@pytest.mark.parametrize(
    ("runs_", "sentence"),
    [
        (runs("a", normal(0, 1)), "nothing to rank: 10 runs, .*; add runs of another one"),
        (runs("a", [1.0]), "nothing to rank: 1 run, "),
        (runs("a", normal(0, 1)) + runs("b", [1.0, 2.0]), "b has 2 runs on Hopper-v4"),
        (runs("a", normal(0, 1)) + runs("b", [None] * 9) + runs("a", [1], "X"), ""),
        (runs("a", [None] * 5) + runs("b", [None] * 5), "every run on .* failed .*; leave it out"),
        (runs("a", normal(0, 1)) + runs("a", [1.0]), "two runs of a on .* seed 0; .*; remove one"),
        (runs("a", normal(0, 1)) + runs("b", [1, 2, 1e300]), "1e.300 of b on .* seed 2"),
    ],
)
def test_runs_that_cannot_be_ranked(runs_, sentence):
    """One implementation, too few runs, only failures, and a repeated seed are errors."""
    if not sentence:
        assert rank_implementations(runs_).tasks[0].get_decision("a", "b") in (
            NOT_SEPARATED,
            GREATER,
        )
        return
    with pytest.raises(UserError, match=sentence):
        rank_implementations(runs_)


#: file -> its rows
DAMAGED = {"empty.csv": "", "short.csv": "a,H,0\n", "control.csv": "a\x01,H,0,1\n"}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("no.csv", "no.csv cannot be read"),
        ("empty.csv", "no rows"),
        ("short.csv", "line 2 has not as many cells as the first line: 3, not 4"),
        ("control.csv", r"line 2: column 'implementation' is 'a\x01', expected te"),
        ("r.csv --framework x", "a CSV file does not take --framework"),
        ("r.csv --environment Hoper-v4", "did you mean 'Hopper-v4'?"),
        ("r.csv --runs 11", "a has 10 runs on Hopper-v4, and a look needs 11"),
        ("--store nowhere", "nowhere holds no run records"),
        ("--algorithm pppo", "did you mean 'ppo'?"),
        ("--budget smoke", "no runs of budget 'smoke'"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(refusal, csv, arguments, part):
    """Names, numbers, files and sources that do not fit end in one sentence and exit code 2."""
    for name, rows in DAMAGED.items():
        Path(name).write_text(f"{HEADER}\n{rows}")
    assert part in refusal(*arguments.split())


def test_the_command_ranks_a_csv_and_writes_json(command, tmp_path, csv, three):
    """Exit code 0, the table on the screen, and the same decisions in rank.json."""
    code, text, _ = command("study", "rank", str(csv))
    assert code == 0
    assert "3 pairs in 1 task: 2 separated" in text
    written = json.loads((tmp_path / "report" / "rank.json").read_text())
    decisions = {(x["first"], x["second"]): x["decision"] for x in written["tasks"][0]["decisions"]}
    assert decisions == {("a", "b"): NOT_SEPARATED, ("a", "c"): SMALLER, ("b", "c"): SMALLER}
    # spaces around a name, which nobody can see, are no part of it
    rows = read_runs_of_csv(
        write_csv(tmp_path / "s.csv", [("a", "H", 0, 1.0), (" a ", "H ", 1, 2.0)])
    )
    assert {(row.implementation, row.task) for row in rows} == {("a", "H")}
    # the order of the lines plays no part: runs are looked at by seed
    for ranked in (read_runs_of_csv(csv), three):
        content = json.loads(
            json.dumps(run_ranking.convert_ranking_to_plain_data(rank_implementations(ranked)))
        )
        assert written["tasks"] == content["tasks"]


def test_stored_runs_are_compared_only_under_one_budget():
    """No task of the stored runs mixes environments, steps or episodes."""
    stored = baseline_runs.load_all_baselines()
    by_task = {}
    for baseline in stored:
        protocol = baseline.protocol
        key = (baseline.cell.environment, protocol.total_steps, protocol.evaluation_episodes)
        for run in convert_baselines_to_runs([baseline]):
            by_task.setdefault(run.task, set()).add(key)
    assert len(by_task) > 1
    assert all(len(keys) == 1 for keys in by_task.values())
    assert len(convert_baselines_to_runs(stored)) == sum(len(baseline.runs) for baseline in stored)


@pytest.fixture
def store(tmp_path):
    """Return a store with five runs each of two versions of one implementation."""
    stored = baseline_runs.load_all_baselines()[0]
    folder = tmp_path / "runs"
    for version, mean in (("1.0", 100.0), ("2.0", 300.0)):
        for seed, value in enumerate(normal(seed=9, mean=mean, count=5)):
            versions = {"package": version}
            job = Job(stored.cell, seed, stored.protocol, stored.hyperparameters, versions, {})
            path = folder / stored.cell.id / f"{seed:04d}-{version}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            run_record.write_record_with_checksum(path, {**content(job), "final_return": value})
    return folder


def test_two_versions_in_one_store_are_two_implementations(command, store):
    """Runs of a cell with several versions are named by what differs, and compared."""
    runs_of_both = run_ranking.convert_records_to_runs(run_ranking.load_run_records(store))
    names = {run.implementation for run in runs_of_both}
    assert {name.partition(" (")[2] for name in names} == {"package 1.0)", "package 2.0)"}
    code, text, error = command("study", "rank", "--store", str(store))
    assert code == 0, error
    assert "1 pair" in text
    assert "1 separated" in text


def test_a_name_without_any_run_in_a_store_is_refused(refusal, store):
    """The error names it, instead of ranking the others without it."""
    algorithm = baseline_runs.load_all_baselines()[0].cell.algorithm
    error = refusal("--store", store, "--algorithm", f"{algorithm},foo")
    assert f"has no runs of algorithm 'foo'; known: {algorithm}" in error


def test_what_was_asked_and_has_no_runs_is_said_first(command, monkeypatch):
    """Missing runs are reported first also if all names are known."""
    left_out = "cleanrl-ppo-HalfCheetah-v4-short"
    baselines = [x for x in baseline_runs.load_all_baselines() if x.cell.id != left_out]
    monkeypatch.setattr(baseline_runs, "load_all_baselines", lambda: baselines)
    requested = "--framework sb3,cleanrl,torchrl --algorithm ppo --environment HalfCheetah-v4"
    code, text, error = command("study", "rank", *requested.split())
    assert code == 0, error
    assert text.splitlines()[0].endswith("of budget 'short' of cleanrl ppo HalfCheetah-v4")
    _, text, _ = command("study", "rank", *requested.replace("cleanrl,", "").split())
    assert "has no runs" not in text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["$\\frac{x$", "日本"])
def test_a_name_is_drawn_as_it_stands(three, name):
    """It is no formula, and a font that lacks it is nothing to warn of."""
    named = [replace(run, implementation=run.implementation + name, task=name, environment=name)
             for run in three]  # fmt: skip
    assert (
        ranking_report.draw_ranking_figure(rank_implementations(named)).lstrip().startswith("<?xml")
    )


def test_a_ranking_has_a_page_with_every_decision(command, tmp_path):
    """The page has words beside the signs, all runs, and the command as it was typed."""
    rows = [(name, "Hopper-v4", seed, mean + seed)
            for name, mean in (("a", 0), ("b<i>", 500)) for seed in range(10)]  # fmt: skip
    csv = write_csv(tmp_path / "runs.csv", rows)
    code, text, error = command("study", "rank", str(csv), "--report", str(tmp_path))
    assert code == 0, error
    assert "(rank.html, rank.json, rank.svg)" in text
    page = stands_alone((tmp_path / "rank.html").read_text())
    (card,) = page.texts("article", "card")
    assert "1 of 1 pairs separated" in card
    assert "b<i> has the largest mean, 502, beyond chance." in card
    assert "> better" in page.texts("table")[0]
    assert "b<i> 504" in page.texts("table")[1]
    assert f"rlregress study rank {csv}" in page.texts("header")[0]
    assert json.loads((tmp_path / "rank.json").read_text())


def test_a_ranking_that_needs_more_runs_ends_with_3(command, csv):
    """The exit code is 3 if the runs decide too little yet, and the next look is named."""
    code, text, _ = command("study", "rank", "r.csv", "--looks", "3")
    assert (code, "next look at Hopper-v4: more runs of" in text) == (3, True)


def test_a_cell_that_may_not_be_read_is_not_left_out(refusal, store, monkeypatch):
    """Its folder is named; the other cells are not ranked as if they were all."""
    cell, listdir = next(store.iterdir()), os.listdir

    def closed(folder="."):
        if Path(folder) == cell:
            raise PermissionError(13, "Permission denied")
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", closed)
    assert f"{cell} cannot be read: Permission denied" in refusal("--store", store)
