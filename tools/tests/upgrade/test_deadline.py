"""What was not done when the time of the command was over is not called equal."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.model.verdict import COULD_NOT_JUDGE
from rlregress.trace.child_processes import Deadline, OutOfTime, limit_processes, limit_stage
from rlregress.upgrade.differences import changed_functions, public_names
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import compared_trainings
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.verdict import entries
from tools.tests.small_files import write_versions


def test_nothing_is_read_after_the_deadline(tmp_path):
    """A package may be so large that reading it takes longer than the command has."""
    texts = ({"__init__.py": f"def f(x={n}): ...\n"} for n in (1, 2))
    old, new = write_versions(tmp_path, *texts)
    with limit_processes(Deadline(1, time.time() - 60)), pytest.raises(OutOfTime, match="minutes"):
        changed_functions.find_changed_functions(old, new)
    with limit_stage(time.time()), pytest.raises(OutOfTime):
        public_names.list_public_changes(Path(old[0]), Path(new[0]))


def test_a_training_that_was_not_recorded_in_time_was_never_executed():
    """It is listed with the reason."""
    late = compared_trainings.report_training_not_in_time(Training("sb3", "ppo", {}), 5.0)
    entry = entries.make_uncompared_training_entry(late, "sb3")
    assert (entry.state, "--minutes 5 were over" in entry.reason) == (model.NEVER, True)


def test_names_that_were_not_compared_are_no_equal_names():
    """The package has one entry, whose state is that it could not be read."""
    change = public_names.make_entry_not_compared("large", "--minutes 3 were over")
    (entry,) = entries.make_metadata_entries(Inventory(public=(change,)))
    assert (entry.state, entry.affects_verdict, entry.was_out_of_time) == (model.CANNOT, True, True)


def test_nothing_is_judged_if_time_was_over_for_all():
    """It is no partial check, and the exit code is that of a failure."""
    late = Entry(kind=model.PACKAGE, name="large", reason="--minutes 3 were over")
    judged = model.judge_entries_of_upgrade([late])
    assert (judged.verdict, judged.exit_code) == (COULD_NOT_JUDGE, 2)
