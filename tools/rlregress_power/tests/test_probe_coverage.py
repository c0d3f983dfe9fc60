"""The probes that an injected fault can change: those that run its statement, or all."""

from __future__ import annotations

import textwrap

import pytest

from rlregress_power import probe_coverage

TEXT = textwrap.dedent(
    """\
    LIMIT = 3

    class Agent:
        kind = "a"

        def act(self, x, scale=2):
            if x:
                y = (
                    x * scale
                )
                return y
            return 0
    """
)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (1, None),  # a constant of the module
        (4, None),  # an attribute of a class
        (6, None),  # the default of an argument
        (9, range(8, 11)),  # a statement of several lines
        (12, range(12, 13)),
    ],
)
def test_statement_of_a_line(line, lines):
    """Only a statement in the body of a function runs when the function does."""
    assert probe_coverage.find_lines_of_statement(TEXT, line) == lines


def test_cells_are_those_that_reach_the_statement(tmp_path):
    """A probe that does not run the changed statement runs the same code as before."""
    path = tmp_path / "agent.py"
    path.write_text(TEXT)
    executed = {
        str(path.resolve()): {
            ("one", "library"): frozenset({7, 8, 11}),
            ("other", "library"): frozenset({7, 12}),
        }
    }
    assert probe_coverage.find_probes_of_line(executed, path, 9) == {("one", "library")}
    assert probe_coverage.find_probes_of_line(executed, path, 12) == {("other", "library")}
    assert probe_coverage.find_probes_of_line(executed, path, 1) is None
    assert probe_coverage.find_probes_of_line(executed, path, 1, script=True) == set(), (
        "no probe reaches it"
    )
    assert probe_coverage.find_probes_of_line({}, path, 9) == set()
    assert probe_coverage.find_probes_of_line({}, path, 9, script=True) is None
