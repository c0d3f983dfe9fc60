"""The content of a record is checked when it is read, whatever its seal says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.cluster import audit
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.training import recorded_runs
from rlregress.training.store import Store

from .test_records import content, job

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


def test_fields_of_a_later_version_are_kept(tmp_path):
    """A store may be shared by two versions: neither sets the other's records aside."""
    critic = {"states": 9, "bootstrapped": 0.0, "finite": False, "later": "x"}
    record = content(job()) | {"later": [1], "critic": critic, "time": {"later": "x"}}
    assert recorded_runs.read_run_and_record(put(tmp_path, "0000-x", record)) == (job(), record)


def content_of(**names: str) -> dict:
    """Return the record of a run whose cell has other names."""
    return content(job(cell=replace(job().cell, **names)))


def test_an_environment_may_stand_in_a_namespace(tmp_path):
    """Its id is one file's name all the same."""
    path = put(tmp_path, "0000-x", content_of(environment="ALE/Pong-v5"))
    run, _ = recorded_runs.read_run_and_record(path)
    assert run.cell.environment == "ALE/Pong-v5"
    assert "/" not in run.cell.id


@pytest.mark.parametrize("environment", ["a/b/c", "a/", "../a"])
def test_an_environment_leads_nowhere_else(tmp_path, environment):
    """One slash between two plain names, and no other."""
    path = put(tmp_path, "0000-x", content_of(environment=environment))
    with pytest.raises(UserError, match=r"key 'job.cell.environment' is .*, expected an env"):
        recorded_runs.read_run_and_record(path)


def test_names_that_are_too_long_together_are_no_file(tmp_path):
    """Each of them fits, and the cell has no id that does."""
    path = put(tmp_path, "0000-x", content_of(framework="f" * 150, algorithm="a" * 150))
    with pytest.raises(UserError, match="key 'job.cell' is .* expected names that are short"):
        recorded_runs.read_run_and_record(path)
