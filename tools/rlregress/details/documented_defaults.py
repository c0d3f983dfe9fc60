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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from rlregress import datafiles, suite
from rlregress.datafiles import Range, Text, one_of
from rlregress.frameworks.base import Adapter

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


def _switched_off(values: Given) -> Given:
    """TOML has no null: "none" stands for it."""
    return {name: None if value == "none" else value for name, value in values.items()}


@dataclass(frozen=True)
class Defaults(Range):
    """The defaults of one algorithm in one scope, in a range of versions."""

    algorithm: Text
    scope: Text
    source: Text
    note: str = ""
    values: Annotated[Given, AfterValidator(_switched_off)] = field(default_factory=dict)
    names: Mapping[str, Text] = field(default_factory=dict)
    transforms: Mapping[str, Annotated[str, one_of(TRANSFORMS)]] = field(default_factory=dict)
    set: bool = False

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
        named = {name: own[theirs] for name, theirs in self.names.items() if theirs in own}
        for name, transform in self.transforms.items():
            if name in named:
                named[name] = TRANSFORMS[transform][1](named[name], named)
        return named


@dataclass(frozen=True)
class _File:
    defaults: tuple[Defaults, ...]


def load(path: Path) -> tuple[Defaults, ...]:
    """The entries of a file.

    Raises:
        UserError: the file is missing or damaged; names file, entry and key.
    """
    content: _File = datafiles.read(path, _File)
    return content.defaults


def path_of(adapter: Adapter) -> Path:
    """The file of a framework."""
    return suite.baselines() / "defaults" / f"{adapter.name}.toml"


def documented(adapter: Adapter) -> dict[tuple[str, str], Defaults]:
    """The entry of every (algorithm, scope) that holds for the installed version."""
    entries = load(path_of(adapter))
    return {(e.algorithm, e.scope): e for e in entries if e.holds_for(adapter.code.version())}


def spelled(value: Any) -> str:
    """A value as text, whatever number type it comes in."""
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(spelled(item) for item in value) + "]"
    return f"{float(value):.12g}"


def differences(given: Given, documented: Given) -> list[str]:
    """One clause for each hyperparameter that is not as documented, sorted."""
    clauses = []
    for name in sorted(set(given) | set(documented)):
        now = spelled(given[name]) if name in given else "no such hyperparameter"
        then = spelled(documented[name]) if name in documented else "nothing"
        if now != then:
            clauses.append(f"{name}: {now} (documented: {then})")
    return clauses
