"""Run records and their store: sealed, found by content, never judged when damaged."""

from __future__ import annotations

import hashlib
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from rlregress.cluster import audit
from rlregress.errors import DamagedRecord, UserError, show_damaged_records_as_sentences
from rlregress.inside import run_record
from rlregress.training import recorded_runs
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.store import Store


def job(seed: int = 0, **changes) -> Job:
    """Return a run of an imaginary framework: the store knows no framework."""
    content = {
        "cell": Cell("some", "ppo", "Ring-v0", "some", "smoke"), "seed": seed,
        "protocol": Protocol(100, 100, 2), "hyperparameters": {"learning_rate": 0.1},
        "versions": {"some": "1.0"}, "sources": {"some": "abc"},
    }  # fmt: skip
    return Job(**{**content, **changes})


def content(run: Job) -> dict:
    """Return a finished record."""
    return {
        "schema": run_record.SCHEMA, "job": {**run.convert_to_plain_data(), "key": run.key},
        "key": run.key,
        "status": "finished", "failure": "", "curve": [[100, [1.0, 2.0]]], "final_return": 1.5,
        "episode_returns": [1.0, 2.0], "steps": 100, "parameters_sha256": "0", "platform": {},
        "time": {},
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    """Return a store with one finished run, seed 0."""
    new_store = Store(tmp_path)
    new_store.locate_record(job()).parent.mkdir()
    run_record.write_record_with_checksum(new_store.locate_record(job()), content(job()))
    return new_store


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "damaged"),
        (lambda text: text.replace('"final_return": 1.5', '"final_return": 9.5'), "checksum"),
        (lambda text: "[]", "damaged"),
        (lambda text: text.replace('"final_return": 1.5', '"final_return": NaN'), "NaN"),
    ],
    ids=["truncated", "edited", "other", "nan"],
)
def test_a_damaged_record_is_named_set_aside_and_not_judged(store, damage, message):
    """A damaged record is renamed with one clear sentence when its run is done again."""
    path = store.locate_record(job())
    path.write_text(damage(path.read_text()))
    with pytest.warns(DamagedRecord, match=message) as warned:
        store.set_aside_damaged_record(job())
    message = str(warned[0].message)
    assert message.startswith(f"the run record {path} is damaged: ")
    assert message.endswith(f"; it is now called {path.stem}.damaged, and the run is done again")
    assert not path.exists()
    assert path.with_suffix(".damaged").exists()


def test_a_record_that_cannot_be_read_is_not_called_damaged(store):
    """The message names the folder in place of the record."""
    path = store.locate_record(job())
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match=r"cannot be read: it is a folder, not a file"):
        run_record.read_record_content(path)


def test_a_record_is_set_aside_only_if_it_is_damaged(store):
    """A finished run without a return is, whatever its checksum says."""
    store.set_aside_damaged_record(job())
    assert store.find_record(job()) == content(job())
    path = store.locate_record(job())
    run_record.write_record_with_checksum(path, {**content(job()), "final_return": None})
    with pytest.raises(UserError, match="contradicts itself: status 'finished' with the return"):
        recorded_runs.read_run_and_record(path)


def test_a_look_into_a_folder_makes_and_leaves_nothing(tmp_path):
    """In a store that is not there; and many may ask at once whether one can be written."""
    assert Store(tmp_path / "runs").find_record(job()) is None
    assert not (tmp_path / "runs").exists()
    folder = tmp_path / "report"
    with ThreadPoolExecutor(8) as pool:
        for requested in [
            pool.submit(run_record.check_folder_is_writable, folder, "it") for _ in range(800)
        ]:
            requested.result()
    assert list(folder.iterdir()) == []


def test_a_damaged_record_is_reported_without_a_line_of_code(store):
    """The warning is shown as its sentence; those of others as usual."""
    usual = warnings.formatwarning
    try:
        show_damaged_records_as_sentences()
        text = warnings.formatwarning("it is damaged", DamagedRecord, "store.py", 7, "code()")
        second = warnings.formatwarning("it is old", DeprecationWarning, "store.py", 7, "code()")
    finally:
        warnings.formatwarning = usual
    assert text == "rlregress: it is damaged\n"
    assert "store.py:7: DeprecationWarning: it is old" in second


def test_a_record_of_another_run_or_a_damaged_one_is_not_found(store):
    """One that was moved to another's place is none of it; asking changes no file."""
    store.locate_record(job()).rename(store.locate_record(job(seed=1)))
    assert store.find_record(job(seed=1)) is None
    assert "they differ in seed" in store.describe_damaged_record(job(seed=1))
    path = store.locate_record(job())
    path.write_text("{")
    assert store.find_record(job()) is None
    damage = store.describe_damaged_record(job())
    assert damage.startswith(f"the run record {path} is damaged: expected one JSON")
    assert path.read_text() == "{"


def test_a_dangling_link_in_place_of_a_record_is_an_error(store, tmp_path):
    """The message says to remove the link."""
    store.locate_record(job(seed=1)).symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match="a link with a missing target is in its place; remove it"):
        store.put_record_of_attempt(job(seed=1), content(job(seed=1)), "attempt")


