"""The outcome of a repeated call, and where two outcomes differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlregress.inside.leaves import LeavesByPath
from rlregress.inside.values_read import Values

#: how many differing numbers of an array are listed.
_PRINTED = 4
#: the old and the new leaf of a path; None: this version has none there.
_Leaves = tuple[Any, Any]


class Outcome(NamedTuple):
    """The outcome of one repetition of a call.

    Attributes:
        error: type of the error that the call raised; empty: it returned.
        error_text: the error's message.
        leaves: path -> leaf of results, gradients, arguments, random states and written files.
        values: values that the differing statements read and wrote.
        refused: an action outside of the process that was refused; empty: none.
    """

    error: str
    error_text: str
    leaves: LeavesByPath
    values: Values
    refused: str = ""

    def is_finite(self, before: LeavesByPath) -> bool:
        """Return whether the call returned, and made no number NaN or infinite that was finite.

        Args:
            before: the arguments, whose bounds may be infinite.
        """
        return not self.error and all(
            _are_numbers_finite(leaf) or (path in before and not _are_numbers_finite(before[path]))
            for path, leaf in self.leaves.items()
        )


class Difference(NamedTuple):
    """The first place in which two outcomes differ.

    Attributes:
        path: of the leaf.
        old, new: the two leaves as text.
        rounding: every difference is one of floating-point numbers of one shape and type.
        flips: every other difference is one of numbers of one shape and type, such as an index.
        numbers: path -> the old and the new array, of floating-point numbers.
    """

    path: str
    old: str
    new: str
    rounding: bool = False
    flips: bool = False
    numbers: dict[str, tuple[np.ndarray, np.ndarray]] = {}


def find_differing_leaves(
    old: Outcome, new: Outcome, before: LeavesByPath, names: Collection[str]
) -> dict[str, _Leaves]:
    """Return path -> both leaves, where these are not equal to the bit.

    Args:
        before: the arguments.
        names: all names in the new version's file.
    """
    differing: dict[str, _Leaves] = {}
    # attributes that only one version sets do not count: only its own code reads them
    added, removed = (
        [path for path in own.attributes if path not in before and path not in opposite]
        for own, opposite in ((new.leaves, old.leaves), (old.leaves, new.leaves))
    )
    unnamed = [path for path in removed if path.rpartition(".")[2] not in names]
    renamed = _find_renamed_attributes(old.leaves, new.leaves, unnamed, added)
    # the order of a dictionary's keys is part of the result
    common = [[path for path in one if path in other]
              for one, other in ((old.leaves, new.leaves), (new.leaves, old.leaves))]  # fmt: skip
    for path, other_path in zip(*common, strict=True):
        if path != other_path:
            differing[path] = ("before", other_path), ("after", other_path)
            break
    for path in [*old.leaves, *(path for path in new.leaves if path not in old.leaves)]:
        first, second = old.leaves.get(path), new.leaves.get(path)
        if (first is None and _is_path_below(path, added)) or (
            second is None and _is_path_below(path, renamed)
        ):
            continue
        if first is None or second is None or not are_leaves_equal(first, second):
            differing[path] = first, second
    if old.error != new.error:
        errors = ("error", old.error_text), ("error", new.error_text)
        differing = {"error": errors, **differing}
    return differing


def choose_difference_to_report(differing: dict[str, _Leaves]) -> Difference | None:
    """Return the most informative difference; None: there is no difference."""
    if not differing:
        return None
    numbers: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    hard = []
    flips = True
    for path, (old, new) in differing.items():
        same_type = _have_same_type(old, new)
        if same_type and old[1].dtype.kind == "f" and _have_same_finite_positions(old[1], new[1]):
            numbers[path] = old[1], new[1]
        else:
            hard.append(path)
            flips = flips and same_type
    # name the most telling difference: an error, then another type, then another number
    retyped = [path for path in hard if _differ_in_type_or_shape(*differing[path])]
    path = ((hard if "error" in differing else retyped) or hard or list(numbers))[0]
    old, new = _describe_two_leaves(*differing[path])
    return Difference(path, old, new, not hard, bool(hard) and flips, numbers)


def measure_largest_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest distance between two numbers of arrays of one shape."""
    with np.errstate(all="ignore"):
        gap = np.abs(second.astype(np.float64) - first.astype(np.float64))
    # the distance of two NaN, and of two equal infinities, is NaN: it counts as none
    return float(gap[~np.isnan(gap)].max(initial=0.0))


def measure_largest_magnitude(array: np.ndarray) -> float:
    """Return the largest finite absolute number of an array."""
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max(initial=0.0))


