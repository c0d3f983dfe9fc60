"""``rlregress probe``: the table detail x implementation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from rlregress.details import catalogue
from rlregress.details.implementation import implementations
from rlregress.frameworks.base import Adapter

_WIDTH_OF_FILES = 130


def collect(adapters: Sequence[Adapter]) -> dict[str, Any]:
    """Probe everything.

    Returns:
        ``versions``: framework -> package -> version; ``details``: id -> framework -> scope ->
        ``found``, ``documented``, ``observed``.
    """
    details: dict[str, Any] = {}
    for detail in catalogue.all_details():
        for adapter in adapters:
            for implementation in implementations(adapter, detail.id):
                judgement, documented = implementation.judgement, implementation.documented
                scopes = details.setdefault(detail.id, {}).setdefault(adapter.full_name, {})
                scopes[implementation.scope] = {
                    "found": judgement.variant,
                    "reason": judgement.reason,
                    "documented": documented.variant if documented else None,
                    "observed": judgement.observed.tolist()
                    if judgement.observed is not None
                    else None,
                }
    return {"versions": {a.full_name: dict(a.versions()) for a in adapters}, "details": details}


def differing(found: dict[str, Any]) -> list[str]:
    """What is not as documented: ``detail framework scope``."""
    return [
        f"{id} {framework} {scope}"
        for id, frameworks in found["details"].items()
        for framework, scopes in frameworks.items()
        for scope, cell in scopes.items()
        if cell["found"] != cell["documented"] or cell["found"] is None
    ]


def _cell(scopes: dict[str, Any]) -> str:
    by_answer: dict[str, list[str]] = {}
    for scope, cell in scopes.items():
        answer = cell["found"] or cell["reason"]
        if cell["found"] != cell["documented"]:
            answer = f"[bold red]{answer}[/] (documented: {cell['documented'] or 'nothing'})"
        by_answer.setdefault(answer, []).append(scope)
    # the library is what a user gets who asks for nothing: it needs no mark
    return "\n".join(
        answer if "library" in scopes and len(by_answer) == 1 else f"{answer} [{', '.join(scopes)}]"
        for answer, scopes in by_answer.items()
    ).replace(" [", " \\[")


def show(found: dict[str, Any]) -> None:
    """Print the table; what is not as documented stands in red with both names."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_FILES)
    table = Table(show_lines=False)
    table.add_column("detail", no_wrap=True)
    for framework, versions in found["versions"].items():
        table.add_column(f"{framework} {next(iter(versions.values()))}", overflow="fold")
    for id, frameworks in found["details"].items():
        cells = [
            _cell(frameworks[name]) if name in frameworks else "-" for name in found["versions"]
        ]
        table.add_row(id, *cells)
    console.print(table)
    wrong = differing(found)
    console.print(
        f"{len(wrong)} not as documented: {', '.join(wrong)}" if wrong else "All as documented."
    )
