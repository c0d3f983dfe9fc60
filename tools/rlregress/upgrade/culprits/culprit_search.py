"""Searches the changed functions that make trainings diverge, one search for each training."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from rlregress.inside.bindings import resolve_import
from rlregress.model.code import CODE_CHANGED, ChangedPiece
from rlregress.model.recorded_traces import VERSIONS, ComparedTraining, Trace
from rlregress.model.upgrade_result import Culprits
from rlregress.source import UNREADABLE
from rlregress.trace.child_processes import is_time_over
from rlregress.upgrade.culprits.delta_debugging import (
    CulpritSearch,
    Group,
    SearchSteps,
    find_functions_at_divergence,
    join_culprits,
    list_revertible_functions,
)
from rlregress.upgrade.differences.known_changes import make_dotted_name
from rlregress.upgrade.differences.old_code import list_old_code
from rlregress.upgrade.evidence.compared_trainings import Training

#: recordings of all searches together. One of ``_LONG`` events or more counts fully, a shorter one
#: by its share of them, but as ``_LEAST`` at least.
LIMIT = 300
_LONG, _LEAST = 1000, 0.3
#: at most so many recordings of one training.
MOST_OF_ONE = 40
#: trainings that are searched at once: at first, and at most; the number doubles in between.
WAVE, _MOST = 2, 32
#: records trainings on the new version, and returns their traces by name.
Record = Callable[[Sequence[Training]], Mapping[str, Trace]]


def add_one_sided_callees(culprits: Culprits, functions: Sequence[ChangedPiece]) -> Culprits:
    """Add functions of one version only that a culprit calls, directly or through others.

    They cannot be reverted by themselves: they come and go with their callers.
    """
    unnamed = [
        function
        for function in functions
        if function.how != CODE_CHANGED
        and not function.runs_at_import
        and function not in culprits.likely_functions
    ]
    new: list[ChangedPiece] = []
    named = list(culprits.likely_functions)
    while named:
        called = [function for function in unnamed if _names_function(named[0], function)]
        new += called
        unnamed = [function for function in unnamed if function not in called]
        named = [*named[1:], *called]
    return replace(culprits, new=tuple(new))


@cache
def _list_imported_dotted_names(path: Path, file: str) -> frozenset[str]:
    """Return the dotted names that a file imports; for ``import *``, the name of the module.

    Args:
        file: its path below the folder of its package.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, *UNREADABLE):
        return frozenset()
    package = file.rpartition("/")[0].replace("/", ".")
    paths: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            paths |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = resolve_import(node, package)
            paths |= {f"{module}.{alias.name}".removesuffix(".*") for alias in node.names}
    return frozenset(paths)


def _names_function(caller: ChangedPiece, function: ChangedPiece) -> bool:
    """Return whether a caller's code names a function that its file defines or imports.

    Functions of other files may have the same name, such as those of another backend.
    """
    kind, _, name = function.name.rpartition(".")
    code = "".join(own.code for own in (caller.old, caller.new) if own is not None)
    # methods such as __init__ are called by Python: no text shows of which class they are
    if name.startswith("__") or not (f"attr='{name}'" in code or f"id='{name}'" in code):
        return False
    if function.file == caller.file or kind:
        return function.file == caller.file
    full_name = make_dotted_name(f"{function.file} {name}")
    imported = {
        dotted
        for path, label in zip(caller.paths, VERSIONS, strict=True)
        if path is not None
        for dotted in _list_imported_dotted_names(path, caller.get_file_in_version(label))
    }
    return any(
        full_name.startswith(f"{dotted}.")
        # imported from its own module, or from a package that imports it in turn
        or full_name.startswith(f"{dotted.removesuffix(name)}")
        and dotted.endswith(f".{name}")
        for dotted in imported
    )


def search_culprits(
    diverging: Sequence[ComparedTraining],
    trainings: Mapping[str, Training],
    functions: Sequence[ChangedPiece],
    record: Record,
    limit: float = LIMIT,
) -> dict[str, Culprits]:
    """Return training -> the changed functions that make it diverge.

    A few trainings are searched at once, first one for each place of divergence. Later searches
    begin with the culprits of earlier ones: mostly these explain everything.
    Trainings that execute functions which no search has reverted yet come before the others.

    Args:
        trainings: by name.
        functions: the changed functions.
        limit: recordings in all, as ``LIMIT``.
    """
    # trainings that differ come before those that only round differently
    shortest = sorted(diverging, key=lambda item: (item.shows_same_training, len(item.new.events)))
    places = {t.name: find_functions_at_divergence(t.comparison.first, functions) for t in shortest}
    firsts = {places[t.name] or t.name: t.name for t in reversed(shortest)}
    # first one training of each place of divergence, then the others
    order = sorted(shortest, key=lambda item: item.name not in firsts.values())
    revertible = {t.name: list_revertible_functions(t, functions) for t in order}
    turns = _InterleavedSearches(trainings, record, limit)
    size = WAVE
    while order:
        earlier = join_culprits([*turns.ended.values()])
        reverted = {*earlier.influencing, *earlier.without_influence, *dict(earlier.failed)}
        order.sort(key=lambda item: reverted.issuperset(revertible[item.name]))
        if is_time_over():
            # no search begins any more
            turns.limit = 0.0
        turns.run_searches(
            [(item, CulpritSearch(item, functions, earlier).take_steps()) for item in order[:size]]
        )
        order, size = order[size:], min(2 * size, _MOST)
    return {training.name: turns.ended[training.name] for training in diverging}


class _InterleavedSearches:
    """Searches in turns: each turn makes the recordings that all open searches request.

    Attributes:
        limit: recordings in all, in the unit of ``LIMIT``.
        ended: training -> the culprits that its search has found.
    """

    def __init__(self, trainings: Mapping[str, Training], record: Record, limit: float) -> None:
        self._trainings, self._record, self.limit = trainings, record, limit
        self.ended: dict[str, Culprits] = {}
        self._requested: dict[str, list[Group]] = {}

    def run_searches(self, searches: Sequence[tuple[ComparedTraining, SearchSteps]]) -> None:
        """Run searches until each of them has ended."""
        by_name = {training.name: search for training, search in searches}
        costs = {training.name: _estimate_relative_cost(training) for training, _ in searches}
        counts = dict.fromkeys(by_name, 0)
        for name, search in by_name.items():
            self._advance_search(name, search, None)
        while self._requested:
            jobs: dict[tuple[str, Group], Training] = {}
            for name, groups in self._requested.items():
                for group in groups:
                    if costs[name] <= self.limit and counts[name] < MOST_OF_ONE:
                        training, trial = self._trainings[name], f"{name} trial {counts[name]}"
                        job = {**training.job, "swap": list_old_code(group)}
                        jobs[name, group] = replace(training, name=trial, job=job)
                        counts[name] += 1
                        self.limit -= costs[name]
            recorded = self._record(list(jobs.values())) if jobs else {}
            for name, groups in list(self._requested.items()):
                traces = {
                    group: recorded[jobs[name, group].name]
                    for group in groups
                    # a time limit may have left some unrecorded
                    if (name, group) in jobs and jobs[name, group].name in recorded
                }
                self._advance_search(name, by_name[name], traces)

    def _advance_search(
        self, name: str, search: SearchSteps, traces: Mapping[Group, Trace] | None
    ) -> None:
        try:
            self._requested[name] = next(search) if traces is None else search.send(traces)
        except StopIteration as end:
            self._requested.pop(name, None)
            self.ended[name] = end.value


def _estimate_relative_cost(training: ComparedTraining) -> float:
    return min(max(len(training.new.events) / _LONG, _LEAST), 1.0)
