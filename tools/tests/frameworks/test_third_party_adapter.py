"""A framework of another party: the example of docs/adding-a-framework.md, by entry point."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tomllib

import pytest

from rlregress import frameworks, suite
from rlregress.errors import UserError
from rlregress.training import worker_launch

pytestmark = pytest.mark.usefixtures("warm_python")

EXAMPLE = suite.root() / "docs" / "example-adapter"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
((NAME, TARGET),) = PROJECT["entry-points"]["rlregress.frameworks"].items()


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment in which the example is installed."""
    folder = tmp_path_factory.mktemp("installed")
    metadata = folder / f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
    )
    (metadata / "entry_points.txt").write_text(f"[rlregress.frameworks]\n{NAME} = {TARGET}\n")
    environment = worker_launch.worker_environment()
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


@pytest.fixture
def installed():
    """Skips a test where the framework is not installed."""
    pytest.importorskip(NAME, reason=f"{NAME} is not installed; pip install {NAME}")


def test_it_is_known_and_what_it_needs_is_said(environment):
    """The adapter is found, and does not import what it adapts."""
    if importlib.util.find_spec(NAME):
        pytest.skip(f"{NAME} is installed")
    ended = _run(environment, "-m", "rlregress", "details", "--installed", "--framework", NAME)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.endswith(f"is not installed; install it with: pip install {NAME}\n")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("rlregress_nowhere:ADAPTER", "No module named 'rlregress_nowhere'"),
        ("rlregress.suite:ADAPTER", "has no attribute 'ADAPTER'"),
        ("rlregress.suite:root", "<function root"),
        ("no name", "NoneType"),
    ],
)
def test_what_is_no_adapter_is_an_error_in_one_sentence(monkeypatch, target, why):
    """A package of another party that is broken is named, with the reason."""
    point = importlib.metadata.EntryPoint("mine", target, frameworks.ENTRY_POINT_GROUP)
    monkeypatch.setattr(frameworks.installed_metadata, "entry_points", lambda _: {"mine": point})
    with pytest.raises(UserError, match=f"'mine' is no adapter: .*{why}"):
        frameworks.get("mine")


@pytest.mark.nightly
@pytest.mark.usefixtures("installed")
def test_it_is_compared_with_the_others(environment):
    """``compare`` shows a framework that lives outside of this repository, with its lines."""
    ended = _run(environment, "-m", "rlregress", "compare", "sb3", NAME, "--json")
    assert ended.returncode == 0, ended.stderr
    answers = {
        row["id"]: row["answers"][NAME]
        for row in json.loads(ended.stdout)["details"]
        if NAME in row["answers"]
    }
    assert answers["dqn.loss.kind"]["library"]["variant"] == "squared"
    assert answers["dqn.target.double"]["trainer"]["deviation"]
    assert answers["dqn.loss.kind"]["library"]["line"].startswith(f"{NAME}/")


@pytest.mark.usefixtures("installed")
def test_its_details_are_tested(environment):
    """``pytest tests_unit --framework`` holds it against its own expectations."""
    arguments = ("tests_unit", "--framework", NAME, "-q", "-p", "no:cacheprovider")
    ended = _run(environment, "-m", "pytest", *arguments)
    assert ended.returncode == 0, ended.stdout
