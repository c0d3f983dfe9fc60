"""``rlregress test``: runs the installed tests by pytest."""

from __future__ import annotations

import os
import sys
import tempfile

import typer

from rlregress import suite
from rlregress.cli.parsing import get_script_arguments
from rlregress.inside import process_tree
from rlregress.training import worker_launch

#: folders of tests; if none is named, the first two run
_FOLDERS = ("tests_unit", "tests_behavior", "tests_performance")


def test(context: typer.Context) -> None:
    """Example:

    rlregress test tests_unit -m "sac and not slow" --framework sb3

    Runs the installed tests by pytest, with its arguments, from any folder: tests_unit (formulas,
    half a minute), tests_behavior (toy environments, two minutes), tests_performance (trainings;
    add -n 2 --budget short). Without a folder the first two run. Of its own options there are
    --framework, --algorithm, --detail; 'rlregress test -h' lists all. The exit code is pytest's: 0
    all passed, 1 some failed, 2 interrupted, 4 an option or a path that there is not, 5 no tests.
    """
    words = get_script_arguments(context)
    named = [word for word in words if word.partition("/")[0].partition("::")[0] in _FOLDERS]
    further = [word for word in words if word not in named]
    top = suite.find_suite_root()
    settings = ["-c", str(top / "pyproject.toml"), "--rootdir", str(top)]
    paths = [str(top / word) for word in named or _FOLDERS[:2]]
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", *settings, *paths, *further]
    supervised = process_tree.make_supervised_command(command, parent=os.getppid())
    # not in this command's temporary folder, which is removed: users inspect files of failed tests
    variables = {"PYTEST_DEBUG_TEMPROOT": os.path.dirname(tempfile.gettempdir())}
    environment = {
        **variables,
        **worker_launch.make_worker_environment(),
        **suite.make_safe_path_variable(),
    }
    os.execve(sys.executable, supervised, environment)
