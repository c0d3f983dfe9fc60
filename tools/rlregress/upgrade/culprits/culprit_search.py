"""Searches the changed functions that make trainings diverge, one search for each training."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from rlregress import progress
from rlregress.model.code import CODE_CHANGED, Changed
from rlregress.model.recorded_traces import VERSIONS, Trace, Traced
from rlregress.model.upgrade_result import Culprits
from rlregress.source import UNREADABLE
from rlregress.upgrade.culprits.delta_debugging import (
    EarlierCulprits,
    Group,
    Search,
    find_functions_at_divergence,
    list_revertible_functions,
    make_training_with_reverted_functions,
    search_culprits_of_training,
)
from rlregress.upgrade.evidence.compared_trainings import Training

#: the stage of a command; a part of it is a recording.
STAGE = "looking for culprits"
#: recordings in all, of trainings of so many events or more: a shorter one counts as a part of one,
#: down to the least.
LIMIT = 300
_LONG, _LEAST = 1000, 0.3
#: recordings of one training.
_EACH = 40
#: trainings that are searched at once: the first ones; then twice as many, up to the most.
WAVE, _MOST = 2, 32
#: recordings for each function that a search is expected to take; and the share of them that one
#: after the first takes, which begins with what those found.
_RECORDINGS, _LATER = 1.75, 0.6
#: records trainings on the new version: traces by name.
Record = Callable[[Sequence[Training]], Mapping[str, Trace]]


def estimate_recordings_of_search(functions: float, is_later: bool = False) -> float:
    """Return how many recordings one search is expected to take, before it has begun.

    Args:
        functions: how many changed functions the training executes.
        is_later: the search begins with the culprits that the first searches found.
    """
    return min(_RECORDINGS * functions, _EACH) * (_LATER if is_later else 1)


def add_one_sided_functions(culprits: Culprits, functions: Sequence[Changed]) -> Culprits:
    """Add the functions of only one version that a culprit names, and those that these name.

    They cannot be reverted by themselves: they come and go with their callers.
    """
    alone = [
        function
        for function in functions
        if function.how != CODE_CHANGED and not function.at_import
    ]
    unnamed = [function for function in alone if function not in culprits.functions]
    new: list[Changed] = []
    named = list(culprits.functions)
    while named:
        called = [function for function in unnamed if _names_function(named[0], function)]
        new += called
        unnamed = [function for function in unnamed if function not in called]
        named = [*named[1:], *called]
    return replace(culprits, new=tuple(new))


@cache
def _read_imports(path: Path, file: str) -> frozenset[tuple[str, str]]:
    """Return (path of a module, imported name) pairs of a file; no name: the whole module.

    Args:
        file: its path below the folder of its package.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, *UNREADABLE):
        return frozenset()
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {(alias.name.replace(".", "/"), "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = file.split("/")[: -node.level] if node.level else []
            module = "/".join([*above, *(node.module or "").split(".")]).rstrip("/")
            imported |= {(module, alias.name.replace("*", "")) for alias in node.names}
    return frozenset(imported)


def _imports_function_of(caller: Changed, function: Changed) -> bool:
    """Return whether the caller's file imports the function, or the module that defines it."""
    module, name = function.file.removesuffix(".py").removesuffix("/__init__"), function.name
    files = zip(caller.paths, VERSIONS, strict=True)
    imports_by_version = [
        _read_imports(path, caller.get_file_on(label)) for path, label in files if path is not None
    ]
    return any(
        module == f"{imported_module}/{imported_name}"
        or (
            imported_name in ("", name)
            and (module == imported_module or module.startswith(f"{imported_module}/"))
        )
        for imported in imports_by_version
        for imported_module, imported_name in imported
    )


def _names_function(caller: Changed, function: Changed) -> bool:
    """Return whether a caller names a function that its file defines or imports, or a method of
    the same file.

    Functions of other files may have the same name, such as those of another backend.
    """
    kind, _, name = function.name.rpartition(".")
    # a class's own methods are called by Python, whoever they belong to
    if name.startswith("__") or (kind and function.file != caller.file):
        return False
    if function.file != caller.file and not _imports_function_of(caller, function):
        return False
    code = "".join(own.code for own in (caller.old, caller.new) if own is not None)
    return f"attr='{name}'" in code or f"id='{name}'" in code


def search_culprits(
    diverging: Sequence[Traced],
    trainings: Mapping[str, Training],
    functions: Sequence[Changed],
    record: Record,
    limit: float = LIMIT,
    end_time: float | None = None,
) -> dict[str, Culprits]:
    """Return training -> the changed functions that make it diverge.

    A few trainings are searched at once, first one for each place of divergence. Later searches
    begin with the culprits of earlier ones: mostly these explain everything.
    Trainings that execute functions which no search has reverted yet come before the others.

    Args:
        trainings: by name.
        functions: the changed functions.
        limit: recordings in all, as ``LIMIT``.
        end_time: the time after which no search begins.
    """
    # what diverges before what rounds
    shortest = sorted(diverging, key=lambda item: (item.proved, len(item.new.events)))
    places = {
        training.name: find_functions_at_divergence(training.comparison.first, functions)
        for training in shortest
    }
    firsts = {
        places[training.name] or training.name: training.name for training in reversed(shortest)
    }
    # one of each place before the others
    order = sorted(shortest, key=lambda item: item.name not in firsts.values())
    revertible = {
        training.name: list_revertible_functions(training, functions) for training in order
    }
    by_name: dict[str, Culprits] = {}
    size = WAVE
    while order:
        earlier = EarlierCulprits.collect_from_culprits(by_name.values())
        order.sort(key=lambda item: earlier.have_all_been_reverted(revertible[item.name]))
        wave = {training.name: training for training in order[:size]}
        order, size = order[size:], min(2 * size, _MOST)
        later = sum(
            estimate_recordings_of_search(len(revertible[t.name]), is_later=True) for t in order
        )
        expected = {
            name: estimate_recordings_of_search(len(revertible[name]), bool(by_name))
            for name in wave
        }
        searches = {
            name: search_culprits_of_training(training, functions, earlier)
            for name, training in wave.items()
        }
        if end_time is not None and time.time() > end_time:
            limit = 0.0
        limit -= _run_searches(searches, wave, trainings, record, limit, by_name, expected, later)
    return {training.name: by_name[training.name] for training in diverging}


def _run_searches(
    searches: Mapping[str, Search],
    traced: Mapping[str, Traced],
    trainings: Mapping[str, Training],
    record: Record,
    limit: float,
    by_name: dict[str, Culprits],
    expected: Mapping[str, float],
    later: float,
) -> float:
    """Run searches in turns; return how many recordings they took, in the unit of ``LIMIT``.

    Args:
        expected: how many recordings each search is expected to take.
        later: how many recordings all searches after these are expected to take.
    """
    requested: dict[str, list[Group]] = {}
    spent = 0.0
    recordings = 0
    recordings_by_name = dict.fromkeys(searches, 0)
    for name, looking in searches.items():
        _advance_search(name, looking, None, requested, by_name)
    while requested:
        jobs: dict[tuple[str, Group], Training] = {}
        for name, groups in requested.items():
            for group in groups:
                cost = _estimate_relative_cost(traced[name])
                if spent + cost <= limit and recordings_by_name[name] < _EACH:
                    jobs[name, group] = make_training_with_reverted_functions(
                        trainings[name], group, recordings + len(jobs)
                    )
                    recordings_by_name[name] += 1
                    spent += cost
        following = sum(
            # of one that has taken longer, half as many again
            min(
                max(expected[name] - recordings_by_name[name], recordings_by_name[name] / 2),
                _EACH - recordings_by_name[name],
            )
            for name in requested
        )
        # if these take longer than was expected, so do the later ones
        excess = max(sum(recordings_by_name.values()) / max(sum(expected.values()), 1), 1)
        progress.expect_parts_left(len(jobs) + following + later * excess)
        recorded = record(list(jobs.values())) if jobs else {}
        recordings += len(jobs)
        for name, groups in list(requested.items()):
            traces = {
                group: recorded[jobs[name, group].name]
                for group in groups
                # time may have ended before some
                if (name, group) in jobs and jobs[name, group].name in recorded
            }
            _advance_search(name, searches[name], traces, requested, by_name)
    return spent


def _estimate_relative_cost(training: Traced) -> float:
    return min(max(len(training.new.events) / _LONG, _LEAST), 1.0)


def _advance_search(
    training_name: str,
    search: Search,
    traces: Mapping[Group, Trace] | None,
    requested: dict[str, list[Group]],
    by_name: dict[str, Culprits],
) -> None:
    try:
        requested[training_name] = next(search) if traces is None else search.send(traces)
    except StopIteration as ended:
        requested.pop(training_name, None)
        by_name[training_name] = ended.value
