"""Many trainings from one process, each in a child of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rlregress.inside import batch
from rlregress.trace import recording_processes, trace_reader
from rlregress.trace.recording_processes import Runtime
from rlregress.trace.trace_comparison import compare_traces
from rlregress.upgrade.evidence import runtimes
from rlregress.upgrade.evidence.compared_trainings import Training

pytestmark = pytest.mark.usefixtures("warm_python")

PLAIN = {"framework": "sb3", "training": "a2c", "seed": 0}


def plain_job(folder, name, **changes):
    """Return the job of a plain training."""
    output = str(folder / f"{name}.trace")
    return {**PLAIN, "lines": False, "name": name, "output": output, **changes}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, warm_executable):
    """Two equal trainings, with two between them that fail; the process, and its folder."""
    folder = tmp_path_factory.mktemp("batch")
    jobs = [
        plain_job(folder, "one"),
        plain_job(folder, "lost", framework="none"),
        plain_job(folder, "failed", training="none"),
        plain_job(folder, "other"),
    ]
    path = folder / "jobs.json"
    path.write_text(json.dumps({"jobs": jobs, "folder": str(folder)}))
    runtime = Runtime("old", python=warm_executable)
    process = subprocess.run(
        recording_processes.make_start_command("batch", runtime),
        env=runtime.make_environment_variables(),
        input=f"{path}\n", capture_output=True, text=True,
    )  # fmt: skip
    return process, folder


@pytest.mark.nightly
def test_trainings_of_a_batch_are_those_of_processes_of_their_own(recorded, tmp_path):
    """The first and the last one are equal to the bit to each other, and to one recorded alone."""
    _, folder = recorded
    first, second = (trace_reader.load_trace(folder / f"{name}.trace") for name in ("one", "other"))
    job = {**PLAIN, "lines": False}
    alone = recording_processes.record_trace(job, tmp_path / "alone.trace", Runtime("old"))
    assert first.failure == ""
    assert min(first.count_events_of_kind("optimizer"), first.count_events_of_kind("step")) > 1
    assert {compare_traces(first, trace).verdict for trace in (second, alone)} == {"equal"}


def test_what_trainings_share_is_prepared_without_an_error(recorded):
    """An error in it would also lose the functions that imports call."""
    process, _ = recorded
    assert process.stderr == ""


def test_a_training_that_fails_leaves_what_it_said(recorded):
    """In its trace, or where there can be none in a file beside; the others go on."""
    process, folder = recorded
    assert process.returncode == 0
    rows = [line.split("\t") for line in process.stdout.splitlines()]
    assert [(name, status == "0") for name, status, _ in rows] == [
        ("one", True), ("lost", False), ("failed", True), ("other", True)
    ]  # fmt: skip
    assert "'none'" in (folder / "lost.trace.error").read_text().strip().splitlines()[-1]
    assert "none" in trace_reader.load_trace(folder / "failed.trace").failure
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["failed.trace", "jobs.json", "lost.trace.error", "one.trace", "other.trace"]


ENDED = """
import os, signal, sys, time
from rlregress.inside import batch

def record(job):
    if job["name"] == "late":
        time.sleep(60)
    if job["name"] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if job["name"] == "ended":
        sys.exit(3)
    print("noise")
    open(job["output"], "w").close()

batch.trace_worker.record_job_to_trace, batch.PATIENCE = record, 1
batch.import_shared_modules = lambda job: None
sys.exit(batch.main(sys.argv[1:]))
"""


def test_a_training_that_is_ended_says_by_what(tmp_path):
    """By its patience, or from outside; output of trainings is not among the batch's lines."""
    names = ["late", "killed", "ended", "last"]
    jobs = [{"name": name, "output": str(tmp_path / name)} for name in names]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": jobs, "folder": str(tmp_path)}))
    library = str(Path(batch.__file__).parents[2])
    process = subprocess.run(
        [sys.executable, "-c", ENDED], input=f"{path}\n", capture_output=True, text=True,
        check=True, env={**Runtime("old").make_environment_variables(), "PYTHONPATH": library},
    )  # fmt: skip
    assert [line.split("\t")[0] for line in process.stdout.splitlines()] == names
    values = {name: tmp_path / f"{name}.error" for name in names}
    assert values["late"].read_text().strip() == "the process was ended by SIGALRM after 1 s"
    assert values["killed"].read_text().strip() == "the process was ended by SIGKILL"
    assert "SystemExit: 3" in values["ended"].read_text()
    assert (tmp_path / "last").exists()
    assert not values["last"].exists()


def test_a_list_of_trainings_may_take_longer_than_one():
    """A busy machine takes minutes for the hundred trainings that are generated from a few."""
    plain, with_options = ({"training": title} for title in ("ppo saved", "ppo calls-options"))
    assert batch.find_patience(plain) == batch.PATIENCE
    assert batch.find_patience(with_options) == 4 * batch.PATIENCE
    assert batch.find_patience({**with_options, "patience": 5}) == 5
    assert batch.find_patience({"script": "train.py"}) == 0


def test_a_process_that_goes_on_records_as_a_new_one_does(tmp_path):
    """Its second list of trainings is equal to the bit to one that a new process records."""
    runtime = Runtime("old")
    trainings = [Training("sb3", "a2c", PLAIN)]
    folders = [tmp_path / name for name in ("new", "first", "second")]
    for folder in folders:
        folder.mkdir()
    (new,) = runtimes.load_or_record_traces(trainings, runtime, folders[0], lines=True).values()
    with closing(runtimes.Workers(1)) as workers:
        lists = [
            runtimes.load_or_record_traces(trainings, runtime, folder, lines=True, workers=workers)[
                "a2c"
            ]
            for folder in folders[1:]
        ]
        # one process did both
        assert len(workers.idle) == 1
    assert not new.failure
    assert new.count_events_of_kind("optimizer") > 1
    # numbers, places, and all that was executed
    untold = {"job", "wall_seconds", "cpu_seconds", "grown_mib"}
    for trace in lists:
        assert trace.events == new.events
        assert {k: v for k, v in trace.header.items() if k not in untold} == {
            k: v for k, v in new.header.items() if k not in untold
        }


def test_a_process_that_ends_is_not_lent_again(tmp_path):
    """Its trainings say how it ended; the next list has a new process."""
    runtime = Runtime("old", python=str(tmp_path / "none"))
    trainings = [Training("sb3", "a2c", PLAIN)]
    with closing(runtimes.Workers(1)) as workers:
        trace = runtimes.load_or_record_traces(trainings, runtime, tmp_path, workers=workers)["a2c"]
        assert workers.idle == []
    assert trace.failure.startswith("the process ended with status 127: ")
