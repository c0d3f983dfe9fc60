"""``rlregress runs launch --waves``: called by cron again and again, until there is a verdict."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest
import tomli_w

from rlregress import suite
from rlregress.training import job_plan
from rlregress.training.cell import Cell, Job
from rlregress.training.store import Store

from .short_runs import SHORT, find_holder, has_ended, holder
from .slurm_daemons import until

CELL = Cell("sb3", "sac", "InvertedPendulum-v4", "sb3", "short")
_COPIED = ("tools/rlregress", "baselines", "tests_performance")
#: a return that no untrained agent has.
_HIGH = 900.0


@dataclass(frozen=True)
class Copy:
    """The copy: its folder, and the environment in which its command is found."""

    folder: Path
    environment: dict[str, str]

    def jobs(self, seeds: range) -> list[Job]:
        """Return the judged runs, as the copy lists them."""
        return [replace(job, protocol=SHORT) for job in job_plan.plan_jobs_of_cell(CELL, seeds)]


def copy_suite(folder: Path, environment: dict[str, str]) -> Copy:
    """A suite in which new runs of one cell are doubtful after 3 and 6 and have regressed after 12.

    Four of five stored runs are far above what an untrained agent gets, one is below. Formulas and
    behaviour are not checked.
    """
    for name in _COPIED:
        shutil.copytree(suite.find_suite_root() / name, folder / name)
    for name in ("tests_unit", "tests_behavior"):
        (folder / name).mkdir()
    # what the conftest.py of trainings imports
    for name in ("conftest.py", "pyproject.toml", "tests_behavior/every_commit.py"):
        shutil.copy(suite.find_suite_root() / name, folder / name)
    path = folder / "baselines" / "budgets.toml"
    budgets = tomllib.loads(path.read_text())
    budgets["short"] |= {"evaluations": 1, "evaluation_episodes": SHORT.evaluation_episodes}
    budgets["short"]["total_steps"]["sac"] = SHORT.total_steps
    path.write_text(tomli_w.dumps(budgets))
    path = folder / "baselines" / "returns" / f"{CELL.id}.toml"
    content = tomllib.loads(path.read_text())
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    content |= {"protocol": asdict(SHORT), "seeds": 5}
    content["run"] = [_stored(seed, _HIGH + seed if seed else 0.0) for seed in range(5)]
    path.write_text(tomli_w.dumps(content))
    return Copy(folder, {**environment, "PYTHONPATH": os.fspath(folder / "tools")})


def _stored(seed: int, value: float) -> dict[str, object]:
    return {
        "seed": seed, "status": "finished", "final_return": value, "episode_returns": [value],
        "steps": SHORT.total_steps, "time": {"cpu_seconds": 1.0},
    }  # fmt: skip


#: what cron gives a command.
_CRON = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "HOME": "/", "LOGNAME": getpass.getuser()}


def read_line() -> str:
    """Return the line of crontab of the documentation."""
    text = (suite.find_suite_root() / "docs" / "running.md").read_text()
    [line] = re.findall(r"^    (?:\S+ ){5}(cd .* launch --waves --local .*)$", text, re.MULTILINE)
    return line


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
    del verdict["started"], verdict["seconds"], verdict["night"]["started"]
    for framework in verdict["frameworks"].values():
        for failure in framework["failures"]:
            del failure["seconds"]
    return verdict


def check_verdict(copy: Copy, store: Store, message: str) -> None:
    """The wave's verdict is that of a check of the same store, which trains nothing more."""
    assert "verdict sb3: regressed" in message
    waves = read_verdict(copy)
    before = {path: path.stat() for path in store.folder.glob("sb3*/*.json")}
    line = f"cd {copy.folder} && {sys.executable} -m rlregress check --cells all -n 1 --fresh-seeds"
    gate = run_line(f"{line} --store {store.folder}", copy)
    assert gate.returncode == 1, gate.stderr
    assert read_verdict(copy) == waves
    assert waves["frameworks"]["sb3"]["verdicts"][CELL.id]["look"] == 3
    assert {path: path.stat() for path in store.folder.glob("sb3*/*.json")} == before
    contents = store.list_runs_by_state()
    assert contents.done == {job.name for job in copy.jobs(range(1000, 1012))}
    assert (contents.duplicates, contents.damaged, contents.leases) == ([], [], set())


@pytest.mark.nightly
def test_killed_at_any_moment_a_nightly_says_the_same(tmp_path):
    """The line of crontab, killed in each wave, does each run once and has the check's verdict."""
    copy, store = copy_suite(tmp_path / "suite", _CRON), Store(tmp_path / "runs")
    line = insert_folders(read_line(), copy, store)
    text = ""
    for job in (copy.jobs(range(1000, 1012))[0], copy.jobs(range(1000, 1012))[7]):
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
    assert "after wave 3: 1 regressed\n" in last.stdout
    check_verdict(copy, store, last.stdout)
    # the check names the runs too
    trained = text + last.stdout.partition("\ncheck: ")[0]
    finished = Counter(re.findall(r"seed (\d+): finished", trained))
    assert finished == Counter({str(seed): 1 for seed in range(1000, 1012)})
