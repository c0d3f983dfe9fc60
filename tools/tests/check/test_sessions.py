"""A session with several looks: which runs it does, whoever does them and however often it ends.

Only the worker process is replaced, by returns that are known; plans, locks, records and verdicts
are those of a gate.
"""

from __future__ import annotations

import math
import random
import re
import threading
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest

from rlregress.check import baseline_runs, cell_selection, published
from rlregress.check.cell_selection import Selection
from rlregress.check.judging import build_band_samples, train_and_judge_session
from rlregress.errors import UserError
from rlregress.model.cells import CellVerdict
from rlregress.model.quantities import CRITIC
from rlregress.report import plan_text
from rlregress.training import job_plan
from rlregress.training.cell import Cell
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS
from tools.tests.nightly import every

from .stored import edited_baseline, with_critics
from .working import (
    SessionEnded,
    open_stored,
    plan,
    run_whole_session,
    with_three_runs,
    work,
)  # fmt: skip


def test_a_decided_cell_starts_no_run_more(stored_selection, trained, tmp_path):
    """The runs that were done are those that the verdicts rest on; the others say why not."""
    done, _ = trained
    session = open_stored(stored_selection, tmp_path)
    reasons = work(session, session.list_jobs_look_by_look())
    verdicts = {
        name: v
        for name, v in train_and_judge_session(session).items()
        if isinstance(v, CellVerdict)
    }
    assert Counter(cell for cell, _ in done) == {n: v.new_seeds for n, v in verdicts.items()}
    lines = [reason for reason in reasons if reason]
    assert len(lines) == session.max_runs - len(done) > 0
    assert "decided at look 1, with 5 new runs" in lines[0]


def test_runs_are_ordered_look_by_look_and_the_longest_first(stored_selection, tmp_path):
    """No run of a later look comes before one of an earlier; inside a look the longest lead."""
    session = open_stored(stored_selection, tmp_path)
    jobs = session.list_jobs_look_by_look()
    looks = [session.looks.find_look_of_run(session.find_index_of_run(job)) for job in jobs]
    assert looks == sorted(looks)
    first = [session.estimate_seconds_of_cell(job.cell) for job in jobs[: looks.count(0)]]
    assert first == sorted(first, reverse=True)


@pytest.mark.parametrize("loss", every(2, [0.3, 0.0]))
def test_ended_at_any_moment_and_started_again_it_says_the_same(
    stored_selection, trained, tmp_path, loss
):
    """Ended after every eleventh run, a session does no run twice and says the same."""
    done, dial = trained
    dial["loss"] = loss
    undisturbed = run_whole_session(stored_selection, tmp_path / "a")
    once = Counter(done)
    done.clear()
    verdicts = None
    while verdicts is None:
        dial["left"] = 11
        try:
            verdicts = run_whole_session(stored_selection, tmp_path / "b")
        except SessionEnded:
            continue
    assert verdicts == undisturbed
    assert Counter(done) == once
    assert set(once.values()) == {1}


