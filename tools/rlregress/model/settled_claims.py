"""What sources say of frameworks, and what the installed code does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: what a recorded verdict may be.
VERDICTS = ("confirmed", "refuted", "outdated")
NOT_CHECKABLE = "not checkable"
UNPROBED = "unprobed"
#: "detail" or "default", and its id -> scope -> answer, of each framework.
Answers = Mapping[tuple[str, str], Sequence[Mapping[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence about one framework; see ``claims/claim_files.py``.

    Attributes:
        document: the title of the source.
        says: the variants, or the one value.
        verdicts: first version (empty: all versions) -> recorded verdict.
        where: the place of the table, for messages.
    """

    document: str
    id: str
    place: str
    quote: str
    framework: str
    detail: str = ""
    default: str = ""
    not_checkable: str = ""
    scope: str = ""
    said_of: str = ""
    note: str = ""
    says: tuple[Any, ...] = ()
    verdicts: Mapping[str, str] | None = None
    where: str = ""

    @property
    def subject(self) -> str:
        """What is asked: the detail or the hyperparameter; empty if nothing can be."""
        return self.detail or self.default


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A claim and what was found.

    Attributes:
        version: of the framework under test; empty for a claim that cannot be checked.
        verdict: one of ``VERDICTS``, "not checkable" or "unprobed".
        recorded: the verdict that is recorded for this version; None: none is for one that old.
        found: scope -> variant, value or name; the reason where a probe decided nothing.
        reason: what a reader needs beside the verdict.
    """

    claim: Claim
    version: str
    verdict: str
    recorded: str | None
    found: Mapping[str, str]
    reason: str = ""

    @property
    def as_recorded(self) -> bool:
        """Whether the verdict is the recorded one; one that could not be probed never is."""
        return self.verdict == self.recorded


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that a source names; see ``claims/source_index.py``."""

    id: str
    place: str
    title: str
    details: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    not_code: str = ""


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A framework that was asked: as options name it, as reports do, and which version."""

    name: str
    title: str
    version: str
