"""Reports the progress of a command and estimates the time left.

A command names its stages and the expected number of parts of each. ``baselines/durations.toml``
has the seconds of a part; the measured speed of this machine corrects them. A terminal shows one
line, in place. Elsewhere a line is printed each minute, and when a stage begins after a pause.
"""

from __future__ import annotations

import functools
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, TextIO

from pydantic import Field

from rlregress import datafiles, suite

#: seconds between two lines, on a terminal and in a log
ON_TERMINAL, IN_LOG = 1.0, 60.0
#: seconds of silence after which the begin of a stage is printed
_QUIET = 15.0
#: parts of a stage after which its measured pace counts: the first parts begin with imports
_WARM_UP_PARTS = 4
#: seconds that a command needs after its time limit, to end its processes and to judge
_ENDING = 10.0
#: seconds of work that are assumed to be measured before the first stage, at the machine's load:
#: the first stages are short, and reading from a cold disk predicts little about computing
PRIOR = 5.0

Seconds = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class Durations:
    """Stored seconds: of a test of each tier, of a start, and of a part of each stage."""

    unit: Seconds
    behavior: Seconds
    start: Seconds
    stages: Mapping[str, Seconds]

    def get_seconds_of_test(self, tier: str) -> float:
        """Return the stored seconds of a test of a tier."""
        return {"unit": self.unit, "behavior": self.behavior}[tier]


@functools.cache
def read_durations() -> Durations:
    """Read ``baselines/durations.toml``; UserError if it is damaged."""
    durations: Durations = datafiles.read_data_file(
        suite.locate_baselines() / "durations.toml", Durations
    )
    return durations


@dataclass(frozen=True)
class CommandStage:
    """A stage of a command.

    Attributes:
        parts: how many there are, or are expected.
        at_once: how many of them run at a time.
        starts: number of processes that import a framework, one after the other.
        size: duration of a part, in stored durations.
        seconds: seconds of a part, if measured here; None: the stored duration.
        is_measure: whether its duration counts when the speed of this machine is estimated.
    """

    name: str
    parts: float = 1.0
    at_once: int = 1
    starts: float = 1.0
    size: float = 1.0
    seconds: float | None = None
    is_measure: bool = True

    @property
    def stored_seconds(self) -> float | None:
        """Return the stored seconds of the whole stage; None: nothing is stored."""
        durations = read_durations()
        seconds = durations.stages.get(self.name)
        if seconds is None:
            return None
        return seconds * self.size * self._rounds + durations.start * self.starts

    def estimate_stage_seconds(self, slowness: float) -> float | None:
        """Return seconds of the stage on a machine ``slowness`` times slower; None: unknown."""
        if self.seconds is not None:
            return self.seconds * self.size * self._rounds
        return None if self.stored_seconds is None else self.stored_seconds * slowness

    @property
    def _rounds(self) -> float:
        return self.parts / max(min(self.at_once, self.parts), 1.0)


def estimate_slowdown() -> float:
    """Return the expected slowdown by the machine's load; 1: idle.

    It is half-way between 1 and the load of a core: half of the load is assumed to end soon, or to
    wait for a disk.
    """
    return (1.0 + max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)) / 2


