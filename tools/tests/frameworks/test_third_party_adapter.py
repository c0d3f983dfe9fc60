"""A framework of another party: the example of docs/adding-a-framework.md, found by entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

from rlregress import suite
from rlregress.training import worker_launch

pytestmark = pytest.mark.usefixtures("warm_python")

EXAMPLE = suite.root() / "docs" / "example-adapter"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Name of the framework and an environment in which the example is installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, target),) = project["entry-points"]["rlregress.frameworks"].items()
    pytest.importorskip(name, reason=f"{name} is not installed; pip install {name}")
    folder = tmp_path_factory.mktemp("installed")
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (metadata / "entry_points.txt").write_text(f"[rlregress.frameworks]\n{name} = {target}\n")
    environment = worker_launch.environment()
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(EXAMPLE), str(folder), environment["PYTHONPATH"]]
    )
    return name, environment


def _run(environment, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=suite.root(),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.nightly
def test_it_is_compared_with_the_others(example):
    """``compare`` shows a framework that lives outside of this repository, with its lines."""
    name, environment = example
    ended = _run(environment, "-m", "rlregress.cli", "compare", "sb3", name, "--json")
    assert ended.returncode == 0, ended.stderr
    answers = {
        row["id"]: row["answers"][name]["library"]
        for row in json.loads(ended.stdout)["details"]
        if name in row["answers"]
    }
    assert answers["sac.critic_loss.scale"]["variant"] == "half"
    assert answers["gae.truncation"]["deviation"]
    assert answers["sac.temperature.loss"]["line"].startswith(f"{name}/")


def test_its_details_are_tested(example):
    """``pytest tests_unit --framework`` holds it against its own expectations."""
    name, environment = example
    arguments = ("tests_unit", "--framework", name, "-q", "-p", "no:cacheprovider")
    ended = _run(environment, "-m", "pytest", *arguments)
    assert ended.returncode == 0, ended.stdout
