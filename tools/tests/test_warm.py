"""A process that begins with torch imported is otherwise one that Python has started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from rlregress.inside import child_environment
from tests_performance import warm
from tests_performance.conftest import may_begin_warm
from tools.tests.processes import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="it takes Linux")

REPORT = """
import json, os, random, sys
import numpy as np
told = {
    "arguments": sys.argv, "main": __name__, "folder": os.getcwd(), "said": sys.stdin.read(),
    "variable": os.environ.get("GIVEN"), "gone": os.environ.get("HOME"), "path": sys.path,
    "torch": "torch" in sys.modules, "warnings": sys.warnoptions,
    "drawn": [random.random(), np.random.rand()],
}
print(json.dumps(told))
"""


def run_report(python: str, arguments: list[str], folder: Path) -> dict:
    """Return a process's report of itself."""
    variables = {**os.environ, "GIVEN": "here", "PYTHONPATH": "below"}
    variables.pop("HOME", None)
    words = (*arguments, "one", "-two")
    process = run_python(*words, python=python, cwd=folder, env=variables, input="words")
    return json.loads(process.stdout)


@pytest.mark.parametrize("how", ["command", "script", "module"])
def test_a_warm_process_equals_a_process_of_python(how, warm_executable, tmp_path):
    """Arguments, folder, variables, input and path are the same; only torch is there already."""
    (tmp_path / "telling.py").write_text(REPORT, encoding="utf-8")
    arguments = {
        "command": ["-W", "ignore", "-c", REPORT],
        "script": ["telling.py"],
        "module": ["-m", "telling"],
    }[how]
    warm = run_report(warm_executable, arguments, tmp_path)
    second = run_report(warm_executable, arguments, tmp_path)
    cold = run_report(sys.executable, arguments, tmp_path)
    assert warm.pop("torch") is True
    assert cold.pop("torch") is False
    # what is drawn without a seed is not what another process draws
    draws = [answer.pop("drawn") for answer in (warm, second, cold)]
    assert len({value for pair in draws for value in pair}) == 6
    assert warm == cold


@pytest.mark.parametrize(
    ("text", "status"), [("raise SystemExit(7)", 7), ("1 / 0", 1), ("exit('x')", 1)]
)
def test_it_ends_as_python_ends(warm_executable, text, status):
    """Status, error output and exit handlers are those of Python."""
    text = f"import atexit; atexit.register(print, 'bye')\n{text}"
    executables = (warm_executable, sys.executable)
    warm, cold = (run_python("-c", text, python=python, code=status) for python in executables)
    assert warm.stdout == cold.stdout == "bye\n"
    assert warm.stderr.splitlines()[-1:] == cold.stderr.splitlines()[-1:]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_process_that_was_started(warm_executable, number):
    """A signal to the client reaches the process, sets its status, and leaves nothing running."""
    text = "import os, time; print(os.getpid(), flush=True); time.sleep(100)"
    command = [warm_executable, "-c", text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        running = Path("/proc") / process.stdout.readline().strip()
        assert running.exists()
        process.send_signal(number)
        assert process.wait(timeout=20) == -number
    for _ in range(200):
        if not running.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{running} runs on")


def test_a_module_of_its_own_is_not_hidden(warm_executable, tmp_path):
    """A torch on the path is imported, as Python does."""
    (tmp_path / "torch.py").write_text("VALUE = 3\n", encoding="utf-8")
    words = ("-c", "import torch; print(torch.VALUE)")
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert run_python(*words, python=warm_executable, env=variables).stdout == "3\n"


def test_each_variable_of_a_child_process_has_its_own_server():
    """A process whose memory is measured begins without torch, whose 100 MiB are not its own."""
    with mock.patch.dict(os.environ, clear=True):
        environ = child_environment.make_environment_variables(may_compile=False, portable=True)
    environ["NPY_DISABLE_CPU_FEATURES"] = "AVX512F"
    key = warm._digest_variables(environ)
    # any hash seed will do for a process that names none
    unnamed = {name: value for name, value in environ.items() if name != "PYTHONHASHSEED"}
    assert warm._digest_variables(unnamed) == key
    assert warm._make_server_variables(unnamed)["PYTHONHASHSEED"] == "0"
    # a child reads where its temporary files are when it writes the first
    assert [
        name for name in environ if warm._digest_variables({**environ, name: "other"}) == key
    ] == ["TMPDIR"]
    assert may_begin_warm(["framework", "evidence"], judged=False)
    assert not may_begin_warm(["framework", "throughput", "evidence"], judged=False)
    assert not may_begin_warm(["training", "evidence"], judged=True)
    assert may_begin_warm(["replayed_cell", "evidence"], judged=True)
