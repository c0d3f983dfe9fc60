"""Explains changed details and traces by the functions that differ, and by the documentation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from rlregress.catalogue import expectations
from rlregress.catalogue.implementation import load_all_expectations
from rlregress.check import source_links
from rlregress.check.source_diff import diff_two_texts
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.model.code import ChangedPiece, Hunk
from rlregress.model.detail_answers import describe_variant
from rlregress.model.differences import DOCUMENTED, VIOLATED
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.upgrade_result import (
    MOST_HUNKS,
    UNDOCUMENTED,
    ChangedDetail,
    Culprits,
    PieceExecution,
    group_details_by_functions,
)
from rlregress.source import read_source_text
from rlregress.upgrade.differences import changed_statements


def classify_new_variant_by_documentation(
    adapter: Adapter, detail: ChangedDetail, version: str
) -> str:
    """Return whether the new variant of a detail is DOCUMENTED, UNDOCUMENTED or VIOLATED."""
    with contextlib.suppress(UserError, InvalidVersion):
        row = expectations.filter_by_version(load_all_expectations(adapter), version).get(
            (detail.id, detail.scope)
        )
        if row is None:
            return UNDOCUMENTED
        if row.variant == detail.new.variant:
            return DOCUMENTED
        # the end of a known deviation is a change, and violates nothing
        return UNDOCUMENTED if row.deviation else VIOLATED
    return UNDOCUMENTED


def find_details_documented_for_other_versions(
    adapter: Adapter, *versions: str
) -> set[tuple[str, str]]:
    """Return (detail, scope) pairs that are documented, but for none of ``versions``."""
    with contextlib.suppress(UserError, InvalidVersion):
        rows = load_all_expectations(adapter)
        documented_rows = [expectations.filter_by_version(rows, version) for version in versions]
        return {(row.id, row.scope) for row in rows}.difference(*documented_rows)
    return set()


def describe_documented_variants(adapter: Adapter, detail: ChangedDetail) -> list[str]:
    """Return the documented variants of a changed detail: since when, why, and where."""
    sentences = []
    with contextlib.suppress(UserError):
        key = detail.id, detail.scope
        rows = [row for row in load_all_expectations(adapter) if (row.id, row.scope) == key]
        for row in sorted(rows, key=lambda row: Version(row.since)):
            if row.variant in (detail.old.variant, detail.new.variant):
                until = f" until {row.until}" if row.until else ""
                remarks = [part for part in (row.note or row.deviation, row.upstream) if part]
                after = f": {' '.join(remarks).rstrip('.')}" if remarks else ""
                sentences.append(f"{describe_variant(row.variant)} since {row.since}{until}{after}")
    return sentences


def _split_both_versions_into_lines(function: ChangedPiece) -> list[list[str]]:
    """Return the lines of a function in the old and in the new version."""
    texts = []
    for path, own in zip(function.paths, (function.old, function.new), strict=True):
        lines = read_source_text(path).split("\n") if path is not None else []
        texts.append(lines[own.first - 1 : own.last] if own is not None else [])
    return texts


#: file -> lines of the new version that trainings executed.
ExecutedLines = Mapping[str, Collection[int]]


def _make_line_ranking(
    function: ChangedPiece, executed: ExecutedLines
) -> Callable[[int, int], int]:
    """Return a function that ranks lines: 0 changed and executed, 1 changed only, 2 unchanged."""
    # a function of one version alone differs as a whole: its lines need no rank
    both = None not in (function.old, function.new)
    spans = changed_statements.find_differing_statements(function).spans if both else ()
    executed_lines = executed.get(function.file, ())

    def rank_lines(begin: int, end: int) -> int:
        # lines that only the old version has lie between two lines of the new version
        low, high = (begin, end - 1) if end > begin else (begin - 1, begin)
        own = [(first, last) for first, last in spans if first <= high and last >= low]
        if not own:
            return 2 if spans else 0
        lines = (line for first, last in own for line in range(first, last + 1))
        return 0 if any(line in executed_lines for line in lines) else 1

    return rank_lines


def collect_differing_lines(
    functions: Iterable[ChangedPiece], executed: ExecutedLines
) -> dict[ChangedPiece, Hunk]:
    """Return function -> its lines that differ between the versions, with lines around them."""
    hunks = {}
    for function in dict.fromkeys(functions):
        old_text, new_text = _split_both_versions_into_lines(function)
        first = [own.first if own is not None else 1 for own in (function.old, function.new)]
        rank = _make_line_ranking(function, executed)
        links = [
            source_links.find_source_url(path, function.get_file_in_version(label))
            for label, path in zip(VERSIONS, function.paths, strict=True)
        ]
        hunk = diff_two_texts(str(function), old_text, new_text, (first[0], first[1]), rank)
        hunks[function] = replace(hunk, links=(links[0], links[1]))
    return hunks


def select_functions_that_explain(
    all_culprits: Iterable[Culprits],
    details: Iterable[ChangedDetail],
    changed: Sequence[ChangedPiece],
    executions: Sequence[PieceExecution],
) -> list[ChangedPiece]:
    """Return the changed functions that explain differences of trainings, probes or direct calls.

    Args:
        details: changed details; ``changed``: functions that their probes may execute.
        executions: show which functions differ when they are called directly.
    """
    named = [function for culprits in all_culprits for function in culprits.likely_functions[:1]]
    named += [x.function for x in executions if x.calls is not None and x.calls.arguments]
    for finding in group_details_by_functions(details, changed):
        named += finding.functions
    return named


def choose_functions_to_show(executions: Iterable[PieceExecution]) -> list[ChangedPiece]:
    """Return the functions whose lines the report shows, some that ran and some that did not.

    A release may change thousands of functions: the rest is only listed.
    """
    groups: dict[tuple[bool, bool], list[ChangedPiece]] = {}
    for execution in executions:
        if execution.function.can_change_results:
            by = bool(execution.trainings), bool(execution.details)
            groups.setdefault(by, []).append(execution.function)
    return [function for group in groups.values() for function in group[:MOST_HUNKS]]
