"""The options of the suite."""

from __future__ import annotations

import pytest

from rlregress import frameworks
from rlregress.gate.baseline import FIRST_NEW_SEED

#: those that concern trainings alone, with their defaults.
OF_TRAININGS = {
    "--environment": None, "--cells": "default", "--hyperparameters": "", "--seeds": 0,
    "--fixed": False,
    "--first-seed": FIRST_NEW_SEED, "--alpha": 0.05, "--store": "",
}  # fmt: skip


#: what may not be empty.
NAMING = (
    "--framework", "--algorithm", "--detail", "--environment", "--budget", "--cells",
    "--hyperparameters", "--store", "--evidence", "--rlregress-report",
    *(f"--{name}" for name in frameworks.names()),
)  # fmt: skip


def add(parser: pytest.Parser) -> None:
    """The options of the suite."""
    group = parser.getgroup("rlregress", "regression tests of reinforcement-learning frameworks")
    group.addoption("--framework", help="names, comma-separated (default: installed)")
    group.addoption("--algorithm", help="names, comma-separated (default: all)")
    group.addoption(
        "--detail",
        help="only what asks these details: ids or their beginnings (sac, sac.critic_loss), "
        "comma-separated (default: all)",
    )
    group.addoption("--environment", help="gymnasium ids, comma-separated (default: stored cells)")
    group.addoption("--budget", default="smoke", help="smoke (default), short or full")
    group.addoption(
        "--cells",
        default="default",
        help="cells to judge: default, all, patterns of ids of stored cells, or a study",
    )
    group.addoption(
        "--hyperparameters",
        default="",
        metavar="SET",
        help="a set of baselines/hyperparameters, by name (default: each framework's own)",
    )
    group.addoption(
        "--seeds",
        type=int,
        default=0,
        help="so many new runs per cell, judged at one look (default: as the looks ask)",
    )
    group.addoption(
        "--fixed", action="store_true", help="judge at one look, after the budget's number of runs"
    )
    group.addoption(
        "--first-seed", type=int, default=FIRST_NEW_SEED, help="seed of the first new run"
    )
    group.addoption("--alpha", type=float, default=0.05, help="false alarms per session (0.05)")
    group.addoption("--store", default="", help="folder of run records (default: runs/)")
    group.addoption(
        "--unpinned", action="store_true", help="do not limit a training to one thread (slow)"
    )
    group.addoption(
        "--random-seed",
        type=int,
        default=0,
        help="added to the seeds of probes and of the trainings of tests_behavior (0)",
    )
    for adapter in map(frameworks.get, frameworks.names()):
        if adapter.checkout:
            group.addoption(
                f"--{adapter.name}",
                default="",
                help=f"folder of a checkout of {adapter.title} (default: {adapter.checkout})",
            )
    group.addoption(
        "--how-far",
        action="store_true",
        help="say now and then how far each tier is, in place of a letter for each test",
    )
    group.addoption("--evidence", default="", help="write what was found to this JSON file")
    group.addoption(
        "--rlregress-report",
        default="",
        metavar="FOLDER",
        help="write the report of rlregress gate on what this session asked, and did not ask",
    )
