"""``rlregress details --installed``: the table detail x implementation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from rlregress.model.detail_answers import variant_words

_WIDTH_OF_FILES = 130


def _variants(scopes: dict[str, Any]) -> str:
    by_answer: dict[str, list[str]] = {}
    for scope, probed in scopes.items():
        answer = variant_words(probed["found"] or probed["reason"])
        if probed["found"] != probed["documented"]:
            documented = variant_words(probed["documented"] or "nothing")
            answer = f"[bold red]{answer}[/] (documented: {documented})"
        by_answer.setdefault(answer, []).append(scope)
    # the library is what a user gets who asks for nothing: it needs no mark
    return "\n".join(
        answer if "library" in scopes and len(by_answer) == 1 else f"{answer} [{', '.join(scopes)}]"
        for answer, scopes in by_answer.items()
    ).replace(" [", " \\[")


def show(fingerprint: dict[str, Any], differing: Sequence[str]) -> None:
    """Print the table; what is not as documented stands in red with both names."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_FILES)
    table = Table(show_lines=False)
    table.add_column("detail", no_wrap=True)
    for framework, versions in fingerprint["versions"].items():
        table.add_column(f"{framework} {next(iter(versions.values()))}", overflow="fold")
    for id, frameworks in fingerprint["details"].items():
        names = fingerprint["versions"]
        table.add_row(id, *(_variants(frameworks[n]) if n in frameworks else "-" for n in names))
    console.print(table)
    console.print(
        f"{len(differing)} not as documented: {', '.join(differing)}"
        if differing
        else "All as documented."
    )