class Estimate:
    """The parts that a command has done and those that it expects; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._following: list[CommandStage] = []
        self._is_planned = False
        self._limit = math.inf
        #: seconds of the stages that have ended: measured here, and stored
        self._measured = (0.0, 0.0)
        self._prior = (PRIOR * estimate_slowdown(), PRIOR)
        self._enter_stage(CommandStage(""), is_counted=False)
        self.started = self._last

    def _enter_stage(self, stage: CommandStage, is_counted: bool) -> None:
        self._stage, self._is_counted, self._done = stage, is_counted, 0.0
        self._last = self._stage_started = time.monotonic()
        # time and count of the first finished parts: time before them, such as imports, is not
        # repeated
        self._first, self._at_first = self._last, 0.0

    @property
    def stage(self) -> str:
        """Name of the present stage."""
        return self._stage.name

    def expect_stages(self, stages: Sequence[CommandStage]) -> None:
        """Expect these stages, in this order, instead of the stages expected so far."""
        with self._lock:
            self._following = [stage for stage in stages if stage.parts]
            self._is_planned = True

    def limit_seconds(self, seconds: float) -> None:
        """Expect the command to end within this many seconds from now."""
        with self._lock:
            self._limit = time.monotonic() + seconds

    def change_next_stage(self, name: str, parts: float, size: float = 0.0) -> None:
        """Change expected parts and size of the next stage of this name; size 0: unchanged."""
        with self._lock:
            names = [stage.name for stage in self._following]
            if name in names:
                number = names.index(name)
                stage = self._following[number]
                self._following[number] = replace(stage, parts=parts, size=size or stage.size)

    def begin_stage(self, name: str, parts: int = 0, size: float = 0.0) -> None:
        """Begin a stage; stages that were expected before it count as over.

        Args:
            parts: number of parts; 0: as expected.
            size: duration of a part, see ``CommandStage``; 0: as expected.
        """
        with self._lock:
            self._measured = self._sum_measured_and_stored_until(time.monotonic())
            names = [stage.name for stage in self._following]
            # a stage that was not expected runs as many parts at once as the one before it
            stage = CommandStage(name, at_once=self._stage.at_once)
            if name in names:
                number = names.index(name)
                stage, self._following = self._following[number], self._following[number + 1 :]
            stage = replace(stage, parts=parts or stage.parts, size=size or stage.size)
            self._enter_stage(stage, is_counted=parts > 0)

    def count_done_parts(self, count: int = 1, reused: bool = False) -> None:
        """Count finished parts.

        Args:
            reused: whether they were stored before, and took no time.
        """
        with self._lock:
            if reused:
                self._stage = replace(self._stage, parts=self._stage.parts - count)
                return
            self._last = time.monotonic()
            self._done += count
            if self._done == count:
                self._first, self._at_first = self._last, self._done

    def estimate_seconds_left(self) -> float | None:
        """Estimate the seconds until the command ends; None: unknown."""
        with self._lock:
            now = time.monotonic()
            stage_pace = self._measure_seconds_per_part()
            measured, stored = self._sum_measured_and_stored_until(
                now if stage_pace else self._stage_started
            )
            if not self._is_planned and stage_pace is None:
                return None
            slowness = (measured + self._prior[0]) / (stored + self._prior[1])
            following = [stage.estimate_stage_seconds(slowness) for stage in self._following]
            present = self._estimate_seconds_left_of_stage(now, stage_pace, slowness)
            if present is None:
                return None
            expected = [seconds for seconds in following if seconds is not None]
            if len(expected) < len(following):
                return None
            if now >= self._limit:
                # only judging is left, which takes no stored time
                return None
            return min(present + sum(expected), self._limit + _ENDING - now)

    def _measure_seconds_per_part(self) -> float | None:
        """Return the seconds between two parts of the present stage; None: too few are done."""
        if self._done < _WARM_UP_PARTS or not self._done - self._at_first:
            return None
        return (self._last - self._first) / (self._done - self._at_first)

    def _sum_measured_and_stored_until(self, now: float) -> tuple[float, float]:
        """Return measured and stored seconds until ``now``, the present stage included."""
        seconds, stored = self._measured
        stage_seconds, pace = self._stage.stored_seconds, self._measure_seconds_per_part()
        measured_here = self._stage.seconds is not None
        if stage_seconds is None or measured_here or not self._stage.is_measure:
            return self._measured
        if pace is not None:
            parts = self._done - self._at_first
            return seconds + pace * parts, stored + stage_seconds * parts / self._stage.parts
        if self._done:
            stored += stage_seconds * self._done / self._stage.parts
            return seconds + self._last - self._stage_started, stored
        if now == self._stage_started or self._is_counted:
            return self._measured
        return seconds + now - self._stage_started, stored + stage_seconds

    def _estimate_seconds_left_of_stage(
        self, now: float, stage_pace: float | None, slowness: float
    ) -> float | None:
        """Return the seconds that the present stage still takes; None: unknown."""
        expected = self._stage.estimate_stage_seconds(slowness)
        pace = stage_pace
        if pace is None and expected is not None:
            pace = expected / self._stage.parts if self._stage.parts else 0.0
        if pace is None:
            return None if self._stage.name else 0.0
        parts = self._stage.parts - self._done
        if not self._is_counted:
            # more parts than were expected may follow
            parts = max(parts, self._done / 4)
        since = now - self._last
        # a stage that has a time limit may take twice as long as expected
        least = 0.0 if self._stage.is_measure or stage_pace else parts * pace / 2
        return max(parts * pace - since, since / 2, least) if parts > 0 else 0.0

    def format_progress_line(self) -> str:
        """Return the stage, its parts, and the time that is left; "" before the first stage."""
        if not self.stage:
            return ""
        parts = f": {self._done:.0f} of {self._stage.parts:.0f}" if self._is_counted else ""
        seconds = self.estimate_seconds_left()
        if seconds is None:
            return f"{self.stage}{parts}{',' if parts else ':'} {format_elapsed_time(self.started)}"
        return f"{self.stage}{parts}{',' if parts else ':'} {format_rough_duration(seconds)} left"


_estimate = Estimate()


def expect_stages(stages: Sequence[CommandStage]) -> None:
    """Call ``Estimate.expect_stages`` for the running command."""
    _estimate.expect_stages(stages)


def limit_seconds(seconds: float) -> None:
    """Call ``Estimate.limit_seconds`` for the running command."""
    _estimate.limit_seconds(seconds)


def change_next_stage(name: str, parts: float, size: float = 0.0) -> None:
    """Call ``Estimate.change_next_stage`` for the running command."""
    _estimate.change_next_stage(name, parts, size)


def begin_stage(name: str, parts: int = 0, size: float = 0.0) -> None:
    """Call ``Estimate.begin_stage`` for the running command."""
    _estimate.begin_stage(name, parts, size)


def count_done_parts(count: int = 1, reused: bool = False) -> None:
    """Call ``Estimate.count_done_parts`` for the running command."""
    _estimate.count_done_parts(count, reused)


@contextmanager
def show_progress(
    log: Callable[[str], None],
    make_line: Callable[[], str] | None = None,
    stream: TextIO | None = None,
) -> Iterator[Callable[[str], None]]:
    """Show the progress of the command: in place on a terminal, now and then elsewhere.

    Args:
        make_line: returns the line to show; None: that of the stages from here on.
        stream: to write the line to; None: the standard output.

    Yields:
        The function that prints every other line of the command.
    """
    global _estimate
    outer, _estimate = _estimate, Estimate()
    estimate = _estimate
    current = make_line or estimate.format_progress_line
    stream = stream or sys.stdout
    terminal = stream.isatty()
    last, named = time.monotonic(), ""
    lock, stop = threading.Lock(), threading.Event()

    def clear_progress_line() -> None:
        if terminal:
            stream.write("\r\x1b[K")
            stream.flush()

    def pass_on_text(text: str) -> None:
        nonlocal last
        with lock:
            last = time.monotonic()
            clear_progress_line()
            log(text)

    def redraw_periodically() -> None:
        nonlocal named
        while not stop.wait(min(ON_TERMINAL, IN_LOG / 4)):
            text, silent = current(), time.monotonic() - last
            if terminal and text:
                with lock:
                    clear_progress_line()
                    stream.write(text[: shutil.get_terminal_size().columns - 1])
                    stream.flush()
            elif text and (silent >= IN_LOG or (silent >= _QUIET and named != estimate.stage)):
                named = estimate.stage
                pass_on_text(text)

    watching = threading.Thread(target=redraw_periodically, daemon=True)
    watching.start()
    try:
        yield pass_on_text
    finally:
        stop.set()
        watching.join()
        clear_progress_line()
        _estimate = outer


def format_elapsed_time(started: float) -> str:
    """Format the time since ``started``, a value of ``time.monotonic``."""
    return f"{format_rough_duration(time.monotonic() - started)} so far"


def format_rough_duration(seconds: float) -> str:
    """Format a rough duration, in seconds or minutes."""
    return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} min"
