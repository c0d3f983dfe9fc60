"""Records of nightly runs, and their trend: it dates each change and names its versions."""

from __future__ import annotations

import errno
import json
import os
import re

import numpy as np
import pytest

from rlregress.check import cell_selection, nightly_record, nightly_trend
from rlregress.check.judging import train_and_judge_session
from rlregress.check.nightly_trend import locate_drop_and_interval
from rlregress.check.session import Session
from rlregress.errors import UserError
from rlregress.evidence import convert_to_plain_data
from rlregress.inside import run_record
from rlregress.model.check_result import FrameworkOutcome, ReportData
from rlregress.model.replay_result import DIFFERS, Replay
from rlregress.model.verdict import REPRODUCED
from rlregress.pytest_plugin.subjects import SessionRun

from ..report.test_check_page import stands_alone
from ..training.test_records import content
from . import night_files
from .test_outcome import entry, result_of


@pytest.fixture
def judged(tmp_path, command):
    """Write nights, run ``rlregress trend`` on them; exit code, page, error output."""

    def run(contents, *options):
        folder = night_files.write_nights(tmp_path / "nights", contents)
        report = ("--report", str(tmp_path / "report"))
        return command("trend", str(folder), *report, *options)

    return run


def change(contents, numbers, edit):
    """Change some of the nights."""
    contents = list(contents)
    for number in numbers:
        edit(contents[number])
    return contents


def _move_machine(night):
    night["machines"] = [{**night_files.MACHINE, "cpu": "Xeon"}]


def _change_rates(night):
    for cell in night["cells"].values():
        cell["hyperparameters"] = "other"


def _drop_verdicts(night):
    for cell in night["cells"].values():
        cell["verdict"] = ""
    night["frameworks"]["sb3"]["verdict"] = "could not judge"
    night["exit_code"] = 2


def _drop_first_cell(night):
    night["cells"] = dict(list(night["cells"].items())[1:])


def _undecide(night):
    night["frameworks"]["sb3"]["verdict"] = "inconclusive"
    for cell in night["cells"].values():
        cell["verdict"] = "inconclusive"


def _regress_group_and_throughput(night):
    night["frameworks"]["sb3"]["verdict"] = "regressed"
    night["verdicts"] = {"sb3-ppo": "regressed", "sb3 ppo peak memory": "regressed"}


def _add_throughput(night):
    number = int(night["started"][8:10])
    night["throughput"] = {"sb3 ppo": {"training": [0.3], "peak memory": [400.0 + number]}}
    night["verdicts"] = {"sb3-ppo": "holds", "sb3 ppo peak memory": "holds"}


def _grow(night):
    _add_throughput(night)
    night["throughput"]["sb3 ppo"]["peak memory"] = [600.0]
    _regress_group_and_throughput(night)


def _fail_runs(night):
    cell = next(iter(night["cells"].values()))
    cell["returns"] = [None] * 5
    cell["verdict"] = night["frameworks"]["sb3"]["verdict"] = "regressed"


def _damage(contents):
    contents[3]["started"] = "yesterday"
    return change(contents, [4], _drop_verdicts)


