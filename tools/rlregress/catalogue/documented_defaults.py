"""Documented defaults of the frameworks: ``baselines/defaults/<framework>.toml``.

A file is a list of ``[[defaults]]`` tables, one for each algorithm, scope and range of versions:
``algorithm``, ``scope``, ``since``, ``source``, optionally ``until`` and ``note``; ``values`` and
``names`` by hyperparameter, in the names of ``baselines/hyperparameters`` ("none": switched off);
``transforms`` where the framework's own number differs from ours:

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
from rlregress.datafiles import Range, Text, expect_one_of
from rlregress.frameworks.base import Adapter

Hyperparameters = Mapping[str, Any]
#: name -> (ours to theirs, theirs to ours), each of (number, all hyperparameters in our names).
TRANSFORMS: Mapping[
    str, tuple[Callable[[Any, Hyperparameters], Any], Callable[[Any, Hyperparameters], Any]]
] = {
    "flipped": (lambda x, _: 1.0 - x, lambda x, _: 1.0 - x),
    "count": (
        lambda x, values: values["rollout_steps"] // x,
        lambda x, values: values["rollout_steps"] // x,
    ),
    "switch": (lambda x, _: x is not None, lambda x, values: values["clip_range"] if x else None),
}


def _replace_text_none_by_null(values: Hyperparameters) -> Hyperparameters:
    """Replace the text "none" by None, because TOML has no null."""
    return {name: None if value == "none" else value for name, value in values.items()}


@dataclass(frozen=True)
class Defaults(Range):
    """The defaults of one algorithm in one scope, in a range of versions."""

    algorithm: Text
    scope: Text
    source: Text
    note: str = ""
    values: Annotated[Hyperparameters, AfterValidator(_replace_text_none_by_null)] = field(
        default_factory=dict
    )
    names: Mapping[str, Text] = field(default_factory=dict)
    transforms: Mapping[str, Annotated[str, expect_one_of(TRANSFORMS)]] = field(
        default_factory=dict
    )
    set: bool = False

    def convert_to_framework_parameters(self, values: Hyperparameters) -> dict[str, Any]:
        """Return hyperparameters in the framework's names with its own numbers.

        Hyperparameters without a name in the framework are left out. If two share a name, the last
        wins.
        """
        return {
            theirs: TRANSFORMS[self.transforms[name]][0](values[name], values)
            if name in self.transforms
            else values[name]
            for name, theirs in self.names.items()
            if name in values
        }

    def convert_to_our_parameters(self, values: Hyperparameters) -> dict[str, Any]:
        """Return hyperparameters of the framework in our names with our numbers."""
        named = {name: values[theirs] for name, theirs in self.names.items() if theirs in values}
        for name, transform in self.transforms.items():
            if name in named:
                named[name] = TRANSFORMS[transform][1](named[name], named)
        return named


@dataclass(frozen=True)
class _File:
    defaults: tuple[Defaults, ...]


def load_documented_defaults(path: Path) -> tuple[Defaults, ...]:
    """Load the documented defaults of a file: one entry per algorithm, scope and version range.

    Raises:
        UserError: the file is missing or damaged; names file, entry and key.
    """
    content: _File = datafiles.read_data_file(path, _File)
    return content.defaults


def locate_documented_defaults(adapter: Adapter) -> Path:
    """Return the path of the file that holds the documented defaults of a framework."""
    return suite.locate_baselines() / "defaults" / f"{adapter.name}.toml"


def load_defaults_of_installed_version(adapter: Adapter) -> dict[tuple[str, str], Defaults]:
    """Return the documented defaults of the installed version by (algorithm, scope)."""
    entries = load_documented_defaults(locate_documented_defaults(adapter))
    return {
        (e.algorithm, e.scope): e for e in entries if e.includes_version(adapter.code.version())
    }


def format_value(value: Any) -> str:
    """Format a value as text, independent of its number type."""
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(format_value(item) for item in value) + "]"
    return f"{float(value):.12g}"


def list_differences_from_documented(
    values: Hyperparameters, documented: Hyperparameters
) -> list[str]:
    """List the hyperparameters that differ, each as "name: value (documented: value)", sorted."""
    clauses = []
    for name in sorted(set(values) | set(documented)):
        current = format_value(values[name]) if name in values else "no such hyperparameter"
        expected = format_value(documented[name]) if name in documented else "nothing"
        if current != expected:
            clauses.append(f"{name}: {current} (documented: {expected})")
    return clauses
