"""Finds the line of a framework that decides a detail, in the probed copy.

An entry of the expectations may name the line (``code = "file: fragment"``). Otherwise it is the
line that a known fault of that detail changes: the fault has shown that the line decides it. If the
detail is not as documented, the line has changed. It is then found as a known fault would leave it,
or as the line that is most similar to the recorded one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

from rlregress.catalogue.implementation import Implementation
from rlregress.faults import fault_tables
from rlregress.faults.injection import find_line_of_fragment
from rlregress.model.detail_answers import SourceLine
from rlregress.model.fault_results import DETAILS, Fault

#: most lines that one message names
_MAX_LINES = 3
_TOKEN = re.compile(r"\d+\.\d+|\w+|[^\w\s]")


@cache
def _load_faults(framework: str) -> tuple[Fault, ...]:
    return tuple(fault_tables.load_faults(DETAILS, [framework]))


def _list_faults_of_detail(implementation: Implementation) -> list[Fault]:
    """Return the recorded lines that decide a detail, each as a fault that changes the line."""
    documented = implementation.documented
    if documented is not None and documented.code:
        file, _, fragment = documented.code.partition(": ")
        # an entry names a line only, so its fault has no replacement
        return [Fault(name=documented.id, file=file, old=fragment)]
    return [
        fault
        for fault in _load_faults(implementation.adapter.name)
        if implementation.detail.id in fault.turns and implementation.scope in fault.scopes
    ]


def find_deciding_line(implementation: Implementation) -> SourceLine | None:
    """Return the line that decides the detail; None if no recorded line is in this version."""
    return next(_find_unchanged_lines(implementation, _list_faults_of_detail(implementation)), None)


def _find_unchanged_lines(
    implementation: Implementation, candidates: Iterable[Fault]
) -> Iterator[SourceLine]:
    """Yield the recorded lines that this version still has."""
    for fault in candidates:
        location = find_line_of_fragment(
            implementation.adapter, fault.file, fault.old, fault.occurrence
        )
        if location is not None:
            path, number = location
            yield _make_source_line(fault, path.read_text(encoding="utf-8"), number)


class LinesAtFault(NamedTuple):
    """The lines at fault of a detail that is not as documented.

    Attributes:
        lines: the line that changed. If no change is found: the lines recorded for the found
            variant, or else all recorded lines.
        recorded: the recorded text of the line that changed; empty: no change is found.
        is_known: whether a known fault makes this change; else the line is only the most similar.
    """

    lines: list[SourceLine]
    recorded: str = ""
    is_known: bool = False


def find_lines_to_inspect(implementation: Implementation, variant: str | None) -> LinesAtFault:
    """Return the lines to inspect if a detail is not as documented.

    Args:
        variant: the found variant; None: no known one.
    """
    # a change that gives this variant is likelier than any other
    variant_name = variant or ""
    candidates = sorted(
        _list_faults_of_detail(implementation), key=lambda fault: fault.finds != variant_name
    )
    texts = [
        (fault, text)
        for fault in candidates
        if (text := _read_installed_file_of_fault(implementation, fault))
    ]
    for fault, text in texts:
        is_changed = fault.occurrence or fault.old not in text
        if is_changed and fault.new and fault.finds == variant_name and text.count(fault.new) == 1:
            number = text.partition(fault.new)[0].count("\n") + 1
            line = _make_source_line(fault, text, number)
            return LinesAtFault([line], _get_first_line(fault.old), is_known=True)
    for fault, text in texts:
        if fault.old not in text and (
            number := _find_most_similar_line(text, _get_first_line(fault.old))
        ):
            return LinesAtFault(
                [_make_source_line(fault, text, number)], _get_first_line(fault.old)
            )
    likely = [fault for fault in candidates if fault.finds == variant_name] or candidates
    return LinesAtFault(list(dict.fromkeys(_find_unchanged_lines(implementation, likely))))


def _read_installed_file_of_fault(implementation: Implementation, fault: Fault) -> str:
    path = implementation.adapter.code.find_installed_path(fault.file)
    return path.read_text(encoding="utf-8") if path is not None else ""


def _make_source_line(fault: Fault, source: str, number: int) -> SourceLine:
    return SourceLine(file=fault.file, line=number, text=source.splitlines()[number - 1].strip())


def _get_first_line(fragment: str) -> str:
    return fragment.strip().splitlines()[0]


@cache
def _find_most_similar_line(source: str, fragment: str) -> int:
    """Return the number of the line that is most similar to a fragment, from 1; else 0.

    The similarity is the number of characters in the tokens that both share in the same order. The
    line must share half of the fragment's characters, and no other line as many.
    """
    tokens = _TOKEN.findall(fragment)
    characters_by_line: dict[int, int] = {}
    for number, line in enumerate(source.splitlines(), start=1):
        blocks = SequenceMatcher(None, tokens, _TOKEN.findall(line), autojunk=False)
        characters_by_line[number] = sum(
            len("".join(tokens[block.a : block.a + block.size]))
            for block in blocks.get_matching_blocks()
        )
    most = max(characters_by_line.values(), default=0)
    best = [number for number, characters in characters_by_line.items() if characters == most]
    return best[0] if len(best) == 1 and 2 * most >= len("".join(tokens)) else 0


def describe_lines_at_fault(implementation: Implementation, variant: str | None) -> list[str]:
    """Describe the lines at fault for a message, a sentence each; empty if none is found."""
    at_fault = find_lines_to_inspect(implementation, variant)
    if not at_fault.recorded:
        return [
            f"decided by {line}, as recorded: {line.text}" for line in at_fault.lines[:_MAX_LINES]
        ]
    [line] = at_fault.lines
    probably = "" if at_fault.is_known else "probably "
    return [
        f"{probably}decided by {line}: {line.text}",
        f"recorded for this line: {at_fault.recorded}",
    ]


def locate_line_at_fault(implementation: Implementation, variant: str | None) -> str:
    """Return the path, number and text of the line at fault in the imported copy; else ""."""
    locate = implementation.adapter.code.find_installed_path
    for line in find_lines_to_inspect(implementation, variant).lines[:1]:
        return f"{locate(line.file)}:{line.line}: {line.text}"
    for fault in _list_faults_of_detail(implementation):
        if (path := locate(fault.file)) is not None:
            return f"{path} no longer has the line that decided it: {_get_first_line(fault.old)}"
    return ""
