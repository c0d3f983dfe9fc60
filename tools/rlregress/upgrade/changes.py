"""What is known to have changed between published releases.

``baselines/histories/<framework>.toml`` names the published ``releases``, oldest first, and lists
``[[change]]`` tables: each is one change of behaviour, with the first release that has it and the
published one before. Upgrades are judged against them: what is in scope has to be flagged, and a
pair of neighbours without any change in scope has to pass.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from rlregress import suite
from rlregress.details import catalogue
from rlregress.errors import UserError

KINDS = ("fix", "feature", "default", "breaking", "numerics")
SCOPES = ("in", "out")
ALGORITHMS = ("ppo", "a2c", "sac", "td3", "ddpg", "dqn", "all")

_TEXTS = ("id", "release", "before", "what", "kind", "scope", "source")
_LISTS = ("algorithms", "functions")
_OPTIONAL: Mapping[str, type] = {
    "why_out": str, "condition": str, "note": str, "details": list, "defaults": list
}  # fmt: skip
_KNOWN: Mapping[str, type] = {
    **dict.fromkeys(_TEXTS, str), **dict.fromkeys(_LISTS, list), **_OPTIONAL
}  # fmt: skip
_CHOICES = {"kind": KINDS, "scope": SCOPES, "algorithms": ALGORITHMS}


@dataclass(frozen=True)
class Change:
    """One change of behaviour between two neighbouring releases.

    Attributes:
        release: the first published one that has it.
        before: the published one before that.
        scope: "in" if a training or an evaluation computes something else.
        why_out: one clause; only if out of scope.
        condition: what a user has to switch on for it to show; empty for the default path.
        details: ids of the catalogue that it moves.
        defaults: "algorithm hyperparameter" in our names, if it is a default.
        functions: "file function" where the code of the two releases differs; any of them is the
            right cause.
    """

    id: str
    release: str
    before: str
    algorithms: tuple[str, ...]
    what: str
    kind: str
    scope: str
    source: str
    functions: tuple[str, ...]
    why_out: str = ""
    condition: str = ""
    note: str = ""
    details: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()

    @property
    def in_scope(self) -> bool:
        """Whether an upgrade across it has to be flagged."""
        return self.scope == "in"

    def concerns(self, algorithm: str) -> bool:
        """Whether it is one of this algorithm's."""
        return "all" in self.algorithms or algorithm in self.algorithms


@dataclass(frozen=True)
class ReleasePair:
    """Two neighbouring published releases and what changed from one to the other.

    Attributes:
        requires: pins that both are put on, so that nothing else differs.
    """

    before: str
    release: str
    changes: tuple[Change, ...]
    requires: tuple[str, ...] = ()

    @property
    def in_scope(self) -> tuple[Change, ...]:
        """The changes that have to be flagged; none: the pair has to pass."""
        return tuple(change for change in self.changes if change.in_scope)


def path_of(framework: str) -> Path:
    """The file of a framework."""
    return suite.baselines() / "histories" / f"{framework}.toml"


def known() -> tuple[str, ...]:
    """The frameworks that have a history."""
    return tuple(sorted(path.stem for path in (suite.baselines() / "histories").glob("*.toml")))


def load(framework: str) -> tuple[Change, ...]:
    """The changes of a framework, in the order of the file.

    Raises:
        UserError: there is no history, or it is damaged; names file, entry and key.
    """
    return read(_existing(framework))[1]


def releases(framework: str) -> tuple[str, ...]:
    """The published releases, oldest first; UserError as ``load``."""
    return read(_existing(framework))[0]


def pairs(framework: str) -> tuple[ReleasePair, ...]:
    """All neighbouring releases, oldest first, with their changes; UserError as ``load``."""
    path = _existing(framework)
    published, changes = read(path)
    grounds = _grounds(path)
    return tuple(
        ReleasePair(
            before,
            release,
            tuple(c for c in changes if c.release == release),
            next((g.requires for g in grounds if g.holds(before) and g.holds(release)), ()),
        )
        for before, release in pairwise(published)
    )


@dataclass(frozen=True)
class _Ground:
    """What releases in [since, until) are put on."""

    since: str
    requires: tuple[str, ...]
    until: str = ""

    def holds(self, release: str) -> bool:
        asked = Version(release)
        return Version(self.since) <= asked and (not self.until or asked < Version(self.until))


