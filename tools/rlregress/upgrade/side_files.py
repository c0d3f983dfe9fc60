"""Files that one version saved, loaded by both: what of a training survives an upgrade.

The old version trains shortly, saves every kind of file that its documentation names, and loads
each twice: that is the reference. The new version loads the same files. What was loaded is compared
bit by bit, item by item, in the order in which it comes back: parameters, settings, actions, the
next update, a continued training; and all of it again after it was saved again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.model.loaded_files import LoadedFile, LoadError
from rlregress.tracing.child_processes import OutOfTime, note_cut
from rlregress.tracing.recording_processes import Side
from rlregress.upgrade import side_process

#: the module that loads files, in a process of its own.
WORKER = "rlregress.inside.saved_files_worker"
#: an item that is not there.
MISSING: tuple[str, list[Any]] = ("missing", [])
#: items that are computed from what was loaded.
_COMPUTED = (
    "mean return of episodes", "deterministic actions", "sampled actions", "values",
    "target values", "losses", "next update", "continued training", "returns of episodes",
    "lengths of episodes", "observations", "rewards", "statistics after steps",
    "rows after more of them",
)  # fmt: skip
#: relative size of a first difference that may be one of rounding, after a conjugate gradient of
#: 32-bit numbers at most, and of what it grows to.
UNIT, _SMALL = 2e-6, 1e-3
#: the same of a continued training: measured between two kinds of processors, 0.003 where batches
#: are normalised.
_CONTINUED = 1e-2


def compare_files(
    sides: tuple[Side, Side],
    folders: tuple[Path, Path],
    adapter: Adapter,
    algorithms: Sequence[str],
    both_ways: bool,
    user: Mapping[str, str] | None = None,
) -> list[LoadedFile]:
    """Return the result of every kind of file of a framework.

    Args:
        folders: where files and answers of either version are kept.
        algorithms: those whose trainings save; empty: all.
        both_ways: the old version also loads what the new one has saved again.
        user: a file of the user, see ``inside.user_files``; None: there is none.
    """
    try:
        return _compare(sides, folders, adapter, algorithms, both_ways, user)
    except OutOfTime as error:
        note_cut(f"old files of {adapter.full_name}")
        return _report_no_answer(error, user)


def _report_no_answer(error: UserError, user: Mapping[str, str] | None) -> list[LoadedFile]:
    """Return a result for all files, and for the user's, where the old version gave no answers."""
    names = ["files", *([Path(user["file"]).name] if user is not None else [])]
    start_error = LoadError(when="start", error=str(error))
    return [LoadedFile(name=name, own_error=start_error) for name in names]


def _compare(
    sides: tuple[Side, Side],
    folders: tuple[Path, Path],
    adapter: Adapter,
    algorithms: Sequence[str],
    both_ways: bool,
    user: Mapping[str, str] | None,
) -> list[LoadedFile]:
    old, new = sides
    job = {"framework": adapter.full_name, "algorithms": sorted(algorithms), "again": "",
           "trusted": (), "user": user}  # fmt: skip
    key = hashlib.sha256(f"{folders[0]} {sorted(algorithms)} {user}".encode()).hexdigest()[:8]
    files = [folder / f"{adapter.full_name}-files-{key}" for folder in folders]
    written = {**job, "files": str(files[0]), "write": True, "times": 2}
    if both_ways:
        written["again"] = f"{files[0]}-again"
    try:
        own = side_process.run_module(old, WORKER, written, files[0].with_suffix(".json"))
    except OutOfTime:
        raise
    except UserError as error:
        return _report_no_answer(error, user)
    if not own["kinds"]:
        return []
    written["trusted"] = [name for name, kind in own["kinds"].items() if kind.get("trusted")]
    reading = {**written, "write": False, "times": 1, "again": str(files[1]) if both_ways else ""}
    try:
        loaded = side_process.run_module(new, WORKER, reading, files[1].with_suffix(".json"))
    except OutOfTime:
        raise
    except UserError as error:
        loaded = _make_error_answer(own, error)
    results = list(judge_kinds(own, loaded, newer=False))
    if both_ways:
        results += _load_back(old, own, loaded, files, written)
    return results


def _load_back(
    old: Side,
    own: Mapping[str, Any],
    loaded: Mapping[str, Any],
    files: Sequence[Path],
    written: Mapping[str, Any],
) -> Iterator[LoadedFile]:
    """Load with the old version the files that both have saved again: no training follows."""
    answers = []
    for folder, mark in ((f"{files[0]}-again", "own"), (str(files[1]), "new")):
        job = {**written, "files": folder, "write": False, "again": "", "user": None}
        answers_path = files[0].with_name(f"{files[0].name}-{mark}.json")
        try:
            answers.append(side_process.run_module(old, WORKER, job, answers_path))
        except OutOfTime:
            raise
        except UserError as error:
            answers.append(_make_error_answer(own, error))
    loadable = {name for name, entry in loaded["kinds"].items() if entry.get("items")}
    for file in judge_kinds(answers[0], answers[1], newer=True):
        if file.name in loadable:
            yield file


