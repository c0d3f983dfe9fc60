"""The search algorithms, without input or output; a function that they get checks a version.

``find_first_new_version`` searches a history as ``git bisect`` does, and
``find_smallest_differing_set`` a set of packages (delta debugging: Zeller and Hildebrandt, 2002,
"Simplifying and isolating failure-inducing input").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

#: results for a version: it is like the old end, like the new end, or it cannot be checked.
OLD, NEW, SKIPPED = "old", "new", "skipped"


@dataclass(frozen=True)
class Step:
    """Two versions in a list, by index, between which the result of a check changed.

    Attributes:
        old: the last version that equals the old end.
        new: the first version known to equal the new end.
        between: versions between these that could not be checked, any of which may be the first.
    """

    old: int
    new: int
    between: tuple[int, ...] = ()

    def shift_step_by(self, count: int) -> Step:
        """Return the step with all indices raised by ``count``: the list begins so much earlier."""
        return Step(self.old + count, self.new + count, tuple(n + count for n in self.between))


def link_versions_in_line(count: int) -> list[tuple[int, ...]]:
    """Return parents for versions in a line: each one's parent is the one before."""
    return [(number - 1,) if number else () for number in range(count)]


def find_first_new_version(parents: Sequence[Sequence[int]], check: Callable[[int], str]) -> Step:
    """Return the step at which a history changed from old to new.

    Args:
        parents: the parents of every version, by index; parents come before their children. The
            first version is known to be old and an ancestor of the last, which is known to be new.
        check: returns ``OLD``, ``NEW`` or ``SKIPPED``; called once for each version.
    """
    ancestors: list[int] = []
    for number, node_parents in enumerate(parents):
        reachable = 1 << number
        for parent in node_parents:
            reachable |= ancestors[parent]
        ancestors.append(reachable)
    new, old, skipped, last_old = len(parents) - 1, ancestors[0], 0, 0
    while True:
        remaining = ancestors[new] & ~old
        may_ask = remaining & ~skipped & ~(1 << new)
        if not may_ask:
            break
        half = remaining.bit_count() / 2
        number = min(
            _list_set_bits(may_ask),
            key=lambda n: abs((ancestors[n] & remaining).bit_count() - half),
        )
        answer = check(number)
        if answer == OLD:
            old |= ancestors[number]
            last_old = max(last_old, number)
        elif answer == NEW:
            new = number
        else:
            skipped |= 1 << number
    between = tuple(_list_set_bits(remaining & ~(1 << new)))
    if not between and parents[new]:
        # a parent of a merge may be known to be old because a later version is
        last_old = parents[new][0]
    return Step(last_old, new, between)


def _list_set_bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def find_smallest_differing_set(
    names: Sequence[str], check: Callable[[frozenset[str]], str]
) -> tuple[str, ...]:
    """Return a smallest set of names that makes the difference: every name in it is needed.

    Args:
        names: candidates; all together they give ``NEW``, and the empty set gives ``OLD``.
        check: returns the result for a subset; anything but ``NEW`` counts as no difference.
    """
    remaining, parts = list(names), 2
    while len(remaining) > 1:
        size = -(-len(remaining) // parts)
        groups = [remaining[start : start + size] for start in range(0, len(remaining), size)]
        smaller = next((g for g in groups if check(frozenset(g)) == NEW), None)
        if smaller is not None:
            remaining, parts = smaller, 2
            continue
        rests = [[name for name in remaining if name not in group] for group in groups]
        complement = next(
            (r for r in rests if len(groups) > 2 and check(frozenset(r)) == NEW), None
        )
        if complement is not None:
            remaining, parts = complement, max(parts - 1, 2)
        elif parts >= len(remaining):
            break
        else:
            parts = min(2 * parts, len(remaining))
    return tuple(remaining)
