"""Nothing that a command starts outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from rlregress.inside import batch, process_tree
from rlregress.trace import child_processes
from tools.tests.processes import processes_with

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux")

#: starts a process that has a session of its own and ignores SIGTERM, and one as any.
_LEAVING = (
    "import os, signal, subprocess, sys, time\n"
    "wait = [sys.executable, '-c', 'import time; time.sleep(600)', os.environ['MARK']]\n"
    "subprocess.Popen(wait)\n"
    "subprocess.Popen(wait, start_new_session=True, preexec_fn=lambda: signal.signal(15, 1))\n"
)


@pytest.fixture
def mark(monkeypatch):
    """Name the processes of a test; none of them is there at its end."""
    name = f"rlregress-test-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("MARK", name)
    yield name
    end = time.monotonic() + 20
    while (remaining := processes_with(name)) and time.monotonic() < end:
        time.sleep(0.05)
    assert remaining == []


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("sys.exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    ],
)
def test_what_a_command_leaves_behind_is_ended(mark, ending, status):
    """However the command ends, its status is that of the whole."""
    ended = process_tree.run_supervised([sys.executable, "-c", _LEAVING + ending])
    assert ended.returncode == status
    assert processes_with(mark) == []


@pytest.mark.parametrize("how", ["kill_tree", "parent", "supervisor", "time"])
def test_what_runs_is_ended_with_who_waits_for_it(mark, how):
    """The tree is killed, its parent or supervisor is, or the time for it is over."""
    waiting = _LEAVING + "print(1, flush=True); time.sleep(600)"
    command = [sys.executable, "-c", waiting]
    if how == "time":
        with pytest.raises(subprocess.TimeoutExpired):
            process_tree.run_supervised(command, timeout=0.5)
        return
    if how == "parent":
        run = f"from rlregress.inside import process_tree; process_tree.run_supervised({command!r})"
        command = [sys.executable, "-c", run]
    else:
        command = process_tree.make_supervised_command(command)
    with (
        process_tree.end_children(),
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout.readline()
        assert len(processes_with(mark)) >= 2
        if how == "kill_tree":
            process_tree.kill_tree(process)
        else:
            process.kill()
        process.wait()


def test_a_signal_reaches_the_command_once():
    """Also where the command leads a group, all of which gets it."""
    counting = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: print('got', flush=True))\n"
        "print('ready', flush=True); time.sleep(0.2); time.sleep(0.2)\n"
    )
    command = process_tree.make_supervised_command([sys.executable, "-c", counting])
    for options in ({}, {"process_group": 0}):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            assert process.stdout.read() == "got\n"


def test_workers_of_a_training_that_is_left_end_with_it(mark, tmp_path):
    """Those of a vector environment, when the training ends at the first changed function."""

    def train(job):
        exec(_LEAVING, {})  # noqa: S102
        os._exit(0)

    jobs = [{"name": "one", "output": str(tmp_path / "one")}]
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        batch.fork_trainings(jobs, train)
        # the process of the batch goes on, for the next training
        os.write(writing, str(len(processes_with(mark))).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        assert told.read().splitlines()[-1].endswith("0")


def test_what_python_releases_at_the_end_is_still_known():
    """Its own process, which holds the names of semaphores, is not ended with the block."""
    program = (
        "import multiprocessing; from rlregress.inside import process_tree\n"
        "with process_tree.end_children():\n"
        "    kept = multiprocessing.get_context('spawn').Semaphore()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stderr == b""


def test_what_was_there_before_goes_on():
    """A process that was started by somebody else is not ended with the block."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as bystander:
        with process_tree.end_children():
            pass
        assert bystander.poll() is None
        bystander.kill()


def test_a_process_whose_parent_has_died_already_ends():
    """Before it could ask to be ended with it."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    program = (
        "import signal, sys; from rlregress.inside.process_tree import end_process_with_parent;"
        "end_process_with_parent(signal.SIGKILL, int(sys.argv[1])); print('goes on')"
    )

    def started_by(process):
        command = [sys.executable, "-c", program, str(process)]
        return subprocess.run(command, capture_output=True, check=False)

    while "Z" not in Path(f"/proc/{gone.pid}/stat").read_text():
        time.sleep(0.01)
    assert started_by(gone.pid).returncode == -signal.SIGKILL
    gone.wait()
    assert started_by(gone.pid).returncode == -signal.SIGKILL
    assert started_by(os.getpid()).stdout == b"goes on\n"


def test_no_wait_goes_beyond_the_deadline(mark):
    """One that is called raises, one that is followed ends, and none starts after it."""
    command = [sys.executable, "-c", _LEAVING + "print('one', flush=True); time.sleep(600)"]
    begun, lines = time.time(), []
    with child_processes.limit_processes(child_processes.Deadline(3 / 60, begun)):
        with closing(child_processes.Worker(command, os.environ)) as worker:
            worker.do_jobs(Path("jobs.json"), 2, lines.append)
        assert (lines, 2 < time.time() - begun < 10) == (["one"], True)
        with pytest.raises(child_processes.OutOfTime, match="--minutes 0.05 were over"):
            child_processes.run_command(command, os.environ, None)
    with closing(child_processes.Worker(command, os.environ)) as worker:
        with child_processes.limit_stage(time.time() + 1):
            assert worker.do_jobs(Path("jobs.json"), 2, lines.append)
        assert not worker.is_ready


def test_a_folder_of_the_user_stays(tmp_path):
    """Also one that is called as ours are."""
    folder = tmp_path / "rlregress-99999999"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    assert process_tree.run_supervised([sys.executable, "-c", ""], env=environment).returncode == 0
    command = process_tree.make_supervised_command([sys.executable, "-c", _TEMPORARY])
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert ran.stdout.startswith(f"{folder}/")
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


def test_what_a_command_hands_on_has_no_folder_that_ends_with_it(tmp_path):
    """A job of Slurm has the variables of the command, and goes on after it."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "AGAIN": "1"}
    done = process_tree.run_supervised(
        [sys.executable, "-c", _TEMPORARY], stdout=subprocess.PIPE, env=environment
    )
    folder, *handed_on = done.stdout.split()
    assert folder.startswith(f"{tmp_path}/")
    assert handed_on == [str(tmp_path)]
    assert list(tmp_path.iterdir()) == []


#: prints the folder of temporary files, and what other programs get; once more if it says AGAIN.
_TEMPORARY = """
import os, sys, tempfile
from rlregress.inside import process_tree
with process_tree.use_own_temporary_folder() as folder:
    if os.environ.pop("AGAIN", ""):
        os.environ["TMPDIR"] = folder
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    print(tempfile.gettempdir(), os.environ["TMPDIR"])
"""
