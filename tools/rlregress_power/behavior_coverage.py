"""A plugin of pytest that records which lines each file of ``tests_behavior`` executes.

Lines are counted for each test file, because its tests share trainings. The plugin writes them as
JSON to the file that a variable names: source file -> test file -> lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

#: variables that name the written file, and the folders of code
OUTPUT, FOLDERS = "RLREGRESS_REACH", "RLREGRESS_REACH_FOLDERS"


class _ExecutedLines:
    def __init__(self, folders: list[str]) -> None:
        import coverage

        include = [f"{folder}/*" for folder in folders]
        self._lines = coverage.Coverage(data_file=None, include=include, config_file=False)
        self._lines.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Count the lines that a test and its fixtures run, for the file of the test."""
        self._lines.switch_context(item.path.name)
        try:
            return (yield)
        finally:
            self._lines.switch_context("")

    def pytest_unconfigure(self) -> None:
        """Write the counts to the file that the variable names."""
        self._lines.stop()
        data = self._lines.get_data()
        executed: dict[str, dict[str, list[int]]] = {}
        for file in data.measured_files():
            lines_by_test = executed.setdefault(str(Path(file).resolve()), {})
            for line, contexts in sorted(data.contexts_by_lineno(file).items()):
                for test in filter(None, contexts):
                    lines_by_test.setdefault(test, []).append(line)
        Path(os.environ[OUTPUT]).write_text(json.dumps(executed), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that counts lines, and begin to count."""
    config.pluginmanager.register(_ExecutedLines(os.environ[FOLDERS].split(os.pathsep)))
