"""Which statements of a piece differ, and whether a line that ran says that they did."""

from __future__ import annotations

import pytest

from rlregress.upgrade import changed_functions, changed_statements

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


def differ(folder, old, new):
    """The difference of the only piece that differs."""
    assert CODE.count(old) == 1
    sides = []
    for label, text in (("a", CODE), ("b", CODE.replace(old, new))):
        path = folder / label / "package" / "agent.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        sides.append([str(path.parent)])
    (piece,) = changed_functions.find_changed(*sides)
    return changed_statements.difference(piece)


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
    """Of the new version, with all their lines; of one that is gone, what stands in its place."""
    found = differ(tmp_path, old, new)
    assert (list(found.spans), found.unmeasured) == (spans, 0)


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
    found = differ(tmp_path, old, new)
    assert (found.spans, found.unmeasured) == ((), 1)


def test_a_statement_that_leaves_its_block_differs(tmp_path):
    """Its text is the same, and when it runs is not."""
    found = differ(tmp_path, "        for n in range(y):\n            y += n\n",
                   "        for n in range(y):\n            pass\n        y += n\n")  # fmt: skip
    assert (21, 21) in found.spans


def test_the_statements_of_a_module_are_those_outside_of_its_functions(tmp_path):
    """With the names that they bind: what uses these is what the difference can reach."""
    found = differ(tmp_path, "TABLE = 1", "TABLE = 2")
    assert (found.spans, found.binds) == (((4, 4),), {"TABLE"})
    found = differ(tmp_path / "x", "import os", "import os as system")
    assert found.binds == {"os", "system"}


def test_the_attributes_of_a_class_are_its_names(tmp_path):
    """A class body binds what its methods and others read of it."""
    assert differ(tmp_path, "rate = 1", "rate = 2").binds == {"rate"}