@pytest.mark.nightly
def test_two_processes_come_to_the_verdicts_of_one(stored_selection, trained, tmp_path):
    """Whoever waits for a look does the runs of it that nobody does, each of them once."""
    done, dial = trained
    dial["loss"] = 0.3
    alone = run_whole_session(stored_selection, tmp_path / "a")
    once = Counter(done)
    done.clear()
    verdicts_found = {}

    def worker(name):
        # sessions of their own, as in two processes; one gets all the short straws
        session = open_stored(stored_selection, tmp_path / "b")
        jobs = session.list_jobs_look_by_look()
        share = [job for job in jobs if (job.seed % 5 == 0) == (name == "few")]
        random.Random(name).shuffle(share)
        work(session, sorted(share, key=jobs.index))
        verdicts_found[name] = train_and_judge_session(session)

    threads = [threading.Thread(target=worker, args=[name]) for name in ("few", "many")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert verdicts_found["few"] == verdicts_found["many"] == alone
    assert Counter(done) == once


def test_a_number_of_seeds_or_fixed_is_one_look(stored_selection, tmp_path):
    """``--seeds 3`` trains three runs of each cell, ``--single-look`` as many as the budget."""
    smoke = Selection("smoke", environments=["InvertedPendulum-v4"])
    assert SEQUENTIAL_LOOKS.run_counts == (3, 6, 12)
    for selection, options, seeds in (
        (stored_selection, {}, SEQUENTIAL_LOOKS.run_counts), (stored_selection, {"seeds": 3}, (3,)),
        (stored_selection, {"one_look": True}, (5,)), (smoke, {}, (1,)),
    ):  # fmt: skip
        assert open_stored(selection, tmp_path, **options).looks.run_counts == seeds


def test_too_few_stored_runs_are_judged_at_one_look(stored_selection, tmp_path, monkeypatch):
    """A session whose cells have too few stored runs has one look, and says why."""
    monkeypatch.setattr("rlregress.check.session.MIN_STORED", 100)
    session = open_stored(stored_selection, tmp_path)
    assert session.looks.run_counts == (5,)
    assert "one look: " in session.describe_session()
    assert "10 stored runs, 100 are needed" in session.describe_session()


@pytest.mark.parametrize(("count", "by_band"), [(4, True), (5, False)])
def test_a_published_band_is_preferred_to_fewer_runs_than_it_has(
    stored_selection, tmp_path, monkeypatch, count, by_band
):
    """Four stored runs of a cell of the thesis leave it to the band of five; five stand for it."""
    hopper = Cell("sb3", "ppo", "Hopper-v4", "sb3", "full")
    job = job_plan.plan_jobs_of_cell(hopper, [0])[0]
    folder = tmp_path / "few"
    folder.mkdir()
    text = baseline_runs.locate_baseline(replace(hopper, budget="short")).read_text()
    monkeypatch.setattr(baseline_runs, "locate_returns_folder", lambda: folder)
    baseline_runs.locate_baseline(hopper).write_text(text)
    with edited_baseline(hopper) as content:
        content |= {"seeds": count, "run": content["run"][:count]}
        content |= {"cell": asdict(hopper), "protocol": asdict(job.protocol)}
    session = open_stored(Selection("full", cells=hopper.id), tmp_path / "runs")
    assert (hopper in session.bands, hopper in session.stored) == (by_band, not by_band)
    text = f"{hopper.id} has 4 stored runs and is judged by its published band" if by_band else ""
    assert session.one_look_reason == text


def test_one_new_run_is_refused_where_a_published_band_judges(tmp_path):
    """A t-test takes two, and that is said before anything is trained."""
    stored_selection = Selection("full", cells="sb3-sac-Hopper-v4-full")
    with pytest.raises(UserError, match=r"--seeds is 1, but sb3-sac-Hopper-v4-full .* takes 2 new"):
        open_stored(stored_selection, tmp_path, 1)


def test_a_failed_run_against_a_band_counts_as_the_worst_that_is_known():
    """The worst of the new runs, the published means and the environment's stored runs counts."""
    ant = Cell("sb3", "ppo", "Ant-v4", "sb3", "full")
    table = published.load_published_bands("thesis_returns")
    least = min(band.mean for key, band in table.items() if key[2] == "Ant-v4")
    band = {ant: published.find_published_band(ant, "thesis_returns")}
    for worst in (least, least - 100.0):
        returns = {ant: [math.nan, worst, 4000.0]}
        (sample,) = build_band_samples(returns, band, "thesis_returns").values()
        assert sample.new == [worst, worst, 4000.0]


def test_a_study_without_cells_is_an_error():
    """A set that the published table does not have."""
    mine = Selection("full", cells="thesis", hyperparameters="mine")
    with pytest.raises(UserError, match="'thesis' has no cell .* sets are: cleanrl, original, "):
        cell_selection._select_study_cells(mine, "thesis_returns")


@pytest.mark.parametrize("with_others", every(2, [False, True]))
def test_stored_runs_that_all_failed_are_one_sentence(tmp_path, monkeypatch, with_others):
    """There is no return to compare with, whether or not others know the environment's worst."""
    baselines = baseline_runs.load_all_baselines()
    texts = {item.cell: baseline_runs.locate_baseline(item.cell).read_text() for item in baselines}
    cell = cell_selection.choose_cells(Selection("short", cells="all"))[0]
    monkeypatch.setattr(baseline_runs, "locate_returns_folder", lambda: tmp_path)
    for stored_cell, text in texts.items():
        if with_others or stored_cell == cell:
            baseline_runs.locate_baseline(stored_cell).write_text(text)
    with edited_baseline(cell) as content:
        for run in content["run"]:
            run.update(status="failed", failure="out of memory")
            del run["final_return"]
    holds = f"{baseline_runs.locate_baseline(cell)} holds {len(content['run'])} runs, all failed"
    message = f"{holds}; record it again, with --replace"
    for query in (plan, open_stored):
        with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
            query(Selection("short", cells=cell.id), tmp_path / "runs")


def test_a_damaged_record_is_done_again(stored_selection, trained, tmp_path):
    """A record that cannot be read is set aside, and its run is done by whoever needs it."""
    done, _ = trained
    session = open_stored(stored_selection, tmp_path)
    verdicts = run_whole_session(stored_selection, tmp_path)
    runs = len(done)
    job = session.list_jobs_look_by_look()[0]
    session.store.locate_record(job).write_text("{")
    with pytest.warns(UserWarning, match="is done again"):
        second_verdicts = train_and_judge_session(open_stored(stored_selection, tmp_path))
    assert (second_verdicts, len(done)) == (verdicts, runs + 1)
    with pytest.raises(UserError, match="--seeds is 2000"):
        open_stored(stored_selection, tmp_path, 2000)


@pytest.mark.nightly
def test_training_episodes_are_judged_beside_the_evaluation(
    stored_selection, trained, tmp_path, with_stored_training
):
    """They lose a fifth, which no evaluation shows: cells and group regress, by their training."""
    done, dial = trained
    dial["training"] = 0.2
    session = open_stored(stored_selection, tmp_path / "a")
    verdicts = run_whole_session(stored_selection, tmp_path / "a")
    assert set(verdicts) == set(session.list_names_to_judge())
    names = {name for name in verdicts if name.endswith(" training")}
    cells = with_stored_training
    assert names == {f"{name} training" for name in [*(c.id for c in cells), cells[0].group]}
    fallen = {name for name, verdict in verdicts.items() if verdict.verdict == "regressed"}
    assert fallen == names
    assert "the mean of the training's last third changed by -" in verdicts[min(fallen)].reason
    dial["training"] = 0.0
    still = run_whole_session(stored_selection, tmp_path / "b")
    assert {still[name].verdict for name in names} == {"holds"}
    evaluated = [still[name] for name in names if "cells" not in vars(still[name])]
    assert {verdict.new_seeds for verdict in evaluated} == {5}


@pytest.mark.usefixtures("with_stored_critics")
def test_the_critics_of_a_session_are_judged_beside_its_returns(
    stored_selection, trained, tmp_path
):
    """Errors twice as large: critics and their group regress, the returns do not."""
    done, dial = trained
    dial["worse"] = float(np.log(2.0))
    session = open_stored(stored_selection, tmp_path / "a")
    verdicts = run_whole_session(stored_selection, tmp_path / "a")
    assert set(verdicts) == set(session.list_names_to_judge())
    critic_verdicts = {name: v for name, v in verdicts.items() if name.endswith(" critic")}
    assert (
        len(critic_verdicts) == len(session.list_cells_judged_by(CRITIC)) + 1 == len(verdicts) / 2
    )
    assert {v.verdict for v in critic_verdicts.values()} == {"regressed"}
    assert "regressed" not in {v.verdict for n, v in verdicts.items() if n not in critic_verdicts}
    assert {session.find_framework(name) for name in verdicts} == {session.cells[0].framework}
    runs = Counter(done)
    done.clear()
    assert train_and_judge_session(open_stored(stored_selection, tmp_path / "b")) == verdicts
    assert Counter(done) == runs


def test_a_failed_run_says_nothing_of_a_critic(
    stored_selection, trained, tmp_path, with_stored_critics
):
    """Critics of half-failed new runs are inconclusive; one failed stored run does no harm."""
    _, dial = trained
    dial |= {"worse": 0.0, "failing": range(1000, 1020, 2)}
    with edited_baseline(with_stored_critics[0]) as content:
        del content["run"][0]["final_return"], content["run"][0]["critic"]
        content["run"][0] |= {"status": "failed", "failure": "it crashed"}
    verdicts = run_whole_session(stored_selection, tmp_path / "runs")
    for name, verdict in verdicts.items():
        if name.endswith(" critic"):
            assert verdict.verdict == "inconclusive"
            assert "new runs have no critic that can be compared" in verdict.reason
    dial["failing"] = ()
    for name, verdict in run_whole_session(stored_selection, tmp_path / "again").items():
        if name.endswith(" critic"):
            assert (verdict.verdict, verdict.visible_fraction < 0.3) == ("holds", True)


@pytest.mark.parametrize(("error", "far"), [(57.0, False), (63.0, True)])
def test_critics_that_cannot_get_worse_are_not_judged(
    stored_selection, tmp_path, with_stored_critics, error, far
):
    """A critic whose error cannot grow within the counted range is not judged."""
    cell = with_stored_critics[0]
    with edited_baseline(cell) as content:
        for number, run in enumerate(content["run"]):
            run["critic"]["bias"] = error * (1 + 0.01 * (number % 2))
    session = open_stored(stored_selection, tmp_path)
    assert (cell not in session.list_cells_judged_by(CRITIC)) == far
    text = session.explain_unjudged_quantities(cell).get("critic")
    assert text == ("the errors of its stored critics exceed the counted range" if far else None)


def test_the_runs_of_a_cell_end_when_its_return_and_its_critic_are_decided(
    stored_selection, trained, tmp_path, with_stored_critics
):
    """A cell gets the runs that the more doubtful of the two asks for, and not one more."""
    done, dial = trained
    dial["worse"] = 0.1
    session = open_stored(stored_selection, tmp_path)
    reasons = work(session, session.list_jobs_look_by_look())
    verdicts = train_and_judge_session(session)
    used = {
        cell.id: max(verdicts[name].new_seeds for name in (cell.id, f"{cell.id} critic"))
        for cell in with_stored_critics
    }
    assert Counter(cell for cell, _ in done) == used
    assert any(v > verdicts[name].new_seeds for name, v in used.items())
    assert sum(map(bool, reasons)) == session.max_runs - len(done)


def test_diagnostics_are_judged_beside_returns(
    stored_selection, stored_cells, trained, tmp_path, monkeypatch
):
    """An entropy that moved is said of cells and group, and asks for no runs."""
    done, dial = trained
    dial["worse"], dial["entropy"] = 0.0, 1.1
    cells, ids = stored_cells, [cell.id for cell in stored_cells]
    with_critics(cells, tmp_path / "stored", monkeypatch, entropies=True)
    verdicts = run_whole_session(stored_selection, tmp_path / "runs")
    session = open_stored(stored_selection, tmp_path / "runs")
    moved_names = {name for name, verdict in verdicts.items() if verdict.verdict == "moved"}
    assert moved_names == {f"{name} entropy" for name in [*ids, cells[0].group]}
    assert set(verdicts) == set(session.list_names_to_judge())
    for cell in cells:
        unjudged = session.explain_unjudged_quantities(cell)
        assert unjudged.keys() == {"training", "kl"}
        assert unjudged["kl"] == "its framework does not expose it"
    before = Counter(done)
    done.clear()
    dial["entropy"] = 1.4
    still = run_whole_session(stored_selection, tmp_path / "again")
    assert "moved" not in {verdict.verdict for verdict in still.values()}
    assert Counter(done) == before


def test_critics_are_judged_where_all_stored_runs_have_one(
    stored_selection, trained, tmp_path, monkeypatch
):
    """Cells whose stored runs lack critics are named with the reason; the other cell is judged."""
    _, dial = trained
    dial["worse"] = 0.0
    ids = stored_selection.cells.split(",")
    before = {item.cell.id: item for item in baseline_runs.load_all_baselines()}
    originals = {id: baseline_runs.locate_baseline(before[id].cell).read_text() for id in ids}
    with_critics([before[ids[0]].cell], tmp_path / "stored", monkeypatch)
    for id in ids[1:]:
        baseline_runs.locate_baseline(before[id].cell).write_text(originals[id])
    session = open_stored(stored_selection, tmp_path / "runs")
    assert [cell.id for cell in session.list_cells_judged_by(CRITIC)] == ids[:1]
    assert session.list_names_to_judge() == [*ids, *session.list_group_names(), f"{ids[0]} critic"]
    assert set(train_and_judge_session(session)) == set(session.list_names_to_judge())
    why = {cell.id: session.explain_unjudged_quantities(cell) for cell in session.stored}
    assert "critic" not in why[ids[0]]
    older = "its stored runs are older and lack it; record them again"
    assert all(verdict["critic"] == older for id, verdict in why.items() if id != ids[0])
    planned = plan(stored_selection, tmp_path / "runs")
    assert planned.not_judged == why
    text = plan_text.describe_plan(planned, 1)
    other_ids = ", ".join(sorted(ids[1:]))
    assert f"training, critic, entropy, kl not judged of {other_ids}: {older}" in text
    assert f"training, entropy, kl not judged of {ids[0]}: {older}" in text


@pytest.mark.parametrize(
    ("seeds", "alpha", "few"), [(1, 0.05, 0), (5, 0.0002, 0), (3, 0.05, 2)], ids=str
)
def test_a_session_owes_verdicts_on_groups_of_tested_cells_alone(
    trained, tmp_path, with_stored_critics, seeds, alpha, few
):
    """A group is judged only if at least two of its cells could be rejected."""
    _, dial = trained
    dial["worse"] = 0.0
    cells = with_stored_critics[:3]
    for cell in cells[:few]:
        with_three_runs(cell)
    two = Selection("short", cells=",".join(cell.id for cell in cells))
    session = open_stored(two, tmp_path / "runs", seeds, alpha)
    verdicts = train_and_judge_session(session)
    assert session.list_group_names() == session.list_group_names(CRITIC) == []
    assert set(session.list_names_to_judge()) == set(verdicts)
    judged = [verdicts[name] for cell in cells[:few] for name in (cell.id, f"{cell.id} critic")]
    assert all(verdict.verdict == "inconclusive" for verdict in judged)
