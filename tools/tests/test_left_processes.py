"""No command leaves a process or a temporary file behind, whether it ends by itself or is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tools.tests.processes import processes_with

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux"),
]

#: starts a process with a session of its own, which nobody awaits, leaves files, and trains.
SCRIPT = """
import os, subprocess, sys, tempfile, time
import gymnasium, torch

command = [sys.executable, "-c", "import time; time.sleep(900)"]
subprocess.Popen(command, start_new_session=True)
os.makedirs(os.path.join(tempfile.gettempdir(), "SB3-logs"))
open(os.path.join(tempfile.mkdtemp(), "scalars.csv"), "w").close()
environment = gymnasium.make("CartPole-v1")
environment.reset(seed=1)
environment.step(0)
parameter = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([parameter], lr=0.1)
parameter.sum().backward()
optimizer.step()
print("TRAINED", flush=True)
time.sleep({seconds})
"""


@pytest.mark.parametrize("number", [signal.SIGINT, None, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_command(number, tmp_path):
    """Unawaited processes and temporary files of a script end with the command."""
    mark = f"rlregress-left-{os.getpid()}-{time.monotonic_ns()}"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(seconds=600 if number else 0))
    words = ["trace", str(script), "-o", str(tmp_path / "one.trace")]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {**os.environ, "MARK": mark, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-m", "rlregress", *words],
        env=variables,
        stdout=subprocess.DEVNULL,
        # the shell of a background may ignore interrupts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        if number is not None:
            end = time.monotonic() + 120
            while len(processes_with(mark)) < 4 and time.monotonic() < end:
                time.sleep(0.1)
            process.send_signal(number)
        process.wait()
    end = time.monotonic() + (10 if number == signal.SIGKILL else 0)
    while (remaining := [*processes_with(mark), *temporary.iterdir()]) and time.monotonic() < end:
        time.sleep(0.1)
    assert remaining == []
