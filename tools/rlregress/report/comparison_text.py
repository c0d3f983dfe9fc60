"""``rlregress compare``: the matrix of details, differences first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rlregress.model.detail_answers import (
    DIFFERENT,
    GROUPS,
    UNDECIDED,
    Comparison,
    DetailRow,
    FoundVariant,
    describe_variant,
)
from rlregress.report import terminal_tables
from rlregress.report.html.page import Table


def _group_scopes_by_variant(variants: Iterable[FoundVariant]) -> list[tuple[str, str]]:
    """Return (variant, scopes) pairs of one framework. Scopes with the same variant share one.

    If there is only one variant, its scopes are left out, unless they are names of classes.
    """
    scopes: dict[str, list[str]] = {}
    for answer in variants:
        scopes.setdefault(describe_variant(answer.variant or answer.meaning), []).append(
            answer.scope
        )
    named = len(scopes) > 1 or any(
        name[:1].isupper() for names in scopes.values() for name in names
    )
    return [(variant, ", ".join(names) if named else "") for variant, names in scopes.items()]


def describe_variants_of_framework(variants: Iterable[FoundVariant]) -> list[str]:
    """Describe the variants of one framework, with scopes if there are several variants."""
    return [
        f"{variant} [{scopes}]" if scopes else variant
        for variant, scopes in _group_scopes_by_variant(variants)
    ]


def _format_variants_with_deciding_lines(row: DetailRow, framework: str) -> str:
    """Return the variants of one framework, and the lines that decide them."""
    answers = row.answers.get(framework, ())
    places = dict.fromkeys(str(answer.place) for answer in answers if answer.place is not None)
    absent = f"- ({row.absent[framework]})" if framework in row.absent else "-"
    return "\n".join([*describe_variants_of_framework(answers), *places]) or absent


def make_variants_table(comparison: Comparison, rows: Iterable[DetailRow]) -> Table:
    """Return a row for each detail and a column for each framework, with the variants in words."""
    names = list(comparison.versions)
    cells = [
        [
            row.detail.id,
            *(
                "; ".join(describe_variants_of_framework(row.answers.get(name, ()))) or "-"
                for name in names
            ),
        ]
        for row in rows
    ]
    return Table(("detail", *names), cells)


def _make_table_of_differences(comparison: Comparison, rows: Sequence[DetailRow]) -> Table:
    names = list(comparison.versions)
    cells = [
        [
            row.detail.id,
            *(_format_variants_with_deciding_lines(row, name) for name in names),
            row.detail.consequence,
        ]
        for row in rows
    ]
    titles = [add_version_to_name(name, version) for name, version in comparison.versions.items()]
    return Table(("detail", *titles, "consequence"), cells)


def print_comparison(comparison: Comparison) -> None:
    """Print differences with their consequences, what could not be compared, and all else."""
    for group in GROUPS:
        rows = comparison.select_rows(group)
        if not rows:
            continue
        with_lines = group in (DIFFERENT, UNDECIDED)
        make_table = _make_table_of_differences if with_lines else make_variants_table
        terminal_tables.print_table(
            make_table(comparison, rows), f"{len(rows)} details {group}", has_lines=with_lines
        )
    if comparison.left_out:
        print(f"{describe_number_of_differences(comparison)}.")


def add_version_to_name(framework: str, version: str) -> str:
    """Return a framework's name with its version, unless the name has it already."""
    return framework if framework.endswith(f"@{version}") else f"{framework} {version}"


def describe_number_of_differences(comparison: Comparison) -> str:
    """Describe how many details differ, and how many do not or were not compared."""
    counts = {group: comparison.count_rows(group) for group in GROUPS}
    shown = [f"{n} {group}" for group, n in counts.items() if n and group != DIFFERENT]
    return ", ".join([f"{counts[DIFFERENT]} details {DIFFERENT}", *shown])


def format_comparison_as_json(comparison: Comparison) -> str:
    """Return the comparison as JSON: versions, counts, and details, differences first."""

    def convert_row_to_plain_data(row: DetailRow, group: str) -> dict[str, Any]:
        return {
            "id": row.detail.id,
            "group": group,
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

    compared = {
        "versions": dict(comparison.versions),
        "counts": {group: comparison.count_rows(group) for group in GROUPS},
        "details": [
            convert_row_to_plain_data(row, group)
            for group in GROUPS
            for row in comparison.select_rows(group)
        ],
    }
    return json.dumps(compared, indent=1)
