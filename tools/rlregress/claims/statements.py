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

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from rlregress import frameworks
from rlregress.claims.reading import Table, check_keys, files, tables, text
from rlregress.details import catalogue
from rlregress.errors import UserError

#: what a recorded verdict may be.
VERDICTS = ("confirmed", "refuted", "outdated")
NOT_CHECKABLE = "not checkable"
MOST_WORDS = 30

_REQUIRED = ("id", "place", "quote", "framework")
_KINDS = ("detail", "default", "not_checkable")
_TEXTS = (*_KINDS, "scope", "said_of", "note")
_OPTIONAL = (*_TEXTS, "says", "verdict")


@dataclass(frozen=True)
class Claim:
    """One sentence about one framework; see the module.

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

    def recorded(self, version: str) -> str | None:
        """The recorded verdict for a version; None if nothing is recorded for one that old."""
        if self.not_checkable:
            return NOT_CHECKABLE
        begun = [v for v in self.verdicts or {} if not v or Version(v) <= Version(version)]
        return (self.verdicts or {})[max(begun, key=lambda v: Version(v or "0"))] if begun else None


def load(folder: Path) -> tuple[Claim, ...]:
    """The claims of all files of a folder, one for each index in ``sources`` beside that folder.

    Raises:
        UserError: a document has no file; a checkable claim is about an unknown framework; a claim
            has a missing, unknown or ill-typed key, an id that is taken, an unknown
            detail or variant, a quote that is too long, or no verdict that can be recorded.
    """
    found: dict[str, Claim] = {}
    known = frameworks.names()
    for index in sorted((Path(folder).parent / "sources").glob("*.toml")):
        if not (Path(folder) / index.name).is_file():
            raise UserError(
                f"{folder} has no {index.name}; expected one for each document of {index.parent}"
            )
    for path in files(folder):
        document, rows = tables(path, "claim")
        for table, where in rows:
            claim = _claim(document, table, where)
            if not claim.not_checkable and claim.framework not in known:
                raise UserError(
                    f"{where}: key 'framework' is '{claim.framework}', expected one of "
                    f"{', '.join(known)}, or not_checkable with the reason"
                )
            if claim.id in found:
                raise UserError(f"{where}: the id '{claim.id}' is taken; give every claim its own")
            found[claim.id] = claim
    return tuple(found.values())


def _claim(document: str, table: Table, where: str) -> Claim:
    check_keys(table, where, _REQUIRED, _OPTIONAL)
    words = {key: text(table, key, where) for key in (*_REQUIRED, *_TEXTS)}
    kinds = [kind for kind in _KINDS if words[kind]]
    if len(kinds) != 1:
        raise UserError(
            f"{where}: found {' and '.join(kinds) or 'none'} of {', '.join(_KINDS)}; expected one"
        )
    length = len(words["quote"].split())
    if length > MOST_WORDS:
        raise UserError(f"{where}: the quote has {length} words; shorten it to {MOST_WORDS}")
    says = _says(table, where, words["detail"])
    if words["not_checkable"] and (says or "verdict" in table):
        raise UserError(f"{where}: says and verdict need a detail or a default; leave them out")
    if not words["not_checkable"] and not says:
        raise UserError(f"{where}: key 'says' is missing; give what the sentence says")
    verdicts = None if words["not_checkable"] else _verdicts(table, where)
    return Claim(document, **words, says=says, verdicts=verdicts, where=where)


def _says(table: Table, where: str, detail: str) -> tuple[Any, ...]:
    if "says" not in table:
        return ()
    if not detail:
        return (table["says"],)
    listed = table["says"] if isinstance(table["says"], list) else [table["says"]]
    try:
        variants = catalogue.get(detail).variants
    except UserError as error:
        raise UserError(f"{where}: key 'detail': {error}") from None
    for variant in listed:
        if variant not in variants:
            raise UserError(
                f"{where}: key 'says': '{detail}' has no variant '{variant}'; expected one of "
                f"{', '.join(variants)}"
            )
    return tuple(listed)


def _verdicts(table: Table, where: str) -> dict[str, str]:
    recorded = table.get("verdict", {})
    by_version = recorded if isinstance(recorded, dict) else {"": recorded}
    if not by_version:
        raise UserError(f"{where}: key 'verdict' is missing; run `rlregress claims` to see it")
    for version, verdict in by_version.items():
        if verdict not in VERDICTS:
            raise UserError(
                f"{where}: key 'verdict' is {verdict!r}, expected one of {', '.join(VERDICTS)}"
            )
        try:
            Version(version or "0")
        except InvalidVersion:
            raise UserError(
                f"{where}: key 'verdict': '{version}' is no version; expected one as in '2.9.2'"
            ) from None
    return dict(by_version)
