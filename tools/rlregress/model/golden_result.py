"""The result of comparing a golden file with a training that was recorded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlregress.model.recorded_traces import Comparison, Event


@dataclass(frozen=True, kw_only=True)
class Block:
    """The first block of steps and updates whose common digest differs.

    Attributes:
        start, stop: numbers of its steps and updates, from 0; ``stop`` is excluded.
        first, last: its first and last event in the new recording; None: that ended before.
    """

    start: int
    stop: int
    first: Event | None
    last: Event | None


@dataclass(frozen=True, kw_only=True)
class GoldenResult:
    """The differences between a golden file and a new recording.

    Attributes:
        length: number of events in the golden file, those in blocks included.
        comparison: comparison of the events with their own digests.
        block: the first differing block after them; None: there is none.
        failure: the error that ended the new recording, in words.
        checkpoints: events after the first difference with stored values, old and new.
        versions: package -> its old and new version, if they differ; empty: not imported.
        sources: differing files of the script and the library -> their differing functions.
        seeds: seeded generator -> old and new seed of the script, if they differ.
    """

    length: int
    comparison: Comparison
    block: Block | None
    failure: str
    checkpoints: Sequence[tuple[Event, Event]]
    versions: Mapping[str, tuple[str, str]]
    sources: Mapping[str, Sequence[str]]
    seeds: Mapping[str, tuple[str, str]]

    @property
    def is_same(self) -> bool:
        """Return whether every recorded value is bit-identical."""
        return self.comparison.verdict == "equal" and self.block is None and not self.failure
