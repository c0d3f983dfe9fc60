"""The runs of a session, wave by wave: those that undecided cells need, and then the verdicts."""

from __future__ import annotations

from collections import Counter

import pytest

from rlregress.check import check_run
from rlregress.check.cell_selection import Selection
from rlregress.check.judging import train_and_judge_session
from rlregress.check.session_waves import build_interim_verdicts, build_next_wave
from rlregress.check_options import CheckOptions
from rlregress.cli import waves as waves_command
from rlregress.cluster import run_one
from rlregress.model.verdict import REGRESSED
from rlregress.report import waves_text
from rlregress.training import worker_launch
from tools.tests.nightly import every

from .working import SessionEnded, open_stored, run_whole_session


def run_waves(session) -> list:
    """Do wave after wave until none is left; the waves."""
    waves = []
    while (wave := build_next_wave(session)) is not None:
        waves.append(wave)
        for job in wave.undone:
            session.run_or_read_job(job)
    return waves


@pytest.mark.parametrize(
    ("loss", "sizes"), every(3, [(0.2, [15, 5, 10]), (0.0, [15]), (0.3, [15, 15, 20])])
)
def test_waves_do_the_runs_of_a_session_and_come_to_its_verdicts(
    stored_selection, trained, tmp_path, loss, sizes
):
    """No run more and none less than a gate does, and what the gate says of the same store."""
    done, dial = trained
    dial["loss"] = loss
    alone = run_whole_session(stored_selection, tmp_path / "a")
    once = Counter(done)
    done.clear()
    session = open_stored(stored_selection, tmp_path / "b")
    waves = run_waves(session)
    assert Counter(done) == once
    assert [wave.number for wave in waves] == [1, 2, 3][: len(sizes)]
    assert [len(wave.jobs) for wave in waves] == [len(wave.undone) for wave in waves] == sizes
    done.clear()
    reopened = open_stored(stored_selection, tmp_path / "b")
    assert train_and_judge_session(session) == train_and_judge_session(reopened) == alone
    assert done == []


def test_the_standing_after_each_wave_is_reported(stored_selection, trained, tmp_path):
    """A regressed cell stays regressed, with its reason; the next wave has the undecided cells."""
    _, dial = trained
    dial["loss"] = 0.3
    session = open_stored(stored_selection, tmp_path)
    assert build_interim_verdicts(session) is None
    assert waves_text.describe_verdicts_of_waves(None) == []
    fallen: set[str] = set()
    while (wave := build_next_wave(session)) is not None:
        current = build_interim_verdicts(session)
        if current is not None:
            assert current.look == wave.number - 1
            assert set(current.undecided) == {job.cell.id for job in wave.jobs}
            assert not set(current.undecided) & set(current.verdicts)
            fallen |= {n for n, v in current.verdicts.items() if v.verdict == REGRESSED}
            text = waves_text.describe_verdicts_of_waves(current)
            assert text[-1].endswith(f"; undecided: {', '.join(current.undecided)}")
        for job in wave.undone:
            session.run_or_read_job(job)
    last = build_interim_verdicts(session)
    assert last is not None
    assert last.undecided == ()
    verdicts = train_and_judge_session(session)
    assert last.verdicts == verdicts
    regressed = {name for name, verdict in verdicts.items() if verdict.verdict == REGRESSED}
    assert fallen <= regressed != set()
    for name in regressed:
        assert (
            f"{name} regressed: {verdicts[name].reason}"
            in waves_text.describe_verdicts_of_waves(last)
        )


def test_a_damaged_record_puts_its_run_into_a_wave_again(stored_selection, trained, tmp_path):
    """It counts as not done, in the wave that it belongs to."""
    session = open_stored(stored_selection, tmp_path)
    first, *_ = run_waves(session)
    session.store.locate_record(first.jobs[2]).write_text("{")
    wave = build_next_wave(open_stored(stored_selection, tmp_path))
    assert wave is not None
    assert (wave.number, wave.jobs, wave.undone) == (1, first.jobs, (first.jobs[2],))


def test_runs_that_are_not_judged_are_one_wave(tmp_path):
    """All of them, as the budget says."""
    smoke = Selection("smoke", environments=["InvertedPendulum-v4"], frameworks=["sb3"])
    session = open_stored(smoke, tmp_path, 2)
    wave = build_next_wave(session)
    assert wave is not None
    assert (wave.number, wave.total, len(wave.jobs)) == (1, 1, 2 * len(session.cells))
    assert wave.jobs == wave.undone
    assert build_interim_verdicts(session) is None


def test_a_launch_of_waves_goes_on_until_the_check_has_a_verdict(
    stored_selection, trained, tmp_path, monkeypatch, capsys
):
    """Stopped and launched again it does each run once; a second one at the same time does none."""
    done, dial = trained
    dial["loss"] = 0.3

    def do_runs(manifest, store, workers, finished):
        for run in manifest.iterate_runs():
            if run.name not in finished:
                worker_launch.do_run_unless_recorded(manifest.read_job_at(run.number), store)
        return 0

    monkeypatch.setattr(waves_command.many_runs, "do_runs_here", do_runs)
    monkeypatch.setattr(waves_command.check, "judge_and_report_check", lambda options: 1)
    options = CheckOptions(
        report=tmp_path / "report", cells=stored_selection.cells, store=str(tmp_path / "runs"),
        fresh_seeds=True,
    )  # fmt: skip
    launched = waves_command.WaveOptions(options, site=None, wait=False)
    dial["left"] = 20
    with pytest.raises(SessionEnded):
        waves_command.run_waves_to_verdict(launched)
    dial["left"] = 10_000
    assert waves_command.run_waves_to_verdict(launched) == 1
    text = capsys.readouterr().out
    assert "after wave 1: " in text
    assert "after wave 3: " in text
    assert set(Counter(done).values()) == {1}
    session = check_run.open_check_session(options)
    assert build_next_wave(session) is None
    with waves_command._lock_waves_or_name_holder(session, wait=False):
        assert waves_command.run_waves_to_verdict(launched) == run_one.RESUMABLE
    assert "is doing these runs; run the command again" in capsys.readouterr().out
