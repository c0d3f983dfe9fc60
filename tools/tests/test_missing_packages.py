"""Tests that lack a package of an extra are skipped and listed first; there is no all-clear."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from rlregress import missing_packages, suite
from rlregress.check import cell_selection, outcome
from rlregress.inside import hidden
from rlregress.missing_packages import MissingPackage, describe_missing_package
from rlregress.model.extra_packages import EXTRAS, IN_BOTH_VERSIONS, NAMES, explain_installation
from rlregress.report import words
from rlregress.report.html import svg
from rlregress.upgrade.versions import dependencies, installed
from tools.tests.processes import run_python

ATARI = "pip install 'rlregress[atari]'"
MUJOCO = "the package 'MuJoCo' is not installed; install it with: pip install 'rlregress[mujoco]'"


def _extras() -> dict[str, list[str]]:
    text = (suite.find_suite_root() / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["optional-dependencies"]


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package of an extra is installed."""
    monkeypatch.setattr(missing_packages, "is_module_installed", lambda module: False)


def test_every_package_is_in_its_extra():
    """The line that installs a package names an extra that has it; [all] and [dev] have all."""
    rows = _extras()
    for module, extra in EXTRAS.items():
        assert NAMES.get(module, module).lower() in " ".join(rows[extra]), module
    [everything] = [Requirement(row).extras for row in rows["all"]]
    user_extras = {*EXTRAS.values(), "sb3", "torchrl", "cleanrl"}
    assert user_extras - {"dev"} == everything
    assert "all" in Requirement(rows["dev"][0]).extras


