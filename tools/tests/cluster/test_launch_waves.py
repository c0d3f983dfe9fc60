"""``rlregress runs launch --waves``: called by cron again and again, until there is a verdict."""

from __future__ import annotations

import getpass
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest

from rlregress import suite
from rlregress.training.store import Store

from . import slurm_daemons
from .short_runs import find_holder, has_ended, holder
from .slurm_daemons import Site, until
from .suites import CELL, Copy, copy_suite

#: what cron gives a command.
_CRON = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "HOME": "/", "LOGNAME": getpass.getuser()}


def read_line(options: str) -> str:
    """Return the line of crontab of the documentation, with other options than ``--local``."""
    text = (suite.find_suite_root() / "docs" / "running.md").read_text()
    [line] = re.findall(r"^    (?:\S+ ){5}(cd .* launch --waves --local .*)$", text, re.MULTILINE)
    return line.replace("--local", options)


def insert_folders(line: str, copy: Copy, store: Store) -> str:
    """Insert the folders of a test into a line of the documentation."""
    for name, folder_text in (
        ("/home/me/rlregress", str(copy.folder)),
        (".venv/bin/rlregress", f"{sys.executable} -m rlregress"),
        ("/shared/S", str(store.folder)),
    ):
        assert name in line
        line = line.replace(name, folder_text)
    return line


def run_line(line: str, copy: Copy) -> subprocess.CompletedProcess[str]:
    """Run a line as cron does."""
    command, options = ["/bin/sh", "-c", line], {"cwd": "/", "stdin": subprocess.DEVNULL}
    return subprocess.run(command, env=copy.environment, capture_output=True, text=True, **options)


def read_verdict(copy: Copy) -> dict[str, object]:
    """Return the verdict of the last check, without start and durations."""
    verdict = json.loads((copy.folder / "report" / "verdict.json").read_text())
    del verdict["started"], verdict["seconds"]
    for framework in verdict["frameworks"].values():
        for failure in framework["failures"]:
            del failure["seconds"]
    return verdict


def check_verdict(copy: Copy, store: Store, message: str) -> None:
    """The wave's verdict is that of a check of the same store, which trains nothing more."""
    assert "verdict sb3: regressed" in message
    waves = read_verdict(copy)
    before = {path: path.stat() for path in store.folder.glob("sb3*/*.json")}
    line = f"cd {copy.folder} && {sys.executable} -m rlregress check --cells all -n 1"
    gate = run_line(f"{line} --store {store.folder}", copy)
    assert gate.returncode == 1, gate.stderr
    assert read_verdict(copy) == waves
    assert waves["frameworks"]["sb3"]["verdicts"][CELL.id]["look"] == 2
    assert {path: path.stat() for path in store.folder.glob("sb3*/*.json")} == before
    contents = store.list_runs_by_state()
    assert contents.done == {job.name for job in copy.jobs(range(1000, 1010))}
    assert (contents.duplicates, contents.damaged, contents.leases) == ([], [], set())


@pytest.mark.nightly
def test_killed_at_any_moment_a_nightly_says_the_same(tmp_path):
    """The line of crontab, killed in each wave, does each run once and has the check's verdict."""
    copy, store = copy_suite(tmp_path / "suite", _CRON), Store(tmp_path / "runs")
    line = insert_folders(read_line("--local"), copy, store)
    text = ""
    for job in (copy.jobs(range(1000, 1010))[0], copy.jobs(range(1000, 1010))[7]):
        with open(tmp_path / "said", "w") as out:
            process = subprocess.Popen(
                ["/bin/sh", "-c", line.replace(sys.executable, f"exec {sys.executable}")],
                env=copy.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=out,
            )  # fmt: skip
        try:
            # a wave before it may have to end
            until(lambda job=job: find_holder(store, job), 600, f"nobody does {job.title}")
            attempt_holder = holder(store, job).process
            process.send_signal(signal.SIGSTOP)
            second = run_line(line, copy)
            assert second.returncode == 75, second.stderr
            assert f"process {process.pid} on " in second.stdout
            assert second.stdout.endswith(
                " is doing these runs; run the command again for the verdict\n"
            )
        finally:
            process.kill()
            process.wait()
        until(lambda number=attempt_holder: has_ended(number), 60, "what it started goes on")
        text += (tmp_path / "said").read_text()
    last = run_line(line, copy)
    assert last.returncode == 1, last.stdout + last.stderr
    assert f"after wave 1: nothing is decided; undecided: {CELL.id}" in text
    assert "after wave 2: 1 regressed\n" in last.stdout
    check_verdict(copy, store, last.stdout)
    # the gate names the runs too
    trained = text + last.stdout.partition("\ngate: ")[0]
    finished = Counter(re.findall(r"seed (\d+): finished", trained))
    assert finished == Counter({str(seed): 1 for seed in range(1000, 1010)})


