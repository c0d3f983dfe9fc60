"""``rlregress bisect`` as a user runs it."""

from __future__ import annotations

import json

import pytest

from rlregress.cli import commands
from tools.tests.upgrade.conftest import cache

__all__ = ["bisect", "cache"]


@pytest.fixture
def bisect(cache, tmp_path, capsys):
    """Run the command in an empty cache; its exit code, its last line and bisect.json."""

    def run(*words):
        code = commands.program(
            ["bisect", *words, "--report", str(tmp_path / "report")],
            prog_name="rlregress", standalone_mode=False,
        )  # fmt: skip
        data = json.loads((tmp_path / "report" / "bisect.json").read_text())
        return code, capsys.readouterr().out.splitlines()[-1], data

    return run
