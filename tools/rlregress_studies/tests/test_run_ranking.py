"""Rankings of runs: from a CSV, from stored runs and from a store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
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
    rank_implementations,
    read_csv,
    read_stored,
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


def test_the_best_stands_first_and_equals_are_not_separated(three):
    """c is above a and b, which are not separated; the table is by falling mean."""
    (task,) = rank_implementations(three).tasks
    assert task.standings[0].implementation == "c"
    assert task.decision("c", "a") == task.decision("c", "b") == GREATER
    assert task.decision("a", "c") == SMALLER
    assert task.decision("a", "b") == task.decision("b", "a") == NOT_SEPARATED


def test_looks_end_where_all_is_decided_and_go_on_where_it_is_not(three):
    """c, separated at the first look, needs five runs, not ten; of four looks two are possible."""
    clear = runs("a", normal(0, 100)) + runs("b", normal(1, 100)) + runs("c", normal(2, 900))
    (task,) = rank_implementations(clear, looks=2).tasks
    used = {standing.implementation: len(standing.returns) for standing in task.standings}
    assert used == {"a": 10, "b": 10, "c": 5}
    ranking = rank_implementations(three, looks=4)
    assert (ranking.looks, ranking.undecided) == (2, 1)
    assert ranking.tasks[0].decision("a", "b") == UNDECIDED
    assert "\nnext look at Hopper-v4: more runs of" in "\n".join(ranking_report.lines(ranking))


def test_environments_of_other_units_are_one_family():
    """Returns of -5 and of 9000 are judged together: the scale of an environment plays no part."""
    small = runs("a", normal(0, 100), "R") + runs("b", normal(1, 130), "R")
    large = runs("a", normal(2, 100), "I") + runs("b", normal(3, 100), "I")
    for unit in (1, 90):
        scaled = [replace(run, final_return=run.final_return * unit) for run in large]
        decided = {
            task.name: task.decision("b", "a")
            for task in rank_implementations(small + scaled).tasks
        }
        assert decided == {"I": NOT_SEPARATED, "R": GREATER}


@pytest.mark.parametrize("far", [1e3, 1e6])
@pytest.mark.parametrize("other_tasks", [[], ["I"]])
def test_an_implementation_far_off_hides_no_difference_of_others(far, other_tasks):
    """Nor does one whose returns vary far more: each pair is scaled by its own returns."""
    near = runs("a", normal(0, 100), "R") + runs("b", normal(1, 130), "R")
    wild = [100 + far * (value - 100) for value in normal(5, 100)]
    other_units = [
        run for task in other_tasks for i in "ab" for run in runs(i, normal(ord(i), 100), task)
    ]
    for third in (normal(5, far), wild):
        ranking = rank_implementations(near + runs("c", third, "R") + other_units)
        (task,) = [task for task in ranking.tasks if task.name == "R"]
        assert task.decision("b", "a") == GREATER


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
        task.name: task.decision("b", "a") for task in rank_implementations(near + at_ceiling).tasks
    }
    assert decided == {"X": GREATER, "Y": NOT_SEPARATED}


def test_a_run_that_failed_counts_as_the_worst_return(three):
    """None becomes the lowest return of any implementation on the task, and is counted."""
    failed = runs("d", [None, *normal(4, 150, 9)])
    (task,) = rank_implementations(three + failed).tasks
    (d,) = [standing for standing in task.standings if standing.implementation == "d"]
    lowest = min(run.final_return for run in three + failed if run.final_return is not None)
    assert d.returns[0] == lowest
    assert d.failed == 1


def test_an_environment_with_one_implementation_is_named_and_left_out(three):
    """It has nothing to compare with, and the report says so."""
    ranking = rank_implementations(three + runs("a", normal(5, 1), "Ant-v4"))
    assert ranking.alone == ("Ant-v4",)
    assert [task.name for task in ranking.tasks] == ["Hopper-v4"]
    assert "not ranked" in ranking_report.lines(ranking)[-1]


def test_the_table_says_each_pair_twice_and_the_error_once(three):
    """A pair is in its row and its column; the counts, the level and a legend follow."""
    text = "\n".join(ranking_report.lines(rank_implementations(three)))
    assert "Hopper-v4: 3 implementations" in text
    rows = {line.split()[1]: line.split()[-3:] for line in text.splitlines()[2:5]}
    assert rows["c"] == [".", ">", ">"]
    assert sorted(rows["a"]) == sorted([".", "<", "~"])
    assert "3 pairs in 1 task: 2 separated, 1 not separated, 0 undecided" in text
    assert "about 5% of such comparisons (pairs that share an implementation" in text
    two = [run for run in three if run.implementation != "c"]
    assert "at most 5% of such comparisons." in "\n".join(
        ranking_report.lines(rank_implementations(two))
    )
    assert "equal" not in text


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
        assert rank_implementations(runs_).tasks[0].decision("a", "b") in (NOT_SEPARATED, GREATER)
        return
    with pytest.raises(UserError, match=sentence):
        rank_implementations(runs_)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["r.csv"]),
        (HEADER + "\n", ["no rows"]),
        (HEADER + f"\na,H,{'1' * 5000},1\n", ["'seed' is '111", "a whole number of fewer digits"]),
        (HEADER + "\na,H,0\n", ["line 2 has not as many cells as the first line: 3, not 4"]),
        (HEADER + "\na\x01,H,0,1\n", [r"line 2: column 'implementation' is 'a\x01', expected te"]),
        (HEADER + '\n"a\nb",H,0,1\n', [r"is 'a\nb', expected text on one line without control"]),
        (HEADER + ",return\na,H,0,1,2\n", ["line 1 has 2 columns 'return'; write the columns"]),
    ],
)
def test_a_damaged_csv_is_one_sentence(refusal, tmp_path, text, parts):
    """The sentence names the file, the line and what was expected; the exit code is 2."""
    path = tmp_path / "r.csv"
    path.write_text(text)
    error = refusal(path)
    assert [part for part in parts if part not in error] == []


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("no.csv", "no.csv cannot be read"),
        ("/dev/null", "/dev/null is not named .csv; expected a CSV file: write the"),
        ("r.csv --framework x", "a CSV file does not take --framework"),
        ("r.csv --environment Hoper-v4", "did you mean 'Hopper-v4'?"),
        ("r.csv --runs 11", "a has 10 runs on Hopper-v4, and a look needs 11"),
        ("r.csv --runs 3 --looks 1", "cannot separate any two at alpha 0.05"),
        ("r.csv --alpha 2", "alpha 2"),
        ("--store nowhere", "nowhere holds no run records"),
        ("--algorithm pppo", "did you mean 'ppo'?"),
        ("--budget smoke", "no runs of budget 'smoke'"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(refusal, csv, arguments, part):
    """Names, numbers and sources that do not fit end in one sentence and exit code 2."""
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
    rows = read_csv(write_csv(tmp_path / "s.csv", [("a", "H", 0, 1.0), (" a ", "H ", 1, 2.0)]))
    assert {(row.implementation, row.task) for row in rows} == {("a", "H")}
    # the order of the lines plays no part: runs are looked at by seed
    for ranked in (read_csv(csv), three):
        content = json.loads(json.dumps(run_ranking.as_dict(rank_implementations(ranked))))
        assert written["tasks"] == content["tasks"]


def test_a_ranking_that_needs_more_runs_ends_with_3(command, csv):
    """The exit code is 3 if the runs decide too little yet, and the next look is named."""
    code, text, _ = command("study", "rank", "r.csv", "--looks", "3")
    assert (code, "next look at Hopper-v4: more runs of" in text) == (3, True)


def test_stored_runs_are_compared_only_under_one_budget():
    """No task of the stored runs mixes environments, steps or episodes."""
    stored = baseline_runs.load_all_baselines()
    by_task = {}
    for baseline in stored:
        protocol = baseline.protocol
        key = (baseline.cell.environment, protocol.total_steps, protocol.evaluation_episodes)
        for run in read_stored([baseline]):
            by_task.setdefault(run.task, set()).add(key)
    assert len(by_task) > 1
    assert all(len(keys) == 1 for keys in by_task.values())
    assert len(read_stored(stored)) == sum(len(baseline.runs) for baseline in stored)


def test_the_command_ranks_stored_runs(command):
    """Without a CSV the frameworks are ranked by baselines/returns."""
    environment = baseline_runs.load_all_baselines()[0].cell.environment
    code, value, error = command("study", "rank", "--environment", environment)
    assert code == 0, error
    assert f"{environment} (" in value


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
    runs_of_both = run_ranking.convert_records(run_ranking.load_records(store))
    names = {run.implementation for run in runs_of_both}
    assert {name.partition(" (")[2] for name in names} == {"package 1.0)", "package 2.0)"}
    code, text, error = command("study", "rank", "--store", str(store))
    assert code == 0, error
    assert "1 pair" in text
    assert "1 separated" in text


@pytest.mark.parametrize("names", ["foo", "{},foo"])
def test_a_name_without_any_run_in_a_store_is_refused(refusal, store, names):
    """The error names it, instead of ranking the others without it."""
    algorithm = baseline_runs.load_all_baselines()[0].cell.algorithm
    error = refusal("--store", store, "--algorithm", names.format(algorithm))
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


def test_a_damaged_record_is_one_sentence(refusal, store):
    """A record whose content does not match its checksum is not ranked."""
    path = next(store.glob("*/*.json"))
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 7'))
    assert "does not match its checksum" in refusal("--store", store)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda job: job.pop("seed"), "'seed' is missing"),
        (lambda job: job["cell"].update(other=1), "does not fit its key"),
        (lambda job: job.update(seed="0"), "seed"),
        (lambda job: job["protocol"].update(total_steps="many"), "total_steps"),
        (lambda job: job.update(versions="1.0"), "key 'job.versions' is '1.0', expected a table"),
    ],
    ids=["no seed", "another cell", "seed as text", "steps as text", "versions as text"],
)
def test_a_sealed_record_of_another_run_is_one_sentence(refusal, store, change, message):
    """A record with a valid checksum and an unknown run is not ranked."""
    path = next(store.glob("*/*.json"))
    content = run_record.read_record_content(path)
    change(content["job"])
    run_record.write_record_with_checksum(path, content)
    error = refusal("--store", store)
    assert str(path) in error
    assert message in error


def test_a_cell_that_may_not_be_read_is_not_left_out(refusal, store, monkeypatch):
    """Its folder is named; the other cells are not ranked as if they were all."""
    cell, listdir = next(store.iterdir()), os.listdir

    def closed(folder="."):
        if Path(folder) == cell:
            raise PermissionError(13, "Permission denied")
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", closed)
    assert f"{cell} cannot be read: Permission denied" in refusal("--store", store)


def test_the_figure_shows_decisions_and_returns(three):
    """An SVG with the title of the task, the names and the symbols of the table."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure = ranking_report.draw_figure(rank_implementations(three))
    assert figure.lstrip().startswith("<?xml")
    for text in ("Hopper-v4", ">a<", ">b<", ">c<", "&gt;", "&lt;", "~", "10 runs"):
        assert text in figure


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["$\\frac{x$", "a_b^$2$", "日本"])
def test_a_name_is_drawn_as_it_stands(three, name):
    """It is no formula, and a font that lacks it is nothing to warn of."""
    named = [replace(run, implementation=run.implementation + name, task=name, environment=name)
             for run in three]  # fmt: skip
    assert ranking_report.draw_figure(rank_implementations(named)).lstrip().startswith("<?xml")


