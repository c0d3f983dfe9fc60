"""The GitHub Action and the container file: they are consistent, and their scripts run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from rlregress import suite

ACTION = suite.find_suite_root() / ".ci" / "gate" / "action.yml"
RECIPES = suite.find_suite_root() / "docs" / "ci.md"

#: in place of the platform's program: writes its arguments, and knows one comment if it is told so
GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case "$*" in *paginate*) echo $KNOWN ;; esac
"""


@pytest.fixture
def action() -> dict[str, Any]:
    """Return the action, as the platform reads it."""
    return yaml.safe_load(ACTION.read_text())


def test_inputs_and_outputs_are_known(action):
    """Expressions name declared inputs or steps, and recipes set no other input."""
    text = ACTION.read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])
    steps = {step["id"] for step in action["runs"]["steps"] if "id" in step}
    assert set(re.findall(r"steps\.(\w+)\.outputs", text)) <= steps
    # a value of an input is no text of a script: it would be run
    assert not [step for step in action["runs"]["steps"] if "${{" in step.get("run", "")]
    [job] = _recipes()[0]["jobs"].values()
    [step] = [step for step in job["steps"] if "rlregress" in step.get("uses", "")]
    assert step["uses"].partition("@")[0].removeprefix("OWNER/rlregress/") == ".ci/gate"
    assert step["with"].keys() <= action["inputs"].keys()
    assert step["with"]["comment"] == "true"
    # a name that a pull request chooses is no text of a script
    assert not [step for step in job["steps"] if "${{" in step.get("run", "")]


def _judge(
    action: dict[str, Any], arguments: str, folder: Path, programs: str
) -> subprocess.CompletedProcess[str]:
    """Run the script of the step that judges, as the platform does, in a folder."""
    [step] = [step for step in action["runs"]["steps"] if step.get("id") == "gate"]
    variables = {
        "COMMAND": action["inputs"]["command"]["default"],
        "ARGUMENTS": arguments,
        "REPORT": "report of mine",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "PATH": programs,
        "PYTHONPATH": str(Path(suite.__file__).parents[2]),
    }
    bash = shutil.which("bash") or "bash"
    return subprocess.run(
        [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_check_of_the_action_gets_its_arguments(action, tmp_path):
    """Quoted words stay together and are not run; a quote that is never closed starts no check."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = _judge(action, "--framework 'sb3 $(touch here)' --budget smoke", tmp_path, programs)
    assert process.returncode == 2, process.stderr
    assert "unknown framework 'sb3 $(touch here)'" in process.stderr
    assert (tmp_path / "output").read_text() == "report=report of mine\n"
    assert not (tmp_path / "here").exists()
    # without a gate among the programs: one that is started by mistake trains for hours
    (tmp_path / "python").symlink_to(sys.executable)
    process = _judge(action, "--cells 'a b", tmp_path, str(tmp_path))
    assert process.returncode == 2
    assert process.stderr == "input arguments cannot be read: No closing quotation\n"


@pytest.mark.parametrize(
    ("existing", "written"),
    [
        ("", "api repos/o/r/issues/7/comments -F"),
        ("42", "api -X PATCH repos/o/r/issues/comments/42"),
    ],
)
def test_a_comment_is_written_over(action, tmp_path, existing, written):
    """The comment of an earlier run, found by the mark in the first line, is replaced."""
    [step] = [step for step in action["runs"]["steps"] if step["name"] == "Comment"]
    assert step["if"].startswith("always() && inputs.comment == 'true'")
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "upgrade.md").write_text("<!-- rlregress upgrade -->\nchanged\n")
    variables = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CALLS": str(tmp_path / "calls"),
        "KNOWN": existing, "ISSUES": "repos/o/r/issues", "NUMBER": "7", "REPORT": str(tmp_path),
    }  # fmt: skip
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    subprocess.run(command, env={**os.environ, **variables}, check=True)
    asked, done = (tmp_path / "calls").read_text().splitlines()
    assert 'startswith("<!-- rlregress upgrade -->")' in asked
    assert done.startswith(written)
    assert done.endswith(f"-F body=@{tmp_path}/upgrade.md")


def _recipes() -> list[dict[str, Any]]:
    fences = re.findall(r"^```yaml\n(.*?)^```$", RECIPES.read_text(), re.MULTILINE | re.DOTALL)
    # the first is one step, a list
    return [yaml.safe_load(text) for text in fences][1:]


def test_recipes_name_every_extra_and_the_container_has_all_files():
    """A row for each extra that a user installs; every file that a wheel is built from."""
    text = (suite.find_suite_root() / "pyproject.toml").read_text()
    extras = tomllib.loads(text)["project"]["optional-dependencies"].keys()
    section = RECIPES.read_text().partition("## What to install")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", " ".join(rows))) == extras - {"dev", "site"}
    project = tomllib.loads((suite.find_suite_root() / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["only-include"], *wheel["force-include"], *project["project"]["license-files"]}
    needed |= {project["project"]["readme"]}
    copied = set()
    for line in (suite.find_suite_root() / ".ci" / "Containerfile").read_text().splitlines():
        match line.split():
            case ["COPY", *names, place] if place.startswith("/source"):
                copied |= set(names)
    assert needed <= copied
    assert all((suite.find_suite_root() / name).exists() for name in copied)
