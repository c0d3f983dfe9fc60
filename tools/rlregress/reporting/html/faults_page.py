"""``faults --html``: seeded faults, and whether they were seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlregress.model.code import Hunk, Pair
from rlregress.model.fault_results import (
    BehaviorResult,
    GateOnFault,
    OptionalResult,
    ProbedResult,
    ThroughputResult,
    TracedResult,
)
from rlregress.reporting import faults_text
from rlregress.reporting.html import page as pages
from rlregress.reporting.html import returns_page
from rlregress.reporting.html.page import (
    Badge,
    Card,
    Facts,
    Finding,
    Quoted,
    Section,
    SourcePair,
    Step,
    Table,
)

TITLE = "Seeded faults"
_SIDES = ("as it is", "with the fault")


@dataclass(frozen=True)
class Row:
    """One fault.

    Attributes:
        right: whether it was seen as it should be; None: it could not be probed.
        result: what was said of it.
        file, old, new: the change; empty where it is not one line.
        verdicts: of the gate on returns.
        word: of one that is as it should be.
    """

    name: str
    right: bool | None
    result: str
    file: str = ""
    old: str = ""
    new: str = ""
    verdicts: returns_page.Verdicts | None = None
    word: str = "seen"

    @property
    def badge(self) -> Badge:
        """In one word or two."""
        if self.right is None:
            return Badge("could not be probed", pages.NOTHING)
        return Badge(self.word, pages.GOOD) if self.right else Badge("not as expected", pages.BAD)


def probed(result: ProbedResult) -> Row:
    """A fault that the probes were to see."""
    fault = result.fault
    right = None if "" in result.changed else result.detected
    text = faults_text.changed(result) or "no detail changed"
    return Row(fault.name, right, text, fault.file, fault.old, fault.new)


def traced(result: TracedResult) -> Row:
    """A fault that the traces were to find."""
    fault = result.fault
    text = faults_text.traced_line(result)
    return Row(fault.title, result.right, text, fault.file, fault.old, fault.new)


def behavior(result: BehaviorResult) -> Row:
    """A fault that behaviour tests were to see."""
    fault = result.fault
    text = faults_text.behavior_line(result)
    right = None if result.trouble else result.detected
    return Row(fault.title, right, text, fault.file, fault.old, fault.new)


def optional(result: OptionalResult, text: str) -> Row:
    """A fault that shows only under an option."""
    fault, seeded = result.fault, result.seeded
    right = None if seeded is None or seeded.misfit else bool(seeded.detected_by)
    return Row(f"{fault.framework} {fault.name}", right, text, fault.file, fault.old, fault.new)


def returns(judged: GateOnFault, right: bool) -> Row:
    """A fault, or an unchanged framework, that the gate on returns has judged."""
    name = f"{judged.framework} {judged.algorithm} {judged.name}"
    cost = f"{judged.runs} runs, {judged.cpu_minutes:.1f} CPU minutes"
    known = None if judged.trouble else right
    word = "regressed" if judged.regressed else "not regressed"
    return Row(name, known, judged.trouble or cost, verdicts=judged.verdicts, word=word)


def throughput(judged: ThroughputResult) -> Row:
    """A fault that the judgement of throughput was to see."""
    fault = judged.fault
    right = None if judged.trouble else judged.detected
    text = "\n".join(faults_text.throughput_lines(judged))
    return Row(fault.title, right, text, fault.file, fault.old, fault.new)


def page(rows: Sequence[Row], summary: str, facts: Facts) -> str:
    """The page of seeded faults: what was not seen comes first."""
    wrong = [row for row in rows if row.right is False]
    unasked = [row for row in rows if row.right is None]
    right = [row for row in rows if row.right]
    if wrong:
        badge = Badge(f"{len(wrong)} of {len(rows)} not as expected", pages.BAD)
    elif unasked or not rows:
        badge = Badge(f"{len(unasked)} of {len(rows)} could not be probed", pages.NOTHING)
    else:
        badge = Badge("all as expected", pages.GOOD)
    steps = [Step("Read what was said of them, below.")] if wrong or unasked else []
    card = Card(
        TITLE,
        badge,
        f"{summary[0].upper()}{summary[1:]}.",
        [row.name for row in unasked[:5]],
        [row.name for row in wrong[:5]],
        [],
        steps,
        "Not as expected",
    )
    table = Table(
        ("", "fault", "file", "change", "result"),
        [[row.badge, row.name, row.file, _change(row), row.result] for row in right],
    )
    own = [row for row in right if row.verdicts]
    sections = [
        Section("wrong", "Not as expected", "", [_finding(row) for row in wrong]),
        Section("unasked", "Could not be probed", "", [_finding(row) for row in unasked]),
        Section("seen", "As expected", "", [table] if right and not own else []),
        Section("judged", "As expected", "", [_finding(row) for row in own]),
    ]
    return pages.page(facts, [card], sections)


def _change(row: Row) -> str:
    return f"{row.old.strip()} → {row.new.strip() or 'nothing'}" if row.old else ""


def _finding(row: Row) -> Finding:
    parts: list[object] = []
    if row.old:
        old, new = row.old.splitlines() or [""], row.new.splitlines() or [""]
        most = max(len(old), len(new))
        pairs = [Pair(a=_line(old, at), b=_line(new, at)) for at in range(most)]
        parts.append(SourcePair(Hunk(title=row.file, groups=(tuple(pairs),)), _SIDES))
    if row.verdicts:
        parts.append(returns_page.table(row.verdicts))
    parts.append(Quoted(row.result))
    return Finding(row.name, row.badge, (), (), parts)


def _line(lines: Sequence[str], at: int) -> tuple[int, str] | None:
    return (at + 1, lines[at]) if at < len(lines) else None
