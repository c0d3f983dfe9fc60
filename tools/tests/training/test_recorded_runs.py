"""The content of a record is checked when it is read, whatever its seal says."""

from __future__ import annotations

import pytest

from rlregress.cluster import audit
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.training import recorded_runs
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.store import Store

#: a name that leads elsewhere, one too long for a file, an escape sequence, half of a character
PATHS = ("../../x", "/abs/x", "..", "", "x" * 300, "a\x1b[2Jb", "a\nb", "a\ud800b")
#: key of a record -> values that it never has, of those that ``test_data_contracts`` does not try
WRONG = {
    "curve": ([[100, ["1"]]], [[-1, [1.0]]], [[True, [1.0]]]),
    "critic": ({}, {"states": 1.5, "bootstrapped": 0.0}, {"states": 1, "bootstrapped": "0"}),
    "attempt": tuple({"id": key} for key in PATHS),
    "curve_cpu_seconds": ([[1.0]], [["1", 1.0]]),
    "episodes": ([[1, 1.0]], [[1, "1", 1]], [[1.5, 1.0, 1]]),
    "key": (None, "0" * 16, "../../x"),
    "job.cell.framework": PATHS,
    "job.cell.other": ("x",),
}  # fmt: skip


def sound(seed: int = 0, **names: str) -> dict:
    """Return a record with all that the worker writes."""
    named = {"framework": "some", "algorithm": "ppo", "environment": "Ring-v0"}
    cell = Cell(**{**named, "hyperparameters": "some", "budget": "smoke", **names})
    job = Job(cell, seed, Protocol(100, 100, 2), {"rate": 0.1}, {"some": "1.0"}, {"some": "ab"})
    return {
        "schema": run_record.SCHEMA, "job": {**job.convert_to_plain_data(), "key": job.key},
        "key": job.key,
        "status": "finished", "failure": "", "curve": [[100, [1.0, None]]], "final_return": 1.5,
        "episode_returns": [1.0, 2.0], "steps": 100, "parameters_sha256": "0",
        "platform": {"cpu": "EPYC", "torch_threads": 1},
        "time": {"started_at": "2026-11-23T04:16:14Z", "wall_seconds": 1.5, "cpu_seconds": 1},
        "training_return": 1.0, "diagnostics": {"entropy": 1.4, "kl": None},
        "critic": {"states": 9, "bootstrapped": 0.0, "explained_variance": None, "bias": None,
                   "finite": False, "mean": None, "spread": None},
        "memory": {"peak_mib": 400.5}, "curve_cpu_seconds": [[0.5, 0.25]],
        "episodes": [[50, 1.0, 50], [100, None, 50]],
        "attempt": {"id": "host-1-ab", "host": "host", "slurm": {"SLURM_JOB_ID": "7"},
                    "restarts": 1, "begun_anew": "",
                    "continued": [{"steps": 50, "attempt": "host-0-ab", "host": "host"}]},
    }  # fmt: skip


def with_value(content: dict, place: str, value: object) -> dict:
    """Return the record with another value at a place; the key is not updated."""
    *above, name = place.split(".")
    inner = content
    for key in above:
        inner = inner[key]
    inner[name] = value
    return content


def put(folder, name: str, content: dict):
    """Write a record, sealed; its path."""
    path = folder / "some-ppo-Ring-v0-smoke" / f"{name}.json"
    path.parent.mkdir(exist_ok=True, parents=True)
    run_record.write_record_with_checksum(path, content)
    return path


@pytest.mark.parametrize("place", WRONG)
def test_a_sealed_record_of_another_kind_is_refused(tmp_path, place):
    """``verify`` names it in one line; the model, not the key, finds it."""
    for number, value in enumerate(WRONG[place]):
        put(tmp_path, f"0000-{number}", with_value(sound(), place, value))
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
    content = sound() | {"later": [1]}
    content["time"]["later"] = content["critic"]["later"] = "x"
    path = put(tmp_path, "0000-x", content)
    assert recorded_runs.read_run_and_record(path) == (
        Job.make_from_plain_data(content["job"]),
        content,
    )


@pytest.mark.parametrize("environment", ["ALE/Pong-v5", "module:Name-v0", "CartPole-v1"])
def test_an_environment_may_stand_in_a_namespace(tmp_path, environment):
    """Its id is one file's name all the same."""
    job, _ = recorded_runs.read_run_and_record(
        put(tmp_path, "0000-x", sound(environment=environment))
    )
    assert job.cell.environment == environment
    assert "/" not in job.cell.id


@pytest.mark.parametrize("environment", ["a/b/c", "a/", "/a", "../a", "a/..", "a/ b"])
def test_an_environment_leads_nowhere_else(tmp_path, environment):
    """One slash between two plain names, and no other."""
    with pytest.raises(UserError, match=r"key 'job.cell.environment' is .*, expected an env"):
        recorded_runs.read_run_and_record(put(tmp_path, "0000-x", sound(environment=environment)))


def test_names_that_are_too_long_together_are_no_file(tmp_path):
    """Each of them fits, and the cell has no id that does."""
    content = sound(framework="f" * 150, algorithm="a" * 150)
    with pytest.raises(UserError, match="key 'job.cell' is .* expected names that are short"):
        recorded_runs.read_run_and_record(put(tmp_path, "0000-x", content))
