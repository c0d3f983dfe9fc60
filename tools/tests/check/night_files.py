"""Simulated nights, for tests: the folders that so many checks would have left."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np

from tools.tests.simulations.laws import LAWS

FIRST_DAY = datetime(2024, 1, 1, 4, 30, tzinfo=UTC)
MACHINE = {"cpu": "EPYC", "instructions": "AVX2", "machine": "x86_64", "system": "Linux"}
ALGORITHMS = ("ppo", "sac", "td3")
PROTOCOL = {"total_steps": 20480, "evaluate_every": 4096, "evaluation_episodes": 10}


def day(number):
    """Return the date of a night."""
    return (FIRST_DAY + timedelta(days=number)).strftime("%Y-%m-%d")


def names(cells):
    """Return ids of so many cells, of three algorithms in turn."""
    return [f"sb3-{ALGORITHMS[n % 3]}-Env{n // 3}-v4-short" for n in range(cells)]


def cell_night(name, numbers, runs, rng, first_seed, verdict="holds"):
    """Return the record of one cell in one nightly run; ``numbers``: its returns."""
    return {
        "framework": "sb3",
        "group": "-".join(name.split("-")[:2]),
        "verdict": verdict,
        "protocol": PROTOCOL,
        "hyperparameters": "a1b2",
        "seeds": list(range(first_seed, first_seed + runs)),
        "parameters": [f"{value:012x}" for value in rng.integers(0, 2**47, runs)],
        "returns": [round(value, 2) for value in numbers],
        "training": [round(0.9 * value, 2) for value in numbers],
        "critic": np.round(rng.normal(0.1, 0.1, runs), 4).tolist(),
        "steps_per_cpu_second": np.round(rng.normal(900, 40, runs), 1).tolist(),
        "machines": [0] * runs,
    }


def nights(count, cells, runs=5, drop=0.0, begin=0, dropped=(0,), seed=0, upgrade=True):
    """The content of ``night.json`` of so many nights; returns are of the laws in turn, times 1000.

    Args:
        drop: share that the cells numbered ``dropped`` lose from night ``begin`` on; checks of
            them and of the framework are regressed from there on.
        upgrade: torch is another from that night on; gymnasium is from night 5 on.
    """
    rng = np.random.default_rng(seed)
    laws = list(LAWS.values())
    returns_by_cell = []
    for number in range(cells):
        law = laws[number % len(laws)]
        returns = law(rng, (count, runs), 0.0)
        if number in dropped and drop:
            returns[begin:] = law(rng, (count - begin, runs), drop)
        returns_by_cell.append(1000.0 * returns)
    for night in range(count):
        after = drop and night >= begin
        newer = upgrade and begin and night >= begin
        versions = {
            "stable-baselines3": "2.9.2",
            "torch": "2.13.0" if newer else "2.12.1",
            "gymnasium": "1.4.0" if night >= 5 else "1.3.0",
        }
        yield {
            "schema": 1,
            "rlregress": "0.1.0",
            "started": (FIRST_DAY + timedelta(days=night)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "exit_code": 1 if after else 0,
            "budget": "short",
            "frameworks": {
                "sb3": {
                    "verdict": "regressed" if after else "holds",
                    "versions": versions,
                    "sources": {},
                }
            },
            "machines": [MACHINE],
            "cells": {
                name: cell_night(
                    name,
                    returns_by_cell[number][night].tolist(),
                    runs,
                    rng,
                    1000 + night * 20,
                    "regressed" if after and number in dropped else "holds",
                )
                for number, name in enumerate(names(cells))
            },
            "throughput": {},
            "unjudged": [],
        }


def write_nights(folder, contents):
    """Write nights as their artifacts unpack: a folder for each; the folder."""
    for number, content in enumerate(contents):
        place = folder / f"nightly-{number:04d}" / "report"
        place.mkdir(parents=True)
        (place / "verdict.json").write_text(json.dumps({"night": content}))
    return folder
