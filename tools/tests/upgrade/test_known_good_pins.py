"""The sets of versions on which old releases run are data, and wrong data is named."""

from __future__ import annotations

import pytest

from rlregress.errors import UserError
from rlregress.upgrade import known_good_pins


@pytest.fixture
def read(tmp_path):
    """Read a file with the given lines."""

    def of(*lines):
        (tmp_path / "x.toml").write_text("\n".join(lines) + "\n")
        return known_good_pins.stacks(tmp_path)

    return of


GOOD = ("[[stack]]", 'package = "A_b"', 'since = "1.0"', 'until = "2.0"', 'requires = ["x==1"]')


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        ("0.9", False),
        ("1.0", True),
        ("1.9.9", True),
        ("2.0", False),
        ("2.0rc1", True),
        ("x", False),
    ],
)
def test_a_stack_holds_from_one_release_up_to_another(read, version, holds):
    """The first release is among those that it holds for, and the last one is not."""
    (stack,) = read(*GOOD)
    assert stack.holds("a-b", version) is holds
    assert not stack.holds("other", version)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("[[stack]", ""), "is not valid TOML"),
        (("x = 1",), "unknown key 'x'; known: stack"),
        (("stack = [1]",), "[[stack]] 1 is 1, expected a table"),
        ((*GOOD, 'untill = "3"'), "unknown key 'untill'; did you mean 'until'"),
        ((*GOOD[:2], GOOD[4]), "[[stack]] at line 1: key 'since' is missing"),
        ((*GOOD[:2], "since = 1.0", GOOD[4]), "key 'since' is 1.0, expected text in quotes"),
        ((*GOOD[:2], 'since = "one"', GOOD[4]), "key 'since' is 'one', expected a version"),
        (
            (*GOOD[:2], 'since = "2.0"', *GOOD[3:]),
            "line 1: no version lies between since '2.0' and",
        ),
        ((*GOOD[:4], 'requires = "x==1"'), "key 'requires' is 'x==1', expected a list"),
        ((*GOOD[:4], 'requires = ["x=1"]'), "key 'requires' holds 'x=1', expected a requirement"),
        ((*GOOD, "note = 3"), "key 'note' is 3, expected text in quotes"),
    ],
)
def test_a_wrong_entry_is_named(read, lines, message):
    """File, entry and key are in the sentence."""
    with pytest.raises(UserError, match=r"x\.toml") as raised:
        read(*lines)
    assert message in str(raised.value)


def test_what_the_user_pins_wins(read):
    """A stack adds what is not pinned, its tools, and why."""
    (stack,) = read(*GOOD[:4], 'requires = ["x==1", "y<3"]', 'build = ["tool==1"]', 'note = "old"')
    found = known_good_pins.defaults(["a-b==1.5", "X==2"], [stack])
    assert found == known_good_pins.Defaults(("y<3",), ("tool==1",), ("y<3 for a-b 1.5: old",))
    assert known_good_pins.defaults(["a-b==2.5"], [stack]) == known_good_pins.Defaults()


def test_the_stacks_of_the_suite_are_read():
    """Every entry of the data is as it has to be."""
    assert known_good_pins.stacks()
