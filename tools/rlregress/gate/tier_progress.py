"""How far every tier of a session is, and how long the rest may take."""

from __future__ import annotations

import functools
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rlregress import evidence, suite
from rlregress.errors import UserError
from rlregress.progress import (
    PRIOR,
    Durations,
    estimate_slowdown,
    format_elapsed,
    format_seconds,
    stored_durations,
)
from rlregress.tracing.child_processes import last_words
from rlregress.training import worker_launch

#: tier -> what its tests are about, in the lines.
TITLES = {"unit": "formulas", "behavior": "behaviour"}
#: whom a test is about that is about no framework.
SUITE = "the suite itself"
#: the stage after the last test.
_REPORT = "making the report"
#: tests after which the own times of this session correct the recorded ones; the first import.
_FIRST = 30


@functools.cache
def seconds_of_tests(command: tuple[str, ...]) -> float:
    """Seconds that the tests of formulas and behaviour take, one after the other, as recorded.

    Args:
        command: of pytest, which collects them.

    Raises:
        UserError: it cannot.
    """
    folder = Path.cwd() if suite.installed() else suite.root()
    collecting = [*command, "--collect-only", "-n", "0"]
    completed = subprocess.run(
        collecting,
        cwd=folder,
        env=worker_launch.worker_environment(),
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        raise UserError(
            f"pytest cannot collect the tests: {last_words(completed.stderr or completed.stdout)}"
        )
    tests = [line for line in completed.stdout.splitlines() if "::" in line]
    tiers = Counter(evidence.find_tier(test) for test in tests)
    durations = stored_durations()
    return sum(
        number * durations.seconds_of_test(tier) for tier, number in tiers.items() if tier in TITLES
    )


def _last(framework: str) -> tuple[bool, str]:
    """Orders what is about no framework behind the others."""
    return not framework, framework


class TiersProgress:
    """Counts the tests of each tier that are done, and reports each tier when its last test ends.

    Args:
        durations: seconds of a test, as recorded.
        processes: how many share the work.
        runs: ended trainings, how many there are at most, seconds that the others are expected to
            take, and whether some of this session were measured.
        say: is given the lines.
        started: when the session began, by ``time.monotonic``; None: now.
    """

    def __init__(
        self,
        durations: Durations,
        processes: int,
        runs: Callable[[], tuple[int, int, float, bool]],
        say: Callable[[str], None],
        started: float | None = None,
    ) -> None:
        self._started = time.monotonic() if started is None else started
        #: (tier, framework) -> outcome -> tests
        self._outcomes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._durations, self._processes, self._runs, self._say = durations, processes, runs, say
        self._all: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        #: tier -> seconds that its tests have taken, and were expected to take
        self._times = {tier: (PRIOR * estimate_slowdown(), PRIOR) for tier in TITLES}
        #: of ``runs``, which is dear and changes with a training only; None: to be asked again
        self._cached_runs: tuple[int, int, float, bool] | None = None
        #: when this was computed, and seconds that were left then; None: not known yet
        self._estimate: tuple[float, float] | None = None
        self._runs_text = ""

    def start_tests(self, tests: Iterable[str]) -> None:
        """Note all tests by their node ids; further processes know the same tests."""
        if not self._all:
            tiers = [evidence.find_tier(test) for test in tests]
            self._all = Counter(tier for tier in tiers if tier in TITLES)
            self._look()
            self._say(self.line())

    def done(self, entry: Mapping[str, Any]) -> None:
        """A test has ended: its entry of the evidence."""
        tier = entry["tier"]
        if tier in TITLES:
            seconds_taken, expected = self._times[tier]
            # the first one has imported a framework
            expected += 0.0 if self._done else self._durations.start
            self._done[tier] += 1
            self._times[tier] = (
                seconds_taken + entry["seconds"], expected + self._durations.seconds_of_test(tier)
            )  # fmt: skip
            self._outcomes[tier, entry.get("framework", "")][entry["outcome"]] += 1
            if self._done[tier] == self._all[tier]:
                self._say(self._result(tier))
        elif entry.keys() & {"record", "replay"}:
            self._cached_runs = None
        self._look()

    def _result(self, tier: str) -> str:
        """What the tests of a tier come to, by framework; it is known before the trainings end."""
        parts = []
        for framework in sorted(
            {name for counts, name in self._outcomes if counts == tier}, key=_last
        ):
            counts = self._outcomes[tier, framework]
            failed, all_ = counts["failed"] + counts["error"], counts.total()
            text = (
                f"failed {failed} of {all_} tests" if failed else f"passed {counts['passed']} tests"
            )
            skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
            parts.append(f"{framework or SUITE} {text}{skipped}")
        seconds = time.monotonic() - self._started
        return f"{TITLES[tier]} after {seconds:.0f} s: {'; '.join(parts)}"

    def _look(self) -> None:
        """Look how far everything is, and how many seconds the rest is expected to take."""
        if self._cached_runs is None:
            self._cached_runs = self._runs()
        finished_runs, most, seconds, measured = self._cached_runs
        self._runs_text = f"trainings {finished_runs} of at most {most}" if most else ""
        tested = sum(self._done.values()) >= _FIRST
        seconds_taken, expected = map(sum, zip(*self._times.values(), strict=True))
        # cheap tests of a framework make neither trainings nor the report shorter
        longer = max(seconds_taken / expected, 1.0)
        # formulas say little of behaviour, which trains
        tests = sum(
            self._times[tier][0] / self._times[tier][1]
            * self._durations.seconds_of_test(tier) * max(number - self._done[tier], 0)
            for tier, number in self._all.items()
        )  # fmt: skip
        seconds = (seconds if measured else longer * seconds) + tests
        # from stored seconds alone it is not known how fast this machine is
        is_measured = tested or measured or not self._all
        report = longer * self._durations.stages.get(_REPORT, 0.0)
        self._estimate = (
            (time.monotonic(), seconds / self._processes + report) if is_measured else None
        )

    def line(self) -> str:
        """What is done of what, and how long the rest may take."""
        parts = [f"{TITLES[tier]} {self._done[tier]} of {n}" for tier, n in self._all.items()]
        parts += [self._runs_text] if self._runs_text else []
        if self._estimate is None:
            return f"{', '.join(parts) or 'collecting the tests'}; {format_elapsed(self._started)}"
        checked_at, seconds = self._estimate
        since = time.monotonic() - checked_at
        return f"{', '.join(parts)}; {format_seconds(max(seconds - since, since / 4))} left"
