"""Frameworks of other parties: the examples of docs/adding-a-framework.md, by entry point."""

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
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FRAMEWORKS = PROJECT["entry-points"]["rlregress.frameworks"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment in which the examples are installed."""
    folder = tmp_path_factory.mktemp("installed")
    metadata = folder / f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
    )
    lines = [f"{name} = {target}\n" for name, target in FRAMEWORKS.items()]
    (metadata / "entry_points.txt").write_text("[rlregress.frameworks]\n" + "".join(lines))
    environment = worker_launch.environment()
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(EXAMPLE), str(folder), environment["PYTHONPATH"]]
    )
    return environment


def _run(environment, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=suite.root(),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _installed(name):
    """The name of a framework; skips the test where it is not installed."""
    pytest.importorskip(name, reason=f"{name} is not installed; pip install {name}")
    return name


@pytest.mark.nightly
def test_it_is_compared_with_the_others(environment):
    """``compare`` shows a framework that lives outside of this repository, with its lines."""
    name = _installed("skrl")
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


@pytest.mark.parametrize("name", sorted(FRAMEWORKS))
def test_its_details_are_tested(environment, name):
    """``pytest tests_unit --framework`` holds it against its own expectations."""
    _installed(name)
    arguments = ("tests_unit", "--framework", name, "-q", "-p", "no:cacheprovider")
    ended = _run(environment, "-m", "pytest", *arguments)
    assert ended.returncode == 0, ended.stdout
