"""Two versions of some source, side by side: what differs, with the lines around it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path

from rlregress.model.code import Hunk, Pair

#: lines that are shown before and after what differs, and rows of one passage.
CONTEXT, MOST = 3, 60


def hunk(
    title: str,
    a: Sequence[str],
    b: Sequence[str],
    first: tuple[int, int] = (1, 1),
    rank: Callable[[int, int], int] = lambda begin, end: 0,
) -> Hunk:
    """The lines by which two texts differ, with ``CONTEXT`` lines around them.

    What they are all indented by is left out.

    Args:
        first: number of the first line of either text.
        rank: of the lines from one number up to another of the second text, the least first: where
            not all is shown, the others are left out.
    """
    groups: list[tuple[Pair, ...]] = []
    left, left_out = MOST, 0
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    grouped = list(matcher.get_grouped_opcodes(CONTEXT))
    for codes in sorted(grouped, key=lambda c: _least(c, first[1], rank)):
        rows = [row for _, *span in codes for row in _rows(a, b, first, span)]
        groups += [tuple(rows[:left])] if left else []
        left_out += sum(not row.same for row in rows[left:])
        left = max(0, left - len(rows))
    lines = [line[1] for rows in groups for row in rows for line in (row.a, row.b) if line]
    indented = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
    dedented = tuple(tuple(_moved_left(row, indented) for row in rows) for rows in groups)
    return Hunk(title=title, groups=dedented, left_out=left_out)


def _least(codes: Sequence[Sequence[object]], first: int, rank: Callable[[int, int], int]) -> int:
    differing = [code for code in codes if code[0] != "equal"]
    return min(rank(first + int(str(c[3])), first + int(str(c[4]))) for c in differing)


def _moved_left(row: Pair, by: int) -> Pair:
    one, other = ((line[0], line[1][by:]) if line else None for line in (row.a, row.b))
    return Pair(a=one, b=other)


def _rows(
    a: Sequence[str], b: Sequence[str], first: tuple[int, int], span: Sequence[int]
) -> list[Pair]:
    begin_a, end_a, begin_b, end_b = span
    rows = []
    for step in range(max(end_a - begin_a, end_b - begin_b)):
        at_a, at_b = begin_a + step, begin_b + step
        one = (at_a + first[0], a[at_a]) if at_a < end_a else None
        other = (at_b + first[1], b[at_b]) if at_b < end_b else None
        rows.append(Pair(a=one, b=other))
    return rows


def of_folders(package: str, a: Path, b: Path) -> list[Hunk]:
    """What differs between the Python files of two copies of a package."""
    files = {path.relative_to(side) for side in (a, b) for path in side.rglob("*.py")}
    hunks = []
    for file in sorted(files):
        texts = [(side / file).read_bytes() if (side / file).is_file() else b"" for side in (a, b)]
        if texts[0] != texts[1]:
            one, other = (text.decode("utf-8", "replace").splitlines() for text in texts)
            hunks.append(hunk(f"{package}/{file.as_posix()}", one, other))
    return hunks
