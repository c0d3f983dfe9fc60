"""What looks like a bug: each script of docs/findings shows it, in one sentence."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "docs" / "findings"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
#: how the name of a script begins -> what has to be installed
PACKAGES = {"contrib": "sb3_contrib", "rsl_rl": "rsl_rl", "skrl": "skrl"}


def test_the_page_names_each_script():
    """Once, and no other."""
    page = (FOLDER.parent / "findings.md").read_text()
    assert sorted(re.findall(r"\(findings/(\w+\.py)\)", page)) == SCRIPTS


@pytest.mark.nightly
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_shows_what_it_is_about(script, tmp_path):
    """It ends with what was expected and found; one that passes is off the page."""
    (package,) = [module for start, module in PACKAGES.items() if script.startswith(start)]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    ran = subprocess.run(
        [sys.executable, FOLDER / script],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )  # fmt: skip
    assert not any(tmp_path.iterdir()), "it leaves files"
    assert ran.returncode == 1, f"mended: the entry of {script} can go"
    assert re.search(r"(?m)^AssertionError: expected .+ found", ran.stderr), ran.stderr
