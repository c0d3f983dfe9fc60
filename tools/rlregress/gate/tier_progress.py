"""How far every tier of a session is, and how long the rest may take."""

from __future__ import annotations

import functools
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, evidence, suite
from rlregress.errors import UserError
from rlregress.progress import Pace, about
from rlregress.tracing.child_processes import last_words
from rlregress.training import worker_launch

#: tier -> what its tests are about, in the lines.
TITLES = {"unit": "formulas", "behavior": "behaviour"}
#: whom a test is about that is about no framework.
SUITE = "the suite itself"
#: tests after which the own times of this session correct the recorded ones; the first import.
_FIRST = 30

Seconds = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class Durations:
    """Seconds that a test takes, as recorded, by tier."""

    unit: Seconds
    behavior: Seconds

    def of(self, tier: str) -> float:
        """Seconds of a test of a tier."""
        return {"unit": self.unit, "behavior": self.behavior}[tier]


def recorded() -> Durations:
    """What ``baselines/durations.toml`` says; UserError if it is damaged."""
    durations: Durations = datafiles.read(suite.baselines() / "durations.toml", Durations)
    return durations


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
    found = subprocess.run(
        collecting, cwd=folder, env=worker_launch.environment(), capture_output=True, text=True
    )
    if found.returncode:
        raise UserError(
            f"pytest cannot collect the tests: {last_words(found.stderr or found.stdout)}"
        )
    tests = [line for line in found.stdout.splitlines() if "::" in line]
    tiers = Counter(evidence.tier_of(test) for test in tests)
    durations = recorded()
    return sum(number * durations.of(tier) for tier, number in tiers.items() if tier in TITLES)


def _last(framework: str) -> tuple[bool, str]:
    """Orders what is about no framework behind the others."""
    return not framework, framework


class TiersProgress:
    """Counts the tests of each tier that are done, and reports each tier when its last test ends.

    Args:
        durations: seconds of a test, as recorded.
        processes: how many share the work.
        runs: ended trainings, how many there are at most, and seconds that those of the first look
            still take.
        say: is given the lines.
        started: when the session began, by ``time.monotonic``; None: now.
    """

    def __init__(
        self,
        durations: Durations,
        processes: int,
        runs: Callable[[], tuple[int, int, float]],
        say: Callable[[str], None],
        started: float | None = None,
    ) -> None:
        self._started = time.monotonic() if started is None else started
        #: (tier, framework) -> outcome -> tests
        self._outcomes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._durations, self._processes, self._runs, self._say = durations, processes, runs, say
        self._all: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._taken = self._expected = 0.0
        self._pace = Pace()

    def begun(self, tests: Iterable[str]) -> None:
        """All tests are known, by their node ids; a second process knows the same."""
        if not self._all:
            tiers = [evidence.tier_of(test) for test in tests]
            self._all = Counter(tier for tier in tiers if tier in TITLES)
            self._say(self.line())

    def done(self, entry: Mapping[str, Any]) -> None:
        """A test has ended: its entry of the evidence."""
        tier = entry["tier"]
        if tier in TITLES:
            self._done[tier] += 1
            self._taken += entry["seconds"]
            self._expected += self._durations.of(tier)
            self._outcomes[tier, entry.get("framework", "")][entry["outcome"]] += 1
            if self._done[tier] == self._all[tier]:
                self._say(self._result(tier))
        if self._pace.due():
            self._say(self.line())

    def _result(self, tier: str) -> str:
        """What the tests of a tier come to, by framework; it is known before the trainings end."""
        parts = []
        for framework in sorted({name for of, name in self._outcomes if of == tier}, key=_last):
            of = self._outcomes[tier, framework]
            failed, all_ = of["failed"] + of["error"], of.total()
            text = f"failed {failed} of {all_} tests" if failed else f"passed {of['passed']} tests"
            skipped = f", {of['skipped']} skipped" if of["skipped"] else ""
            parts.append(f"{framework or SUITE} {text}{skipped}")
        seconds = time.monotonic() - self._started
        return f"{TITLES[tier]} after {seconds:.0f} s: {'; '.join(parts)}"

    def line(self) -> str:
        """What is done of what, and how long the rest may take."""
        ended, most, seconds = self._runs()
        parts = [f"{TITLES[tier]} {self._done[tier]} of {n}" for tier, n in self._all.items()]
        if most:
            parts.append(f"trainings {ended} of at most {most}")
        longer = 1.0
        if sum(self._done.values()) >= _FIRST:
            longer = self._taken / self._expected
        for tier, number in self._all.items():
            seconds += longer * self._durations.of(tier) * max(number - self._done[tier], 0)
        left = f"{about(seconds / self._processes)} left"
        if most and seconds < 1:
            left = "cells that the first look leaves in doubt go on"
        return f"{', '.join(parts)}; {left}"
