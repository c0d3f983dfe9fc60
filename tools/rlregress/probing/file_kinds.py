"""Kinds of files that a framework documents, and the items that are compared after loading.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

#: an item that is compared: its name, its value, and the function that it comes from.
Item = tuple[str, Any, Any]


@dataclass(frozen=True)
class FileKind:
    """One way to save something of a training and to load it again.

    Attributes:
        name: "sac model", as the list of differences names it.
        way: the functions that write and read it, as the documentation calls them.
        save: (what is saved, empty folder).
        load: (make_env, folder) -> the same again; raises what the framework raises.
        state: (what was loaded) -> the items to compare; changes nothing.
        go_on: (what was loaded) -> items of what it does from there on, in order.
        of: the training's result -> what is saved of it; raises Unsupported.
        stored: whether ``baselines/saved`` keeps such a file of each release.
    """

    name: str
    way: str
    save: Callable[[Any, str], None]
    load: Callable[[Callable[..., Any], str], Any]
    state: Callable[[Any], Iterable[Item]]
    go_on: Callable[[Any], Iterable[Item]]
    of: Callable[[Any], Any] = lambda trained: trained
    stored: bool = False


def mark_stored(kinds: Iterable[FileKind], stored_names: Sequence[str]) -> tuple[FileKind, ...]:
    """Return kinds of files, those with one of ``stored_names`` marked as ``stored``."""
    return tuple(replace(kind, stored=kind.name in stored_names) for kind in kinds)


@dataclass(frozen=True)
class TrainingWithFiles:
    """A built-in training and the kinds of files that are saved after it.

    Attributes:
        train: (make_env, seed) -> result of a short training, which the kinds take.
    """

    train: Callable[[Callable[..., Any], int], Any]
    kinds: tuple[FileKind, ...]
