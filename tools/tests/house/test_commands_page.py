"""The page of commands is made from their help; ``--rewrite-snapshots`` writes it anew."""

from __future__ import annotations

import inspect

import pytest

from rlregress import suite
from rlregress.cli import commands
from rlregress.report import tables

PAGE = suite.find_suite_root() / "docs" / "commands.md"
START, END = "<!-- help of every command -->\n", "<!-- end -->"


def table() -> str:
    """Return question and example of each command, in the order of the help."""
    rows = []
    for row in commands.ROWS:
        _, example, *_ = (inspect.getdoc(row.import_function()) or "").split("\n\n")
        rows.append(tables.format_markdown_row(row.line, f"`{example.splitlines()[0]}`"))
    return "\n".join(["", *tables.format_markdown_head("question", "example"), *rows, "", ""])


def test_the_page_says_what_the_help_says(request: pytest.FixtureRequest) -> None:
    """Every command has a row, with its question and its first example."""
    before, _, after_start = PAGE.read_text("utf-8").partition(START)
    listed, _, after = after_start.partition(END)
    if request.config.getoption("--rewrite-snapshots"):
        listed = table()
        PAGE.write_text(f"{before}{START}{listed}{END}{after}", "utf-8")
    assert listed == table(), "write it anew with --rewrite-snapshots"
