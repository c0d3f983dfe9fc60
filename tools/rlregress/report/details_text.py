"""``rlregress details``: numbers of details, single details, and fingerprints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlregress.model.detail_answers import (
    CatalogueEntry,
    Item,
    MissingCheck,
    ProbeCounts,
    describe_variant,
)
from rlregress.report import terminal_tables
from rlregress.report.html.page import Table
from rlregress.report.words import format_count


def _make_table_of_families(details: Sequence[CatalogueEntry]) -> Table:
    families: dict[str, list[CatalogueEntry]] = {}
    for detail in details:
        families.setdefault(detail.family, []).append(detail)
    rows = [
        [family, len(family_details), sum(len(detail.variants) for detail in family_details)]
        for family, family_details in (*families.items(), ("all", details))
    ]
    return Table(("family", "details", "variants"), rows)


def _make_table_of_sources(items: Sequence[Item]) -> Table:
    groups: dict[str, list[Item]] = {}
    for item in items:
        group = item.id.rpartition(".")[0] if item.id.count(".") > 1 else item.id.partition(".")[0]
        groups.setdefault(group, []).append(item)
    rows = []
    for group, named in groups.items():
        checked = sum(bool(item.details or item.defaults) for item in named)
        details = {id for item in named for id in item.details}
        rows.append([group, len(named), checked, len(named) - checked, len(details)])
    return Table(("source", "items", "checked", "no statement about code", "details"), rows)


def _make_table_of_frameworks(frameworks: Sequence[ProbeCounts]) -> Table:
    rows = [
        [f"{counts.framework} {counts.version}", counts.details, counts.scopes, counts.variants,
         counts.deviations, counts.absent, counts.faults]
        for counts in frameworks
    ]  # fmt: skip
    columns = ("details", "in scopes", "variants", "known deviations", "has no such", "faults")
    return Table(("framework", *columns), rows)


def print_number_of_details(
    details: Sequence[CatalogueEntry], items: Sequence[Item], frameworks: Sequence[ProbeCounts]
) -> None:
    """Print how many details there are, by family, source and framework."""
    for title, table in (
        ("Catalogue", _make_table_of_families(details)),
        ("What the sources name", _make_table_of_sources(items)),
        ("What is checked in each framework", _make_table_of_frameworks(frameworks)),
    ):
        terminal_tables.print_table(table, title, has_lines=False)


def print_details_in_lines(details: Sequence[CatalogueEntry]) -> None:
    """Print details, one a line."""
    rows = [[detail.id, detail.question, ", ".join(detail.variants)] for detail in details]
    terminal_tables.print_table(Table(("detail", "question", "variants"), rows), has_lines=False)
    print(f"{format_count(len(details), 'detail')}; rlregress details ID prints one in full")


def print_missing_checks(framework: str, lacking: Sequence[MissingCheck], total: int) -> None:
    """Print the missing probes, expectations and faults of a framework.

    Args:
        framework: the framework and its version.
        total: number of details that it could be checked for.
    """
    rows = [[row.detail, row.lacks, row.example] for row in lacking]
    if rows:
        terminal_tables.print_table(
            Table(("detail", "lacks", "measured elsewhere by"), rows), has_lines=False
        )
    without = sum(row.lacks == "probe" for row in lacking)
    print(f"{framework}: {total - without} of {format_count(total, 'detail')} probed")


def print_detail(
    detail: CatalogueEntry, documented: Mapping[str, Mapping[tuple[str, str], str]]
) -> None:
    """Print one entry of the catalogue with its documented variants.

    Args:
        documented: full name of a framework -> detail and scope -> documented variant.
    """
    rows = []
    for variant in detail.variants.values():
        frameworks = [
            f"{framework} [{scope}]"
            for framework, entries in documented.items()
            for (detail_id, scope), variant_found in entries.items()
            if detail_id == detail.id and variant_found == variant.name
        ]
        rows.append([variant.name, variant.meaning, ", ".join(frameworks)])
    texts = (
        f"{detail.id}\n{detail.question}\n{detail.consequence}",
        f"\nSources: {'; '.join(detail.sources)}",
        f"\nProbe: {detail.observed}\nInputs: {dict(detail.inputs)}",
    )
    terminal_tables.make_console().print(*texts, sep="\n")
    terminal_tables.print_table(
        Table(("variant", "meaning", "documented of"), rows), has_lines=False
    )


def _describe_variants_by_scope(scopes: dict[str, Any]) -> str:
    by_answer: dict[str, list[str]] = {}
    for scope, probed in scopes.items():
        answer = describe_variant(probed["found"] or probed["reason"])
        if probed["found"] is None and probed["observed"] is not None:
            answer += f"; observed {', '.join(f'{number:.6g}' for number in probed['observed'])}"
        if probed["found"] != probed["documented"]:
            documented = describe_variant(probed["documented"] or "nothing")
            answer = f"{answer} (documented: {documented})"
        by_answer.setdefault(answer, []).append(scope)
    # the library is the usual scope, and is not marked
    return "\n".join(
        answer if "library" in scopes and len(by_answer) == 1 else f"{answer} [{', '.join(scopes)}]"
        for answer, scopes in by_answer.items()
    )


def print_fingerprint(fingerprint: dict[str, Any], differing: Sequence[str]) -> None:
    """Print the table of found variants; undocumented ones show both names."""
    versions = fingerprint["versions"]
    titles = [f"{name} {next(iter(packages.values()))}" for name, packages in versions.items()]
    rows = [
        [
            id,
            *(
                _describe_variants_by_scope(frameworks[name]) if name in frameworks else "-"
                for name in versions
            ),
        ]
        for id, frameworks in fingerprint["details"].items()
    ]
    terminal_tables.print_table(Table(("detail", *titles), rows), has_lines=False)
    print(
        f"{len(differing)} not as documented: {', '.join(differing)}"
        if differing
        else "All as documented."
    )
