"""``rlregress compare``: the matrix of details, differences first."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rlregress.model.detail_answers import Comparison, FoundVariant, Row, variant_words
from rlregress.reporting import tables

_WIDTH_OF_FILES = 150
#: of so many frameworks each pair has its column; of more there is a table of pairs
_SIDE_BY_SIDE = 3


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


def _words(answers: Iterable[FoundVariant]) -> list[str]:
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
    lines = _words(row.answers[name])
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
        found = dict.fromkeys(word for answers in row.answers.values() for word in _words(answers))
        console.print(escape(f"  {row.detail.id}: {', '.join(found)}"))
    if comparison.alone:
        console.print(f"{len(comparison.alone)} are about something that only one of them has:")
        for row in comparison.alone:
            ((name, answers),) = row.answers.items()
            console.print(escape(f"  {row.detail.id}: {', '.join(_words(answers))} ({name})"))


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


PROBED = "Every answer was probed on the code; a line is the one that decides the detail"


def markdown(comparison: Comparison, basis: str = PROBED) -> str:
    """The comparison as a page: what differs by family, each difference in full, two tables.

    Args:
        basis: what the answers rest on, in one sentence.
    """
    titles = [titled(name, version) for name, version in comparison.versions.items()]
    lines = [f"# {' against '.join(titles)}", ""]
    lines += [f"{counts(comparison)}. {basis}.", ""]
    lines += _at_a_glance(comparison)
    for row in comparison.different:
        lines += _section(row)
    for title, rows in (
        ("Cannot be compared", comparison.undecided),
        ("The same", comparison.same),
        ("Only one has it", comparison.alone),
    ):
        if rows:
            lines += [f"## {title}", "", *tables.head("detail", "variant", "framework")]
            lines += [_table_line(row) for row in rows] + [""]
    return "\n".join(lines)


def _at_a_glance(comparison: Comparison) -> list[str]:
    """How many details of each family differ, between which frameworks; then one table for each."""
    families: dict[str, list[Row]] = {}
    for row in comparison.different:
        families.setdefault(row.detail.family, []).append(row)
    if not families:
        return []
    names = list(comparison.versions)
    probed = [*comparison.rows, *comparison.left_out]
    pairs = list(itertools.combinations(names, 2))
    columns = pairs if len(names) == _SIDE_BY_SIDE else []
    heads = ["family", "differ", *(" and ".join(pair) for pair in columns)]
    lines = tables.head(*heads, numbers=len(heads) - 1)
    for family, rows in families.items():
        of_family = [row for row in probed if row.detail.family == family]
        cells = [_differing(of_family, pair) for pair in columns]
        lines.append(tables.row(f"[{family}](#{family})", len(rows), *cells))
    lines.append("")
    if len(names) > _SIDE_BY_SIDE:
        lines += ["How many differ of those that both have:", ""]
        lines += tables.head("", *names, numbers=len(names))
        for name in names:
            cells = ["" if one == name else _differing(probed, (name, one)) for one in names]
            lines.append(tables.row(name, *cells))
        lines.append("")
    if len(names) >= _SIDE_BY_SIDE:
        lines += [
            f"`rlregress compare {' '.join(pairs[0])} --detail {next(iter(families))} "
            "--only-different` prints one family of two of them.",
            "",
        ]
    for family, rows in families.items():
        lines += [f"### {family}", "", *tables.head("detail", *names)]
        for row in rows:
            anchor = re.sub(r"[^\w\- ]", "", row.detail.id)
            lines.append(_variants_row(row, names, f"[`{row.detail.id}`](#{anchor})"))
        lines.append("")
    return lines


def family_table(comparison: Comparison, family: str) -> list[str]:
    """Return the details of a family that differ as a table: one column for each framework."""
    names = list(comparison.versions)
    rows = [row for row in comparison.different if row.detail.family == family]
    return [
        *tables.head("detail", *names),
        *(_variants_row(row, names, f"`{row.detail.id}`") for row in rows),
    ]


def _variants_row(row: Row, names: Iterable[str], title: str) -> str:
    return tables.row(title, *(_answer(row.answers.get(name, ())) for name in names))


def _differing(rows: Iterable[Row], pair: tuple[str, str]) -> str:
    """How many details differ of those that both frameworks have; a dash: there is none."""
    both = [row for row in (row.only(pair) for row in rows) if row.shared and not row.undecided]
    return f"{sum(row.differs for row in both)} of {len(both)}" if both else "-"


def _answer(answers: Sequence[FoundVariant]) -> str:
    return "; ".join(_words(answers)) or "-"


def _section(row: Row) -> list[str]:
    lines = [f"## `{row.detail.id}`", "", f"{row.detail.question} {row.detail.consequence}", ""]
    lines += tables.head("framework", "scope", "variant", "meaning", "line")
    for name, answers in row.answers.items():
        for answer in answers:
            where = f"`{answer.place}`" if answer.place else ""
            meaning = answer.meaning
            if answer.deviation:
                meaning += f" (known deviation: {answer.deviation})"
            variant = f"`{answer.variant or '?'}`"
            lines.append(tables.row(name, answer.scope, variant, meaning, where))
    lines += [
        tables.row(name, "", "", f"has none: {reason}", "") for name, reason in row.absent.items()
    ]
    return [*lines, ""]


def _table_line(row: Row) -> str:
    variants = sorted({a.variant or "?" for answers in row.answers.values() for a in answers})
    return tables.row(f"`{row.detail.id}`", ", ".join(variants), ", ".join(row.answers))


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
