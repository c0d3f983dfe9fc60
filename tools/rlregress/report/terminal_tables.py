"""Tables of a page on a terminal."""

from __future__ import annotations

import re

from rich import table as rich_tables
from rich.console import Console
from rich.text import Text

from rlregress.report.html.page import Table

#: columns of a table in a file or a pipe
_WIDTH_OF_FILES = 150


def make_console() -> Console:
    """Return a console on stdout, as wide as the terminal or, in a file or pipe, 150 columns."""
    width = None if Console().is_terminal else _WIDTH_OF_FILES
    return Console(width=width, highlight=False, markup=False)


def print_table(table: Table, title: str = "", has_lines: bool = True) -> None:
    """Print a table; a path that does not fit is broken between its parts.

    Args:
        has_lines: whether there is a line between two rows.
    """
    terminal = make_console()
    rich_table = rich_tables.Table(title=title, show_lines=has_lines)
    for name in table.head:
        rich_table.add_column(name, overflow="fold")
    widest = (terminal.width - 1) // len(table.head) - 3
    for row in table.rows:
        rich_table.add_row(*(Text(break_long_words(str(cell), widest)) for cell in row))
    terminal.print(rich_table)


def break_long_words(text: str, width: int) -> str:
    """Return a text in which words that are too long are broken between their parts."""
    return re.sub(r"[^\s]+", lambda word: _break_word(word[0], width), text)


def _break_word(word: str, width: int) -> str:
    lines = [""]
    for part in re.findall(r"[^/._]*[/._]*", word) if len(word) > width else [word]:
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
