"""Where in a framework's code a detail is decided: file and line of the copy that is asked.

An entry of the expectations may name the place (``code = "file: fragment"``). Otherwise the place
is the line that a known fault of that detail changes: it has been shown to decide it.
"""

from __future__ import annotations

from functools import cache

from rlregress.details.implementation import Implementation
from rlregress.faults import fault_tables
from rlregress.faults.injection import line_of
from rlregress.model.detail_answers import SourceLine
from rlregress.model.fault_results import DETAILS, Fault


@cache
def _faults(framework: str) -> tuple[Fault, ...]:
    return tuple(fault_tables.load(DETAILS, [framework]))


def _candidates(implementation: Implementation) -> list[tuple[str, str, int]]:
    documented = implementation.documented
    if documented is not None and documented.code:
        file, _, fragment = documented.code.partition(": ")
        return [(file, fragment, 0)]
    return [
        (fault.file, fault.old, fault.occurrence)
        for fault in _faults(implementation.adapter.name)
        if implementation.detail.id in fault.turns and implementation.scope in fault.scopes
    ]


def place(implementation: Implementation) -> SourceLine | None:
    """The line that decides the detail, or None if nothing is recorded that fits this version."""
    for file, fragment, occurrence in _candidates(implementation):
        found = line_of(implementation.adapter, file, fragment, occurrence)
        if found is not None:
            path, line = found
            text = path.read_text(encoding="utf-8").splitlines()[line - 1].strip()
            return SourceLine(file=file, line=line, text=text)
    return None


def where(implementation: Implementation) -> str:
    """File and line that decide a detail, of the copy that was imported; "" if none is recorded."""
    locate = implementation.adapter.locate
    found = place(implementation)
    if found is not None:
        return f"{locate(found.file)}:{found.line}: {found.text}"
    for file, fragment, _ in _candidates(implementation):
        if (path := locate(file)) is not None:
            was = fragment.strip().splitlines()[0]
            return f"{path}, whose line that decided it is not there any more: {was}"
    return ""