def test_a_report_is_written_as_a_whole_or_not_at_all(refusal, tmp_path, csv):
    """If one file of the report is a folder, no file is written."""
    (tmp_path / "report" / "rank.svg").mkdir(parents=True)
    error = refusal("r.csv")
    assert "rank.svg is a folder, expected a file of the report; remove it" in error
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["rank.svg"]


ODD = ("$x^{$", "$$", "<b>x</b>", "n" * 300, "\N{GRINNING FACE}", "42", "a|b", "\\alpha", "&amp;")


@pytest.mark.nightly
def test_odd_names_are_ranked_whatever_the_windows_are_called(tmp_path):
    """Names are not read as formulas or markup, and MPLBACKEND may name an unknown backend."""
    rows = [
        f'"{name}",{task},{seed},{seed + 10 * number}'
        for task in ("$y^{$", "$y_{$")
        for number, name in enumerate(ODD)
        for seed in range(8)
    ]
    path = tmp_path / "odd.csv"
    path.write_text("\n".join([HEADER, *rows]))
    ran = subprocess.run(
        [sys.executable, "-m", "rlregress", "study", "rank", path, "--report", tmp_path / "report"],
        env={**os.environ, "MPLBACKEND": "none-of-them"}, capture_output=True, text=True,
    )  # fmt: skip
    assert (ran.returncode in (0, 3), ran.stderr) == (True, "")
    page = (tmp_path / "report" / "rank.html").read_text()
    assert "<b>x</b>" not in page
    places = re.findall('id="(-y[^"]*)"', page)
    assert len(set(places)) == len(places) >= 2


@pytest.mark.nightly
def test_a_hundred_implementations_are_ranked_soon():
    """Each of 4950 pairs is decided by the boundaries of the pairs that remain."""
    runs_of = [run for n in range(100) for run in runs(f"impl{n}", normal(n, 20.0 * n, 5))]
    started = time.monotonic()
    ranked = run_ranking.rank_implementations(runs_of)
    assert ranked.undecided == 0
    assert time.monotonic() - started < 20


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