def test_infinite_values_become_null():
    """NaN and infinity become null: a record is valid JSON for every reader."""
    values = [run_record.convert_non_finite_to_none(x) for x in (1.5, float("nan"), float("inf"))]
    assert json.dumps(values) == "[1.5, null, null]"


def test_a_write_that_fails_leaves_the_old_record_and_nothing_beside_it(store, monkeypatch):
    """A process that dies while it writes leaves the record that was there."""
    path = store.locate_record(job())

    def dies(*_):
        raise OSError("no space left")

    monkeypatch.setattr(run_record.os, "replace", dies)
    with pytest.raises(OSError, match="no space"):
        run_record.write_record_with_checksum(path, {**content(job()), "final_return": 2.0})
    assert store.find_record(job())["final_return"] == 1.5
    assert list(path.parent.iterdir()) == [path]


def test_the_key_of_a_run_is_the_digest_of_all_that_decides_it():
    """Sorted JSON of the whole run; of many seeds at once it is the same."""
    for run in (job(7), *job(0).make_jobs_of_seeds([7, 1000, 12345])):
        text = json.dumps(run.convert_to_plain_data(), sort_keys=True)
        assert run.key == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert job(0).make_jobs_of_seeds([7]) == [job(7)]
    assert job(7).key == job(0).make_jobs_of_seeds([7])[0].key != job(7, sources={"some": "1"}).key


#: a name that leads elsewhere, one too long for a file, an escape sequence, half of a character
PATHS = ("../../x", "", "x" * 300, "a\x1b[2Jb", "a\ud800b")
#: key of a record -> values that it never has, of those that ``test_data_contracts`` does not try
WRONG = {
    "curve": ([[100, ["1"]]], [[-1, [1.0]]], [[True, [1.0]]]),
    "critic": ({}, {"states": 1.5, "bootstrapped": 0.0}),
    "attempt": tuple({"id": key} for key in PATHS),
    "key": (None, "0" * 16, "../../x"),
    "job.cell.framework": PATHS,
    "job.cell.other": ("x",),
}  # fmt: skip


def with_value(record: dict, place: str, value: object) -> dict:
    """Return the record with another value at a place; the key is not updated."""
    *above, name = place.split(".")
    inner = record
    for key in above:
        inner = inner[key]
    inner[name] = value
    return record


def put(folder, name: str, record: dict):
    """Write a record, sealed; its path."""
    path = folder / "some-ppo-Ring-v0-smoke" / f"{name}.json"
    path.parent.mkdir(exist_ok=True, parents=True)
    run_record.write_record_with_checksum(path, record)
    return path


@pytest.mark.parametrize("place", WRONG)
def test_a_sealed_record_of_another_kind_is_refused(tmp_path, place):
    """``verify`` names it in one line; the model, not the key, finds it."""
    for number, value in enumerate(WRONG[place]):
        put(tmp_path, f"0000-{number}", with_value(content(job()), place, value))
    result = audit.audit_store(Store(tmp_path), None)
    assert (result.records, len(result.damaged)) == (0, len(WRONG[place]))
    for path in result.damaged:
        with pytest.raises(UserError) as values:
            recorded_runs.read_run_and_record(path)
        assert str(values.value).startswith(f"the run record {path}")
        assert len(str(values.value).splitlines()) == 1
        assert place in ("key", "job.cell.other") or "does not fit its key" not in str(values.value)


def content_of(**names: str) -> dict:
    """Return the record of a run whose cell has other names."""
    return content(job(cell=replace(job().cell, **names)))


def test_names_are_those_of_files_and_later_fields_are_kept(tmp_path):
    """An environment may stand in a namespace; names that are too long together are refused."""
    path = put(tmp_path, "0000-x", content_of(environment="ALE/Pong-v5"))
    run, _ = recorded_runs.read_run_and_record(path)
    assert run.cell.environment == "ALE/Pong-v5"
    assert "/" not in run.cell.id
    path = put(tmp_path, "0000-x", content_of(framework="f" * 150, algorithm="a" * 150))
    with pytest.raises(UserError, match="key 'job.cell' is .* expected names that are short"):
        recorded_runs.read_run_and_record(path)
    critic = {"states": 9, "bootstrapped": 0.0, "finite": False, "later": "x"}
    record = content(job()) | {"later": [1], "critic": critic, "time": {"later": "x"}}
    assert recorded_runs.read_run_and_record(put(tmp_path, "0000-x", record)) == (job(), record)


@pytest.mark.parametrize("environment", ["a/b/c", "a/", "../a"])
def test_an_environment_leads_nowhere_else(tmp_path, environment):
    """One slash between two plain names, and no other."""
    path = put(tmp_path, "0000-x", content_of(environment=environment))
    with pytest.raises(UserError, match=r"key 'job.cell.environment' is .*, expected an env"):
        recorded_runs.read_run_and_record(path)
