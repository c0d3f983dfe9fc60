"""Tables of Markdown, as every report writes them, and of plain text."""

from __future__ import annotations

from collections.abc import Sequence


def format_markdown_row(*cells: object) -> str:
    """Format one row, escaping text that would end a cell or a row."""
    escaped = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def format_markdown_head(*names: str, numeric: int = 0) -> list[str]:
    """Return the row of column names and the rule; the last ``numeric`` are aligned right."""
    return [format_markdown_row(*names), "|" + "---|" * (len(names) - numeric) + "---:|" * numeric]


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format rows as lines of equal columns, the first one left-aligned, others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
