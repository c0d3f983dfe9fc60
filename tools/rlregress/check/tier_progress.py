"""Reports the progress of each tier of a session, and estimates the time left."""

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
    format_elapsed_time,
    format_rough_duration,
    read_durations,
)
from rlregress.trace.child_processes import extract_last_message
from rlregress.training import worker_launch

#: tier -> subject of its tests, in the progress lines
TITLES = {"unit": "formulas", "behavior": "behaviour"}
#: stands for the framework in tests of no framework
SUITE = "the suite itself"
#: the stage after the last test, by its name in ``baselines/durations.toml``
_REPORT_STAGE = "making the report"
#: tests after which this session's times count: the first tests import the frameworks
_WARM_UP_TESTS = 30


@functools.cache
def estimate_seconds_of_tests(command: tuple[str, ...]) -> float:
    """Return the sequential seconds of the tests of formulas and behaviour, from recorded times.

    Args:
        command: the pytest command that runs them.

    Raises:
        UserError: pytest cannot collect them.
    """
    folder = Path.cwd() if suite.is_installed_from_wheel() else suite.find_suite_root()
    collecting = [*command, "--collect-only", "-n", "0"]
    completed = subprocess.run(
        collecting,
        cwd=folder,
        env=worker_launch.make_worker_environment(),
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        raise UserError(
            "pytest cannot collect the tests: "
            f"{extract_last_message(completed.stderr or completed.stdout)}"
        )
    tests = [line for line in completed.stdout.splitlines() if "::" in line]
    tiers = Counter(evidence.find_tier(test) for test in tests)
    durations = read_durations()
    return sum(
        number * durations.get_seconds_of_test(tier)
        for tier, number in tiers.items()
        if tier in TITLES
    )


class TiersProgress:
    """Counts the finished tests of each tier, and reports each tier when its last test ends.

    Args:
        durations: recorded seconds of a test.
        processes: number of processes that share the work.
        runs: returns the number of finished trainings, their largest total, the expected seconds of
            the remaining ones, and whether trainings of this session were measured.
        log: called with each line.
        started: start of the session, by ``time.monotonic``; None: now.
    """

    def __init__(
        self,
        durations: Durations,
        processes: int,
        runs: Callable[[], tuple[int, int, float, bool]],
        log: Callable[[str], None],
        started: float | None = None,
    ) -> None:
        self._started = time.monotonic() if started is None else started
        #: (tier, framework) -> outcome -> number of tests
        self._outcomes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._durations, self._processes, self._runs, self._log = durations, processes, runs, log
        self._all: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        #: tier -> measured and expected seconds of its finished tests
        self._times = {tier: (PRIOR * estimate_slowdown(), PRIOR) for tier in TITLES}
        #: result of ``runs``, which is slow and changes only when a training ends; None: outdated
        self._cached_runs: tuple[int, int, float, bool] | None = None
        #: time of the estimate, and the seconds left then; None: unknown
        self._estimate: tuple[float, float] | None = None
        self._runs_text = ""

    def note_tests_to_run(self, tests: Iterable[str]) -> None:
        """Note the ids of all tests; later calls, by other processes, list the same tests."""
        if not self._all:
            tiers = [evidence.find_tier(test) for test in tests]
            self._all = Counter(tier for tier in tiers if tier in TITLES)
            self._update_estimate()
            self._log(self.format_progress_line())

    def count_ended_test(self, entry: Mapping[str, Any]) -> None:
        """Count a test that has ended.

        Args:
            entry: its entry of the evidence.
        """
        tier = entry["tier"]
        if tier in TITLES:
            seconds_taken, expected = self._times[tier]
            # the first test imports a framework
            expected += 0.0 if self._done else self._durations.start
            self._done[tier] += 1
            self._times[tier] = (
                seconds_taken + entry["seconds"],
                expected + self._durations.get_seconds_of_test(tier)
            )  # fmt: skip
            self._outcomes[tier, entry.get("framework", "")][entry["outcome"]] += 1
            if self._done[tier] == self._all[tier]:
                self._log(self._describe_outcome_of_tier(tier))
        elif entry.keys() & {"record", "replay"}:
            self._cached_runs = None
        self._update_estimate()

    def _describe_outcome_of_tier(self, tier: str) -> str:
        """Describe the outcome of a tier by framework."""
        parts = []
        frameworks = {framework for name, framework in self._outcomes if name == tier}
        # tests of no framework come last
        for framework in sorted(frameworks, key=lambda name: (not name, name)):
            counts = self._outcomes[tier, framework]
            failed, total = counts["failed"] + counts["error"], counts.total()
            text = (
                f"failed {failed} of {total} tests"
                if failed
                else f"passed {counts['passed']} tests"
            )
            skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
            parts.append(f"{framework or SUITE} {text}{skipped}")
        seconds = time.monotonic() - self._started
        return f"{TITLES[tier]} after {seconds:.0f} s: {'; '.join(parts)}"

    def _update_estimate(self) -> None:
        """Update the counts of trainings, and the estimate of the seconds left."""
        if self._cached_runs is None:
            self._cached_runs = self._runs()
        finished_runs, most, run_seconds, has_measured_runs = self._cached_runs
        self._runs_text = f"trainings {finished_runs} of at most {most}" if most else ""
        seconds_taken, expected = map(sum, zip(*self._times.values(), strict=True))
        # cheap tests of a framework make neither trainings nor the report shorter
        slowdown = max(seconds_taken / expected, 1.0)
        # each tier has its own pace: tests of behaviour train, those of formulas do not
        test_seconds = sum(
            self._times[tier][0] / self._times[tier][1]
            * self._durations.get_seconds_of_test(tier) * max(number - self._done[tier], 0)
            for tier, number in self._all.items()
        )  # fmt: skip
        seconds = (run_seconds if has_measured_runs else slowdown * run_seconds) + test_seconds
        # recorded seconds alone do not show how fast this machine is
        has_measured_tests = sum(self._done.values()) >= _WARM_UP_TESTS
        self._estimate = None
        if has_measured_tests or has_measured_runs or not self._all:
            report_seconds = slowdown * self._durations.stages.get(_REPORT_STAGE, 0.0)
            self._estimate = time.monotonic(), seconds / self._processes + report_seconds

    def format_progress_line(self) -> str:
        """Return the numbers of finished tests and trainings, and the time left."""
        parts = [f"{TITLES[tier]} {self._done[tier]} of {n}" for tier, n in self._all.items()]
        parts += [self._runs_text] if self._runs_text else []
        if self._estimate is None:
            return (
                f"{', '.join(parts) or 'collecting the tests'}; "
                f"{format_elapsed_time(self._started)}"
            )
        estimated_at, seconds = self._estimate
        since = time.monotonic() - estimated_at
        # while no test ends, the estimate falls but never reaches 0
        return f"{', '.join(parts)}; {format_rough_duration(max(seconds - since, since / 4))} left"
