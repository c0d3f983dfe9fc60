"""Sentences of the sources about frameworks: ``baselines/claims/*.toml``, loaded and validated.

A file belongs to one source. It has the title (``document``) and a list of ``[[claim]]`` tables.
Each has ``id``, ``place``, ``quote`` and ``framework``, and one of three:

- ``detail`` (an id of the catalogue), ``says`` (a variant, or a list of variants that fit the
  sentence) and optionally ``scope`` (the implementation that the sentence is about; without it the
  claim is true if it is true of any scope).
- ``default`` ("ppo.learning_rate", names as in ``baselines/hyperparameters``) and ``says`` (the
  value; "none" if it is switched off, "absent" if the framework does not have it).
- ``not_checkable``, the reason.

A checkable claim records its ``verdict``: one for all versions, or a table with the first version
of each verdict. ``said_of`` names the subject of a sentence that is not about the framework itself
(another library, the algorithm in general). ``note`` explains an error, or how the sentence is
read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from packaging.version import Version
from pydantic import BeforeValidator

from rlregress import datafiles, frameworks
from rlregress.catalogue import registry
from rlregress.datafiles import Text, expect_one_of, expect_value, is_version
from rlregress.errors import UserError, suggest_names

#: verdicts that can be recorded
VERDICTS = ("confirmed", "refuted", "outdated")
NOT_CHECKABLE = "not checkable"
UNPROBED = "unprobed"
#: ("detail" or "default", its id) -> scope -> answer, for each framework
Answers = Mapping[tuple[str, str], Sequence[Mapping[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence about one framework.

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
class SettledClaim:
    """A claim with its verdict and the answers of the code.

    Attributes:
        version: version of the framework; empty for a claim that cannot be checked.
        verdict: one of ``VERDICTS``, "not checkable" or "unprobed".
        recorded: the recorded verdict for this version; None: none is recorded for one that old.
        answers: scope -> variant, value or name; the reason if a probe gave no result.
        reason: explanation of the verdict.
        lacking: sentence on a missing package that a probe needs; empty: none.
    """

    claim: Claim
    version: str
    verdict: str
    recorded: str | None
    answers: Mapping[str, str]
    reason: str = ""
    lacking: str = ""

    @property
    def is_as_recorded(self) -> bool:
        """Return whether the verdict is the recorded one; False for an unprobed claim."""
        return self.verdict == self.recorded


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A probed framework: its name in options, its title in reports, and its version."""

    name: str
    title: str
    version: str


MOST_WORDS = 30

_KINDS = ("detail", "default", "not_checkable")
_Verdict = Annotated[str, expect_one_of(VERDICTS)]
_Since = Annotated[
    str, expect_value("a version as in '2.9.2'", lambda text: text == "" or is_version(text))
]


def _make_table_by_version(verdict: Any) -> Any:
    """Return a table of verdicts; a single verdict applies to all versions."""
    return {"": verdict} if isinstance(verdict, str) else verdict


@dataclass(frozen=True)
class _Row:
    id: Text
    place: Text
    quote: Annotated[
        Text,
        expect_value(f"at most {MOST_WORDS} words", lambda text: len(text.split()) <= MOST_WORDS),
    ]
    framework: Text
    detail: Annotated[str, expect_one_of(registry.list_detail_ids)] = ""
    default: Text = ""
    not_checkable: Text = ""
    scope: Text = ""
    said_of: Text = ""
    note: Text = ""
    says: Any = None
    verdict: Annotated[Mapping[_Since, _Verdict], BeforeValidator(_make_table_by_version)] = field(
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
        if self.framework not in frameworks.list_framework_names():
            raise ValueError(
                f"key 'framework' is '{self.framework}', expected one of "
                f"{', '.join(frameworks.list_framework_names())}, or not_checkable with the reason"
            )
        if self.says in (None, "", []):
            raise ValueError("key 'says' is missing; give what the sentence says")
        for variant in self.expected_values if self.detail else ():
            variants = registry.get_detail(self.detail).variants
            if variant not in variants:
                raise ValueError(
                    f"key 'says': '{self.detail}' has no variant '{variant}'; "
                    f"{suggest_names(str(variant), variants)}"
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


def find_recorded_verdict(claim: Claim, version: str) -> str | None:
    """Return the recorded verdict for a version; None if none is recorded for one that old."""
    if claim.not_checkable:
        return NOT_CHECKABLE
    verdicts = claim.verdicts or {}
    firsts = [first for first in verdicts if not first or Version(first) <= Version(version)]
    return verdicts[max(firsts, key=lambda first: Version(first or "0"))] if firsts else None


def load_claims(folder: Path) -> tuple[Claim, ...]:
    """Load the claims of all files of a folder, one file for each source.

    Raises:
        UserError: a source of ``sources`` beside the folder has no file; a checkable claim is about
            an unknown framework; a claim has a missing, unknown or ill-typed key, a duplicate id,
            an unknown detail or variant, a quote that is too long, or no valid verdict.
    """
    claims: dict[str, Claim] = {}
    for index in datafiles.list_files_by_name(Path(folder).parent / "sources", "*.toml"):
        if not (Path(folder) / index.name).is_file():
            raise UserError(
                f"{folder} has no {index.name}; expected one for each document of {index.parent}"
            )
    for path in datafiles.list_toml_files(folder, "claims of a source document"):
        read: _Document = datafiles.read_data_file(path, _Document)
        places = datafiles.describe_places_of_tables(path, "claim", len(read.claim))
        for row, place in zip(read.claim, places, strict=True):
            if row.id in claims:
                raise UserError(f"{place}: the id '{row.id}' is taken; give every claim its own")
            keys = {**vars(row), "says": row.expected_values, "verdicts": row.verdict or None}
            del keys["verdict"]
            claims[row.id] = Claim(document=read.document, where=place, **keys)
    return tuple(claims.values())