@pytest.mark.nightly
@pytest.mark.usefixtures("warm_python")
@pytest.mark.skipif(bool(slurm_daemons.missing()), reason=slurm_daemons.missing())
def test_a_nightly_on_slurm_is_called_until_it_has_a_verdict(tmp_path):
    """Going on, with a run that was killed; judged; the next wave; the verdict, from a job."""
    (tmp_path / "slurm").mkdir()
    with slurm_daemons.running(tmp_path / "slurm", Site(nodes=2, cores=8)) as cluster:
        fields = {name: cluster.environment[name] for name in ("PATH", "SLURM_CONF")}
        copy = copy_suite(tmp_path / "suite", _CRON | fields)
        store = Store(tmp_path / "runs")
        line = insert_folders(read_line("--slurm"), copy, store)
        waiting = insert_folders(read_line("--slurm --wait"), copy, store)

        first = run_line(line, copy)
        assert first.returncode == 75, first.stdout + first.stderr
        assert "wave 1 of at most 3: 5 runs of 1 undecided cells, 5 of them to do" in first.stdout
        assert "submitted: 5 runs" in first.stdout
        assert "wave 1 is not done; run the command again for the verdict" in first.stdout

        # one is looked at while it runs, one is killed
        slow, killed = copy.jobs(range(1000, 1002))
        stopped = set()
        until(lambda: _stopped(store, slow, stopped), 120, "the first run has not begun")
        until(lambda: _stopped(store, killed, stopped), 120, "the second run has not begun")
        os.kill(holder(store, killed).process, signal.SIGKILL)
        names = {job.name for job in copy.jobs(range(1002, 1005))}
        until(lambda: names <= store.list_runs_by_state().done, 300, "the others are not done")
        second_call = run_line(line, copy)
        assert second_call.returncode == 75, second_call.stdout + second_call.stderr
        assert "5 runs, 2 of them to do" in second_call.stdout
        assert "of them are in the queue" in second_call.stdout
        assert "after wave" not in second_call.stdout
        os.kill(holder(store, slow).process, signal.SIGCONT)

        log = tmp_path / "log"
        job = ["sbatch", "--wait", f"--output={log}", "--time=60", f"--wrap={waiting}"]
        process = subprocess.run(job, env=copy.environment, capture_output=True, text=True)
        output = log.read_text()
        assert process.returncode == 1, output
        assert f"after wave 1: nothing is decided; undecided: {CELL.id}" in output
        assert "wave 2 of at most 3: 5 runs of 1 undecided cells, 5 of them to do" in output
        assert "after wave 2: 1 regressed\n" in output
        check_verdict(copy, store, output)
        tasks = "\n".join(path.read_text() for path in (store.folder / "slurm").glob("*.log"))
        finished = Counter(re.findall(r"seed (\d+): finished", tasks))
        assert finished == Counter({str(seed): 1 for seed in range(1000, 1010)})


def _stopped(store: Store, job, stopped: set[str]) -> bool:
    """Stop the process that does a run as soon as it does it."""
    attempt_holder = find_holder(store, job)
    if attempt_holder is not None and job.key not in stopped:
        os.kill(attempt_holder.process, signal.SIGSTOP)
        stopped.add(job.key)
    return job.key in stopped
