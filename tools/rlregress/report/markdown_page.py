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


def format_page_as_markdown(page: Page) -> str:
    """Return the page as Markdown that is not escaped yet; see ``harmless.escape_markdown``."""
    facts = page.facts
    when = f"{facts.started}, {facts.duration}, on {facts.machine}: `{facts.command}`"
    lines = [f"# {facts.title}", "", *([when, ""] if facts.started else [])]
    for note in page.notes:
        lines += [f"Note: {note}.", ""]
    for card in page.cards:
        lines += _format_card(card)
    for section in page.filled_sections:
        lines += [f"## {section.title}", "", section.lead, "", *_format_parts(section.filled_parts)]
    lines.append(page.closing)
    return "\n".join(line for n, line in enumerate(lines) if line or lines[n - 1]) + "\n"


def _format_card(card: Card) -> list[str]:
    lines = [
        f"## {card.title}: {card.badge.word}",
        "",
        _format_line_of_text(card.sentence),
        "",
        card.share,
        "",
    ]
    not_judged = _format_titled_list("Not judged", card.not_judged)
    lines += [] if card.shows_changes_first or card.wide else not_judged
    lines += [f"**{card.heading}**", ""] if card.culprits else []
    for culprit in card.culprits:
        lines += [
            f"`{culprit.title}`",
            "",
            *_format_source_pair(culprit.source),
            *_format_list(culprit.effects),
        ]
    lines += _format_titled_list("And also" if card.culprits else card.heading, card.changed)
    lines += not_judged if card.shows_changes_first or card.wide else []
    lines += _format_titled_list("Does it matter", card.matters)
    steps = [f"{step.text} `{step.command}`" if step.command else step.text for step in card.steps]
    return lines + _format_titled_list("What to do next", steps)


def _format_line_of_text(text: object) -> str:
    words = " ".join(str(text).split())
    return words if "`" in words else _BOLD.sub(r"`\g<0>`", words)


def _format_titled_list(title: str, items: Sequence[object]) -> list[str]:
    return [f"**{title}**", "", *_format_list(items, LISTED)] if items else []


def _format_list(items: Sequence[object], max_items: int | None = None) -> list[str]:
    lines = [f"- {_format_line_of_text(item)}" for item in items[:max_items]]
    return [*lines, *_describe_hidden_count(len(items[len(lines) :])), ""]


def _describe_hidden_count(hidden: int) -> list[str]:
    return ["", f"and {hidden} more, on the page"] if hidden > 0 else []


def _format_table(table: Table, max_items: int | None = None) -> list[str]:
    rows = [
        tables.format_markdown_row(
            *(cell.word if isinstance(cell, Badge) else _format_line_of_text(cell) for cell in row)
        )
        for row in table.rows[:max_items]
    ]
    head = tables.format_markdown_head(*table.head, numeric=table.numbers)
    return [*head, *rows, *_describe_hidden_count(len(table.rows) - len(rows)), ""]


def _format_source_pair(pair: SourcePair | None, max_items: int = _SOURCE) -> list[str]:
    if not pair:
        return []
    lines = [f"{mark} {line}" for mark, line in pair.marked_lines]
    ending = _describe_hidden_count(len(lines) - max_items + pair.hunk.left_out)
    return [*harmless.make_markdown_code_block("\n".join(lines[:max_items])), *ending, ""]


def _format_finding(finding: Finding) -> list[str]:
    badge = f": {finding.badge.word}" if finding.badge else ""
    variants = [": ".join(filter(None, variant)) for variant in finding.variants]
    command = [f"The same again: `{finding.command}`", ""] if finding.command else []
    lines = [*filter(None, finding.lines), *variants]
    return [
        f"### {finding.title}{badge}",
        "",
        *_format_list(lines),
        *_format_parts(finding.parts),
        *command,
    ]


def _format_parts(parts: Iterable[object], max_items: int | None = None) -> list[str]:
    lines: list[str] = []
    for part in filter(None, parts):
        match part:
            case Table():
                lines += _format_table(part, max_items)
            case Heading():
                lines += [f"### {part.text}", ""]
            case SourcePair():
                lines += [
                    f"`{part.hunk.title}`",
                    "",
                    *(_format_source_pair(part) if part.open else ()),
                ]
            case CodeLines():
                code = "\n".join(f"{number} {line}" for number, line in part.code)
                lines += [f"`{part.place}`", "", *harmless.make_markdown_code_block(code), ""]
            case Quoted():
                lines += [part.title, "", *harmless.make_markdown_code_block(part.text), ""]
            case Folded():
                lines += [
                    f"**{_format_line_of_text(part.title)}**",
                    "",
                    *_format_parts(part.parts, _FOLDED),
                ]
            case Finding():
                lines += _format_finding(part)
            case Grid():
                lines += _format_parts(part.findings)
            case list() | tuple():
                lines += _format_list(part, max_items)
    return lines
