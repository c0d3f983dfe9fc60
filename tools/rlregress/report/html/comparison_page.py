"""``compare --html``: the details in which frameworks differ, with their consequences."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

from rlregress.model import tones
from rlregress.model.detail_answers import (
    DIFFERENT,
    GROUPS,
    SAME,
    UNDECIDED,
    Comparison,
    DetailRow,
    FoundVariant,
    describe_variant,
)
from rlregress.report import comparison_text
from rlregress.report.html.page import (
    Badge,
    Card,
    CodeLines,
    Finding,
    Heading,
    Page,
    PageInfo,
    Section,
    Step,
    Table,
)

_NOTHING_SHARED = Badge("no detail that both have", tones.NOTHING)
#: this many frameworks have a column for each pair; more have a table of pairs
_SIDE_BY_SIDE = 3
PROBED = "Every variant was probed on the code; the line that decides it is shown below it."


def format_comparison_title(comparison: Comparison) -> str:
    """Return the title: the compared versions."""
    names = (comparison_text.add_version_to_name(*pair) for pair in comparison.versions.items())
    return " against ".join(names)


def make_page_of_comparison(comparison: Comparison, facts: PageInfo, basis: str = PROBED) -> Page:
    """Return the page of a comparison.

    Args:
        basis: one sentence on the origin of the variants.
    """
    sections = _build_overview_sections(comparison)
    for group in GROUPS:
        rows = comparison.select_rows(group)
        is_found = group in (DIFFERENT, UNDECIDED)
        parts = [*map(_make_finding_of_row, rows)] if is_found else [_make_table_of_rows(rows)]
        sections.append(
            Section(
                group.replace(" ", "-"),
                f"{len(rows)} details {group}",
                basis if group == DIFFERENT else "",
                parts,
            )
        )
    return Page(facts, [make_card_of_comparison(comparison)], sections)


def _build_overview_sections(comparison: Comparison) -> list[Section]:
    """Build a table of how many details differ between which frameworks, then one per family."""
    families = Counter(row.detail.family for row in comparison.select_rows(DIFFERENT))
    names = list(comparison.versions)
    probed = [*comparison.rows, *comparison.left_out]
    pairs = list(itertools.combinations(names, 2))
    columns = pairs if len(names) == _SIDE_BY_SIDE else []
    rows = []
    for family, count in families.items():
        family_rows = [row for row in probed if row.detail.family == family]
        rows.append(
            [
                family,
                count,
                *(_format_number_of_differing_details(family_rows, pair) for pair in columns),
            ]
        )
    head = ("family", "differ", *(" and ".join(pair) for pair in columns))
    matrix = [
        [
            name,
            *(
                ""
                if row_name == name
                else _format_number_of_differing_details(probed, (name, row_name))
                for row_name in names
            ),
        ]
        for name in (names if families and len(names) > _SIDE_BY_SIDE else ())
    ]
    tables: list[object] = [
        Table(head, rows, len(head) - 1),
        Heading("How many differ of those that both have"),
        Table(("", *names), matrix, len(names)),
    ]
    if families and len(names) >= _SIDE_BY_SIDE:
        command = f"rlregress compare {' '.join(pairs[0])} --detail {next(iter(families))}"
        tables.append([f"`{command} --only-different` prints one family of two of them."])
    sections = [Section("families", "How many differ", "", tables)]
    for family in families:
        title = f"What differs of {family}"
        sections.append(
            Section(f"of-{family}", title, "", [make_table_of_family(comparison, family)])
        )
    return sections


def make_table_of_family(comparison: Comparison, family: str) -> Table:
    """Return the details of a family that differ: one column for each framework."""
    rows = (row for row in comparison.select_rows(DIFFERENT) if row.detail.family == family)
    return comparison_text.make_variants_table(comparison, rows)


def _format_number_of_differing_details(
    rows: Iterable[DetailRow], frameworks: tuple[str, str]
) -> str:
    """Describe how many shared details of two frameworks differ; a dash if they share none."""
    both = [
        row
        for row in (row.select_frameworks(frameworks) for row in rows)
        if len(row.known_answers) > 1
    ]
    return f"{sum(row.differs for row in both)} of {len(both)}" if both else "-"


def make_card_of_comparison(comparison: Comparison) -> Card:
    """Build the card of the differences and the next steps."""
    different = comparison.select_rows(DIFFERENT)
    undecided = [row for row in comparison.rows if row.is_undecided]
    lines = [f"{row.detail.id}: {_describe_variants_in_row(row)}" for row in different]
    if different:
        badge = Badge(f"{len(different)} details differ", tones.OTHER)
    elif undecided:
        badge = Badge(f"{len(undecided)} details could not be compared", tones.UNSURE)
    else:
        is_shared = comparison.count_rows(SAME)
        badge = Badge("no detail differs", tones.GOOD) if is_shared else _NOTHING_SHARED
    matters = [
        f"{row.detail.id}: {row.detail.consequence}" for row in different if row.detail.consequence
    ]
    return Card(
        format_comparison_title(comparison),
        badge,
        f"{comparison_text.describe_number_of_differences(comparison)}.",
        [f"{row.detail.id}: {_describe_variants_in_row(row)}" for row in undecided],
        lines,
        matters,
        _make_next_steps(comparison),
        "What differs",
    )


def _make_next_steps(comparison: Comparison) -> list[Step]:
    for heading, group in (
        ("See why one could not be compared:", UNDECIDED),
        ("Read those of the algorithm that you use, one in full:", DIFFERENT),
    ):
        if rows := comparison.select_rows(group):
            probing = " --installed" if group == UNDECIDED else ""
            return [Step(heading, f"rlregress details {rows[0].detail.id}{probing}")]
    return []


def _describe_variants_in_row(row: DetailRow) -> str:
    words = {
        name: dict.fromkeys(describe_variant(a.variant or a.meaning) for a in answers)
        for name, answers in row.answers.items()
    }
    return "; ".join(f"{name}: {', '.join(variants)}" for name, variants in words.items())


def _make_finding_of_row(row: DetailRow) -> Finding:
    variants = []
    parts = []
    for name, answers in row.answers.items():
        for answer in answers:
            variant = describe_variant(answer.variant or "?")
            variants.append(
                (f"{name} [{answer.scope}]", variant, _format_meaning_of_answer(answer))
            )
            if answer.place is not None:
                line = answer.place
                parts.append(CodeLines(f"{name}: {line}", [(line.line, line.text)]))
    variants += [(name, "has none", reason) for name, reason in row.absent.items()]
    lines = [line for line in (row.detail.question, row.detail.consequence) if line]
    unique = {part.place: part for part in parts}
    return Finding(row.detail.id, None, lines, variants, list(unique.values()))


def _format_meaning_of_answer(variant: FoundVariant) -> str:
    deviation_note = f" (known deviation: {variant.deviation})" if variant.deviation else ""
    return variant.meaning + deviation_note


def _make_table_of_rows(rows: Sequence[DetailRow]) -> Table:
    cells = [[row.detail.id, _describe_variants_in_row(row), row.detail.question] for row in rows]
    return Table(("detail", "variant", "question"), cells)
