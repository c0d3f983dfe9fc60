"""Budgets and hyperparameter sets, read from ``baselines/``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from rlregress import suite
from rlregress.errors import UserError
from rlregress.training.cell import Cell, Protocol


@dataclass(frozen=True)
class Budget:
    """How long and how often the trainings of a session run.

    Attributes:
        total_steps: environment steps by algorithm.
        evaluations: evaluations per run, evenly spread; the last one is after the training.
        evaluation_episodes: deterministic episodes per evaluation.
        seeds: new runs per cell in a session.
        judged: whether returns are compared with stored runs.
        published: table of published returns for cells without stored runs; empty: none.
        hyperparameters: by framework and algorithm, what differs from the hyperparameter set.
    """

    name: str
    total_steps: Mapping[str, int]
    evaluations: int
    evaluation_episodes: int
    seeds: int
    judged: bool
    published: str
    hyperparameters: Mapping[str, Mapping[str, Mapping[str, Any]]]

    def protocol(self, algorithm: str) -> Protocol:
        """The protocol of a run of ``algorithm``; UserError if the budget has none."""
        if algorithm not in self.total_steps:
            raise UserError(
                f"budget '{self.name}' has no step count for algorithm '{algorithm}'; "
                f"it has: {', '.join(sorted(self.total_steps))}"
            )
        steps = self.total_steps[algorithm]
        return Protocol(steps, -(-steps // self.evaluations), self.evaluation_episodes)


def suggestion(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """``; did you mean 'x'? Known: x, y``, without the question if nothing known is near."""
    near = get_close_matches(name, list(known), n=1)
    listed = ", ".join(sorted(known))
    return f"; did you mean '{near[0]}'? Known: {listed}" if near else f"; known: {listed}"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; expected a TOML file") from None


_KINDS: dict[str, type] = {
    "total_steps": dict, "evaluations": int, "evaluation_episodes": int, "seeds": int,
    "judged": bool, "published": str, "hyperparameters": dict,
}  # fmt: skip


def _check(where: str, table: Any) -> None:
    if not isinstance(table, dict):
        raise UserError(f"{where} is {table!r}, expected a table")
    for key, value in table.items():
        if key not in _KINDS:
            raise UserError(f"{where} has the unknown key '{key}'{suggestion(key, list(_KINDS))}")
        kind = _KINDS[key]
        small = isinstance(value, int) and kind is int and value < 1
        if not isinstance(value, kind) or small or (kind is int and isinstance(value, bool)):
            wanted = "a whole number of at least 1" if kind is int else f"a {kind.__name__}"
            raise UserError(f"{where}: key '{key}' is {value!r}, expected {wanted}")
    for algorithm, steps in table.get("total_steps", {}).items():
        if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
            raise UserError(
                f"{where}: total_steps of {algorithm} is {steps!r}, expected a whole number of at "
                "least 1"
            )


def budget(name: str) -> Budget:
    """The budget called ``name`` in ``baselines/budgets.toml``."""
    path = suite.baselines() / "budgets.toml"
    known = _read_toml(path)
    if name not in known:
        raise UserError(f"unknown budget '{name}'{suggestion(name, known)}")
    table = known[name]
    _check(f"{path}: budget '{name}'", table)
    try:
        return Budget(
            name=name,
            total_steps=table["total_steps"],
            evaluations=table["evaluations"],
            evaluation_episodes=table["evaluation_episodes"],
            seeds=table["seeds"],
            judged=table["judged"],
            published=table.get("published", ""),
            hyperparameters=table.get("hyperparameters", {}),
        )
    except KeyError as error:
        raise UserError(f"{path}: budget '{name}' lacks the key {error}") from None


def hyperparameters(cell: Cell, of_budget: Budget) -> dict[str, Any]:
    """The set of the cell with the budget's changes; UserError if the set has no such algorithm."""
    folder = suite.baselines() / "hyperparameters"
    path = folder / f"{cell.hyperparameters}.yaml"
    known = [file.stem for file in folder.glob("*.yaml")]
    if not path.exists():
        raise UserError(
            f"unknown hyperparameter set '{cell.hyperparameters}'"
            f"{suggestion(cell.hyperparameters, known)}"
        )
    try:
        sets = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; expected a YAML file") from None
    if not isinstance(sets, dict) or not isinstance(sets.get(cell.algorithm), dict):
        raise UserError(f"{path} has no hyperparameters for algorithm '{cell.algorithm}'")
    changes = of_budget.hyperparameters.get(cell.framework, {}).get(cell.algorithm, {})
    return {**sets[cell.algorithm], **changes}
