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
from rlregress.upgrade.evidence import runtimes
from rlregress.upgrade.evidence.compared_trainings import Training

pytestmark = pytest.mark.usefixtures("warm_python")

PLAIN = {"framework": "sb3", "training": "a2c", "seed": 0}


def test_a_training_that_fails_leaves_what_it_said(tmp_path, warm_executable):
    """In its trace, or where there can be none in a file beside; the others go on."""
    changes = {"one": {}, "lost": {"framework": "none"}, "failed": {"training": "none"}}
    jobs = [
        {**PLAIN, "lines": False, "name": name, "output": f"{tmp_path}/{name}.trace", **changed}
        for name, changed in changes.items()
    ]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": jobs, "folder": str(tmp_path)}))
    runtime = Runtime("old", python=warm_executable)
    process = subprocess.run(
        recording_processes.make_start_command("batch", runtime),
        env=runtime.make_environment_variables(),
        input=f"{path}\n", capture_output=True, text=True,
    )  # fmt: skip
    # an error in what trainings share would also lose the functions that imports call
    assert (process.returncode, process.stderr) == (0, "")
    rows = [line.split("\t") for line in process.stdout.splitlines()]
    assert [(name, status == "0") for name, status, _ in rows] == [
        ("one", True), ("lost", False), ("failed", True)
    ]  # fmt: skip
    assert "'none'" in (tmp_path / "lost.trace.error").read_text().strip().splitlines()[-1]
    assert "none" in trace_reader.load_trace(tmp_path / "failed.trace").failure
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["failed.trace", "jobs.json", "lost.trace.error", "one.trace"]


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
    assert batch.find_time_limit(plain) == batch.PATIENCE
    assert batch.find_time_limit(with_options) == 4 * batch.PATIENCE
    assert batch.find_time_limit({**with_options, "patience": 5}) == 5
    assert batch.find_time_limit({"script": "train.py"}) == 0


def test_a_process_that_goes_on_records_as_one_of_a_single_training_does(tmp_path):
    """Both of its lists of trainings are equal to the bit to a training that is recorded alone."""
    runtime, trainings = Runtime("old"), [Training("sb3", "a2c", PLAIN)]
    alone = recording_processes.record_trace(
        {**PLAIN, "lines": True}, tmp_path / "alone.trace", runtime
    )
    with closing(runtimes.Workers(1)) as workers:
        traces = [
            trace
            for name in ("first", "second")
            for trace in runtimes.load_or_record_traces(
                trainings, runtime, tmp_path / name, lines=True, workers=workers
            ).values()
        ]
        # one process did both
        assert len(workers.idle) == 1
    assert not alone.failure
    assert alone.count_events_of_kind("optimizer") > 1
    # modules that all trainings share are loaded before the fork
    assert "stable_baselines3/common/on_policy_algorithm.py" in alone.header["imported"]
    assert alone.header["opened"] == ["stable_baselines3/version.txt"]
    # numbers, places, and all that was executed
    untold = {"job", "wall_seconds", "cpu_seconds", "grown_mib", "at_import"}
    assert traces[0].header["at_import"] == traces[1].header["at_import"]
    for trace in traces:
        assert trace.events == alone.events
        assert {k: v for k, v in trace.header.items() if k not in untold} == {
            k: v for k, v in alone.header.items() if k not in untold
        }


def test_a_process_that_ends_is_not_lent_again(tmp_path):
    """Its trainings say how it ended; the next list has a new process."""
    runtime = Runtime("old", python=str(tmp_path / "none"))
    trainings = [Training("sb3", "a2c", PLAIN)]
    with closing(runtimes.Workers(1)) as workers:
        trace = runtimes.load_or_record_traces(trainings, runtime, tmp_path, workers=workers)["a2c"]
        assert workers.idle == []
    assert trace.failure.startswith("the process ended with status 127: ")
