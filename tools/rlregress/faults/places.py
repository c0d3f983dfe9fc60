"""Where in a framework's code a detail is decided: file and line of the copy that is asked.

An entry of the expectations may name the place (``code = "file: fragment"``). Otherwise the place
is the line that a seeded fault of that detail changes: it has been shown to decide it.
"""

from __future__ import annotations

import ast
from functools import cache

from rlregress.details.implementation import Implementation
from rlregress.faults import probed_faults
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import SourceLine


@cache
def _faults(framework: str) -> tuple[probed_faults.Fault, ...]:
    return tuple(probed_faults.load(framework))


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


def _find(adapter: Adapter, file: str, fragment: str, occurrence: int) -> SourceLine | None:
    path = adapter.locate(file)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    parts = text.split(fragment)
    wanted = max(occurrence, 1)
    if len(parts) <= wanted or (occurrence == 0 and len(parts) != 2):
        return None
    line = fragment.join(parts[:wanted]).count("\n") + 1
    return SourceLine(file=file, line=line, text=text.splitlines()[line - 1].strip())


def place(implementation: Implementation) -> SourceLine | None:
    """The line that decides the detail, or None if nothing is recorded that fits this version."""
    for candidate in _candidates(implementation):
        line = _find(implementation.adapter, *candidate)
        if line is not None:
            return line
    return None


def function(adapter: Adapter, file: str, fragment: str, occurrence: int = 0) -> str:
    """The innermost function around a fragment of code; "" if the fragment is not found.

    Args:
        occurrence: which one, from 1; 0: the only one.
    """
    source_line = _find(adapter, file, fragment, occurrence)
    path = adapter.locate(file)
    if source_line is None or path is None:
        return ""
    inner = "<module>"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef):
            continue
        if node.lineno <= source_line.line <= (node.end_lineno or 0):
            # the walk goes from the outer to the inner ones
            inner = node.name
    return inner


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
