"""Reading the code of both versions ends when the time of the command is over."""

from __future__ import annotations

import time

import pytest

from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.model.verdict import COULD_NOT_JUDGE
from rlregress.trace.child_processes import Deadline, OutOfTime, limit_processes
from rlregress.upgrade.differences import changed_functions, public_names
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.verdict import entries

#: functions of a module, all of which differ; to read them takes seconds.
FUNCTIONS, MODULES = 200, 40


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Two versions of a package with thousands of functions that differ."""
    folders = []
    for version in (1, 2):
        folder = tmp_path_factory.mktemp("side") / "large"
        folder.mkdir()
        (folder / "__init__.py").write_text(f"from large import m0\nVERSION = [{version}]\n")
        for number in range(MODULES):
            rows = [
                f"def f{n}(x, y={version}, z=0):\n    if x > y:\n        return x * {version}\n"
                f"    return x + {n}\n"
                for n in range(FUNCTIONS)
            ]
            (folder / f"m{number}.py").write_text("\n".join(rows))
        folders.append(folder)
    return folders


def _changed(old, new):
    return changed_functions.find_changed_functions([str(old)], [str(new)])


@pytest.mark.parametrize("stage", [_changed, public_names.list_public_changes])
def test_a_large_package_is_not_read_beyond_the_deadline(packages, stage):
    """Its files are read one by one, and the next one is not begun."""
    with (
        limit_processes(Deadline(0.2 / 60, time.time())),
        pytest.raises(OutOfTime, match=r"--minutes 0\.0"),
    ):
        stage(*packages)


def test_names_that_were_not_compared_are_no_equal_names(packages):
    """The package has one entry, whose state is that it could not be read."""
    with pytest.raises(OutOfTime):
        public_names.list_public_changes(*packages, until=time.time())
    change = public_names.make_entry_not_compared("large", "--minutes 3 were over")
    (entry,) = entries.make_metadata_entries(Inventory(public=(change,)))
    assert (entry.state, entry.counts, entry.is_late) == (model.CANNOT, True, True)
    assert entry.summary == "the public names of large were not compared: --minutes 3 were over"


def test_nothing_is_judged_if_time_was_over_for_all():
    """It is no partial check, and the exit code is that of a failure."""
    late = Entry(kind=model.PACKAGE, name="large", reason="--minutes 3 were over")
    judged = model.judge_entries_of_upgrade([late])
    assert (judged.verdict, judged.exit_code) == (COULD_NOT_JUDGE, 2)
