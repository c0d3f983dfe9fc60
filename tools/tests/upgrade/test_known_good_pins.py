"""The sets of versions on which old releases run are data, and wrong data is named."""

from __future__ import annotations

import pytest

from rlregress.upgrade.versions import known_good_pins


@pytest.fixture
def read(tmp_path):
    """Read a file with the given lines."""

    def read_lines(*lines):
        (tmp_path / "x.toml").write_text("\n".join(lines) + "\n")
        return known_good_pins.read_stacks(tmp_path)

    return read_lines


GOOD = ("[[stack]]", 'package = "A_b"', 'since = "1.0"', 'until = "2.0"', 'requires = ["x==1"]')


def test_a_stack_holds_from_one_release_up_to_another(read):
    """The first release is among those that it holds for, and the last one is not."""
    (stack,) = read(*GOOD)
    versions = ["0.9", "1.0", "1.9.9", "2.0", "2.0rc1", "x"]
    assert [v for v in versions if stack.is_for_release("a-b", v)] == ["1.0", "1.9.9", "2.0rc1"]
    assert not any(stack.is_for_release("other", version) for version in versions)


def test_what_the_user_pins_wins(read):
    """A stack adds only missing pins, with its tools."""
    (stack,) = read(*GOOD[:4], 'requires = ["x==1", "y<3"]', 'build = ["tool==1"]')
    defaults = known_good_pins.choose_known_good_versions(["a-b==1.5", "X==2"], [stack])
    assert defaults == known_good_pins.Defaults(("y<3",), ("tool==1",))
    defaults = known_good_pins.choose_known_good_versions(["a-b==2.5"], [stack])
    assert defaults == known_good_pins.Defaults()


def test_the_stacks_of_the_suite_are_read():
    """Every entry of the data is as it has to be."""
    assert known_good_pins.read_stacks()
