"""What is kept of one night for ``rlregress trend``: ``night.json`` in the report of a gate.

A nightly leaves a report a night. Of each the trend needs the runs, in few numbers, and what they
were made with; ``evidence.json`` holds all of it among much else, so that a thousand of them take a
minute to read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rlregress import __version__, datafiles, evidence
from rlregress.gate.baseline_runs import numbers_of
from rlregress.gate.stored_throughput import QUANTITIES
from rlregress.model.gate_result import GateResult
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING

SCHEMA = 1
FILE = "night.json"
#: what of a record tells where it was made
MACHINE = ("cpu", "instructions", "machine", "system")
#: what else may differ between nights, beside the versions of packages
SURROUNDINGS = ("python", "libc", "blas", "torch_threads")
NUMBERS = {"returns": RETURNS, "training": TRAINING, "critic": CRITIC}


def of_gate(result: GateResult, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``night.json`` of a gate that ends now.

    Args:
        entries: of its evidence.
    """
    started = datetime.now(UTC) - timedelta(seconds=result.seconds)
    frameworks = {
        of.framework: {
            "verdict": of.verdict,
            "versions": dict(result.versions[of.framework]),
            "sources": dict(result.sources[of.framework]),
        }
        for of in result.outcomes
        if of.framework in result.versions
    }
    return {
        "schema": SCHEMA,
        "rlregress": __version__,
        "started": started.strftime(datafiles.TIME),
        "exit_code": result.exit_code,
        "budget": result.budget,
        "frameworks": frameworks,
        "unjudged": list(result.unjudged),
        **contents(entries),
    }


def contents(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``machines``, ``cells`` and ``throughput`` of a night, from the entries of its evidence."""
    machines: list[dict[str, Any]] = []
    cells: dict[str, dict[str, Any]] = {}
    verdicts = evidence.verdicts([dict(entry) for entry in entries])
    records = [entry for entry in entries if isinstance(entry.get("record"), dict)]
    for entry in sorted(records, key=lambda entry: entry["record"]["seed"]):
        of, framework = entry["record"], str(entry.get("framework", ""))
        platform = {name: of.get("platform", {}).get(name) for name in (*MACHINE, *SURROUNDINGS)}
        here = {name: value for name, value in platform.items() if value}
        if here not in machines:
            machines.append(here)
        cell = cells.setdefault(of["cell"], _empty(of, framework, verdicts))
        numbers = numbers_of(of)
        cell["seeds"].append(of["seed"])
        cell["parameters"].append((of.get("parameters_sha256") or "").removeprefix("sha256:")[:12])
        for name, quantity in NUMBERS.items():
            value = numbers[quantity]
            cell[name].append(value if math.isfinite(value) else None)
        cell["steps_per_cpu_second"].append(of["time"].get("steps_per_cpu_second"))
        cell["machines"].append(machines.index(here))
    throughput: dict[str, dict[str, list[float]]] = {}
    for pair, measured in evidence.throughput([dict(entry) for entry in entries]).items():
        for measure, attribute in QUANTITIES.items():
            values = [process.get(attribute) for process in measured.get("processes", ())]
            if values and None not in values:
                throughput.setdefault(" ".join(pair), {})[measure] = values
    return {"machines": machines, "cells": dict(sorted(cells.items())), "throughput": throughput}


def _empty(
    of: Mapping[str, Any], framework: str, verdicts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A cell without runs, as its first record describes it."""
    algorithm = str(of["cell"]).removeprefix(f"{framework}-").partition("-")[0]
    given = of.get("hyperparameters")
    text = json.dumps(given, sort_keys=True)
    return {
        "framework": framework,
        "group": f"{framework}-{algorithm}",
        "verdict": str(verdicts.get(of["cell"], {}).get("verdict", "")),
        "protocol": of.get("protocol") or {},
        "hyperparameters": hashlib.sha256(text.encode()).hexdigest()[:12] if given else "",
        **{name: [] for name in ("seeds", "parameters", *NUMBERS)},
        "steps_per_cpu_second": [],
        "machines": [],
    }
