"""What many nights come to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rlregress.model.verdict import EXIT_CODES, worst_verdict

#: of a change that is smaller than what matters
SMALL = "small"


@dataclass(frozen=True, kw_only=True)
class Shift:
    """One change of one history.

    Attributes:
        verdict: regressed, improved, or small.
        night, earliest, latest: numbers of nights: the first of the new level, and its interval.
        before, after: means of the levels.
        share: of the change, of the scale of what was before.
        versions: (night, what changed with it), within the interval.
        recovered: whether a later change brought it back.
    """

    verdict: str
    night: int
    earliest: int
    latest: int
    before: float
    after: float
    share: float
    p: float
    versions: tuple[tuple[int, tuple[str, ...]], ...] = ()
    recovered: bool = False


@dataclass(frozen=True, kw_only=True)
class Series:
    """One history: a cell, a group or the throughput of an algorithm, by one quantity.

    Attributes:
        subject: id of the cell, name of the group, or framework and algorithm.
        quantity: name of a quantity of returns or of throughput.
        nights: numbers of the nights that have runs of it which no night before had [T].
        means: of these runs [T].
        runs: how many runs there are.
        level: mean of the nights since the last change.
        visible: the smallest change, begun half-way, that is detected with 80 % power, as a share
            of the scale; nan: none is.
        needed: so many nights are needed at least.
        verdict: holds, improved, regressed or inconclusive.
        alike: z by which consecutive nights resemble each other, where that is beyond chance.
    """

    subject: str
    quantity: str
    nights: tuple[int, ...]
    means: tuple[float, ...]
    runs: int
    level: float
    visible: float
    needed: int
    verdict: str
    shifts: tuple[Shift, ...]
    alike: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes:
        series: by quantity.
        verdicts: of the gates -> nights.
        last: verdict of the last gate.
        steps_per_cpu_second: median of the first and of the last tenth of the nights; nan: none.
            Descriptive: the load of the machine is in it.
    """

    name: str
    series: Mapping[str, Series]
    verdicts: Mapping[str, int] = field(default_factory=dict)
    last: str = ""
    steps_per_cpu_second: tuple[float, float] = (math.nan, math.nan)

    @property
    def verdict(self) -> str:
        """The worst of its series; of none inconclusive."""
        return worst_verdict(history.verdict for history in self.series.values())


@dataclass(frozen=True, kw_only=True)
class Trend:
    """What many nights come to.

    Attributes:
        dates: of the nights, by number: when each began, UTC.
        left_out: sentences about what is not judged, or not compared.
        rows: cells, groups, throughput.
        alpha: probability of a false alarm on a page without a change.
        histories: how many were tested together.
    """

    dates: tuple[str, ...]
    left_out: tuple[str, ...]
    rows: tuple[Row, ...]
    alpha: float
    histories: int

    @property
    def every(self) -> list[Series]:
        return [series for row in self.rows for series in row.series.values()]

    @property
    def verdict(self) -> str:
        return worst_verdict(series.verdict for series in self.every)

    @property
    def exit_code(self) -> int:
        """0 nothing is wrong, 1 something dropped and did not recover, 3 the data cannot tell."""
        return EXIT_CODES[self.verdict]
