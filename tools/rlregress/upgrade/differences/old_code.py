"""The old code of a piece: whether the new version can be given it, and how."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from rlregress.inside import bindings
from rlregress.model.code import CODE_CHANGED, ChangedPiece
from rlregress.source import UNREADABLE, read_source_text


def is_revertible(function: ChangedPiece) -> bool:
    """Return whether a piece can be reverted: it, or its class, is in both versions.

    Of code that runs at import, only the values of names can be reverted.
    """
    in_both = function.can_change_results and None not in function.paths
    return in_both and (not function.runs_at_import or bool(find_names_with_new_values(function)))


@cache
def find_names_with_new_values(piece: ChangedPiece) -> frozenset[str]:
    """Return the names to which a class or module body assigns another value than before."""
    old, new = piece.paths
    if piece.how != CODE_CHANGED or not piece.runs_at_import or old is None or new is None:
        return frozenset()
    try:
        texts = [read_source_text(old), read_source_text(new)]
        return frozenset(bindings.find_names_with_other_values(piece.name, texts))
    except (OSError, *UNREADABLE):
        return frozenset()


def list_old_code(group: Sequence[ChangedPiece]) -> list[dict[str, object]]:
    """List the old code of some functions, as ``inside.swap`` takes it."""
    files: dict[tuple[Path, str], list[str]] = {}
    for function in group:
        path = function.paths[0]
        assert path is not None
        files.setdefault((path, function.file), []).append(function.name)
    return [
        {"file": file, "functions": names, "text": read_source_text(path)}
        for (path, file), names in files.items()
    ]
