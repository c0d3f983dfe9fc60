"""Which statements of a piece differ, and whether a line that ran says that they did."""

from __future__ import annotations

import pytest

from rlregress.upgrade.differences import changed_functions, changed_statements
from tools.tests.upgrade.small_packages import write_versions

CODE = """
import os

TABLE = 1


class Agent:
    rate = 1

    def step(self, x, k=1, *, n=2):
        y = x
        if x > k:
            y = x + 1
        else:
            y = (
                x
                - 1
            )
        for n in range(y):
            y += n
        if x: y = 2
        try:
            z = x and y
        except KeyError:
            z = [a for a in y]
        return y if x else z
"""


def find_difference(folder, old, new):
    """The difference of the only piece that differs."""
    assert CODE.count(old) == 1
    files = {"agent.py": CODE}, {"agent.py": CODE.replace(old, new)}
    (piece,) = changed_functions.find_changed_functions(*write_versions(folder, *files))
    return changed_statements.find_differing_statements(piece)


@pytest.mark.parametrize(
    ("old", "new", "spans"),
    [
        ("y = x\n", "y = 2 * x\n", [(11, 11)]),
        ("y = x + 1", "y = x + 2", [(13, 13)]),
        ("- 1\n", "- 2\n", [(15, 18)]),
        ("x > k", "x >= k", [(12, 12)]),
        ("range(y)", "range(x)", [(19, 19)]),
        ("        for", "        y += 1\n        for", [(19, 19)]),
        ("            y += n\n", "            y += n\n            y += 1\n", [(21, 21)]),
        ("        y = x\n", "", [(11, 11)]),
        ("except KeyError", "except ValueError", [(24, 24)]),
        ("k=1", "l=1", [(10, 26)]),
        ("n=2", "m=2", [(10, 26)]),
        ("        for n in range(y):\n            y += n\n", "        y += n\n", [(19, 19)]),
    ],
)
def test_the_statements_that_differ_are_found_by_line(tmp_path, old, new, spans):
    """Those of the new version, with all their lines; a removed one has the line in its place."""
    difference = find_difference(tmp_path, old, new)
    assert (list(difference.spans), difference.unmeasured) == (spans, 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x and y", "x and not y"),
        ("[a for a in y]", "[a + 1 for a in y]"),
        ("y if x else z", "y if x else -z"),
        ("if x: y = 2", "if x: y = 3"),
        ("k=1", "k=2"),
        ("n=2", "n=3"),
    ],
)
def test_a_part_that_may_not_be_evaluated_is_not_measured(tmp_path, old, new):
    """Its line runs without it: operands, branches, comprehensions, defaults, one-line blocks."""
    difference = find_difference(tmp_path, old, new)
    assert (difference.spans, difference.unmeasured) == ((), 1)


def test_a_statement_that_leaves_its_block_differs(tmp_path):
    """Its text is the same, and when it runs is not."""
    difference = find_difference(tmp_path, "        for n in range(y):\n            y += n\n",
                   "        for n in range(y):\n            pass\n        y += n\n")  # fmt: skip
    assert (21, 21) in difference.spans


def test_the_statements_of_a_module_are_those_outside_of_its_functions(tmp_path):
    """They come with the names that they bind, by which the difference can reach other code."""
    difference = find_difference(tmp_path, "TABLE = 1", "TABLE = 2")
    assert (difference.spans, difference.binds) == (((4, 4),), {"TABLE"})
    difference = find_difference(tmp_path / "x", "import os", "import os as system")
    assert difference.binds == {"os", "system"}


def test_the_attributes_of_a_class_are_its_names(tmp_path):
    """A class body binds what its methods and others read of it."""
    assert find_difference(tmp_path, "rate = 1", "rate = 2").binds == {"rate"}
