"""``runs status``, ``verify`` and ``merge`` count records of a store and name errors in them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from rlregress.cluster import audit, manifest, store_status
from rlregress.inside import run_record
from rlregress.model.store_state import StoreStatus
from rlregress.report import cluster_text
from rlregress.training import budgets, lease
from rlregress.training.cell import Protocol
from rlregress.training.store import Store

from ..training.test_records import content
from ..training.test_records import job as imaginary

FAILED = {"status": "failed", "failure": "...\nValueError: nan", "final_return": None}
SMOKE = budgets.load_budget("smoke").make_protocol_of_algorithm("ppo")


def job(seed: int = 0, **changes):
    """Return a run of an imaginary framework, with the protocol of its budget."""
    return imaginary(seed, **{"protocol": SMOKE, **changes})


def put(store: Store, seed: int, **changes) -> None:
    """Write the record of a run, with some changes."""
    run = job(seed)
    store.put_record_of_attempt(run, {**content(run), **changes}, "one")


def attempt(store: Store, seed: int, silent: float = 0.0, steps: int = 0, **changes) -> None:
    """The lease of an attempt on another machine, and how far it has come."""
    fields = {"attempt": f"a{seed}", "machine": "elsewhere", "host": "node7", "process": 42}
    attempt_holder = replace(lease.describe_this_process(), **{**fields, **changes})
    path = store.locate_record(job(seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".lease").write_text(json.dumps(asdict(attempt_holder)))
    os.utime(path.with_suffix(".lease"), (1, time.time() - silent))
    folder = path.with_suffix(".attempts") / attempt_holder.attempt
    folder.mkdir(parents=True)
    if steps:
        fields = {"steps": steps, "total_steps": 100, "wall_seconds": 2.0 * steps}
        (folder / "record.progress").write_text(json.dumps(fields))


def write_list(store: Store, runs: int, seconds: float = 1.0) -> manifest.Manifest:
    """List so many runs in a store."""
    jobs = [(job(seed), seconds) for seed in range(runs)]
    return manifest.write_manifest_of_jobs(jobs, store.folder / "manifests")


@pytest.fixture
def store(tmp_path) -> Store:
    """Return a store of nine listed runs in all states, and one unlisted record."""
    new_store = Store(tmp_path / "runs")
    write_list(new_store, 9, 100.0)
    put(new_store, 0)
    put(new_store, 1, **FAILED)
    attempt(new_store, 2, steps=50)
    attempt(new_store, 3, steps=25, slurm={"SLURM_ARRAY_JOB_ID": "8", "SLURM_ARRAY_TASK_ID": "3"})
    attempt(new_store, 4, silent=200.0, steps=10)
    attempt(new_store, 5, ended="stopped by SIGUSR1", restarts=1)
    put(new_store, 77)
    return new_store


def survey(store: Store) -> StoreStatus:
    """Return the survey of all that is listed."""
    manifests = [manifest.Manifest(path) for path in (store.folder / "manifests").glob("*")]
    return store_status.survey_store(store, manifests)


@pytest.mark.parametrize(
    ("silent", "changes", "state"),
    [
        (0, {}, "running"),
        (200, {}, "stuck"),
        (400, {}, "stopped"),
        # its process is there: it may be stopped, and nobody else does its run
        (400, {"machine": lease.describe_this_process().machine, "process": os.getpid()}, "stuck"),
        (0, {"machine": lease.describe_this_process().machine, "begun": 1}, "stopped"),
        (0, {"ended": "stopped by SIGTERM"}, "stopped"),
    ],
)
def test_a_run_whose_lease_is_over_is_stopped(tmp_path, silent, changes, state):
    """Process, message or age end a lease; the next launch takes the run."""
    new_store = Store(tmp_path)
    attempt(new_store, 0, silent=silent, **changes)
    (surveyed,) = store_status.survey_store(new_store, []).attempts
    assert (surveyed.state, bool(surveyed.why)) == (state, state == "stopped")
    assert lease.is_lease_over(new_store.locate_record(job(0)).with_suffix(".lease")) == (
        state == "stopped"
    )


def test_a_run_that_has_only_a_checkpoint_is_stopped(tmp_path):
    """It has begun, and nobody does it."""
    new_store = Store(tmp_path)
    run_list = write_list(new_store, 2)
    new_store.locate_record(job(0)).parent.mkdir()
    new_store.locate_record(job(0)).with_suffix(".checkpoint").write_text("{}")
    assert store_status.survey_store(new_store, [run_list]).total_counts == {
        "stopped": 1,
        "waiting": 1,
    }


def test_a_run_that_slurm_has_ended_before_it_began_is_stopped(tmp_path):
    """Slurm was given it and has no task of it; one that is queued, or was never, waits."""
    new_store = Store(tmp_path)
    run_list = write_list(new_store, 4)
    put(new_store, 0)
    gone = {run_list.digest[: manifest.NAME_LENGTH]: {0, 1, 2}}
    result = store_status.survey_store(new_store, [run_list], gone, {job(2).name})
    assert (result.total_counts, result.unbegun) == ({"done": 1, "stopped": 1, "waiting": 2}, 1)
    assert "stopped: 1 runs before they began" in "\n".join(
        cluster_text.format_store_status(result, {}, "")
    )


def test_a_sound_store_has_a_time_left_and_is_verified(store):
    """By remaining runs, their progress and speed; missing records are counted."""
    # 200 s where 100 are expected; 5 runs of 0 %, one of 50 and one of 25, two at a time
    assert survey(store).seconds_left == pytest.approx(200 * (5 + 0.5 + 0.75) / 2)
    (path,) = (store.folder / "manifests").glob("*")
    result = audit.audit_store(store, manifest.Manifest(path))
    assert (result.records, result.failed, result.missing) == (3, 1, 7)
    assert result.wrong == result.notes == []
    assert cluster_text.format_store_audit(result) == [
        "3 records are intact, 1 of them of failed runs; problems: none",
        "7 of the manifest's runs without a record",
    ]


def test_the_time_left_is_at_least_that_of_the_longest_run(tmp_path):
    """Many at a time do not make one shorter; without a running one no time is known."""
    new_store = Store(tmp_path)
    result = store_status.survey_store(new_store, [write_list(new_store, 1)])
    assert result.seconds_left is None
    text = cluster_text.format_store_status(result, {}, "it is away")
    assert "nothing is running: launch again to do the remaining runs" in text
    assert "Slurm did not answer: it is away" in text
    new_store = Store(tmp_path)
    jobs = [(job(0), 1000.0), (job(1), 10.0)]
    run_list = manifest.write_manifest_of_jobs(jobs, new_store.folder / "manifests")
    for seed in (0, 1):
        attempt(new_store, seed)
    assert store_status.survey_store(new_store, [run_list]).seconds_left == 1000.0


def test_a_status_is_one_screen(store, snapshot):
    """The page has a table, the time left, and stuck, stopped, failed and running runs."""
    lines = cluster_text.format_store_status(survey(store), {("PENDING", "Resources"): 3}, "")
    snapshot("status.txt", "\n".join([*lines, ""]))


def _seal(store: Store, **changes) -> None:
    run_record.write_record_with_checksum(
        store.locate_record(job(0)), {**content(job(0)), **changes}
    )


def _put_other_protocol(store: Store) -> None:
    other_job = job(0, protocol=Protocol(2048, 2048, 1))
    store.put_record_of_attempt(other_job, content(other_job), "one")


DAMAGE: dict[str, tuple[Callable[[Store], object], str]] = {
    "moved": (lambda store: store.locate_record(job(0)).rename(store.locate_record(job(6))),
              "does not match its name: it contains"),
    "key": (lambda store: _seal(store, key=job(6).key),
            "is damaged: its 'job' does not fit its key"),
    "no job": (lambda store: _seal(store, job={}), "table 'job': key 'cell' is missing"),
    "protocol": (_put_other_protocol,
                 "its protocol is {'total_steps': 2048, 'evaluate_every': 2048"),
    "duplicate": (lambda store: put(store, 0, final_return=9.5),
                  "with another result than the record of the run"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_errors_in_a_store_are_named(store, kind):
    """Damage, a record under another's name, another protocol, a second result."""
    damage, message = DAMAGE[kind]
    damage(store)
    result = audit.audit_store(store, None)
    (wrong,) = [*result.damaged.values(), *result.wrong]
    assert message in wrong


