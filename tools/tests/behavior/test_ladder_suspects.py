"""The lowest red rung of the ladder names the suspect: a fault leaves the rungs below its own.

This is about the suite, not about a framework: ``rlregress check`` does not ask it. That a fault
turns its own rung red is asked beside the ladder, in ``tests_behavior``.
"""

from __future__ import annotations

import pytest

from tests_behavior.ladder import RUNGS
from tests_behavior.questions import asked
from tests_behavior.test_ladder import climb_with_its_fault

pytestmark = [pytest.mark.nightly, pytest.mark.without_cells]
#: a rung, and one below it
_PAIRS = [
    pytest.param(rung, below, id=f"{rung.name}-{below.name}")
    for number, rung in enumerate(RUNGS)
    for below in RUNGS[:number]
]


@pytest.mark.parametrize(("rung", "below"), _PAIRS)
def test_a_fault_leaves_the_rungs_below(framework, algorithm, rung, below):
    """An agent with one fault climbs every rung that does not need the faulty part."""
    with asked(f"ladder.{below.name}", framework.name, algorithm):
        climb_with_its_fault(framework, algorithm, rung, below)
