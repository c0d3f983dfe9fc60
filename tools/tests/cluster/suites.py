"""A suite of its own whose judged runs take no time: a copy of this one, stored runs made up.

Everything in it is real but the stored runs and the length of a run.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import tomli_w

from rlregress import suite
from rlregress.training import job_plan
from rlregress.training.cell import Cell, Job

from .short_runs import SHORT

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
    """A suite in which new runs of one cell are doubtful after 5 and have regressed after 10.

    Four of five stored runs are far above what an untrained agent gets, one is below: with 5 new
    runs P = 6/252 at the first look, with 10 new ones P = 11/3003 at the second. Formulas and
    behaviour are not checked.
    """
    for name in _COPIED:
        shutil.copytree(suite.find_suite_root() / name, folder / name)
    for name in ("tests_unit", "tests_behavior"):
        (folder / name).mkdir()
    for name in ("conftest.py", "pyproject.toml"):
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
        "seed": seed, "status": "finished", "return": value, "episode_returns": [value],
        "steps": SHORT.total_steps, "cpu_seconds": 1.0,
    }  # fmt: skip