def _make_error_answer(own: Mapping[str, Any], error: UserError) -> dict[str, Any]:
    """In place of answers of a process that gave none."""
    entry = {"error": str(error), "when": "start"}
    return {"functions": [], "kinds": {name: {**entry, "way": ""} for name in own["kinds"]}}


def judge_kinds(
    own: Mapping[str, Any], loaded: Mapping[str, Any], newer: bool
) -> Iterator[LoadedFile]:
    """Yield the result of every kind of file, the answers of the version that wrote it first."""
    for name, entry in own["kinds"].items():
        counterpart = loaded["kinds"].get(
            name, {"unsupported": "the other version has no such kind"}
        )
        yield _file(name, entry, counterpart, own["functions"], newer)


def _file(
    name: str,
    own: Mapping[str, Any],
    loaded: Mapping[str, Any],
    functions: Sequence[str],
    newer: bool,
) -> LoadedFile:
    trusted = bool(own.get("trusted"))
    described = {"name": name, "way": own["way"], "newer": newer, "trusted": trusted}
    own_error, error = _error(own), _error(loaded)
    unsupported = str(own.get("unsupported", ""))
    if unsupported or own_error is not None:
        # that the other version loads nothing says nothing: there may be no file
        written = own_error is not None and own_error.when in ("load", "use")
        return LoadedFile(
            **described,
            unsupported=unsupported,
            own_error=own_error,
            error=error if written else None,
        )
    if error is None and loaded.get("unsupported"):
        error = LoadError(when="load", error=str(loaded["unsupported"]))
    if error is not None and error.when == "use":
        # what was loaded before that may explain it
        paths = {row[0] for row in loaded["items"][0]}
        until = [[row for row in rows if row[0] in paths] for rows in own["items"]]
        return LoadedFile(
            **described, **_difference(until, loaded["items"][0], functions), error=error
        )
    if error is not None:
        return LoadedFile(**described, error=error)
    return LoadedFile(**described, **_difference(own["items"], loaded["items"][0], functions))


def _error(entry: Mapping[str, Any]) -> LoadError | None:
    if not entry.get("error"):
        return None
    return LoadError(
        when=str(entry["when"]), error=str(entry["error"]), at=str(entry.get("at", ""))
    )


def _difference(
    own: Sequence[Sequence[Any]], loaded: Sequence[Any], functions: Sequence[str]
) -> dict[str, Any]:
    """Return the fields of ``LoadedFile`` that hold the comparison.

    An item that only the other version has is none that was loaded, and is not compared.
    """
    repeated = {path: words for path, words, *_ in own[-1]}
    counterparts = {path: (words, numbers) for path, words, _, numbers in loaded}
    rows = [row for row in own[0] if repeated.get(row[0]) == row[1]]
    differing = [row for row in rows if counterparts.get(row[0], MISSING)[0] != row[1]]
    result: dict[str, Any] = {
        "compared": len(rows),
        "unstable": tuple(row[0] for row in own[0] if repeated.get(row[0]) != row[1]),
        "differing": len(differing),
    }
    for path, words, *_ in rows:
        if path.startswith("mean return of episodes"):
            result["played"] = f"{path}: {words} -> {counterparts.get(path, MISSING)[0]}"
    if differing:
        path, words, number, _ = differing[0]
        gaps = [_measure_gap(row, counterparts.get(row[0], MISSING)) for row in differing]
        result.update(item=path, writer=words, reader=counterparts.get(path, MISSING)[0])
        small = [gap <= _rounding_limit(row[0]) for gap, row in zip(gaps, differing, strict=True)]
        result.update(function=functions[number], rounding=gaps[0] <= UNIT and all(small))
    return result


def _rounding_limit(path: str) -> float:
    """Return the largest difference that rounding explains in an item."""
    continued = path.removeprefix("saved again: ").startswith("continued training")
    return _CONTINUED if continued else _SMALL


def is_computed(path: str) -> bool:
    """Return whether an item is computed from the loaded ones."""
    return path.removeprefix("saved again: ").startswith(_COMPUTED)


def _measure_gap(row: Sequence[Any], counterpart: Sequence[Any]) -> float:
    """How far an item that was computed is from that of the other version, relative to its size.

    Infinite of what was loaded, which rounding does not touch, and of what is no float.
    """
    path, words, _, numbers = row
    kinds = [text.partition(":")[0] for text in (words, counterpart[0])]
    if not is_computed(path) or not numbers or kinds[0] != kinds[1]:
        return math.inf
    return distance(numbers, counterpart[1])


def distance(numbers: Sequence[Any], other_numbers: Sequence[Any]) -> float:
    """How far the numbers of two items are apart, relative to the size of the first."""
    if len(numbers) != len(other_numbers):
        return math.inf
    gaps = [abs(float(old) - float(new)) for old, new in zip(numbers, other_numbers, strict=True)]
    if not all(map(math.isfinite, gaps)):
        return math.inf
    return max(gaps) / (abs(float(numbers[0])) + UNIT)
