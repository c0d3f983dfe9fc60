"""The questions of the catalogue, and what frameworks answer, as data."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

#: what begins the reason of a judgement without an answer
UNPROBED = "could not be probed: "


#: the name of a variant that reads as if there were no answer
_NO_NAME = "none"


def variant_words(name: str, meaning: str = "") -> str:
    """A variant, or the reason why there is none, as every text names it.

    ``none`` is a variant like any other ("not clipped"), and reads as if nothing was found.

    Args:
        meaning: in one phrase, where the text does not have it anyway.
    """
    if name != _NO_NAME:
        return name
    return f"'{name}' (the variant: {meaning})" if meaning else f"the variant '{name}'"


@dataclass(frozen=True, kw_only=True)
class NamedVariant:
    """One known answer.

    Attributes:
        name: as it stands in expectations and reports.
        meaning: one phrase.
    """

    name: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of the catalogue, in words.

    Attributes:
        id: family first, for example "sac.critic_loss.scale".
        family: what stands before the first point of the id.
        question: what is asked, one sentence.
        consequence: what it means for a training where two implementations differ, one sentence.
        sources: where the detail is described.
        inputs: named values, the contract of every probe; arrays are float64 and read-only.
        variants: by name.
        observed: the vector a probe returns: order, shape and units, and how inputs are fed.
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
        variant: as probed, or None if no known variant was seen.
        meaning: of the variant, or why there is none.
        deviation: whom it hurts, if it is a known deviation.
        place: the line that decides it, where one is recorded.
    """

    scope: str
    variant: str | None
    meaning: str
    deviation: str
    place: SourceLine | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One detail.

    Attributes:
        answers: full name of the framework -> its answers, one per scope; empty if it was not
            asked.
        absent: full name -> what that framework does not have.
    """

    detail: Entry
    answers: Mapping[str, tuple[FoundVariant, ...]]
    absent: Mapping[str, str]

    def only(self, names: Collection[str]) -> Row:
        """The same detail of some frameworks alone, by their full names."""
        answers = {name: answers for name, answers in self.answers.items() if name in names}
        return replace(self, answers=answers)

    @property
    def differs(self) -> bool:
        """Return whether the probed frameworks give different answers."""
        variants = {frozenset(a.variant for a in answers) for answers in self.answers.values()}
        return len(variants) > 1

    @property
    def undecided(self) -> bool:
        """Return whether a framework showed no known variant or could not be probed."""
        return any(a.variant is None for answers in self.answers.values() for a in answers)

    @property
    def shared(self) -> bool:
        """Return whether several frameworks were probed."""
        return len(self.answers) > 1


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything that was asked, in the order of the catalogue.

    Attributes:
        versions: full name -> version of the package under test.
        left_out: what does not differ and is not to be listed.
    """

    versions: Mapping[str, str]
    rows: tuple[Row, ...]
    left_out: tuple[Row, ...] = ()

    @property
    def different(self) -> list[Row]:
        """Details that more than one framework has and that are not the same."""
        return [r for r in self.rows if r.shared and r.differs and not r.undecided]

    @property
    def same(self) -> list[Row]:
        return [r for r in self.rows if r.shared and not r.differs and not r.undecided]

    @property
    def alone(self) -> list[Row]:
        """Details about something that only one of the frameworks has."""
        return [row for row in self.rows if len(row.answers) == 1 and not row.undecided]

    def only_different(self) -> Comparison:
        """Return the comparison without details that are the same or that only one
        framework has.
        """
        is_kept = [row.undecided or (row.shared and row.differs) for row in self.rows]
        return replace(
            self,
            rows=tuple(itertools.compress(self.rows, is_kept)),
            left_out=tuple(row for row, keep in zip(self.rows, is_kept, strict=True) if not keep),
        )

    @property
    def undecided(self) -> list[Row]:
        """Details of which a framework showed no known variant: nothing follows from these."""
        return [row for row in self.rows if row.undecided]


@dataclass(frozen=True, kw_only=True)
class ProbeCounts:
    """The numbers of one framework.

    Attributes:
        details: that have a probe; ``scopes``: details, each in each of its scopes.
        variants: that are documented of these.
        deviations: known ones among them.
        absent: details about what the framework does not have.
        faults: that can be seeded.
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
class Missing:
    """The part that a framework lacks for the check of a detail.

    Attributes:
        lacks: "probe", "expectation" or "fault".
        example: of a probe, what measures the detail in another framework; empty: nothing known.
    """

    detail: str
    lacks: str
    example: str = ""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that a source names; see ``details/source_index.py``."""

    id: str
    place: str
    title: str
    details: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    not_code: str = ""
