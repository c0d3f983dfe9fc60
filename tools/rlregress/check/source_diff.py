"""Diffs of two versions of source code with context."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path

from rlregress.model.code import Hunk, LinePair

#: context lines around a difference, and rows of one hunk
CONTEXT, MAX_ROWS = 3, 60


def diff_two_texts(
    title: str,
    old: Sequence[str],
    new: Sequence[str],
    starts: tuple[int, int] = (1, 1),
    rank_lines: Callable[[int, int], int] = lambda begin, end: 0,
) -> Hunk:
    """Return the differing lines of two texts, with ``CONTEXT`` lines around them.

    Common indentation is removed.

    Args:
        starts: numbers of the first lines of both texts.
        rank_lines: order of a range of lines of the second text; hunks of higher rank are left out
            first.
    """
    groups: list[tuple[LinePair, ...]] = []
    remaining, left_out = MAX_ROWS, 0
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    grouped = list(matcher.get_grouped_opcodes(CONTEXT))
    for codes in sorted(grouped, key=lambda c: _rank_opcode_group(c, starts[1], rank_lines)):
        rows = [row for _, *span in codes for row in _pair_lines_of_span(old, new, starts, span)]
        groups += [tuple(rows[:remaining])] if remaining else []
        left_out += sum(not row.is_same for row in rows[remaining:])
        remaining = max(0, remaining - len(rows))
    lines = [line[1] for rows in groups for row in rows for line in (row.old, row.new) if line]
    indented = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
    dedented = tuple(tuple(_dedent_line_pair(row, indented) for row in rows) for rows in groups)
    return Hunk(title=title, groups=dedented, left_out=left_out)


def _rank_opcode_group(
    opcodes: Sequence[Sequence[object]], start: int, rank_lines: Callable[[int, int], int]
) -> int:
    differing = [code for code in opcodes if code[0] != "equal"]
    return min(rank_lines(start + int(str(c[3])), start + int(str(c[4]))) for c in differing)


def _dedent_line_pair(pair: LinePair, columns: int) -> LinePair:
    old, new = ((line[0], line[1][columns:]) if line else None for line in (pair.old, pair.new))
    return LinePair(old=old, new=new)


def _pair_lines_of_span(
    old: Sequence[str], new: Sequence[str], starts: tuple[int, int], span: Sequence[int]
) -> list[LinePair]:
    old_begin, old_end, new_begin, new_end = span
    rows = []
    for step in range(max(old_end - old_begin, new_end - new_begin)):
        old_at, new_at = old_begin + step, new_begin + step
        old_line = (old_at + starts[0], old[old_at]) if old_at < old_end else None
        new_line = (new_at + starts[1], new[new_at]) if new_at < new_end else None
        rows.append(LinePair(old=old_line, new=new_line))
    return rows


def diff_package_folders(package: str, old: Path, new: Path) -> list[Hunk]:
    """Return the differences between the Python files of two copies of a package."""
    files = {path.relative_to(folder) for folder in (old, new) for path in folder.rglob("*.py")}
    hunks = []
    for file in sorted(files):
        texts = [
            (folder / file).read_bytes() if (folder / file).is_file() else b""
            for folder in (old, new)
        ]
        if texts[0] != texts[1]:
            old_lines, new_lines = (text.decode("utf-8", "replace").splitlines() for text in texts)
            hunks.append(diff_two_texts(f"{package}/{file.as_posix()}", old_lines, new_lines))
    return hunks
