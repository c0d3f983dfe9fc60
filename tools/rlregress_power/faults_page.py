"""``faults --html``: injected faults, and whether they were detected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlregress.model import tones
from rlregress.model.code import Hunk, LinePair
from rlregress.model.fault_results import RETURNS, TRACES, FaultResult
from rlregress.report.html import page as pages
from rlregress.report.html import returns_page
from rlregress.report.html.page import (
    Badge,
    Card,
    Finding,
    PageInfo,
    Quoted,
    Section,
    SourcePair,
    Step,
    Table,
)
from rlregress_power import faults_text

TITLE = "Injected faults"
_COLUMN_TITLES = ("as it is", "with the fault")


@dataclass(frozen=True)
class FaultRow:
    """One fault.

    Attributes:
        right: whether it was detected as expected; None: it could not be probed.
        text: its result in words.
        word: word of the badge if it is as expected.
        verdicts: whether the page has a table of its verdicts.
    """

    result: FaultResult
    right: bool | None
    text: str
    word: str = "detected"
    verdicts: bool = False

    @property
    def name(self) -> str:
        return self.result.fault.title

    @property
    def badge(self) -> Badge:
        if self.right is None:
            return Badge("could not be probed", tones.NOTHING)
        return Badge(self.word, tones.GOOD) if self.right else Badge("not as expected", tones.BAD)


def make_row_of_fault(instrument: str, result: FaultResult) -> FaultRow:
    """Build the row of a page for the result of an instrument on one fault."""
    right = result.in_place if instrument == TRACES else result.detected
    is_right = None if result.trouble else right
    if instrument != RETURNS:
        return FaultRow(
            result,
            is_right,
            "\n".join(faults_text.describe_result_of_instrument(instrument, result)),
        )
    word = "regressed" if result.has_regressed else "not regressed"
    text = result.trouble or faults_text.describe_cost_of_gate(result)
    return FaultRow(result, is_right, text, word, verdicts=bool(result.verdicts))


def make_faults_page(rows: Sequence[FaultRow], summary: str, facts: PageInfo) -> str:
    """Build the page of injected faults, undetected ones first."""
    wrong = [row for row in rows if row.right is False]
    unprobed = [row for row in rows if row.right is None]
    right = [row for row in rows if row.right]
    if wrong:
        badge = Badge(f"{len(wrong)} of {len(rows)} not as expected", tones.BAD)
    elif unprobed or not rows:
        badge = Badge(f"{len(unprobed)} of {len(rows)} could not be probed", tones.NOTHING)
    else:
        badge = Badge("all as expected", tones.GOOD)
    steps = [Step("Read the results below.")] if wrong or unprobed else []
    card = Card(
        TITLE,
        badge,
        f"{summary[0].upper()}{summary[1:]}.",
        [row.name for row in unprobed[:5]],
        [row.name for row in wrong[:5]],
        [],
        steps,
        "Not as expected",
    )
    table = Table(
        ("", "fault", "file", "change", "result"),
        [
            [row.badge, row.name, row.result.fault.file, _describe_edit_of_fault(row), row.text]
            for row in right
        ],
    )
    own = [row for row in right if row.verdicts]
    sections = [
        Section("wrong", "Not as expected", "", [_make_finding_of_fault(row) for row in wrong]),
        Section(
            "unprobed", "Could not be probed", "", [_make_finding_of_fault(row) for row in unprobed]
        ),
        Section("seen", "As expected", "", [table] if right and not own else []),
        Section("judged", "As expected", "", [_make_finding_of_fault(row) for row in own]),
    ]
    return pages.Page(facts, [card], sections).render_html()


def _describe_edit_of_fault(row: FaultRow) -> str:
    fault = row.result.fault
    return f"{fault.old.strip()} → {fault.new.strip() or 'nothing'}" if fault.file else ""


def _make_finding_of_fault(row: FaultRow) -> Finding:
    fault = row.result.fault
    parts: list[object] = []
    if fault.file:
        old, new = fault.old.splitlines() or [""], fault.new.splitlines() or [""]
        most = max(len(old), len(new))
        pairs = [
            LinePair(old=_get_numbered_line(old, at), new=_get_numbered_line(new, at))
            for at in range(most)
        ]
        parts.append(SourcePair(Hunk(title=fault.file, groups=(tuple(pairs),)), _COLUMN_TITLES))
    if row.verdicts:
        parts.append(returns_page.make_table_of_verdicts(row.result.verdicts))
    parts.append(Quoted(row.text))
    return Finding(row.name, row.badge, (), (), parts)


def _get_numbered_line(lines: Sequence[str], at: int) -> tuple[int, str] | None:
    return (at + 1, lines[at]) if at < len(lines) else None
