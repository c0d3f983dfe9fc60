"""The files that a training loads: its modules, its scripts, and their data."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rlregress.trace import recording_processes
from rlregress.trace.recording_processes import Runtime
from rlregress.training import worker_launch

pytestmark = pytest.mark.usefixtures("warm_python")

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
