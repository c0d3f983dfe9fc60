"""The result of comparing a golden file with a training that was recorded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlregress.model.recorded_traces import Comparison, Event


@dataclass(frozen=True, kw_only=True)
class Block:
    """The first block of steps and updates whose common digest differs.

    Attributes:
        start, stop: numbers of its steps and updates, from 0; ``stop`` is not in it.
        first, last: the same of the new recording; None: it ended before.
    """

    start: int
    stop: int
    first: Event | None
    last: Event | None


@dataclass(frozen=True, kw_only=True)
class GoldenResult:
    """The differences between a golden file and a new recording.

    Attributes:
        length: events that the golden file stands for.
        comparison: of the events that have a digest each.
        block: after them; None: all blocks are the same, or there are none.
        failure: the error that ended the new recording, in words.
        checkpoints: events after the first difference whose values are known, old and new.
        versions: package -> its old and new version, where they differ; empty: not imported.
        sources: files of the script and the library that differ, and their functions that do.
        seeds: what is seeded -> the script's old and new seed, where they differ.
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
