"""Changed constants in copies of frameworks: one replay finds each, and names the update."""

from __future__ import annotations

import pytest

from rlregress.check import replays
from rlregress.check.cell_selection import Selection, choose_cells
from rlregress.faults import fault_tables, injection
from rlregress.model.fault_results import RETURNS
from rlregress.training.store import Store
from tools.tests.processes import run_python

pytestmark = pytest.mark.nightly

#: fault -> a cell of the default check that executes it
FAULTS = {
    "ppo_discount_0.9": "sb3-ppo-Reacher-v4-short",
    "sac_discount_0.9": "sb3-sac-InvertedDoublePendulum-v4-short",
    "td3_discount_0.9": "sb3-td3-Pendulum-v1-short",
    "ppo_ratio_not_clipped": "torchrl-ppo-Reacher-v4-short",
}
CHILD = """
import sys
from rlregress.check import replays
from rlregress.check.cell_selection import Selection, choose_cells
from rlregress.training.store import Store
from pathlib import Path
[cell] = choose_cells(Selection("short", cells=sys.argv[1]))
found = replays.train_or_read_replay(replays.find_replayable_run(cell, 0), Store(Path(sys.argv[2])))
print(found.state, found.first, found.moved, sep="|")
"""


@pytest.mark.parametrize("name", FAULTS)
def test_a_changed_constant_is_found_by_one_replay(name, tmp_path):
    """The copy differs from the record, at an update, and its code is named as what moved."""
    fault = fault_tables.select_faults(RETURNS, [FAULTS[name].partition("-")[0]], [name])[0]
    with injection.inject_fault(fault) as environment:
        process = run_python("-c", CHILD, FAULTS[name], tmp_path, env=environment)
    state, first, changed_code = process.stdout.strip().split("|")
    assert (state, first.startswith("update ")) == ("differs", True), process.stderr
    assert f"code of {fault.file.partition('/')[0]}" in changed_code


@pytest.mark.parametrize("name", sorted(set(FAULTS.values())))
def test_the_installed_framework_has_the_stored_numbers(name, tmp_path):
    """Without a fault the replay of each of these cells is reproduced: the control."""
    [cell] = choose_cells(Selection("short", cells=name))
    recorded = replays.find_replayable_run(cell, 0)
    assert recorded is not None
    assert replays.train_or_read_replay(recorded, Store(tmp_path)).is_reproduced
