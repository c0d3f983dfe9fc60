"""``rlregress compare``: the matrix of details, differences first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rlregress.model.detail_answers import Comparison, FoundVariant, Row, variant_words

_WIDTH_OF_FILES = 150


def _short(answers: Iterable[FoundVariant]) -> list[tuple[str, str]]:
    """(variant, scopes) of one framework, scopes with the same variant together.

    Of a single variant the scopes are left out, unless they are names of classes.
    """
    scopes: dict[str, list[str]] = {}
    for answer in answers:
        scopes.setdefault(variant_words(answer.variant or answer.meaning), []).append(answer.scope)
    named = len(scopes) > 1 or any(
        name[:1].isupper() for names in scopes.values() for name in names
    )
    return [(variant, ", ".join(names) if named else "") for variant, names in scopes.items()]


def in_words(answers: Iterable[FoundVariant]) -> list[str]:
    """Return the variants of one framework, each with its scopes where they tell it apart."""
    return [f"{variant} [{scopes}]" if scopes else variant for variant, scopes in _short(answers)]


def _broken(text: str, width: int) -> str:
    """A path or an id in lines of a width, none of which ends within a word of it."""
    lines, line = [], ""
    for word in re.findall(r"[^/._]*[/._]*", text):
        if len(line) + len(word) > width and line:
            lines.append(line)
            line = ""
        line += word
    return "\n".join([*lines, line])


def _variants(row: Row, name: str, width: int) -> str:
    if name not in row.answers:
        return f"- ({escape(row.absent[name])})" if name in row.absent else "-"
    lines = in_words(row.answers[name])
    places = dict.fromkeys(str(a.place) for a in row.answers[name] if a.place is not None)
    listed = [_broken(place, width) for place in places]
    return "\n".join(
        [escape(_broken(line, width)) for line in lines] + [f"[dim]{p}[/]" for p in listed]
    )


def show(comparison: Comparison) -> None:
    """Print the differences with their consequences, then what is the same."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_FILES)
    names = list(comparison.versions)
    table = Table(show_lines=True, title=f"{len(comparison.different)} details differ")
    # of the width without the lines between, the texts of consequences take what is left
    width = (console.width - 3 * (len(names) + 2) - 1) // (len(names) + 2)
    table.add_column("detail", width=width)
    for name, version in comparison.versions.items():
        table.add_column(titled(name, version), width=width)
    table.add_column("consequence")
    for row in comparison.different:
        columns = [_variants(row, name, width) for name in names]
        table.add_row(_broken(row.detail.id, width), *columns, escape(row.detail.consequence))
    console.print(table)
    if comparison.undecided:
        console.print(f"[bold red]{len(comparison.undecided)} cannot be compared:[/]")
        for row in comparison.undecided:
            text = "; ".join(
                f"{name}: {_variants(row, name, console.width)}" for name in row.answers
            )
            console.print(f"  {row.detail.id}: {text}".replace("\n", " "))
    if comparison.left_out:
        console.print(f"{counts(comparison)}.")
        return
    console.print(f"{len(comparison.same)} details are the same:")
    for row in comparison.same:
        found = dict.fromkeys(
            word for answers in row.answers.values() for word in in_words(answers)
        )
        console.print(escape(f"  {row.detail.id}: {', '.join(found)}"))
    if comparison.alone:
        console.print(f"{len(comparison.alone)} are about something that only one of them has:")
        for row in comparison.alone:
            ((name, answers),) = row.answers.items()
            console.print(escape(f"  {row.detail.id}: {', '.join(in_words(answers))} ({name})"))


def titled(name: str, version: str) -> str:
    """A framework with its version, said once."""
    return name if name.endswith(f"@{version}") else f"{name} {version}"


def counts(comparison: Comparison) -> str:
    """How many details differ, and how many do not."""
    if comparison.left_out:
        others = f"{len(comparison.left_out)} that do not differ are left out"
    else:
        others = (
            f"{len(comparison.same)} are the same, {len(comparison.alone)} are about something "
            "that only one of them has"
        )
    return f"{len(comparison.different)} details differ, {others}"


def as_json(comparison: Comparison) -> str:
    """The comparison as JSON: ``versions`` and ``details``, differences first."""

    def plain(row: Row) -> dict[str, Any]:
        return {
            "id": row.detail.id,
            "differs": row.shared and row.differs and not row.undecided,
            "undecided": row.undecided,
            "question": row.detail.question,
            "consequence": row.detail.consequence,
            "sources": list(row.detail.sources),
            "answers": {
                name: {
                    answer.scope: {
                        "variant": answer.variant,
                        "meaning": answer.meaning,
                        "deviation": answer.deviation,
                        "line": str(answer.place) if answer.place else None,
                        "text": answer.place.text if answer.place else None,
                    }
                    for answer in answers
                }
                for name, answers in row.answers.items()
            },
            "absent": dict(row.absent),
        }

    same = [*comparison.same, *comparison.alone]
    rows = [*comparison.different, *comparison.undecided, *same]
    compared = {"versions": dict(comparison.versions), "details": [plain(row) for row in rows]}
    return json.dumps(compared, indent=1)
