"""Functions and branches of a source text."""

from __future__ import annotations

import pytest

from rlregress import source

TEXT = """
class Agent:
    @property
    def rate(self):
        def inner():
            return 1
        return inner()

    def step(self, x):
        if (
            x > 0
            and x < 9
        ):
            return 1
        while x: x -= 1
        return 0
"""


def test_functions_are_named_and_found_by_line():
    """Methods carry their class, inner functions their outer one; other lines are the module's."""
    parsed = source.parse_source(TEXT).functions
    assert [(f.name, f.first, f.last) for f in parsed] == [
        ("Agent.rate", 3, 7), ("Agent.rate.inner", 5, 6), ("Agent.step", 9, 16)
    ]  # fmt: skip
    parsed = source.parse_source(TEXT)
    assert [parsed.name_function_at_line(line) for line in (2, 4, 6, 16)] == [
        "<module>", "Agent.rate", "Agent.rate.inner", "Agent.step"
    ]  # fmt: skip


def test_a_file_that_is_no_python_has_no_functions(tmp_path):
    """A file with a syntax error gives no functions, and no error."""
    path = tmp_path / "x.py"
    path.write_text("def (:")
    assert source.parse_source_file(str(path)) is None


@pytest.mark.parametrize(
    ("coding", "heading"), [("utf-8-sig", ""), ("latin-1", "# coding: latin-1, as in é")]
)
def test_a_file_is_read_in_its_own_coding(coding, heading, tmp_path):
    """Neither a mark of the byte order nor a declared coding hides or changes anything."""
    path = tmp_path / "x.py"
    path.write_text(heading + TEXT, encoding=coding)
    assert source.read_source_text(path) == heading + TEXT
    assert source.parse_source_file(str(path)) == source.parse_source(heading + TEXT)
