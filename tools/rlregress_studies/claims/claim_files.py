"""Sentences of the sources about frameworks: ``baselines/claims/*.toml``, loaded and validated.

A file belongs to one source, has its title (``document``) and a list of ``[[claim]]`` tables. Each
has ``id``, ``place``, ``quote`` and ``framework``, and one of three:

- ``detail`` (an id of the catalogue), ``says`` (a variant, or a list of those that fit the
  sentence) and optionally ``scope`` (which implementation of the framework the sentence is about;
  without it the claim holds if it is true of any).
- ``default`` ("ppo.learning_rate", names as in ``baselines/hyperparameters``) and ``says`` (the
  value; "none" for one that is switched off, "absent" for one that the framework does not have).
- ``not_checkable``, the reason.

A checkable claim records its ``verdict``: one for all versions, or a table of the first version
from which on each holds. ``said_of`` names what the sentence speaks of where it does not name the
framework itself (another library, the algorithm in general); ``note`` says what is wrong, or how
the sentence is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from packaging.version import Version
from pydantic import BeforeValidator

from rlregress import datafiles, frameworks
from rlregress.datafiles import Text, expected, is_version, one_of
from rlregress.details import catalogue
from rlregress.errors import UserError, nearest

#: what a recorded verdict may be.
VERDICTS = ("confirmed", "refuted", "outdated")
NOT_CHECKABLE = "not checkable"
UNPROBED = "unprobed"
#: "detail" or "default", and its id -> scope -> answer, of each framework.
Answers = Mapping[tuple[str, str], Sequence[Mapping[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence about one framework.

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
        """The detail or hyperparameter of the claim; empty if it has none."""
        return self.detail or self.default


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A claim with its answers.

    Attributes:
        version: of the framework under test; empty for a claim that cannot be checked.
        verdict: one of ``VERDICTS``, "not checkable" or "unprobed".
        recorded: the verdict that is recorded for this version; None: none is for one that old.
        found: scope -> variant, value or name; the reason where a probe decided nothing.
        reason: what a reader needs beside the verdict.
        lacking: the package that a probe needs and that is not installed, in a sentence.
    """

    claim: Claim
    version: str
    verdict: str
    recorded: str | None
    found: Mapping[str, str]
    reason: str = ""
    lacking: str = ""

    @property
    def as_recorded(self) -> bool:
        """Return whether the verdict is the recorded one; never true for a claim that could
        not be probed.
        """
        return self.verdict == self.recorded


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A framework that was asked: as options name it, as reports do, and which version."""

    name: str
    title: str
    version: str


MOST_WORDS = 30

_KINDS = ("detail", "default", "not_checkable")
_Verdict = Annotated[str, one_of(VERDICTS)]
_Since = Annotated[
    str, expected("a version as in '2.9.2'", lambda text: text == "" or is_version(text))
]


def _by_version(verdict: Any) -> Any:
    """One verdict for all versions is a table as well."""
    return {"": verdict} if isinstance(verdict, str) else verdict


@dataclass(frozen=True)
class _Row:
    id: Text
    place: Text
    quote: Annotated[
        Text, expected(f"at most {MOST_WORDS} words", lambda text: len(text.split()) <= MOST_WORDS)
    ]
    framework: Text
    detail: Annotated[str, one_of(catalogue.ids)] = ""
    default: Text = ""
    not_checkable: Text = ""
    scope: Text = ""
    said_of: Text = ""
    note: Text = ""
    says: Any = None
    verdict: Annotated[Mapping[_Since, _Verdict], BeforeValidator(_by_version)] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        kinds = [kind for kind in _KINDS if getattr(self, kind)]
        if len(kinds) != 1:
            raise ValueError(
                f"found {' and '.join(kinds) or 'none'} of {', '.join(_KINDS)}; expected one"
            )
        if self.not_checkable:
            if self.says is not None or self.verdict:
                raise ValueError("says and verdict need a detail or a default; leave them out")
            return
        if self.framework not in frameworks.names():
            raise ValueError(
                f"key 'framework' is '{self.framework}', expected one of "
                f"{', '.join(frameworks.names())}, or not_checkable with the reason"
            )
        if self.says in (None, "", []):
            raise ValueError("key 'says' is missing; give what the sentence says")
        for variant in self.expected_values if self.detail else ():
            variants = catalogue.get(self.detail).variants
            if variant not in variants:
                raise ValueError(
                    f"key 'says': '{self.detail}' has no variant '{variant}'; "
                    f"{nearest(str(variant), variants)}"
                )
        if not self.verdict:
            raise ValueError("key 'verdict' is missing; run `rlregress study claims` to see it")

    @property
    def expected_values(self) -> tuple[Any, ...]:
        """The variants of a detail that fit the sentence, or the one value of a default."""
        if self.says is None:
            return ()
        has_several = self.detail and isinstance(self.says, list)
        return tuple(self.says) if has_several else (self.says,)


@dataclass(frozen=True)
class _Document:
    document: Text
    claim: tuple[_Row, ...] = ()


def recorded(claim: Claim, version: str) -> str | None:
    """The recorded verdict for a version; None if nothing is recorded for one that old."""
    if claim.not_checkable:
        return NOT_CHECKABLE
    begun = [v for v in claim.verdicts or {} if not v or Version(v) <= Version(version)]
    return (claim.verdicts or {})[max(begun, key=lambda v: Version(v or "0"))] if begun else None


def load(folder: Path) -> tuple[Claim, ...]:
    """The claims of all files of a folder, one for each index in ``sources`` beside that folder.

    Raises:
        UserError: a document has no file; a checkable claim is about an unknown framework; a claim
            has a missing, unknown or ill-typed key, an id that is taken, an unknown
            detail or variant, a quote that is too long, or no verdict that can be recorded.
    """
    claims: dict[str, Claim] = {}
    for index in datafiles.list_files(Path(folder).parent / "sources", "*.toml"):
        if not (Path(folder) / index.name).is_file():
            raise UserError(
                f"{folder} has no {index.name}; expected one for each document of {index.parent}"
            )
    for path in datafiles.list_toml_files(folder, "claims of a source document"):
        read: _Document = datafiles.read(path, _Document)
        places = datafiles.locate_tables(path, "claim", len(read.claim))
        for row, place in zip(read.claim, places, strict=True):
            if row.id in claims:
                raise UserError(f"{place}: the id '{row.id}' is taken; give every claim its own")
            keys = {**vars(row), "says": row.expected_values, "verdicts": row.verdict or None}
            del keys["verdict"]
            claims[row.id] = Claim(document=read.document, where=place, **keys)
    return tuple(claims.values())
