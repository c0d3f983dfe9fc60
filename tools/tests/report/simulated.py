"""Nights of a gate, simulated: new runs are drawn from stored ones, the judges are the real ones.

What a night's tests would have attached is made here; verdicts come from
``verdicts/sequential.py``, outcomes, report and page from the code that a gate runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from rlregress import evidence
from rlregress.catalogue import requested_names
from rlregress.check import baseline_runs
from rlregress.check.baseline_runs import FIRST_NEW_SEED, Baseline
from rlregress.model.quantities import DIAGNOSTICS, RETURNS
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import judge_cells_and_groups

_SEED = 1


def stored_cells() -> dict[str, Baseline]:
    """Return the stored cells of the short budget, by id."""
    return {s.cell.id: s for s in baseline_runs.load_all_baselines() if s.cell.budget == "short"}


def new_records(name: str, stored: Baseline, loss: float, seeds: int) -> list[dict[str, Any]]:
    """Records of runs that do as some stored run did, and lose a share of the mean return."""
    # one of the many seeds with which nothing is rejected by chance where nothing is lost
    rng = np.random.default_rng([_SEED, *map(ord, name)])
    finished = [run for run in stored.runs if run.final_return is not None]
    less = loss * abs(float(np.mean(stored.returns)))
    late = [run.training_return for run in finished if run.training_return is not None]
    less_late = loss * abs(float(np.mean(late))) if late else 0.0
    records = []
    for seed in range(FIRST_NEW_SEED, FIRST_NEW_SEED + seeds):
        like = finished[rng.integers(len(finished))]
        training = None if like.training_return is None else like.training_return - less_late
        records.append(
            {
                "cell": name, "seed": seed, "status": "finished", "failure": "",
                "final_return": like.final_return - less, "training_return": training,
                "critic": like.critic and asdict(like.critic), "steps": like.steps,
                "diagnostics": like.diagnostics,
                "learning_curve": [[at, value - less_late] for at, value in like.learning_curve],
                "time": asdict(like.time),
            }
        )  # fmt: skip
    return records


def run_entries(cells: Mapping[str, Baseline], loss: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the entries of trainings: every run, and the verdict on every cell and group.

    Args:
        cells: name of a cell -> the stored runs that it is judged by.
        loss: name of a cell -> share of the mean return that its new runs lose; others: none.
    """
    records = {
        n: new_records(n, s, loss.get(n, 0.0), SEQUENTIAL_LOOKS.max_runs) for n, s in cells.items()
    }
    samples = {
        quantity.make_verdict_name(name): CellSample(
            stored.list_values_of_quantity(quantity),
            [baseline_runs.read_judged_numbers(record)[quantity] for record in records[name]],
            group=quantity.make_verdict_name(stored.cell.group),
            quantity=quantity,
        )
        for name, stored in cells.items()
        for quantity in (RETURNS, *baseline_runs.list_secondary_quantities(stored.cell.algorithm))
        if not stored.explain_excluded_quantity(quantity)
    }
    judged = judge_cells_and_groups(samples, SEQUENTIAL_LOOKS, Rules())
    frameworks_of = {n: stored.cell.framework for n, stored in cells.items()}
    frameworks_of |= {stored.cell.group: stored.cell.framework for stored in cells.values()}
    needed = dict.fromkeys(cells, 0)
    for name, verdict in judged.cells.items():
        cell = name.partition(" ")[0]
        needed[cell] = max(needed[cell], verdict.new_seeds)
    entries = [
        {**_entry(f"t::test_training[{n}-{r['seed']}]", frameworks_of[n]), "cell": n, "record": r}
        for n, records_of_cell in records.items()
        for r in records_of_cell[: needed[n]]
    ]
    for kind, verdicts in (("cell", judged.cells), ("group", judged.groups)):
        for name, verdict in verdicts.items():
            plain, _, quantity = name.partition(" ")
            own, values = quantity or kind, evidence.convert_to_plain_data(verdict)
            entry = _entry(f"t::test_{own}[{name}]", frameworks_of[plain])
            if quantity in DIAGNOSTICS:
                # as a test of returns attaches them: beside its own verdict
                return_entry = next(e for e in entries if e.get(kind) == plain and "verdict" in e)
                return_entry.setdefault("diagnostics", {})[name] = values
                continue
            failed = {"outcome": "failed", "message": verdict.reason}
            entry |= failed if verdict.verdict == "regressed" else {}
            entries.append({**entry, own: name, "verdict": values})
    return entries


def _entry(test: str, framework: str, tier: str = "performance") -> dict[str, Any]:
    return {
        "test": test, "tier": tier, "outcome": "passed", "seconds": 0.1, "message": "",
        "framework": framework,
    }  # fmt: skip


def detail_entries(without: str, names: str | None) -> list[dict[str, Any]]:
    """Return the entries of passed tests of formulas and behaviour.

    Args:
        without: what the ids begin with of details that are not checked.
        names: of frameworks, comma-separated; None: the installed ones.
    """
    entries = []
    for adapter in requested_names.select_adapters(names.split(",") if names else ()):
        name = adapter.full_name
        entries.append(_entry(f"tests_behavior::t[{name}]", name, "behavior"))
        for id, scope in sorted(requested_names.list_details_to_probe(adapter)):
            if not id.startswith(without):
                entry = _entry(f"tests_unit::test_detail[{id}-{name}-{scope}]", name, "unit")
                entries.append({**entry, "detail": id, "scope": scope, "found": "as documented"})
    return entries
