"""A script behaves under a recorder as without one, and so do its saved files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rlregress import suite
from rlregress.trace import recording_processes, trace_reader
from rlregress.trace.recording_processes import Runtime

pytestmark = pytest.mark.usefixtures("warm_python")

SCRIPTS = tomllib.loads(Path(__file__).with_name("unchanged.toml").read_text(encoding="utf-8"))
SEEDS = SCRIPTS.pop("seeds")


def plain(script, folder):
    """Return the output of a script in a process without this suite."""
    environment = Runtime("old").make_environment_variables()
    del environment["PYTHONPATH"]
    process = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert not process.returncode, process.stderr
    return process.stdout


def recorded(script, folder):
    """Return the output of a script under a recorder."""
    job = {"script": str(script), "packages": ["stable_baselines3", "torchrl"], "lines": True}
    path, output = folder / "job.json", folder / "script.trace"
    path.write_text(json.dumps({**job, "output": str(output)}))
    runtime = Runtime("old")
    process = subprocess.run(
        recording_processes.make_start_command("trace_worker", runtime, path),
        cwd=folder, env=runtime.make_environment_variables(), capture_output=True, text=True,
    )  # fmt: skip
    assert not process.returncode, process.stderr
    assert (
        str(suite.locate_folder_with_only_library())
        in runtime.make_environment_variables()["PYTHONPATH"]
    )
    trace = trace_reader.load_trace(output)
    assert not trace.failure, trace.failure
    assert (
        trace.count_events_of_kind("reset")
        + trace.count_events_of_kind("optimizer")
        + trace.count_events_of_kind("output")
    )
    return process.stdout


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.nightly if n != "environments" else ()) for n in SCRIPTS],
)
def test_a_script_does_the_same_under_a_recorder(name, tmp_path):
    """It prints the same, and its files are loaded where this suite is not."""
    script = tmp_path / "script.py"
    script.write_text(SEEDS + SCRIPTS[name]["script"], encoding="utf-8")
    loading = tmp_path / "loading.py"
    loading.write_text(SCRIPTS[name].get("loading", ""), encoding="utf-8")
    printed = []
    for how in (plain, recorded):
        folder = tmp_path / how.__name__
        folder.mkdir()
        printed.append(f"{how(script, folder)}\n{plain(loading, folder)}")
    assert re.sub("0x[0-9a-f]+", "", printed[1]) == re.sub("0x[0-9a-f]+", "", printed[0])
