"""Places in a framework's code that decide a detail: file and line of the probed copy.

An entry of the expectations may name the place (``code = "file: fragment"``). Otherwise the place
is the line that a known fault of that detail changes: it has been shown to decide it. Of a detail
that is not as documented the line is looked for as it may be now: as a known fault leaves it, or as
the one line that is most like the recorded one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

from rlregress.details.implementation import Implementation
from rlregress.faults import fault_tables
from rlregress.faults.injection import find_line
from rlregress.model.detail_answers import SourceLine
from rlregress.model.fault_results import DETAILS, Fault

#: lines of a failure that name one of several places
_MOST_LINES = 3
_TOKEN = re.compile(r"\d+\.\d+|\w+|[^\w\s]")


@cache
def _faults(framework: str) -> tuple[Fault, ...]:
    return tuple(fault_tables.load(DETAILS, [framework]))


def _candidates(implementation: Implementation) -> list[Fault]:
    """Changes of lines that decide the detail; the fragment of an entry changes into nothing."""
    documented = implementation.documented
    if documented is not None and documented.code:
        file, _, fragment = documented.code.partition(": ")
        return [Fault(name=documented.id, file=file, old=fragment)]
    return [
        fault
        for fault in _faults(implementation.adapter.name)
        if implementation.detail.id in fault.turns and implementation.scope in fault.scopes
    ]


def place(implementation: Implementation) -> SourceLine | None:
    """The line that decides the detail, or None if nothing is recorded that fits this version."""
    return next(_intact(implementation, _candidates(implementation)), None)


def _intact(implementation: Implementation, candidates: Iterable[Fault]) -> Iterator[SourceLine]:
    """The recorded lines that are there as they are recorded."""
    for fault in candidates:
        location = find_line(implementation.adapter, fault.file, fault.old, fault.occurrence)
        if location is not None:
            path, number = location
            yield _line(fault, path.read_text(encoding="utf-8"), number)


class AtFault(NamedTuple):
    """The line at fault of a detail that is not as documented.

    Attributes:
        lines: the one that changed; where none is known to have changed those that are recorded for
            the variant, or else every recorded one.
        recorded: the fragment that is recorded for the line that changed; empty: none has.
        known: a known fault leaves the line so; else it is only the one most like the recorded one.
    """

    lines: list[SourceLine]
    recorded: str = ""
    known: bool = False


def at_fault(implementation: Implementation, variant: str | None) -> AtFault:
    """The line to look at.

    Args:
        variant: that was found; None: no known one.
    """
    # a change that gives this variant is likelier than any other
    variant_name = variant or ""
    candidates = sorted(_candidates(implementation), key=lambda fault: fault.finds != variant_name)
    texts = [(fault, text) for fault in candidates if (text := _text(implementation, fault))]
    for fault, text in texts:
        is_changed = fault.occurrence or fault.old not in text
        if is_changed and fault.new and fault.finds == variant_name and text.count(fault.new) == 1:
            number = text.partition(fault.new)[0].count("\n") + 1
            return AtFault([_line(fault, text, number)], _first_line(fault.old), known=True)
    for fault, text in texts:
        if fault.old not in text and (number := _most_like(text, _first_line(fault.old))):
            return AtFault([_line(fault, text, number)], _first_line(fault.old))
    likely = [fault for fault in candidates if fault.finds == variant_name] or candidates
    return AtFault(list(dict.fromkeys(_intact(implementation, likely))))


def _text(implementation: Implementation, fault: Fault) -> str:
    path = implementation.adapter.code.locate(fault.file)
    return path.read_text(encoding="utf-8") if path is not None else ""


def _line(fault: Fault, text: str, number: int) -> SourceLine:
    return SourceLine(file=fault.file, line=number, text=text.splitlines()[number - 1].strip())


def _first_line(fragment: str) -> str:
    return fragment.strip().splitlines()[0]


@cache
def _most_like(text: str, fragment: str) -> int:
    """Number of the one line that holds most of a fragment, from 1; 0: none, or several, do.

    Tokens count by their length, in their order; a line has to hold half of them.
    """
    tokens = _TOKEN.findall(fragment)
    characters_by_line: dict[int, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        blocks = SequenceMatcher(None, tokens, _TOKEN.findall(line), autojunk=False)
        characters_by_line[number] = sum(
            len("".join(tokens[block.a : block.a + block.size]))
            for block in blocks.get_matching_blocks()
        )
    most = max(characters_by_line.values(), default=0)
    best = [number for number, characters in characters_by_line.items() if characters == most]
    return best[0] if len(best) == 1 and 2 * most >= len("".join(tokens)) else 0


def sentences(implementation: Implementation, variant: str | None) -> list[str]:
    """Lines of a failure that name the line at fault; empty if none can be named."""
    place = at_fault(implementation, variant)
    if not place.recorded:
        return [
            f"decided by {place_line}, as recorded: {place_line.text}"
            for place_line in place.lines[:_MOST_LINES]
        ]
    [line] = place.lines
    probably = "" if place.known else "probably "
    return [
        f"{probably}decided by {line}: {line.text}",
        f"recorded for this line: {place.recorded}",
    ]


def where(implementation: Implementation, variant: str | None) -> str:
    """File and line that decide a detail, of the copy that was imported; "" if none is recorded."""
    locate = implementation.adapter.code.locate
    for line in at_fault(implementation, variant).lines[:1]:
        return f"{locate(line.file)}:{line.line}: {line.text}"
    for fault in _candidates(implementation):
        if (path := locate(fault.file)) is not None:
            was = _first_line(fault.old)
            return f"{path}, whose line that decided it is not there any more: {was}"
    return ""
