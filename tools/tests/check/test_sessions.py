"""A session with several looks: which runs it does, whoever does them and however often it ends.

Only the worker process is replaced, by returns that are known; plans, locks, records and verdicts
are those of a gate.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, replace

import pytest

from rlregress.check import baseline_runs, cell_selection, published
from rlregress.check.cell_selection import Selection
from rlregress.check.judging import build_band_samples, train_and_judge_session
from rlregress.check.machines import describe_other_machines
from rlregress.check.session import Session
from rlregress.errors import UserError
from rlregress.model.cells import CellVerdict
from rlregress.model.quantities import CRITIC
from rlregress.report import markdown_page
from rlregress.report.html import check_page
from rlregress.training import job_plan
from rlregress.training.cell import Cell
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS

from ..training.test_records import content
from .stored import copy_baselines, edited_baseline, with_critics
from .test_outcome import result_of
from .working import SessionEnded, open_stored, plan, run_whole_session, with_three_runs, work


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
    assert len(lines) == session.max_total_runs - len(done) > 0
    assert "decided at look 1, with 5 new runs" in lines[0]


def test_runs_are_ordered_look_by_look_and_the_longest_first(stored_selection, tmp_path):
    """No run of a later look comes before one of an earlier; inside a look the longest lead."""
    session = open_stored(stored_selection, tmp_path)
    jobs = session.list_jobs_look_by_look()
    looks = [session.looks.find_look_of_run(session.find_index_of_run(job)) for job in jobs]
    assert looks == sorted(looks)
    first = [session.estimate_seconds_of_cell(job.cell) for job in jobs[: looks.count(0)]]
    assert first == sorted(first, reverse=True)


def test_ended_at_any_moment_and_started_again_it_says_the_same(
    stored_selection, trained, tmp_path
):
    """Ended after every eleventh run, a session does no run twice and says the same."""
    done, dial = trained
    dial["loss"] = 0.3
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


def test_a_number_of_seeds_or_too_few_stored_runs_are_one_look(
    stored_selection, tmp_path, monkeypatch
):
    """``--single-look`` trains as many as the budget; too few stored runs are named."""
    smoke = Selection("smoke", environments=["InvertedPendulum-v4"])
    assert SEQUENTIAL_LOOKS.run_counts == (3, 6, 12)
    for selection, options, seeds in (
        (stored_selection, {}, SEQUENTIAL_LOOKS.run_counts), (stored_selection, {"seeds": 3}, (3,)),
        (stored_selection, {"one_look": True}, (5,)), (smoke, {}, (1,)),
    ):  # fmt: skip
        assert open_stored(selection, tmp_path, **options).looks.run_counts == seeds
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


def test_stored_runs_that_all_failed_are_one_sentence(tmp_path, monkeypatch):
    """There is no return to compare with."""
    cell = cell_selection.choose_cells(Selection("short", cells="all"))[0]
    copy_baselines([cell], tmp_path / "stored", monkeypatch)
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
    assert {session.get_framework_of_verdict(name) for name in verdicts} == {cells[0].framework}
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


def test_runs_of_another_class_of_machine_are_reported(tmp_path):
    """Another processor or instruction set is; an equal or unknown one, or a crash, is not."""
    (stored,) = [
        item
        for item in baseline_runs.load_all_baselines()
        if item.cell.id == "sb3-ppo-Hopper-v4-short"
    ]
    session = Session(Selection("short", cells=stored.cell.id), 4, str(tmp_path))
    stored_platform = dict(stored.platform)
    assert "instructions" not in stored_platform
    same = stored_platform | {"instructions": "AVX2"}
    platforms = [same, same | {"cpu": "Other"}, same | {"cpu": "Other"}, {}]
    for job, platform in zip(session.list_jobs_of_cell(stored.cell), platforms, strict=True):
        session.store.locate_record(job).parent.mkdir(exist_ok=True)
        session.store.put_record_of_attempt(job, {**content(job), "platform": platform}, "one")
    [note] = describe_other_machines(session)
    assert note.startswith("2 new runs come from another class of machine (Other, Python ")
    other_baseline = replace(stored, platform=stored_platform | {"instructions": "AVX512"})
    session.stored = {stored.cell: other_baseline}
    first_note, second_note = describe_other_machines(session)
    assert first_note.startswith("1 new runs come from another class of machine (AMD")
    assert "AVX2" in first_note
    assert "AVX512" in first_note
    assert second_note.startswith("2 new runs")
    assert (
        f"({stored_platform['cpu']}, Python {stored_platform['python']}, "
        f"threads: {stored_platform['torch_threads']}); confirm" in note
    )
    page = check_page.make_page_of_check(result_of([], notes=[note]))
    assert f"\nNote: {note}.\n" in markdown_page.format_page_as_markdown(page)
