"""A page as Markdown: the same cards and sections, without figures, and long lists counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rlregress.report import harmless, tables
from rlregress.report.html.page import (
    LISTED,
    Badge,
    Card,
    CodeLines,
    Finding,
    Folded,
    Grid,
    Heading,
    Page,
    Quoted,
    SourcePair,
    Table,
)

#: words that Markdown would show in bold, such as __init__; they are shown as code
_BOLD = re.compile(r"[^\s`|]*(?:__|\*)[^\s`|]*")
#: most items of a list that the page folds, and most lines of one piece of source
_FOLDED, _SOURCE = 12, 40


def text(page: Page) -> str:
    """Return the page as Markdown that is not escaped yet; see ``harmless.markdown``."""
    facts = page.facts
    when = f"{facts.started}, {facts.duration}, on {facts.machine}: `{facts.command}`"
    lines = [f"# {facts.title}", "", *([when, ""] if facts.started else [])]
    for note in page.notes:
        lines += [f"Note: {note}.", ""]
    for card in page.cards:
        lines += _card(card)
    for section in page.filled_sections:
        lines += [f"## {section.title}", "", section.lead, "", *_parts(section.filled_parts)]
    lines.append(page.closing)
    return "\n".join(line for n, line in enumerate(lines) if line or lines[n - 1]) + "\n"


def _card(card: Card) -> list[str]:
    lines = [f"## {card.title}: {card.badge.word}", "", _line(card.sentence), "", card.share, ""]
    not_judged = _titled("Not judged", card.not_judged)
    lines += [] if card.fault_first or card.wide else not_judged
    lines += [f"**{card.heading}**", ""] if card.culprits else []
    for culprit in card.culprits:
        lines += [f"`{culprit.title}`", "", *_source(culprit.source), *_list(culprit.effects)]
    lines += _titled("And also" if card.culprits else card.heading, card.changed)
    lines += not_judged if card.fault_first or card.wide else []
    lines += _titled("Does it matter", card.matters)
    steps = [f"{step.text} `{step.command}`" if step.command else step.text for step in card.steps]
    return lines + _titled("What to do next", steps)


def _line(text: object) -> str:
    words = " ".join(str(text).split())
    return words if "`" in words else _BOLD.sub(r"`\g<0>`", words)


def _titled(title: str, items: Sequence[object]) -> list[str]:
    return [f"**{title}**", "", *_list(items, LISTED)] if items else []


def _list(items: Sequence[object], most: int | None = None) -> list[str]:
    lines = [f"- {_line(item)}" for item in items[:most]]
    return [*lines, *_describe_hidden(len(items[len(lines) :])), ""]


def _describe_hidden(hidden: int) -> list[str]:
    return ["", f"and {hidden} more, on the page"] if hidden > 0 else []


def _table(table: Table, most: int | None = None) -> list[str]:
    rows = [
        tables.row(*(cell.word if isinstance(cell, Badge) else _line(cell) for cell in row))
        for row in table.rows[:most]
    ]
    head = tables.head(*table.head, numbers=table.numbers)
    return [*head, *rows, *_describe_hidden(len(table.rows) - len(rows)), ""]


def _source(pair: SourcePair | None, most: int = _SOURCE) -> list[str]:
    if not pair:
        return []
    lines = [f"{mark} {line}" for mark, line in pair.lines]
    ending = _describe_hidden(len(lines) - most + pair.hunk.left_out)
    return [*harmless.quoted("\n".join(lines[:most])), *ending, ""]


def _finding(finding: Finding) -> list[str]:
    badge = f": {finding.badge.word}" if finding.badge else ""
    variants = [": ".join(filter(None, variant)) for variant in finding.variants]
    command = [f"The same again: `{finding.command}`", ""] if finding.command else []
    lines = [*filter(None, finding.lines), *variants]
    return [f"### {finding.title}{badge}", "", *_list(lines), *_parts(finding.parts), *command]


def _parts(parts: Iterable[object], most: int | None = None) -> list[str]:
    lines: list[str] = []
    for part in filter(None, parts):
        match part:
            case Table():
                lines += _table(part, most)
            case Heading():
                lines += [f"### {part.text}", ""]
            case SourcePair():
                lines += [f"`{part.hunk.title}`", "", *(_source(part) if part.open else ())]
            case CodeLines():
                code = "\n".join(f"{number} {line}" for number, line in part.code)
                lines += [f"`{part.place}`", "", *harmless.quoted(code), ""]
            case Quoted():
                lines += [part.title, "", *harmless.quoted(part.text), ""]
            case Folded():
                lines += [f"**{_line(part.title)}**", "", *_parts(part.parts, _FOLDED)]
            case Finding():
                lines += _finding(part)
            case Grid():
                lines += _parts(part.findings)
            case list() | tuple():
                lines += _list(part, most)
    return lines
