"""The record of a nightly run has the values of its runs and its evidence."""

from __future__ import annotations

import errno
import json
import os

import numpy as np
import pytest

from rlregress.check import cell_selection, nightly_record, nightly_trend
from rlregress.check.judging import train_and_judge_session
from rlregress.check.session import Session
from rlregress.errors import UserError
from rlregress.evidence import convert_to_plain_data
from rlregress.inside import run_record
from rlregress.model.check_result import FrameworkOutcome, ReportData
from rlregress.model.replay_result import DIFFERS, Replay
from rlregress.model.verdict import REPRODUCED
from rlregress.pytest_plugin.subjects import SessionRun

from ..training.test_records import content
from . import night_files
from .test_outcome import entry, result_of

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
    """Returns, protocol, machine and verdict of each run are those of its record."""
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


def test_a_night_holds_its_replays(gated, tmp_path):
    """Cell, seed, state and first difference of each replay are those of the evidence."""
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
    assert read.list_reproduced_cells() == {"sb3-ppo-Hopper-v4-short"}


def test_nights_without_frameworks_are_one_sentence(command, tmp_path):
    """Nothing can be concluded from checks that could not begin."""
    nights = [{**night, "frameworks": {}} for night in night_files.nights(2, 1)]
    night_files.write_nights(tmp_path / "nights", nights)
    report = str(tmp_path / "report")
    code, out, error = command("trend", str(tmp_path / "nights"), "--report", report)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "none of 2 nights judged a framework" in error


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