def _are_numbers_finite(leaf: Any) -> bool:
    if leaf is None or not isinstance(leaf[1], np.ndarray) or leaf[1].dtype.kind != "f":
        return True
    return bool(np.isfinite(leaf[1]).all())


def _find_renamed_attributes(
    old: LeavesByPath, new: LeavesByPath, removed: Sequence[str], added: Sequence[str]
) -> list[str]:
    """Return old paths of private attributes that the new code sets under another name.

    One name has all words of the other one, and the values are the same.
    """
    candidates, renamed = list(added), []
    for path in removed:
        for candidate in candidates:
            same = _select_leaves_of_attribute(old, path) == _select_leaves_of_attribute(
                new, candidate
            )
            if same and _is_likely_renamed_attribute(path, candidate):
                candidates.remove(candidate)
                renamed.append(path)
                break
    return renamed


def _is_likely_renamed_attribute(old: str, new: str) -> bool:
    (old_owner, _, old_name), (new_owner, _, new_name) = old.rpartition("."), new.rpartition(".")
    old_words, new_words = set(old_name.split("_")), set(new_name.split("_"))
    private = old_name.startswith("_") and new_name.startswith("_")
    return old_owner == new_owner and private and (
        old_words <= new_words or new_words <= old_words
    )  # fmt: skip


def _select_leaves_of_attribute(leaves: LeavesByPath, attribute: str) -> dict[str, Any]:
    """Return the leaves of an attribute by their path below it, comparable by ==."""
    below = {path[len(attribute) :]: leaf for path, leaf in leaves.items()
             if _is_path_below(path, [attribute])}  # fmt: skip
    return {
        path: (leaf[0], leaf[1].dtype, leaf[1].shape, leaf[1].tobytes())
        if isinstance(leaf[1], np.ndarray)
        else leaf
        for path, leaf in below.items()
    }


def _is_path_below(path: str, starts: Sequence[str]) -> bool:
    """Return whether a path is, or is below, one of some paths."""
    return any(path == start or path.startswith((f"{start}.", f"{start}[")) for start in starts)


def are_leaves_equal(first: Any, second: Any) -> bool:
    """Return whether two leaves are equal to the bit."""
    if first[0] != second[0] or type(first[1]) is not type(second[1]):
        return False
    if not isinstance(first[1], np.ndarray):
        return bool(first[1] == second[1])
    # also the sign of zero
    return _have_same_type(first, second) and first[1].tobytes() == second[1].tobytes()


def _differ_in_type_or_shape(first: Any, second: Any) -> bool:
    """Return whether two leaves are arrays or numbers of different types or shapes."""
    arrays = [leaf is not None and isinstance(leaf[1], np.ndarray) for leaf in (first, second)]
    return any(arrays) and None not in (first, second) and not _have_same_type(first, second)


def _have_same_type(first: Any, second: Any) -> bool:
    """Return whether two leaves are numbers of one kind and shape."""
    return (
        first is not None
        and second is not None
        and first[0] == second[0]
        and all(isinstance(leaf[1], np.ndarray) for leaf in (first, second))
        and first[1].shape == second[1].shape
        and first[1].dtype == second[1].dtype
    )


def _have_same_finite_positions(first: np.ndarray, second: np.ndarray) -> bool:
    return all(np.array_equal(f(first), f(second)) for f in (np.isnan, np.isposinf, np.isneginf))


def _describe_two_leaves(first: Any, second: Any) -> list[str]:
    """Return two leaves as text, shortened to the numbers that differ."""
    pair = (first, second)
    if None in pair:
        return ["nothing" if leaf is None else leaf[0] for leaf in pair]
    arrays = [isinstance(leaf[1], np.ndarray) for leaf in pair]
    if not all(arrays):
        return [
            leaf[0] if is_array or leaf[0] == "generator" else
            f"{leaf[0]} {leaf[1]}"[:120] if leaf[1] else "none"
            for leaf, is_array in zip(pair, arrays, strict=False)
        ]  # fmt: skip
    if first[0] != second[0] or first[1].shape != second[1].shape:
        return [first[0], second[0]]
    rows = [np.ascontiguousarray(leaf[1]).reshape(-1) for leaf in pair]
    bits = [row.view(np.uint8).reshape(row.size, -1) for row in rows]
    places = np.flatnonzero((bits[0] != bits[1]).any(axis=1))[:_PRINTED]
    return [", ".join(_format_number(row[place]) for place in places) for row in rows]


def _format_number(value: Any) -> str:
    return f"{value:.9g}" if value.dtype.kind == "f" else str(value)
