"""``rlregress details``: how many there are, one of them in full, and which are installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rlregress.model.detail_answers import Entry, Item, Missing, ProbeCounts, variant_words
from rlregress.reporting.words import counted

_WIDTH_OF_FILES = 130


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_OF_FILES)


def _families(details: Sequence[Entry]) -> Table:
    table = Table("family", "details", "variants", title="Catalogue")
    for family in dict.fromkeys(detail.family for detail in details):
        of_family = [detail for detail in details if detail.family == family]
        variants = sum(len(detail.variants) for detail in of_family)
        table.add_row(family, str(len(of_family)), str(variants))
    total = sum(len(detail.variants) for detail in details)
    table.add_row("all", str(len(details)), str(total), style="bold")
    return table


def _sources(items: Sequence[Item]) -> Table:
    title = "What the sources name"
    table = Table("source", "items", "asked", "no statement about code", "details", title=title)
    of_group: dict[str, list[Item]] = {}
    for item in items:
        group = item.id.rpartition(".")[0] if item.id.count(".") > 1 else item.id.partition(".")[0]
        of_group.setdefault(group, []).append(item)
    for group, named in of_group.items():
        checked = [item for item in named if item.details or item.defaults]
        details = {id for item in named for id in item.details}
        counts = (len(named), len(checked), len(named) - len(checked), len(details))
        table.add_row(group, *map(str, counts))
    return table


def _frameworks(frameworks: Sequence[ProbeCounts]) -> Table:
    columns = ("details", "in scopes", "variants", "known deviations", "has no such", "faults")
    table = Table("framework", *columns, title="What is checked in each framework")
    for framework in frameworks:
        numbers = (
            framework.details,
            framework.scopes,
            framework.variants,
            framework.deviations,
            framework.absent,
        )
        table.add_row(
            f"{framework.framework} {framework.version}", *map(str, (*numbers, framework.faults))
        )
    return table


def counts(
    details: Sequence[Entry], items: Sequence[Item], frameworks: Sequence[ProbeCounts]
) -> None:
    """Print how many details there are, by family, source and framework."""
    console = _console()
    for table in (_families(details), _sources(items), _frameworks(frameworks)):
        console.print(table)


def several(details: Sequence[Entry]) -> None:
    """Print details, one a line."""
    table = Table("detail", "question", "variants")
    for detail in details:
        table.add_row(detail.id, escape(detail.question), ", ".join(detail.variants))
    _console().print(table)
    print(f"{counted(len(details), 'detail')}; rlregress details ID prints one in full")


def missing(who: str, lacking: Sequence[Missing], of: int) -> None:
    """Print what a framework lacks to be checked for details.

    Args:
        who: the framework and its version.
        of: how many details it could be checked for.
    """
    table = Table("detail", "lacks", "measured elsewhere by")
    for row in lacking:
        table.add_row(row.detail, row.lacks, row.example)
    if lacking:
        _console().print(table)
    without = sum(row.lacks == "probe" for row in lacking)
    print(f"{who}: {of - without} of {counted(of, 'detail')} probed")


def one(detail: Entry, documented: Mapping[str, Mapping[tuple[str, str], str]]) -> None:
    """Print one entry of the catalogue and what is documented of it.

    Args:
        documented: full name of a framework -> detail and scope -> documented variant.
    """
    table = Table("variant", "meaning", "documented of")
    for variant in detail.variants.values():
        frameworks = [
            f"{framework} [{scope}]"
            for framework, entries in documented.items()
            for (of, scope), found in entries.items()
            if of == detail.id and found == variant.name
        ]
        table.add_row(variant.name, escape(variant.meaning), escape(", ".join(frameworks)))
    console = _console()
    console.print(f"[bold]{detail.id}[/]\n{escape(detail.question)}\n{escape(detail.consequence)}")
    console.print(f"\nSources: {escape('; '.join(detail.sources))}")
    console.print(f"\nProbe: {escape(detail.observed)}\nInputs: {escape(str(dict(detail.inputs)))}")
    console.print(table)


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


def installed(fingerprint: dict[str, Any], differing: Sequence[str]) -> None:
    """Print the table; what is not as documented stands in red with both names."""
    console = _console()
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