def test_runs_of_other_versions_and_machines_are_noted(store):
    """They are no fault of a store, but never judged together without being told."""
    run = job(20, versions={"some": "1.1"})
    platform = {"cpu": "A", "python": "3.11"}
    store.put_record_of_attempt(run, {**content(run), "platform": platform}, "one")
    put(store, 21, platform={"cpu": "B", "python": "3.11"})
    result = audit.audit_store(store, None)
    assert result.wrong == []
    assert [note.partition(": ")[0] for note in result.notes] == [
        "some-ppo-Ring-v0-smoke has runs of 2 versions",
        "some-ppo-Ring-v0-smoke has runs of 2 machines",
    ]
    assert "machines: A, Python 3.11 (runs: 1); B" in result.notes[1]


def test_stores_are_merged_by_the_key_of_a_run(tmp_path, store):
    """Equal records once; one that differs is named and kept beside; a damaged one is left out."""
    other_store = Store(tmp_path / "other")
    put(other_store, 0, time={"wall_seconds": 5.0})  # the same result
    put(other_store, 1)  # which failed in the first
    for seed in (30, 31):
        put(other_store, seed)
    other_store.locate_record(job(31)).write_text("{")
    into = Store(tmp_path / "all")
    result = audit.merge_records_of_stores([store, other_store], into)
    assert (result.new, result.equal) == (4, 1)
    assert result.differing == [
        f"{other_store.locate_record(job(1))} differs from {into.locate_record(job(1))}"
    ]
    assert len(result.damaged) == 1
    contents = into.list_runs_by_state()
    assert contents.done == {job(seed).name for seed in (0, 1, 30, 77)}
    assert contents.failed == {job(1).name}
    assert len(contents.duplicates) == 1
    stored = into.find_record(job(0))
    assert stored is not None
    assert stored["time"] == {}
    second_merge = audit.merge_records_of_stores([store, other_store], into)
    assert (second_merge.new, second_merge.equal, len(second_merge.differing)) == (0, 5, 1)
    assert into.list_runs_by_state() == contents