@pytest.mark.parametrize(
    ("error", "extra"),
    [
        (ModuleNotFoundError("No module named 'cv2'", name="cv2"), "atari"),
        (ModuleNotFoundError("No module named 'cv2.dnn'", name="cv2.dnn"), "atari"),
        # as Stable-Baselines3 and Gymnasium word it
        (AssertionError("OpenCV is not installed, you can do `pip install opencv-python`"),
         "atari"),
        (RuntimeError('MuJoCo is not installed, run `pip install "gymnasium[mujoco]"`'), "mujoco"),
        (MissingPackage(explain_installation("mujoco")), "mujoco"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("nothing")
def test_the_package_that_an_error_lacks(error, extra):
    """The import's name, or the words of the error or its cause, name the package."""
    line = describe_missing_package(error)
    assert f"pip install 'rlregress[{extra}]'" in line
    outer = KeyError("the game")
    outer.__cause__ = error
    assert describe_missing_package(outer) == line


@pytest.mark.usefixtures("nothing")
def test_an_unrelated_error_names_no_package(monkeypatch):
    """It names a package without asking for it, or a module of no extra, or one that is there."""
    assert not describe_missing_package(ValueError("the mujoco version is unknown"))
    assert not describe_missing_package(ModuleNotFoundError("No module named 'x'", name="x"))
    assert not describe_missing_package(None)
    monkeypatch.setattr(missing_packages, "is_module_installed", lambda module: True)
    error = ModuleNotFoundError("No module named 'cv2'", name="cv2")
    assert not describe_missing_package(error)


@pytest.mark.usefixtures("nothing")
def test_a_version_may_lack_a_package_that_it_required_before():
    """Only packages that this library installs on both sides are no matter of the framework."""
    error = ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
    assert describe_missing_package(error)
    assert not describe_missing_package(error, IN_BOTH_VERSIONS)
    assert describe_missing_package(ModuleNotFoundError("", name="mujoco"), IN_BOTH_VERSIONS)


def test_both_versions_have_the_extras_that_are_installed_here(monkeypatch):
    """Both environments have the extras that are installed here, and no others."""
    assert "ale-py" in dependencies._read_declared_requirements()
    monkeypatch.setattr(
        installed, "find_installed_version", lambda name: None if name == "mujoco" else "1"
    )
    declared = dependencies._read_declared_requirements()
    assert "gymnasium" in declared
    assert "gymnasium[mujoco]" not in declared


@pytest.mark.usefixtures("nothing")
def test_cells_whose_environment_lacks_its_package_are_not_trained():
    """They are left out with the line, and so is none that can be trained."""
    environments = ("Pendulum-v1", "InvertedPendulum-v4")
    selection = cell_selection.Selection("smoke", ("sb3",), ("td3",), environments)
    assert [cell.environment for cell in cell_selection.choose_cells(selection)] == ["Pendulum-v1"]
    assert list(cell_selection.find_cells_without_package(selection).values()) == [MUJOCO]
    with pytest.raises(MissingPackage, match="rlregress.mujoco"):
        cell_selection.choose_cells(cell_selection.Selection("smoke", ("sb3",), ("td3",)))


CELL = cell_selection.Cell("sb3", "td3", "Hopper-v4", "sb3", "short")


@pytest.mark.parametrize(
    ("result", "about", "without", "untrained", "verdict"),
    [
        ("passed", "atari", ATARI, {}, "formulas hold"),
        # a framework has come to need it
        ("passed", "ppo", ATARI, {}, "could not judge"),
        ("passed", "ppo", MUJOCO, {}, "could not judge"),
        ("passed", "atari", ATARI, {CELL: MUJOCO}, "could not judge"),
        ("failed", "ppo", MUJOCO, {CELL: MUJOCO}, "regressed"),
    ],
)
def test_tests_that_a_missing_package_prevents_are_listed(
    result, about, without, untrained, verdict
):
    """A missing package prevents 'holds', except for details of the missing extra."""
    base = {"tier": "unit", "framework": "sb3", "seconds": 0.1, "message": ""}
    entries = [
        {**base, "test": "t::test_a", "outcome": result, "detail": "a", "scope": "", "found": "x"},
        {**base, "test": f"t::test_{about}", "outcome": "skipped", "detail": "b", "scope": "",
         "lacking": without},
        {**base, "test": "t::test_c", "outcome": "passed", "tier": "behavior"},
    ]  # fmt: skip
    to_probe = {"sb3": [("a", ""), ("b", "")]}
    [judged] = outcome.build_framework_outcomes(
        entries, trained=(), to_probe=to_probe, untrained=untrained
    )
    assert judged.verdict == verdict
    assert judged.details == (1 if about == "atari" else 2)
    lines = words.describe_skipped_for_packages(judged.lacking)
    assert any(without in line and "not checked: 1 test" in line for line in lines)
    assert any(CELL.id in line for line in lines) == bool(untrained)


def test_a_figure_that_cannot_be_drawn_says_so(monkeypatch):
    """A page has the line in its place."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = svg.draw_svg(lambda axes: None, "name", "label", 1.0, (0, 0, 0, 0))
    assert "pip install &#39;rlregress[plots]&#39;" in text


@pytest.mark.nightly
def test_tests_that_lack_a_package_are_skipped_with_the_line(tmp_path):
    """None fails, and the report begins with them; determinism needs no MuJoCo."""
    unit = ("tests_unit/test_atari.py", "tests_unit/test_details.py")
    files = (*unit, "tests_behavior/test_atari_games.py", "tests_behavior/test_determinism.py")
    gone = {"modules": ["cv2", "ale_py", "mujoco"], "distributions": ["ale-py", "mujoco"]}
    path = os.pathsep.join([str(Path(hidden.__path__[0])), str(Path(suite.__file__).parents[2])])
    words = [*suite.make_pytest_arguments(*files), "-q", "-rs", "-p", "no:cacheprovider"]
    words += ["--framework", "sb3", "--rlregress-report", tmp_path]
    words += ["-k", "warp_frame or clip_reward or atari5 or different_frames or same_seed and td3"]
    # not as a process of this session
    variables = {name: v for name, v in os.environ.items() if not name.startswith("PYTEST_")}
    variables |= {"PYTHONPATH": path, "RLREGRESS_HIDDEN": json.dumps(gone)}
    process = run_python(*words, cwd=suite.locate_checkout_or_current_folder(), env=variables)
    skipped = [line for line in process.stdout.splitlines() if line.startswith("SKIPPED")]
    for line in ("'OpenCV'", "'ale-py'"):
        assert any(line in skip and "pip install 'rlregress[" in skip for skip in skipped), (
            process.stdout
        )
    assert "MuJoCo" not in process.stdout
    assert "verdict sb3: could not judge (not checked: " in process.stdout
    summary = (tmp_path / "summary.md").read_text()
    assert ATARI in summary.partition("Too little was asked")[0]
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert verdict["exit_code"] == 2
    assert len(verdict["frameworks"]["sb3"]["lacking"]) == 2
