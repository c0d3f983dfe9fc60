"""Tables of Markdown, as every report writes them."""

from __future__ import annotations


def row(*cells: object) -> str:
    """One row; what would end a cell or a row inside of one is escaped."""
    shown = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(shown)} |"


def head(*names: str, numbers: int = 0) -> list[str]:
    """The heads of the columns and the rule below; the last ``numbers`` are aligned right."""
    return [row(*names), "|" + "---|" * (len(names) - numbers) + "---:|" * numbers]
