"""A script behaves under a recorder as without one; the files that it loads are known."""

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
from rlregress.training import worker_launch

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


SCRIPT = """
import sys
import learner.used, scipy.special
del sys.modules["learner.used"]
import torch
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
optimizer.step()
"""


@pytest.fixture
def package(tmp_path):
    """The folder of a package that reads a file of its own, with a module that nobody imports."""
    folder = tmp_path / "learner"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "used.py").write_text(
        "import os\nopen(os.path.join(os.path.dirname(__file__), 'rates.json')).read()\n"
        "open(os.path.join(os.path.dirname(__file__), 'log.txt'), 'w').close()\n"
    )
    (folder / "unused.py").write_text("")
    (folder / "rates.json").write_text("{}")
    return folder


def test_what_a_script_loads_is_in_its_trace(package, tmp_path):
    """Modules taken out of sys.modules count; files that it writes or never loads do not."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    job = {"script": str(script), "packages": ["learner"]}
    header = recording_processes.record_trace(job, tmp_path / "made.trace", Runtime("old")).header
    assert not header["failure"]
    assert header["imported"] == ["learner/__init__.py", "learner/used.py", "train.py"]
    assert header["opened"] == ["learner/rates.json"]
    names = set(header["distributions_imported"])
    assert {"scipy", "torch", "learner"} <= names
    assert not names & {"os", "json", "_io", "rlregress", "__main__"}


def test_a_script_whose_working_folder_is_gone_reads_as_it_did(tmp_path):
    """Noting a file that is read never prevents reading it."""
    program = (
        "import os, sys; from rlregress.inside import loading; loading.note_everything_loaded();"
        "os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); open('/dev/null').close()"
    )
    gone = tmp_path / "gone"
    gone.mkdir()
    subprocess.run(
        [sys.executable, "-c", program, str(gone)],
        env=worker_launch.make_worker_environment(),
        check=True,
    )
