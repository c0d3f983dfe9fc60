"""What a gate keeps of a night is what its runs and its evidence say."""

from __future__ import annotations

import errno
import json
import os

import numpy as np
import pytest

from rlregress.errors import UserError
from rlregress.evidence import plain
from rlregress.gate import cell_selection, nightly_record
from rlregress.gate.judging import judge
from rlregress.gate.session import open_session
from rlregress.inside import run_record
from rlregress.model.gate_result import FrameworkOutcome, GateResult
from rlregress.pytest_plugin.subjects import SessionRun
from rlregress.reporting import summary
from rlregress.studies.trend import nightly_reports

from ..gate.test_outcome import entry
from . import night_files

CELL = "sb3-ppo-Hopper-v4-short"


@pytest.fixture
def gated(tmp_path):
    """A real session of one cell whose runs are in the store; its entries and result."""
    store = str(tmp_path / "runs")
    chosen = cell_selection.Selection("short", ["sb3"], ["ppo"], ["Hopper-v4"])
    session = open_session(chosen, 3, store, 0.05, 1000, one_look=True)
    (cell,) = session.cells
    rng = np.random.default_rng(0)
    stored = session.stored[cell].returns
    entries = []
    for job in session.jobs(cell):
        final = float(rng.choice(stored))
        content = {
            "schema": 1,
            "job": {**job.as_dict(), "key": job.key},
            "key": job.key,
            "status": "finished",
            "failure": "",
            "curve": [],
            "final_return": final,
            "episode_returns": [final],
            "training_return": final / 2,
            "steps": job.protocol.total_steps,
            "parameters_sha256": f"sha256:{job.seed:064x}",
            "platform": {**night_files.MACHINE, "python": "3.11.7"},
            "time": {"started_at": "2026-11-23T04:16:14Z", "steps_per_cpu_second": 91.0},
        }
        path = session.store.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        run_record.write(path, content)
        made = SessionRun(session, job).summary(content)
        named = f"tests_performance::test_training[{job.title}]"
        entries.append(plain(entry(named, "sb3", cell=cell.id, record=made)))
    verdicts = judge(session)
    entries.append(plain(entry("t::test_returns", "sb3", cell=cell.id, verdict=verdicts[cell.id])))
    of = FrameworkOutcome(
        framework="sb3",
        verdict="holds",
        tests={},
        failures=(),
        verdicts={CELL: entries[-1]["verdict"]},
    )
    versions = {"sb3": {"torch": "2.13.0"}}
    none = {"sb3": {}}
    result = GateResult(
        outcomes=[of],
        broken=[],
        unjudged=[],
        versions=versions,
        sources=none,
        copies=none,
        alpha=0.05,
        budget="short",
        seconds=12.0,
        exit_code=0,
    )
    return entries, result


def test_a_night_is_written_and_read_again(gated, tmp_path):
    """Returns, protocol, machine and verdict of each run are those of its record."""
    entries, result = gated
    (tmp_path / nightly_record.FILE).write_text(json.dumps(nightly_record.of_gate(result, entries)))
    read = nightly_reports.read(tmp_path)
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


def test_an_older_report_is_read_from_its_other_files(gated, tmp_path):
    """Without a night.json, verdict.json, evidence.json and the date of junit.xml tell the same."""
    entries, result = gated
    expected = nightly_record.of_gate(result, entries)
    (tmp_path / "evidence.json").write_text(json.dumps({"schema": 1, "tests": entries}))
    verdict = {
        "rlregress": "0.1.0",
        "exit_code": 0,
        "budget": "short",
        "versions": result.versions,
        "frameworks": {"sb3": {"verdict": "holds"}},
    }
    (tmp_path / "verdict.json").write_text(json.dumps(verdict))
    junit = '<?xml version="1.0"?><testsuites><testsuite timestamp="2026-11-23T06:15:29+02:00">'
    (tmp_path / "junit.xml").write_text(junit)
    read = nightly_reports.read(tmp_path)
    assert read.started == "2026-11-23T04:15:29Z"
    assert plain(read.cells) == plain(expected["cells"])
    (tmp_path / "evidence.json").unlink()
    with pytest.raises(
        UserError, match="evidence.json cannot be read: No such file .*; the tests did not run to"
    ):
        nightly_reports.read(tmp_path)


def test_the_summary_describes_returns_beside_their_mean(gated):
    """The interquartile means and the share of better pairs stand below the verdict."""
    entries, result = gated
    text = summary.markdown(result)
    values = entries[-1]["verdict"]
    assert 0 < values["improvement"] < 1
    assert f"- descriptive: interquartile mean {values['stored_middle']:.4g} -> " in text


def test_nights_without_cells_are_one_sentence(command, tmp_path):
    """A gate that could not judge leaves one, and of these alone nothing can be said."""
    nights = [{**night, "cells": {}} for night in night_files.nights(2, 1)]
    night_files.written(tmp_path / "nights", nights)
    report = str(tmp_path / "report")
    code, out, error = command("trend", str(tmp_path / "nights"), "--report", report)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "none of 2 nights has judged returns or measured" in error


def test_reports_are_found_without_end(tmp_path):
    """Links are not followed; folders in more than any report has are said, however many."""
    place = tmp_path / "nights" / "one"
    place.mkdir(parents=True)
    (place / nightly_record.FILE).touch()
    (place / "again").symlink_to(tmp_path / "nights")
    assert nightly_reports.folders([tmp_path / "nights", place]) == [place]
    deep = os.open(place, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("x", dir_fd=deep)
        below = os.open("x", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    with pytest.raises(UserError, match="holds folders in more than 50 others"):
        nightly_reports.folders([tmp_path / "nights"])


def test_a_folder_that_may_not_be_read_is_said(tmp_path, monkeypatch):
    """A night that is missed would change what the trend says."""
    hidden = tmp_path / "nights" / "hidden"
    hidden.mkdir(parents=True)
    (tmp_path / "nights" / nightly_record.FILE).touch()
    listed = os.listdir

    def denied(folder):
        if folder == hidden:
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(UserError, match="hidden cannot be read: Permission denied"):
        nightly_reports.folders([tmp_path / "nights"])
