"""Kinds of files that a framework documents, and the items that are compared after loading.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: an item that is compared: its name, its value, and the function that it comes from.
Item = tuple[str, Any, Any]


@dataclass(frozen=True)
class FileKind:
    """One way to save something of a training and to load it again.

    Attributes:
        name: "sac model", as the list of differences names it.
        way: the functions that write and read it, as the documentation calls them.
        load: (make_env, path) -> the same again; raises what the framework raises.
        state: (what was loaded) -> the items to compare; changes nothing.
        go_on: (what was loaded) -> items of what it does from there on, in order.
        save: (what is saved, path of a file in an empty folder).
        file: the name of that file; empty: the path is that of the folder.
        of: the training's result -> what is saved of it; raises Unsupported.
    """

    name: str
    way: str
    load: Callable[[Callable[..., Any], str], Any]
    state: Callable[[Any], Iterable[Item]]
    go_on: Callable[[Any], Iterable[Item]] = lambda loaded: ()
    save: Callable[[Any, str], None] = lambda saved, path: saved.save(path)
    file: str = ""
    of: Callable[[Any], Any] = lambda trained: trained


@dataclass(frozen=True)
class TrainingWithFiles:
    """A built-in training and the kinds of files that are saved after it.

    Attributes:
        train: (make_env, seed) -> result of a short training, which the kinds take.
        stored: names of the kinds of which ``baselines/saved`` keeps a file of each release.
    """

    train: Callable[[Callable[..., Any], int], Any]
    kinds: Sequence[FileKind]
    stored: Sequence[str] = ()
