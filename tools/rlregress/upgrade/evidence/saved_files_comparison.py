"""Compares how both versions load the files that one of them saved.

The old version trains shortly, saves every kind of file that its documentation names, and loads
each twice: that is the reference. The new version loads the same files. Loaded objects are compared
bit by bit, item by item, in this order: parameters, settings, actions, the next update, a continued
training; then all of these after the object was saved and loaded again.
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
from rlregress.trace.child_processes import OutOfTime, note_skipped_task
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import runtime_process

#: the module whose processes save and load the files.
WORKER = "rlregress.inside.saved_files_worker"
#: an item that is not there.
MISSING: tuple[str, list[Any]] = ("missing", [])
#: names of items that are computed from a loaded object, not read from it.
_COMPUTED = (
    "mean return of episodes", "deterministic actions", "sampled actions", "values",
    "target values", "losses", "next update", "continued training", "returns of episodes",
    "lengths of episodes", "observations", "rewards", "statistics after steps",
    "rows after more of them",
)  # fmt: skip
#: relative difference up to which a first one may be rounding, measured after a conjugate gradient
#: of 32-bit numbers; and what it may grow to.
UNIT, _SMALL = 2e-6, 1e-3
#: what it may grow to in a continued training: between two kinds of processors, up to 0.003 was
#: measured, with batch normalisation.
_CONTINUED = 1e-2


def save_load_and_compare_files(
    runtimes: tuple[Runtime, Runtime],
    folders: tuple[Path, Path],
    adapter: Adapter,
    algorithms: Sequence[str],
    user_file: Mapping[str, str] | None = None,
) -> list[LoadedFile]:
    """Save files with the old version, load them with both, and compare what was loaded.

    Args:
        folders: folders for files and answers of the old and of the new version.
        algorithms: algorithms whose trainings save files; empty: all.
        user_file: a file of the user, see ``inside.user_files``; None: there is none.
    """
    old, new = runtimes
    key = hashlib.sha256(f"{folders[0]} {sorted(algorithms)} {user_file}".encode()).hexdigest()[:8]
    files = [folder / f"{adapter.full_name}-files-{key}" for folder in folders]
    written = {"framework": adapter.full_name, "algorithms": sorted(algorithms), "again": True,
               "trusted": [], "user": user_file, "files": str(files[0]), "write": True,
               "times": 2}  # fmt: skip
    try:
        old_answers = runtime_process.run_module_on_version(
            old, files[0].with_suffix(".json"), WORKER, written
        )
        kinds = old_answers["kinds"]
        if not kinds:
            return []
        trusted = [name for name, kind in kinds.items() if kind.get("trusted")]
        read = {**written, "trusted": trusted, "write": False, "times": 1}
        try:
            new_answers = runtime_process.run_module_on_version(
                new, files[1].with_suffix(".json"), WORKER, read
            )
        except OutOfTime:
            raise
        except UserError as error:
            failed = {"error": str(error), "when": "start", "way": ""}
            new_answers = {"functions": [], "kinds": dict.fromkeys(kinds, failed)}
    except UserError as error:
        if isinstance(error, OutOfTime):
            note_skipped_task(f"old files of {adapter.full_name}")
        # the old version failed: a row for all files, and one for the user's
        names = ["files", *([Path(user_file["file"]).name] if user_file is not None else [])]
        lost = LoadError(when="start", error=str(error))
        return [LoadedFile(name=name, own_error=lost) for name in names]
    return list(compare_loaded_file_kinds(old_answers, new_answers))


def compare_loaded_file_kinds(
    writer: Mapping[str, Any], reader: Mapping[str, Any]
) -> Iterator[LoadedFile]:
    """Yield, for each kind of file, how ``reader`` loads it compared with its ``writer``."""
    for name, entry in writer["kinds"].items():
        loaded = reader["kinds"].get(name, {"unsupported": "the other version has no such kind"})
        yield _compare_loaded_file_kind(name, entry, loaded, writer["functions"])


def _compare_loaded_file_kind(
    file_kind: str, writer: Mapping[str, Any], reader: Mapping[str, Any], functions: Sequence[str]
) -> LoadedFile:
    trusted = bool(writer.get("trusted"))
    facts = {"name": file_kind, "way": writer["way"], "trusted": trusted}
    own_error, error = _read_error(writer), _read_error(reader)
    unsupported = str(writer.get("unsupported", ""))
    if unsupported or own_error is not None:
        # an error of the other version says nothing: there may be no file
        written = own_error is not None and own_error.when in ("load", "use")
        return LoadedFile(
            **facts, unsupported=unsupported, own_error=own_error, error=error if written else None
        )
    if error is None and reader.get("unsupported"):
        error = LoadError(when="load", error=str(reader["unsupported"]))
    if error is not None and error.when != "use":
        return LoadedFile(**facts, error=error)
    items = writer["items"]
    if error is not None:
        # what was loaded before that may explain it
        paths = {row[0] for row in reader["items"][0]}
        items = [[row for row in rows if row[0] in paths] for rows in items]
    compared = _compare_loaded_items(items, reader["items"][0], functions)
    return LoadedFile(**facts, **compared, error=error)


def _read_error(entry: Mapping[str, Any]) -> LoadError | None:
    if not entry.get("error"):
        return None
    return LoadError(
        when=str(entry["when"]),
        error=str(entry["error"]),
        at=str(entry.get("at", "")),
        # a file of the user has no algorithm
        raised_by_framework=bool(entry.get("raised_by_framework") and entry.get("algorithm")),
    )


def _compare_loaded_items(
    writer: Sequence[Sequence[Any]], reader: Sequence[Any], functions: Sequence[str]
) -> dict[str, Any]:
    """Compare a file's items as both versions load them; return attributes of ``LoadedFile``.

    Items that only the reading version has are not compared.
    """
    repeated = {path: words for path, words, *_ in writer[-1]}
    loaded = {path: (words, numbers) for path, words, _, numbers in reader}
    rows = [row for row in writer[0] if repeated.get(row[0]) == row[1]]
    differing = [row for row in rows if loaded.get(row[0], MISSING)[0] != row[1]]
    facts: dict[str, Any] = {
        "compared": len(rows),
        "unstable": tuple(row[0] for row in writer[0] if repeated.get(row[0]) != row[1]),
        "differing": len(differing),
    }
    for path, words, *_ in rows:
        if path.startswith("mean return of episodes"):
            facts["played"] = f"{path}: {words} -> {loaded.get(path, MISSING)[0]}"
    if differing:
        path, words, number, _ = differing[0]
        gaps = [_measure_relative_gap(row, loaded.get(row[0], MISSING)) for row in differing]
        facts.update(item=path, writer=words, reader=loaded.get(path, MISSING)[0])
        continued = ("continued training", "saved again: continued training")
        limits = [_CONTINUED if row[0].startswith(continued) else _SMALL for row in differing]
        is_rounding = all(gap <= limit for gap, limit in zip(gaps, limits, strict=True))
        facts.update(function=functions[number], rounding=gaps[0] <= UNIT and is_rounding)
    return facts


def is_computed_from_loaded(path: str) -> bool:
    """Return whether an item, such as an action or a loss, is computed from loaded ones."""
    return path.removeprefix("saved again: ").startswith(_COMPUTED)


def _measure_relative_gap(row: Sequence[Any], loaded: Sequence[Any]) -> float:
    """Return the distance of a computed item from the other version's, relative to its size.

    It is infinite for items that rounding does not change: loaded ones, and those without floats.
    """
    path, words, _, numbers = row
    kinds = [text.partition(":")[0] for text in (words, loaded[0])]
    if not is_computed_from_loaded(path) or not numbers or kinds[0] != kinds[1]:
        return math.inf
    return measure_relative_distance(numbers, loaded[1])


def measure_relative_distance(old_numbers: Sequence[Any], new_numbers: Sequence[Any]) -> float:
    """Return the largest difference of numbers of two items, relative to the norm of the first."""
    if len(old_numbers) != len(new_numbers):
        return math.inf
    gaps = [abs(float(old) - float(new)) for old, new in zip(old_numbers, new_numbers, strict=True)]
    if not all(map(math.isfinite, gaps)):
        return math.inf
    return max(gaps) / (abs(float(old_numbers[0])) + UNIT)
