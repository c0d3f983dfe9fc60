"""A script does under a recorder what it does without one, and so does what it saves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rlregress import suite
from rlregress.tracing import recording_processes, trace_reader
from rlregress.tracing.recording_processes import Side

pytestmark = pytest.mark.usefixtures("warm_python")

SCRIPTS = tomllib.loads(Path(__file__).with_name("unchanged.toml").read_text(encoding="utf-8"))
SEEDS = SCRIPTS.pop("seeds")


def plain(script: Path, folder: Path) -> str:
    """What a script prints in a process without this suite."""
    environment = Side("old").environment()
    del environment["PYTHONPATH"]
    ended = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert not ended.returncode, ended.stderr
    return ended.stdout


def recorded(script: Path, folder: Path) -> str:
    """What it prints under a recorder."""
    job = {"script": str(script), "packages": ["stable_baselines3", "torchrl"], "lines": True}
    path, output = folder / "job.json", folder / "script.trace"
    path.write_text(json.dumps({**job, "output": str(output)}))
    side = Side("old")
    ended = subprocess.run(
        recording_processes.start("trace_worker", side, path),
        cwd=folder, env=side.environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert not ended.returncode, ended.stderr
    assert str(suite.library()) in side.environment()["PYTHONPATH"]
    trace = trace_reader.load(output)
    assert not trace.failure, trace.failure
    assert trace.count("reset") + trace.count("optimizer") + trace.count("output")
    return ended.stdout


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.nightly if n != "environments" else ()) for n in SCRIPTS],
)
def test_a_script_does_the_same_under_a_recorder(name: str, tmp_path: Path) -> None:
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
