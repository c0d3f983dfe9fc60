"""Attempts at one run: each in its own folder, and one record of all of them."""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import asdict

import pytest

from rlregress import files
from rlregress.cluster import store_status
from rlregress.errors import DamagedRecord, UserError
from rlregress.inside import run_record
from rlregress.training import lease
from rlregress.training import store as store_module
from rlregress.training.store import Store

from .test_records import content, job

FAILED = {"status": "failed", "failure": "Traceback:\n  ...\nValueError: nan", "final_return": None}


@pytest.fixture
def store(tmp_path) -> Store:
    """Return a store without records."""
    return Store(tmp_path)


def claim(store):
    """Begin an attempt at the run, which nobody does."""
    attempt = store.claim_run(job())
    assert attempt is not None
    return attempt


def lease_text(**changes):
    """Return a lease of this process, with some changes."""
    return json.dumps({**asdict(lease.describe_this_process()), **changes})


def make_lease(store, text):
    """Write the lease of the run."""
    path = store.locate_record(job()).with_suffix(".lease")
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_an_attempt_has_a_folder_and_leaves_nothing(store):
    """While it is at it nobody else is; afterwards neither folder nor lease are left."""
    with claim(store) as attempt:
        attempt.log.write_text("...")
        assert store.claim_run(job()) is None
        assert store.is_in_progress(job())
        assert len(list(attempt.folder.parent.iterdir())) == 1
    assert not store.is_in_progress(job())
    assert list(store.locate_record(job()).parent.iterdir()) == []


def test_a_damaged_record_gives_way(store):
    """A record that cannot be read is set aside for the one that an attempt brings."""
    store.locate_record(job()).parent.mkdir()
    store.locate_record(job()).write_text("{")
    with pytest.warns(DamagedRecord):
        assert store.put_record_of_attempt(job(), content(job()), "one")
    assert store.find_record(job()) == content(job())
    assert store.list_runs_by_state().damaged == [f"{job().name}.damaged"]


def test_a_failed_run_is_known_by_a_name(store):
    """Which runs failed is seen without opening their records, and the last line says why."""
    assert store.put_record_of_attempt(job(), {**content(job()), **FAILED}, "one")
    assert store.put_record_of_attempt(job(1), content(job(1)), "one")
    assert store.list_runs_by_state().failed == {job().name}
    assert store.read_failure_reason(job().name) == "ValueError: nan"
    # the mark goes with the record that stays
    assert not store.put_record_of_attempt(job(1), {**content(job(1)), **FAILED}, "two")
    assert store.list_runs_by_state().failed == {job().name}


def test_the_files_of_a_store_tell_its_runs(store):
    """Names of cells may have dots and slashes; drafts are no records."""
    cell = job().cell
    for environment in ("ALE/Ring-v5", "Ring.v1"):
        dotted_job = job(cell=type(cell)("some@1.2", "ppo", environment, "some@1.2", "smoke"))
        assert store.put_record_of_attempt(dotted_job, content(dotted_job), "one")
        assert dotted_job.name in store.list_runs_by_state().done
    assert store.claim_run(job()) is not None
    for name in ("manifests/abc.json", "slurm/launch.lease", "some/.0000-abc.json"):
        path = store.folder / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    contents = store.list_runs_by_state()
    assert len(contents.done) == 2
    assert contents.leases == {job().name}


@pytest.mark.parametrize("attempt", ["/some/folder", "", "../../x", "x" * 300])
def test_a_lease_that_names_no_attempt_has_nothing_removed(store, tmp_path, attempt):
    """Only the folder of a valid attempt name is removed."""
    precious = tmp_path.parent / "x"
    precious.mkdir(exist_ok=True)
    folder = str(precious) if attempt == "/some/folder" else attempt
    # of no attempt that can be named: nobody holds it once it is old
    os.utime(make_lease(store, lease_text(attempt=folder, ended="it has ended")), (1, 1))
    log = store.locate_record(job()).with_suffix(".attempts") / "another" / "log"
    log.parent.mkdir(parents=True)
    log.touch()
    with claim(store):
        assert log.exists()
        assert precious.exists()


