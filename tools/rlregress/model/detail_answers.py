"""The questions of the catalogue and the variants of frameworks, as data."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

#: begin of the reason if code could not be probed
UNPROBED = "could not be probed: "


#: groups of details in a comparison, the first that fits: variants that are known differ; a
#: framework has no known variant or could not be probed; for one of them the detail is neither
#: probed nor said to be absent; all that have it have the same variants; only one has it.
DIFFERENT, UNDECIDED, UNMEASURED, SAME, UNSHARED = (
    "differ", "cannot be compared", "are not measured in all of them",
    "are the same in all that have them", "are about something that only one of them has",
)  # fmt: skip
GROUPS = (DIFFERENT, UNDECIDED, UNMEASURED, SAME, UNSHARED)

#: name of a variant that reads as if there were no variant
_NO_NAME = "none"


def describe_variant(variant: str, meaning: str = "") -> str:
    """Return the words for a variant, or the reason why there is none.

    The variant ``none`` ("not clipped") gets further words, so that it does not read as a failure.

    Args:
        meaning: the variant in one phrase, unless the text has it elsewhere.
    """
    if variant != _NO_NAME:
        return variant
    return f"'{variant}' (the variant: {meaning})" if meaning else f"the variant '{variant}'"


@dataclass(frozen=True, kw_only=True)
class NamedVariant:
    """A known variant.

    Attributes:
        name: name in expectations and reports.
        meaning: one phrase.
    """

    name: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """An entry of the catalogue, in words.

    Attributes:
        id: family first, for example "sac.critic_loss.scale".
        family: the part of the id before the first point.
        question: the question of the detail, one sentence.
        consequence: the effect on a training if two implementations differ, one sentence.
        sources: publications and code that describe the detail.
        inputs: named values that every probe takes; arrays are float64 and read-only.
        variants: variants by name.
        observed: the vector that a probe returns (order, shape, units) and how it feeds inputs.
    """

    id: str
    family: str
    question: str
    consequence: str
    sources: tuple[str, ...]
    inputs: Mapping[str, Any]
    variants: Mapping[str, NamedVariant]
    observed: str


@dataclass(frozen=True, kw_only=True)
class SourceLine:
    """A line of source code; ``line`` counts from 1."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class FoundVariant:
    """The variant of one framework in one scope.

    Attributes:
        variant: the probed variant; None if it is not a known one.
        meaning: the variant in words, or why there is none.
        deviation: the effect on users, if it is a known deviation.
        place: the line that decides it, if one is recorded.
    """

    scope: str
    variant: str | None
    meaning: str
    deviation: str
    place: SourceLine | None


@dataclass(frozen=True, kw_only=True)
class DetailRow:
    """One detail, with the variant that each framework has.

    Attributes:
        answers: full name of a framework -> its variants, one per scope; empty if not probed.
        absent: full name of a framework -> the feature that it lacks.
    """

    detail: CatalogueEntry
    answers: Mapping[str, tuple[FoundVariant, ...]]
    absent: Mapping[str, str]

    def select_frameworks(self, names: Collection[str]) -> DetailRow:
        """Return the same detail of some frameworks only."""
        answers = {name: answers for name, answers in self.answers.items() if name in names}
        return replace(self, answers=answers)

    @property
    def known_answers(self) -> Mapping[str, tuple[FoundVariant, ...]]:
        """Return the answers of frameworks that have a known variant in each scope."""
        return {
            name: answers
            for name, answers in self.answers.items()
            if all(answer.variant is not None for answer in answers)
        }

    @property
    def differs(self) -> bool:
        """Return whether frameworks with known variants have others, or others in one scope."""
        framework_answers = self.known_answers.values()
        by_scope: dict[str, set[str | None]] = {}
        for answer in itertools.chain(*framework_answers):
            by_scope.setdefault(answer.scope, set()).add(answer.variant)
        variants = {frozenset(a.variant for a in answers) for answers in framework_answers}
        return len(variants) > 1 or any(len(own) > 1 for own in by_scope.values())

    @property
    def is_undecided(self) -> bool:
        """Return whether a framework showed no known variant or could not be probed."""
        return any(a.variant is None for answers in self.answers.values() for a in answers)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All compared details, in the order of the catalogue.

    Attributes:
        versions: full name -> version of the package under test.
        left_out: rows that are not listed.
    """

    versions: Mapping[str, str]
    rows: tuple[DetailRow, ...]
    left_out: tuple[DetailRow, ...] = ()

    def find_group(self, row: DetailRow) -> str:
        """Return the group of a detail."""
        if row.differs:
            return DIFFERENT
        if row.is_undecided:
            return UNDECIDED
        if not row.answers.keys() | row.absent.keys() >= self.versions.keys():
            return UNMEASURED
        return SAME if len(row.answers) > 1 else UNSHARED

    def select_rows(self, group: str) -> list[DetailRow]:
        """Return the listed details of one of the ``GROUPS``."""
        return [row for row in self.rows if self.find_group(row) == group]

    def count_rows(self, group: str) -> int:
        """Return the number of details of a group, those that are not listed included."""
        return sum(self.find_group(row) == group for row in (*self.rows, *self.left_out))

    def select_different_rows(self) -> Comparison:
        """Return the comparison with only the details that differ, or could not be compared."""
        is_kept = [self.find_group(row) in (DIFFERENT, UNDECIDED) for row in self.rows]
        return replace(
            self,
            rows=tuple(itertools.compress(self.rows, is_kept)),
            left_out=tuple(row for row, keep in zip(self.rows, is_kept, strict=True) if not keep),
        )


@dataclass(frozen=True, kw_only=True)
class ProbeCounts:
    """The numbers of details, variants and faults of one framework.

    Attributes:
        details: details with a probe.
        scopes: pairs of a detail and a scope with a probe.
        variants: documented variants of these.
        deviations: known deviations among them.
        absent: details of features that the framework lacks.
        faults: faults that can be injected.
    """

    framework: str
    version: str
    details: int
    scopes: int
    variants: int
    deviations: int
    absent: int
    faults: int


@dataclass(frozen=True, kw_only=True)
class MissingCheck:
    """A gap in the checks of a detail.

    Attributes:
        lacks: "probe", "expectation" or "fault".
        example: the measurement of the detail in another framework, if a probe lacks; else empty.
    """

    detail: str
    lacks: str
    example: str = ""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One statement of a source, such as a paper; see ``catalogue/source_index.py``."""

    id: str
    place: str
    title: str
    details: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    not_code: str = ""
