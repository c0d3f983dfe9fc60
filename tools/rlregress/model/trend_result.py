"""The trend over many nightly runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlregress.model.verdict import EXIT_CODES, REGRESSED, find_worst_verdict


@dataclass(frozen=True, kw_only=True)
class Shift:
    """The time and size of a regression or improvement.

    Attributes:
        night, earliest, latest: numbers of nights: the first of the new level, and the ends of its
            interval. Without numbers, the first night with this verdict, three times.
        before, after: means of the levels; None: there are no numbers, or they show no change.
        share: the change over the scale of the numbers before it.
        versions: (package, old, new) of packages that differ between the last night before the
            interval and its last night.
        conditions: other differences between these two nights, in words.
        is_dated: whether there are nights before it.
    """

    night: int
    earliest: int
    latest: int
    before: float | None = None
    after: float | None = None
    share: float | None = None
    versions: tuple[tuple[str, str, str], ...] = ()
    conditions: tuple[str, ...] = ()
    is_dated: bool = True


@dataclass(frozen=True, kw_only=True)
class TrendRow:
    """The verdicts of many nightly checks on one name, such as that of a cell.

    Attributes:
        name: name of a framework and a budget, a cell, a group, or a secondary quantity.
        quantity: quantity of returns or throughput of its numbers; empty: it has none.
        verdict: verdict of the last conclusive check if it is regressed, else of the last check.
        verdicts: verdict -> number of nights.
        first: number of the first night that regressed; None: none did.
        nights: numbers of the nights that have values [T].
        means: means of the new runs, or processes, of these nights [T].
        runs: number of runs or processes.
        shift: the change, if the verdict is regressed or improved.
    """

    name: str
    quantity: str
    verdict: str
    verdicts: Mapping[str, int]
    first: int | None
    nights: tuple[int, ...]
    means: tuple[float, ...]
    runs: int
    shift: Shift | None

    @property
    def current_level(self) -> float | None:
        """Mean result of the nights since the change, or of all nights."""
        begin = self.shift.night if self.shift else 0
        level = [m for n, m in zip(self.nights, self.means, strict=True) if n >= begin]
        return sum(level) / len(level) if level else None


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The trend over many nightly runs.

    Attributes:
        dates: start of each night, by number, UTC.
        left_out: sentences about reports that were not read or judged.
        frameworks: verdicts on frameworks.
        rows: verdicts on cells, groups, secondary quantities and throughput.
    """

    dates: tuple[str, ...]
    left_out: tuple[str, ...]
    frameworks: tuple[TrendRow, ...]
    rows: tuple[TrendRow, ...]

    @property
    def shifted_rows(self) -> tuple[TrendRow, ...]:
        """Rows with a detected shift: regressions first, then by night."""
        changed = [row for row in (*self.frameworks, *self.rows) if row.shift]
        return tuple(
            sorted(changed, key=lambda r: (r.verdict != REGRESSED, r.shift.night if r.shift else 0))
        )

    @property
    def verdict(self) -> str:
        """The worst verdict of the frameworks; other rows count only if they regressed."""
        regressed = [row.verdict for row in self.rows if row.verdict == REGRESSED]
        return find_worst_verdict([*regressed, *(row.verdict for row in self.frameworks)])

    @property
    def exit_code(self) -> int:
        """0 nothing is wrong, 1 something regressed and did not recover, 3 checks cannot tell."""
        return EXIT_CODES[self.verdict]
