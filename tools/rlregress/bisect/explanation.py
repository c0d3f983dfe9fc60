"""What explains a step: the machinery of an upgrade on the two versions beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.version import InvalidVersion, Version

from rlregress.bisect.symptoms import Symptom
from rlregress.details import catalogue
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.model import explain
from rlregress.model.bisect_result import ChangedAt, ChangedFunction
from rlregress.model.code import WORDING, Changed
from rlregress.model.upgrade_result import Cause, ChangedDetail, OfFramework, OfScript, findings
from rlregress.upgrade import (
    affected,
    attribution,
    cascade,
    inventory,
    known_changes,
    resolved,
    side_environments,
    side_fingerprints,
)
from rlregress.upgrade.requested import Requested
from rlregress.upgrade.upgrade_options import Options

#: functions that are listed where none is known to explain a step.
_LISTED = 20


def of(
    step: ChangedAt,
    symptom: Symptom,
    sides: tuple[Requested, Requested],
    adapters: Sequence[Adapter],
) -> ChangedAt:
    """The step with its functions, its first difference, and what changelogs say of it.

    Raises:
        UserError: a version cannot be made or checked again.
    """
    if symptom.traced:
        found, functions = _of_trace(step, symptom, sides)
        explains = bool(found.culprit)
    else:
        pieces, explains = _of_code(symptom, sides, adapters)
        found, functions = step, pieces
    listed = [
        ChangedFunction(
            place=str(function), lines=tuple(attribution.source_difference(function, {}))
        )
        for function in dict.fromkeys(functions)
    ]
    return replace(
        found,
        functions=tuple(listed[:_LISTED]),
        explains=explains,
        changelog=tuple(_changelog(step, symptom, functions if explains else (), adapters)),
    )


def _of_trace(
    step: ChangedAt, symptom: Symptom, sides: tuple[Requested, Requested]
) -> tuple[ChangedAt, list[Changed]]:
    """The first difference of the traces, and the functions that reverting shows to make it."""
    a, b = (side.text if side.tree is None else str(side.tree) for side in sides)
    with TemporaryDirectory(prefix="rlregress-bisect-") as folder:
        result = cascade.run(
            Options(
                a=a,
                b=b,
                report=Path(folder),
                algorithms=[symptom.algorithm] if symptom.algorithm else (),
                scenarios=[symptom.scenario] if symptom.scenario else (),
                only_scenarios=bool(symptom.scenario),
                script=symptom.script,
                returns=False,
            )
        )
    parts: list[OfFramework | OfScript] = list(result.frameworks)
    parts += [result.script] if result.script is not None else []
    causes: list[Cause] = [cause for part in parts for cause in part.causes.values()]
    first: list[str] = []
    for training in result.traced:
        if training.comparison.first is not None:
            first = explain.divergence(training.comparison.first)
            break
    functions = [function for cause in causes for function in (cause.movers or cause.functions)]
    return replace(step, first=tuple(first), culprit=_culprits(causes)), functions


def _culprits(causes: Iterable[Cause]) -> tuple[str, ...]:
    return tuple(
        f"reverting {cause.alone} restores the old behaviour"
        for cause in causes
        if cause.alone is not None
    )


def _of_code(
    symptom: Symptom, sides: tuple[Requested, Requested], adapters: Sequence[Adapter]
) -> tuple[list[Changed], bool]:
    """Functions that differ and explain what is no trace; else all, and that they do not."""
    pair = resolved.resolve(*sides, affected.packages(*sides), adapters)
    a, b = side_environments.prepare(pair)
    pieces = [p for p in inventory.inventory(pair, a, b).pieces if p.how != WORDING]
    changed: list[ChangedDetail] = []
    if symptom.details:
        known = [catalogue.get(id) for id in symptom.details]
        with TemporaryDirectory(prefix="rlregress-bisect-") as folder:
            for adapter in adapters:
                old, new = (
                    side_fingerprints.fingerprint(
                        x.side, Path(folder) / f"{adapter.name}-{x.side.label}.json", adapter, known
                    )
                    for x in (a, b)
                )
                changed += side_fingerprints.compared(old, new).changed
        near = [f for finding in findings(changed, pieces) for f in finding.functions]
    else:
        near = [piece for piece in pieces if symptom.name and _names(piece, symptom.name)]
    return (near, True) if near else ([p for p in pieces if p.counts], False)


def _names(piece: Changed, name: str) -> bool:
    """Whether a piece of code defines a public name, or its changed lines name a parameter."""
    owner, _, parameter = name.rpartition(" ")
    if not owner:
        return f".{name}".endswith(f".{piece.name}") or name.rpartition(".")[2] == piece.name
    algorithm = owner.rpartition(".")[2].lower()
    lines = attribution.source_difference(piece, {})
    return algorithm in piece.file and any(parameter in line for line in lines)


def _changelog(
    step: ChangedAt, symptom: Symptom, functions: Sequence[Changed], adapters: Sequence[Adapter]
) -> list[str]:
    """What the suite knows from changelogs of this step."""
    named = {f"{function.file} {function.name}" for function in functions}
    found = []
    for adapter in adapters:
        if step.package not in adapter.packages or adapter.name not in known_changes.known():
            continue
        for change in known_changes.load(adapter.name):
            about = {*change.details, *change.defaults, *change.functions}
            if _within(step, change.release) and about & {*named, *symptom.details, symptom.name}:
                found.append(f"{change.what} ({change.source})")
    return found


def _within(step: ChangedAt, release: str) -> bool:
    try:
        low, high = sorted((Version(step.old), Version(step.new)))
        return low < Version(release) <= high
    except (InvalidVersion, UserError):
        return False
