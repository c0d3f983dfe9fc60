"""Reports the progress of each tier of a session, and estimates its tests for a plan."""

from __future__ import annotations

import functools
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, evidence, suite
from rlregress.errors import UserError
from rlregress.progress import format_elapsed_time
from rlregress.trace.child_processes import extract_last_message
from rlregress.training import worker_launch

#: tier -> subject of its tests, in the progress lines
TITLES = {"unit": "formulas", "behavior": "behaviour"}
#: stands for the framework in tests of no framework
SUITE = "the suite itself"


@dataclass(frozen=True)
class Durations:
    """Stored seconds of a test of each tier."""

    unit: Annotated[float, Field(gt=0)]
    behavior: Annotated[float, Field(gt=0)]


@functools.cache
def estimate_seconds_of_tests(command: tuple[str, ...]) -> float:
    """Return the sequential seconds of the tests of formulas and behaviour, from recorded times.

    Args:
        command: the pytest command that runs them.

    Raises:
        UserError: pytest cannot collect them, or the file of recorded times is damaged.
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
    durations: Durations = datafiles.read_data_file(
        suite.locate_baselines() / "durations.toml", Durations
    )
    return sum(seconds * tiers[tier] for tier, seconds in asdict(durations).items())


class TiersProgress:
    """Counts the finished tests of each tier, and reports each tier when its last test ends.

    Args:
        count_trainings: returns the number of finished trainings, and their largest total.
        log: called with each line.
        started: start of the session, by ``time.monotonic``; None: now.
    """

    def __init__(
        self,
        count_trainings: Callable[[], tuple[int, int]],
        log: Callable[[str], None],
        started: float | None = None,
    ) -> None:
        self._started = time.monotonic() if started is None else started
        #: (tier, framework) -> outcome -> number of tests
        self._outcomes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._count_trainings, self._log = count_trainings, log
        self._all: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        #: counted only when a training ends: it is slow
        self._trainings = 0, 0

    def register_tests_to_run(self, tests: Iterable[str]) -> None:
        """Note the ids of all tests; later calls, by other processes, list the same tests."""
        if not self._all:
            tiers = [evidence.find_tier(test) for test in tests]
            self._all = Counter(tier for tier in tiers if tier in TITLES)
            self._trainings = self._count_trainings()
            self._log(self.format_progress_line())

    def count_ended_test(self, entry: Mapping[str, Any]) -> None:
        """Count a test that has ended.

        Args:
            entry: its entry of the evidence.
        """
        tier = entry["tier"]
        if tier in TITLES:
            self._done[tier] += 1
            self._outcomes[tier, entry.get("framework", "")][entry["outcome"]] += 1
            if self._done[tier] == self._all[tier]:
                self._log(self._describe_outcome_of_tier(tier))
        elif entry.keys() & {"record", "replay"}:
            self._trainings = self._count_trainings()

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

    def format_progress_line(self) -> str:
        """Return the numbers of finished tests and trainings, and the time so far."""
        parts = [f"{TITLES[tier]} {self._done[tier]} of {n}" for tier, n in self._all.items()]
        finished, most = self._trainings
        parts += [f"trainings {finished} of at most {most}"] if most else []
        return f"{', '.join(parts) or 'collecting the tests'}; {format_elapsed_time(self._started)}"
