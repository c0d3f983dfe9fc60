"""Frameworks, or two copies of one, side by side: where they differ and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlregress.details import catalogue
from rlregress.details.implementation import implementations
from rlregress.errors import UserError
from rlregress.faults.places import SourceLine, place
from rlregress.frameworks.base import Adapter


@dataclass(frozen=True)
class FoundVariant:
    """What one framework does in one scope.

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


@dataclass(frozen=True)
class Row:
    """One detail.

    Attributes:
        answers: full name of the framework -> its answers, one per scope; empty if it was not
            asked.
        absent: full name -> what that framework does not have.
    """

    detail: catalogue.Detail
    answers: Mapping[str, tuple[FoundVariant, ...]]
    absent: Mapping[str, str]

    @property
    def differs(self) -> bool:
        """Whether frameworks that were asked do not all give the same answers."""
        variants = {frozenset(a.variant for a in answers) for answers in self.answers.values()}
        return len(variants) > 1

    @property
    def undecided(self) -> bool:
        """Whether a framework showed no known variant, or could not be asked."""
        return any(a.variant is None for answers in self.answers.values() for a in answers)

    @property
    def shared(self) -> bool:
        """Whether more than one framework was asked."""
        return len(self.answers) > 1


@dataclass(frozen=True)
class Comparison:
    """Everything that was asked, in the order of the catalogue.

    Attributes:
        versions: full name -> version of the package under test.
    """

    versions: Mapping[str, str]
    rows: tuple[Row, ...]

    @property
    def different(self) -> list[Row]:
        """Details that more than one framework has and that are not done alike."""
        return [r for r in self.rows if r.shared and r.differs and not r.undecided]

    @property
    def same(self) -> list[Row]:
        """Details that are done alike."""
        return [r for r in self.rows if r.shared and not r.differs and not r.undecided]

    @property
    def alone(self) -> list[Row]:
        """Details about something that only one of the frameworks has."""
        return [row for row in self.rows if len(row.answers) == 1 and not row.undecided]

    @property
    def undecided(self) -> list[Row]:
        """Details of which a framework showed no known variant: nothing follows from these."""
        return [row for row in self.rows if row.undecided]


def _answers(adapter: Adapter, detail: catalogue.Detail) -> tuple[FoundVariant, ...]:
    answers = []
    for implementation in implementations(adapter, detail.id):
        variant = implementation.judgement.variant
        documented = implementation.documented
        known = documented is not None and documented.variant == variant
        answers.append(
            FoundVariant(
                implementation.scope,
                variant,
                detail.variants[variant].meaning if variant else implementation.judgement.found,
                documented.deviation if documented is not None and known else "",
                place(implementation),
            )
        )
    return tuple(answers)


def check(adapters: Sequence[Adapter]) -> None:
    """Whether these can be compared.

    Raises:
        UserError: fewer than two adapters, or one of them twice.
    """
    names = [adapter.full_name for adapter in adapters]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise UserError(
            f"'{' '.join(names)}' cannot be compared; expected two or more different frameworks, "
            "or copies of one as in name@version"
        )


def compare(adapters: Sequence[Adapter]) -> Comparison:
    """Probe every detail on every adapter.

    Raises:
        UserError: see ``check``.
    """
    check(adapters)
    rows = []
    for detail in catalogue.all_details():
        answers = {a.full_name: _answers(a, detail) for a in adapters}
        absent = {a.full_name: a.absent()[detail.id] for a in adapters if detail.id in a.absent()}
        asked = {name: given for name, given in answers.items() if given}
        if asked:
            rows.append(Row(detail, asked, absent))
    versions = {a.full_name: a.version() for a in adapters}
    return Comparison(versions, tuple(rows))
