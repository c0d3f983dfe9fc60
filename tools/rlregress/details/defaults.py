"""What the frameworks are set to by default: ``baselines/defaults/<framework>.toml``.

A file is a list of ``[[defaults]]`` tables, one for each algorithm, scope and range of versions:
``algorithm``, ``scope``, ``since``, ``source``, optionally ``until`` and ``note``; ``values`` and
``names`` by hyperparameter, in the names of ``baselines/hyperparameters`` ("none": switched off);
``transforms`` where the framework's own number is another one than ours:

- ``flipped``: 1 - x (a Polyak coefficient that is the share kept);
- ``count``: the number of minibatches, rollout_steps / x;
- ``switch``: true if x is given; the value is that of ``clip_range``.

``set = true``: the values are those of ``baselines/hyperparameters/<framework>.yaml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from packaging.version import InvalidVersion, Version

from rlregress import suite
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter

_TEXTS = ("algorithm", "scope", "since", "source")
_OPTIONAL = {
    "until": str, "note": str, "values": dict, "names": dict, "transforms": dict, "set": bool
}  # fmt: skip

Given = Mapping[str, Any]
#: name -> (ours to theirs, theirs to ours), each of (number, all hyperparameters in our names).
TRANSFORMS: Mapping[str, tuple[Callable[[Any, Given], Any], Callable[[Any, Given], Any]]] = {
    "flipped": (lambda x, _: 1.0 - x, lambda x, _: 1.0 - x),
    "count": (
        lambda x, given: given["rollout_steps"] // x,
        lambda x, given: given["rollout_steps"] // x,
    ),
    "switch": (
        lambda x, _: x is not None,
        lambda x, given: given["clip_range"] if x else None,
    ),
}


@dataclass(frozen=True)
class Defaults:
    """The defaults of one algorithm in one scope, in [since, until)."""

    algorithm: str
    scope: str
    since: str
    source: str
    until: str | None = None
    note: str = ""
    values: Given = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    transforms: Mapping[str, str] = field(default_factory=dict)
    set: bool = False

    def holds_for(self, version: str) -> bool:
        """Whether the version lies in [since, until)."""
        asked = Version(version)
        return Version(self.since) <= asked and (self.until is None or asked < Version(self.until))

    def own(self, given: Given) -> dict[str, Any]:
        """Hyperparameters in our names -> in the framework's names and its own numbers.

        What the framework has no name for is left out; of two of ours that share a name the last.
        """
        return {
            own: TRANSFORMS[self.transforms[name]][0](given[name], given)
            if name in self.transforms
            else given[name]
            for name, own in self.names.items()
            if name in given
        }

    def ours(self, own: Given) -> dict[str, Any]:
        """The way back from :meth:`own`."""
        found = {name: own[theirs] for name, theirs in self.names.items() if theirs in own}
        for name, transform in self.transforms.items():
            if name in found:
                found[name] = TRANSFORMS[transform][1](found[name], found)
        return found


def load(path: Path) -> tuple[Defaults, ...]:
    """The entries of a file.

    Raises:
        UserError: the file is missing or damaged; names file, entry and key.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["defaults"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"the defaults in {path} cannot be read: {error!r}; expected TOML tables [[defaults]]"
        ) from None
    return tuple(
        _entry(f"{path}, [[defaults]] {number}", table)
        for number, table in enumerate(tables, start=1)
    )


def _entry(where: str, table: Mapping[str, Any]) -> Defaults:
    known = {**dict.fromkeys(_TEXTS, str), **_OPTIONAL}
    for key in _TEXTS:
        if key not in table:
            raise UserError(f"{where}: key '{key}' is missing; expected {', '.join(_TEXTS)}")
    for key, value in table.items():
        if key not in known:
            raise UserError(f"{where}: unknown key '{key}'; expected {', '.join(known)}")
        if not isinstance(value, known[key]):
            raise UserError(f"{where}: key '{key}' is {value!r}, expected {known[key].__name__}")
    for name, transform in table.get("transforms", {}).items():
        if transform not in TRANSFORMS:
            raise UserError(
                f"{where}: transform of {name} is '{transform}', expected {' or '.join(TRANSFORMS)}"
            )
    for key in ("since", "until"):
        try:
            Version(table.get(key, "0"))
        except InvalidVersion:
            raise UserError(f"{where}: key '{key}' is '{table[key]}', expected a version") from None
    values = {name: None if v == "none" else v for name, v in table.get("values", {}).items()}
    return Defaults(**{**table, "values": values})


def path_of(adapter: Adapter) -> Path:
    """The file of a framework."""
    return suite.baselines() / "defaults" / f"{adapter.name}.toml"


def documented(adapter: Adapter) -> dict[tuple[str, str], Defaults]:
    """The entry of every (algorithm, scope) that holds for the installed version."""
    entries = load(path_of(adapter))
    return {(e.algorithm, e.scope): e for e in entries if e.holds_for(adapter.version())}


def hyperparameter_set(name: str) -> Mapping[str, Mapping[str, Any]]:
    """``baselines/hyperparameters/<name>.yaml``: algorithm -> hyperparameter -> value."""
    path = suite.baselines() / "hyperparameters" / f"{name}.yaml"
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"the hyperparameter set {path} cannot be read: {error}") from None
    return found


def spelled(value: Any) -> str:
    """A value as text, whatever number type it comes in."""
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(spelled(one) for one in value) + "]"
    return f"{float(value):.12g}"


def differences(found: Given, documented: Given) -> list[str]:
    """One clause for each hyperparameter that is not as documented, sorted."""
    clauses = []
    for name in sorted(set(found) | set(documented)):
        now = spelled(found[name]) if name in found else "no such hyperparameter"
        then = spelled(documented[name]) if name in documented else "nothing"
        if now != then:
            clauses.append(f"{name}: {now} (documented: {then})")
    return clauses