nights = night_files.nights
#: nights whose whole page is kept, and the exit code
PAGES = {
    "a drop": (lambda: nights(40, 4, drop=0.3, begin=25), 1),
    "a group and memory": (
        lambda: change(change(nights(30, 2), range(20), _add_throughput), range(20, 30), _grow), 1),
    "what cannot be read comes first": (lambda: _damage(list(nights(30, 3))), 0),
}  # fmt: skip
#: what happened in which nights -> them, options, exit code, and what the page says
FACTS = {
    "a drop that recovered is no alarm": (
        lambda: [*list(nights(60, 3, drop=0.5, begin=20))[:40], *list(nights(60, 3, seed=1))[40:]],
        (), 0, "| 40 holds, 20 regressed | holds |"),
    "a drop that later checks cannot tell is an alarm": (
        lambda: change(nights(40, 3, drop=0.3, begin=30), range(36, 40), _undecide), (), 1,
        "| -31% 2024-01-31 | 30 holds, 4 inconclusive, 6 regressed | regressed |"),
    "the last check cannot tell": (
        lambda: change(nights(20, 3), [19], _undecide), (), 3, "The last checks cannot tell."),
    "another machine is named": (
        lambda: change(nights(40, 3, drop=0.4, begin=20, upgrade=False), range(20, 40),
                       _move_machine), (), 1, "changed there: cpu EPYC -> Xeon;"),
    "the last check could not judge": (
        lambda: change(nights(20, 2), [19], _drop_verdicts), (), 3,
        "Without a verdict in their last check: sb3-ppo-Env0-v4-short, sb3-sac-Env0-v4-short."),
    "other hyperparameters are named": (
        lambda: change(nights(40, 3, drop=0.4, begin=20, upgrade=False), range(20, 40),
                       _change_rates), (), 1, "changed there: hyperparameters a1b2 -> other;"),
    "runs that failed": (
        lambda: change(nights(30, 2), range(25, 30), _fail_runs), (), 1,
        "| 674.5 | -33% 2024-01-26 | 25 holds, 5 regressed |"),
    "a cell that is missing is named": (
        lambda: change(nights(20, 3), [19], _drop_first_cell), (), 0,
        "framework and budget: sb3-ppo-Env0-v4-short (2024-01-19)."),
    "since the night of an accepted drop": (
        lambda: nights(60, 3), ("--since", night_files.day(20)), 0,
        "- Nights before 2024-01-21, as --since says: 20."),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_the_page_of_so_many_nights(judged, tmp_path, snapshot, name):
    """The page names alarms, when they began, and the versions that changed then."""
    contents, expected = PAGES[name]
    code, page, _ = judged(contents())
    assert code == expected
    # when and where it was read
    page = re.sub(r"(?m)^\d{4}-\d\d-\d\d .*: `", "WHEN: `", page, count=1)
    snapshot(f"trend/{name.replace(' ', '-')}.md", page.replace(str(tmp_path), "FOLDER"))


@pytest.mark.parametrize("name", FACTS)
def test_what_happened_decides_exit_code_and_page(judged, name):
    """Alarms last until a check holds; what else changed, and what is not judged, is named."""
    contents, options, expected, words = FACTS[name]
    code, page, _ = judged(contents(), *options)
    assert (code, words in page) == (expected, True), page


def test_a_page_shows_every_mean(judged, tmp_path):
    """A figure and a table have the mean of every night; the data have the verdict."""
    _, markdown, _ = judged(night_files.nights(40, 4, drop=0.3, begin=25))
    data = json.loads((tmp_path / "report" / "trend.json").read_text())
    assert (data["exit_code"], data["verdict"]) == (1, "regressed")
    assert (tmp_path / "report" / "trend.md").read_text() in markdown
    page = stands_alone((tmp_path / "report" / "trend.html").read_text("utf-8"))
    figure = page.texts("figure")[0]
    assert night_files.day(0) in figure
    assert night_files.day(39) in figure
    assert any(row.startswith(night_files.day(30)) for row in page.texts("tr"))


def test_a_day_after_all_nights_is_one_sentence(judged):
    """The exit code is 2, and the message names the day."""
    code, _, error = judged(night_files.nights(20, 2), "--since", "2031-01-01")
    assert (code, "Traceback" in error) == (2, False)
    assert "no nightly run is from 2031-01-01 or later" in error


def test_a_folder_without_reports_is_one_sentence(command, tmp_path):
    """A folder that is not there, or holds none, is named."""
    for folder, text in (
        (tmp_path, "holds no report of a check"),
        (tmp_path / "no", "is not a fold"),
    ):
        code, _, error = command("trend", str(folder), "--report", str(tmp_path / "report"))
        assert (code, text in error, "Traceback" in error) == (2, True, False)


def test_reports_are_copies_if_all_of_them_is_the_same(judged):
    """A copy counts once; another check that began at the same moment counts, too."""
    first, second, third = nights(3, 1)
    second["started"] = third["started"]
    code, page, _ = judged([first, second, third, first])
    assert code == 0
    assert "# Trend of 3 nights" in page
    assert "Reports that are copies of others: 1" in page


def test_the_verdict_of_a_framework_counts_per_budget(judged):
    """A long check that regressed is an alarm though a short one holds on the night after."""
    contents = list(nights(20, 2))
    contents[18]["budget"] = "long"
    contents[18]["frameworks"]["sb3"]["verdict"] = "regressed"
    code, page, _ = judged(contents)
    assert code == 1
    assert "regressed sb3 (long): in all checks that could tell" in page


@pytest.mark.parametrize(("state", "is_judged"), [("reproduced", True), ("differs", False)])
def test_a_reproduced_cell_is_judged(judged, state, is_judged):
    """Only after a replay with the stored numbers is a cell neither regressed nor missing."""
    contents = list(night_files.nights(20, 2, drop=0.3, begin=10))
    first, second_cell = contents[-1]["cells"]
    group = first.rpartition("-Env")[0]
    for night in contents[10:]:
        night["verdicts"] = {f"{first} critic": "regressed", group: "regressed"}
    last = contents[-1]
    last |= {"cells": {second_cell: last["cells"][second_cell]}, "verdicts": {}, "exit_code": 0}
    last["frameworks"]["sb3"]["verdict"] = "holds"
    replayed = f"{first.removesuffix('short')}replay"
    last["replays"] = {
        first: {"framework": "sb3", "group": group, "seed": 1, "replayed": replayed, "state": state}
    }
    code, page, _ = judged(contents)
    assert (code == 0, "- regressed " not in page) == (is_judged, is_judged), page
    missing = f"Not in the last check of their framework and budget: {first}"
    assert (missing not in page) == is_judged


def test_a_history_that_rises_has_no_drop():
    """Neither one night nor equal nights have a drop."""
    assert locate_drop_and_interval([1.0, 1.0, 2.0, 2.0]) is None
    assert locate_drop_and_interval([1.0]) is None
    assert locate_drop_and_interval([1.0, 1.0]) is None
    assert locate_drop_and_interval([2.0, 2.0, 1.0]) == (2, 2, 2)


CELL = "sb3-ppo-Hopper-v4-short"


@pytest.fixture
def gated(tmp_path):
    """Return a real session of one cell whose runs are in the store; its entries and result."""
    store = str(tmp_path / "runs")
    selection = cell_selection.Selection("short", ["sb3"], ["ppo"], ["Hopper-v4"])
    session = Session(selection, 3, store, 0.05, 1000, one_look=True)
    (cell,) = session.cells
    rng = np.random.default_rng(0)
    stored = session.stored[cell].returns
    entries = []
    for job in session.list_jobs_of_cell(cell):
        final = float(rng.choice(stored))
        record = content(job) | {
            "curve": [], "final_return": final, "episode_returns": [final],
            "training_return": final / 2, "steps": job.protocol.total_steps,
            "parameters_sha256": f"sha256:{job.seed:064x}",
            "platform": {**night_files.MACHINE, "python": "3.11.7"},
            "time": {"started_at": "2026-11-23T04:16:14Z", "steps_per_cpu_second": 91.0},
        }  # fmt: skip
        path = session.store.locate_record(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        run_record.write_record_with_checksum(path, record)
        run_summary = SessionRun(session, job).summarize_record(record)
        named = f"tests_performance::test_training[{job.title}]"
        entries.append(convert_to_plain_data(entry(named, "sb3", cell=cell.id, record=run_summary)))
    verdicts = train_and_judge_session(session)
    entries.append(
        convert_to_plain_data(
            entry("t::test_returns", "sb3", cell=cell.id, verdict=verdicts[cell.id])
        )
    )
    framework_outcome = FrameworkOutcome(
        framework="sb3",
        verdict="holds",
        tests={},
        failures=(),
        verdicts={CELL: entries[-1]["verdict"]},
    )
    result = result_of(
        [framework_outcome],
        versions={"sb3": {"torch": "2.13.0"}},
        report_data=ReportData(started="today", command="rlregress check", machine="here"),
    )
    return entries, result


def test_a_night_is_written_and_read_again(gated, tmp_path):
    """Runs are those of the records, replays those of the evidence, with state and difference."""
    entries, result = gated
    night = {"night": nightly_record.build_nightly_record(result, entries)}
    (tmp_path / nightly_record.VERDICT_FILE).write_text(json.dumps(night))
    read = nightly_record.read_nightly_run(tmp_path)
    cell = read.cells[CELL]
    assert cell.returns == tuple(
        listed_entry["record"]["final_return"] for listed_entry in entries[:3]
    )
    assert cell.training == tuple(value / 2 for value in cell.returns)
    assert (cell.group, cell.framework) == ("sb3-ppo", "sb3")
    assert cell.verdict == entries[-1]["verdict"]["verdict"]
    assert cell.protocol["total_steps"] == entries[0]["record"]["steps"]
    assert len(cell.hyperparameters) == 12
    assert read.machines == ({**night_files.MACHINE, "python": "3.11.7"},)
    entries, result = gated
    states = {"sb3-ppo-Hopper-v4-short": REPRODUCED, "sb3-ppo-Reacher-v4-short": DIFFERS}
    further_entries = [
        entry("t::replay", "sb3", replay=convert_to_plain_data(Replay(
            cell=name, replayed=f"{name.removesuffix('short')}replay", seed=seed, state=state,
            reason="because", first="update 1, gradients" if state == DIFFERS else "",
        )))
        for seed, (name, state) in enumerate(states.items())
    ]  # fmt: skip
    night = nightly_record.build_nightly_record(result, [*entries, *further_entries])
    (tmp_path / nightly_record.VERDICT_FILE).write_text(json.dumps({"night": night}))
    read = nightly_record.read_nightly_run(tmp_path)
    assert {
        name: framework_outcome.state for name, framework_outcome in read.replays.items()
    } == states
    differing = read.replays["sb3-ppo-Reacher-v4-short"]
    assert (differing.seed, differing.first) == (1, "update 1, gradients")
    assert (differing.replayed, differing.group) == ("sb3-ppo-Reacher-v4-replay", "sb3-ppo")
    # the other cell of the group has no such replay
    assert read.list_reproduced_cells_and_groups() == {"sb3-ppo-Hopper-v4-short"}


def test_verdicts_beside_returns_are_recorded(gated):
    """Groups, training returns and critics with their verdicts, throughput by quantity."""
    entries, result = gated
    verdict = {"verdict": "regressed"}
    further_entries = [
        entry("t::group", "sb3", group="sb3-ppo", verdict=verdict),
        entry("t::critic", "sb3", critic=f"{CELL} critic", verdict=verdict),
        entry("t::more", "sb3", cell="other", verdict=verdict, diagnostics={"other kl": verdict}),
        entry("t::fast", "sb3", throughput={"algorithm": "ppo", "verdicts": {"training": verdict}}),
    ]
    verdicts = nightly_record.build_nightly_record(result, [*entries, *further_entries])["verdicts"]
    assert {"sb3-ppo", f"{CELL} critic", "sb3 ppo training"} <= verdicts.keys()
    assert not {CELL, "other kl"} & verdicts.keys()
    assert verdicts["sb3 ppo training"] == "regressed"


def test_nights_without_frameworks_are_one_sentence(command, tmp_path):
    """Nothing can be concluded from checks that could not begin."""
    nights = [{**night, "frameworks": {}} for night in night_files.nights(2, 1)]
    night_files.write_nights(tmp_path / "nights", nights)
    report = str(tmp_path / "report")
    code, out, error = command("trend", str(tmp_path / "nights"), "--report", report)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "none of 2 nights judged a framework; name completed checks" in error


def test_reports_are_found_once(tmp_path):
    """Links are not followed, and a folder that is given twice counts once."""
    place = tmp_path / "nights" / "one"
    place.mkdir(parents=True)
    (place / nightly_record.VERDICT_FILE).touch()
    (place / "again").symlink_to(tmp_path / "nights")
    assert nightly_trend.find_report_folders([tmp_path / "nights", place]) == [place]


def test_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    """A night that is missed would change the result."""
    hidden = tmp_path / "nights" / "hidden"
    hidden.mkdir(parents=True)
    (tmp_path / "nights" / nightly_record.VERDICT_FILE).touch()
    scanned = os.scandir

    def denied(folder):
        if str(folder) == str(hidden):
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return scanned(folder)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(UserError, match="hidden cannot be read: Permission denied"):
        nightly_trend.find_report_folders([tmp_path / "nights"])