def test_a_link_that_leads_out_of_a_store_is_not_followed(store, tmp_path):
    """Neither is anything written there, nor is anything removed."""
    outside = tmp_path.parent / "outside"
    (outside / "old").mkdir(parents=True, exist_ok=True)
    path = make_lease(store, lease_text(attempt="old", ended="it has ended"))
    path.with_suffix(".attempts").symlink_to(outside)
    with pytest.raises(UserError, match=r"\.attempts.* lies outside of"):
        store.claim_run(job())
    assert [file_path.name for file_path in outside.iterdir()] == ["old"]


def test_the_clock_of_a_machine_decides_nothing(store, monkeypatch):
    """A machine whose clock is wrong neither takes a lease that is fresh, nor calls it stuck."""
    make_lease(store, lease_text(machine="another"))
    right = time.time
    for skew in (-3600, 3600):
        monkeypatch.setattr(time, "time", lambda skew=skew: right() + skew)
        assert store.is_in_progress(job())
        assert store.claim_run(job()) is None
        (attempt,) = store_status.survey_store(store, ()).attempts
        assert attempt.state == "running"


def test_a_link_that_comes_amid_a_removal_is_not_followed(tmp_path):
    """Each folder on the way is opened as one: what it becomes meanwhile leads nowhere."""
    store, victim = tmp_path / "store", tmp_path / "victim"
    attempts = store / "cell" / "run.attempts"
    attempts.parent.mkdir(parents=True)
    (victim / "a").mkdir(parents=True)
    attempts.symlink_to(victim)
    with pytest.raises(UserError, match="where a link leads"):
        files.remove_inside(store, attempts / "a")
    # the link itself is removed, and not what it leads to
    files.remove_inside(store, attempts)
    assert list(attempts.parent.iterdir()) == []
    assert (victim / "a").exists()


def test_nothing_is_written_through_a_name_that_was_put_there(tmp_path, monkeypatch):
    """A draft has a name that nobody can know, and is made anew."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=1))
    (tmp_path / f".record.json.{uuid.UUID(int=1).hex}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        run_record.write_text_atomically(tmp_path / "record.json", "new")
    assert victim.read_text() == "mine"


def test_no_second_result_is_lost(store):
    """Every one that differs is kept, also of attempts that call themselves the same."""
    for value in (1.0, 2.0, 3.0):
        store.put_record_of_attempt(job(), {**content(job()), "final_return": value}, "same")
    assert len([*store.locate_record(job()).parent.iterdir()]) == 3
    assert len(store.list_runs_by_state().duplicates) == 2


def test_every_damaged_record_is_kept(store):
    """Each damaged record gets the first free name."""
    path = store.locate_record(job())
    path.parent.mkdir()
    for number in range(3):
        path.write_text(f"damaged {number}")
        aside = store_module.rename_as_damaged(path)
        if number == 1:
            aside.rename(aside.with_name("elsewhere"))
    texts = {file_path.read_text() for file_path in path.parent.iterdir()}
    assert texts == {"damaged 0", "damaged 1", "damaged 2"}


def test_foreign_files_in_a_store_are_ignored(store, tmp_path):
    """Neither files of others, nor what links lead to, nor folders in place of marks."""
    cell = store.locate_record(job()).parent
    (cell / "deep").mkdir(parents=True)
    for name in ("package.json", "deep/1000-abc.json", "x.lease", "1002-abc.json"):
        (cell / name).write_text("{}")
    victim = tmp_path.parent / "other-store"
    victim.mkdir(exist_ok=True)
    (victim / "1000-abc.json").write_text("{}")
    (tmp_path / "linked").symlink_to(victim)
    (cell / "1001-abc.failed").mkdir()
    contents = store.list_runs_by_state()
    assert contents.done == {f"{cell.name}/1002-abc"}
    assert contents.leases == contents.failed == set()


def test_a_folder_in_place_of_a_mark_loses_no_result(store):
    """A mark that cannot be written does not cost the record."""
    path = store.locate_record(job())
    path.with_suffix(".failed").mkdir(parents=True)
    assert store.put_record_of_attempt(job(), content(job()), "one")
    assert store.find_record(job()) is not None


@pytest.mark.parametrize("host", ["", "a b/c", "x" * 300])
def test_a_host_may_be_called_as_it_likes(store, monkeypatch, host):
    """The name of an attempt is made of it, and is that of a folder."""
    monkeypatch.setattr(lease.platform, "node", lambda: host)
    with claim(store):
        assert store.read_lease_holder(job().name)[0].host == host