def _grounds(path: Path) -> list[_Ground]:
    tables = tomllib.loads(path.read_text(encoding="utf-8")).get("ground", [])
    found = []
    for number, table in enumerate(tables, start=1):
        where = f"{path}, [[ground]] {number}"
        fits = isinstance(table.get("requires"), list) and set(table) <= {
            "since", "until", "requires"
        }  # fmt: skip
        if not fits or "since" not in table:
            raise UserError(f"{where}: expected since, requires (a list of pins), perhaps until")
        for key in ("since", "until"):
            _version(where, table.get(key, "0"))
        requires = tuple(table["requires"])
        found.append(_Ground(table["since"], requires, table.get("until", "")))
    return found


def read(path: Path) -> tuple[tuple[str, ...], tuple[Change, ...]]:
    """Releases and changes of a file; UserError as ``load``."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"the history {path} cannot be read: {error}") from None
    unknown = sorted(set(content) - {"releases", "change", "ground"})
    if unknown:
        raise UserError(f"{path}: unknown key '{unknown[0]}'; expected releases, ground or change")
    published = _releases(path, content.get("releases"))
    tables = content.get("change", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{path}: key 'change' is {tables!r}, expected tables [[change]]")
    changes = []
    places: dict[str, str] = {}
    for number, table in enumerate(tables, start=1):
        where = f"{path}, [[change]] {number}"
        change = _change(where, table, published)
        if change.id in places:
            raise UserError(
                f"{where}: key 'id' is '{change.id}', expected an id that no other entry has; "
                f"[[change]] {places[change.id]} has it"
            )
        places[change.id] = str(number)
        changes.append(change)
    return published, tuple(changes)


def _existing(framework: str) -> Path:
    if framework not in known():
        raise UserError(
            f"no history of '{framework}'; {catalogue.nearest(framework, list(known()))}?"
        )
    return path_of(framework)


def _version(where: str, text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UserError(f"{where} is '{text}', expected a version") from None


def _releases(path: Path, found: Any) -> tuple[str, ...]:
    where = f"{path}: key 'releases'"
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise UserError(f"{where} is {found!r}, expected a list of the published releases")
    for before, release in pairwise(found):
        if _version(where, release) <= _version(where, before):
            raise UserError(f"{where}: {release} follows {before}, expected oldest first")
    return tuple(found)


def _change(where: str, table: Mapping[str, Any], published: Sequence[str]) -> Change:
    for key in (*_TEXTS, *_LISTS):
        if key not in table:
            raise UserError(
                f"{where}: key '{key}' is missing; expected {', '.join((*_TEXTS, *_LISTS))}"
            )
    for key, value in table.items():
        _check(where, key, value)
    for key in ("release", "before"):
        _version(f"{where}: key '{key}'", table[key])
        if table[key] not in published:
            raise UserError(f"{where}: key '{key}' is '{table[key]}', expected one of releases")
    _check_order(where, table["before"], table["release"], published)
    out = table["scope"] == "out"
    if out and not table.get("why_out"):
        raise UserError(
            f"{where}: key 'why_out' is missing or empty; expected a clause, as scope is 'out'"
        )
    if not out and table.get("why_out"):
        raise UserError(
            f"{where}: key 'why_out' is {table['why_out']!r}, expected nothing, as scope is 'in'"
        )
    lists = [field.name for field in fields(Change) if isinstance(table.get(field.name), list)]
    return Change(**{**table, **{key: tuple(table[key]) for key in lists}})


def _check(where: str, key: str, value: Any) -> None:
    if key not in _KNOWN:
        raise UserError(f"{where}: unknown key '{key}'; expected {', '.join(_KNOWN)}")
    expected = _KNOWN[key]
    if not isinstance(value, expected):
        raise UserError(f"{where}: key '{key}' is {value!r}, expected a {expected.__name__}")
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in texts):
        raise UserError(f"{where}: key '{key}' is {value!r}, expected a list of texts")
    if (key in _TEXTS or key == "algorithms") and not value:
        raise UserError(f"{where}: key '{key}' is empty")
    for one in texts:
        if key in _CHOICES and one not in _CHOICES[key]:
            raise UserError(
                f"{where}: key '{key}' is '{one}', expected {' or '.join(_CHOICES[key])}"
            )


def _check_order(where: str, before: str, release: str, published: Sequence[str]) -> None:
    if Version(release) <= Version(before):
        raise UserError(
            f"{where}: key 'release' is '{release}', expected one after '{before}', which is before"
        )
    place = published.index(release)
    if published[place - 1] != before:
        raise UserError(
            f"{where}: key 'before' is '{before}', expected '{published[place - 1]}', the release "
            f"that was published before {release}"
        )
