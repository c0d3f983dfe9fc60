"""The nightly run goes on where it was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PLUGIN = Path(__file__).parents[1] / "stopped_run.py"


@pytest.mark.parametrize(
    "jobs", [(), pytest.param(("-n", "2"), marks=pytest.mark.nightly)], ids=["alone", "xdist"]
)
def test_tests_that_passed_are_not_run_again(pytester, jobs):
    """Red ones are, and new ones; once all have passed, the next run begins anew."""
    pytester.makepyfile(stopped_run=PLUGIN.read_text(encoding="utf-8"))
    options = ("-p", "no:cacheprovider", "-p", "stopped_run", "--resume", "kept/passed.txt", *jobs)

    def run(second):
        pytester.makepyfile(f"def test_one(): pass\ndef test_two(): assert {second}")
        run_pytest = pytester.runpytest_subprocess if jobs else pytester.runpytest_inprocess
        outcomes = run_pytest(*options).parseoutcomes()
        return {name: outcomes[name] for name in outcomes if name != "warnings"}

    assert run(False) == {"passed": 1, "failed": 1}
    assert run(False) == {"failed": 1, **({} if jobs else {"deselected": 1})}
    assert run(True) == {"passed": 1, **({} if jobs else {"deselected": 1})}
    assert run(True) == {"passed": 2}
