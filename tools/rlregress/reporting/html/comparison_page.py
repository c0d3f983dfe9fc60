"""``compare --html``: where frameworks differ in their details, and what follows from it."""

from __future__ import annotations

from rlregress.model import tones
from rlregress.model.detail_answers import Comparison, FoundVariant, Row, variant_words
from rlregress.reporting import comparison_text
from rlregress.reporting.html import page as pages
from rlregress.reporting.html.page import (
    Badge,
    Card,
    CodeLines,
    Facts,
    Finding,
    Section,
    Step,
    Table,
)

_NOTHING_SHARED = Badge("no detail that both have", tones.NOTHING)
#: sentences that the first screen has
_LISTED = 5


def title(comparison: Comparison) -> str:
    """What is compared."""
    names = (comparison_text.titled(*pair) for pair in comparison.versions.items())
    return " against ".join(names)


def page(comparison: Comparison, facts: Facts) -> str:
    """The page of a comparison."""
    sections = [
        Section("differ", f"{len(comparison.different)} details differ", "Every answer was probed "
                "on the code; the line that decides it stands below where it is known.",
                [*_table(comparison.different), *map(_finding, comparison.different)]),
        Section("undecided", "Cannot be compared", "",
                [_finding(row) for row in comparison.undecided]),
        Section("alike", f"{len(comparison.same)} details are the same", "",
                _table(comparison.same)),
        Section("alone", "Only one of them has it", "", _table(comparison.alone)),
    ]  # fmt: skip
    return pages.page(facts, [card(comparison)], sections)


def card(comparison: Comparison) -> Card:
    """What differs, and what to read next."""
    different = comparison.different
    lines = (f"{row.detail.id}: {_variants(row)}" for row in different)
    badge = Badge(f"{len(different)} details differ", tones.OTHER)
    if not different:
        shared = [*comparison.same, *(row for row in comparison.left_out if row.shared)]
        badge = Badge("no detail differs", tones.GOOD) if shared else _NOTHING_SHARED
    matters = [
        f"{row.detail.id}: {row.detail.consequence}"
        for row in different[:_LISTED]
        if row.detail.consequence
    ]
    undecided = [f"{row.detail.id}: {_variants(row)}" for row in comparison.undecided[:_LISTED]]
    return Card(
        title(comparison),
        badge,
        f"{comparison_text.counts(comparison)}.",
        undecided,
        pages.first(lines, _LISTED),
        matters,
        _steps(comparison),
        "What differs",
    )


def _steps(comparison: Comparison) -> list[Step]:
    for heading, rows in (
        ("See why one could not be compared:", comparison.undecided),
        ("Read those of the algorithm that you use, one in full:", comparison.different),
    ):
        if rows:
            return [Step(heading, f"rlregress details {rows[0].detail.id}")]
    return []


def _variants(row: Row) -> str:
    return "; ".join(
        f"{name}: {', '.join(dict.fromkeys(variant_words(of.variant or '?') for of in answers))}"
        for name, answers in row.answers.items()
    )


def _finding(row: Row) -> Finding:
    variants = []
    parts = []
    for name, answers in row.answers.items():
        for answer in answers:
            variant = variant_words(answer.variant or "?")
            variants.append((f"{name} [{answer.scope}]", variant, _meaning(answer)))
            if answer.place is not None:
                line = answer.place
                parts.append(CodeLines(f"{name}: {line}", [(line.line, line.text)]))
    variants += [(name, "has none", reason) for name, reason in row.absent.items()]
    lines = [line for line in (row.detail.question, row.detail.consequence) if line]
    unique = {part.place: part for part in parts}
    return Finding(row.detail.id, None, lines, variants, list(unique.values()))


def _meaning(answer: FoundVariant) -> str:
    known = f" (known deviation: {answer.deviation})" if answer.deviation else ""
    return answer.meaning + known


def _table(rows: list[Row]) -> list[object]:
    cells = [[row.detail.id, _variants(row), row.detail.question] for row in rows]
    return [Table(("detail", "variant", "question"), cells)] if cells else []
