"""A wheel is enough to work in an empty folder without the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from rlregress import __version__, suite
from rlregress.model.verdict import EXIT_CODES, INCONCLUSIVE
from tools.tests.nightly import every

BUILDS = "hatchling comes with: pip install -e .[dev]"
#: what a wheel takes from the top of the checkout
SUITE_FILES = ("pyproject.toml", "conftest.py", "baselines/", "tests_unit/", "tests_behavior/",
         "tests_performance/")  # fmt: skip
LIBRARY = "tools/rlregress/"
#: package -> the data that it alone reads, and that its own wheel holds
OWN_DATA = {
    "rlregress_studies": r"baselines/claims/",
    "rlregress_power": r"baselines/(faults/(generated|explained)|histories/\w+\.results\.json)",
}


def _call(
    command: list[object], cwd: Path, variables: dict[str, str] | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a command that knows nothing of this checkout; fails the test unless it ends so."""
    hidden = ("PYTHONPATH", "PYTEST_", "RLREGRESS_", "CLEANRL_HOME", "COV_")
    clean = {name: v for name, v in os.environ.items() if not name.startswith(hidden)}
    process = subprocess.run(
        [str(part) for part in command],
        cwd=cwd, env={**clean, "OMP_NUM_THREADS": "1", **(variables or {})},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == code, (
        f"{command}: {process.stdout[-2000:]}{process.stderr[-2000:]}"
    )
    return process


def _in_git() -> list[str]:
    """Return files of the checkout that git has or would take."""
    process = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=suite.find_suite_root(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if process.returncode:
        pytest.skip("this is no clone: nothing says which files belong to the project")
    return [
        name for name in process.stdout.splitlines() if (suite.find_suite_root() / name).is_file()
    ]


def test_a_wheel_takes_all_tests_and_data():
    """But for data of other packages, whose versions are those of the core."""
    files = _in_git()
    expected = {name.removeprefix("tools/") for name in files if name.startswith(LIBRARY)}
    foreign = re.compile("|".join(OWN_DATA.values()))
    names = [name for name in files if name.startswith(SUITE_FILES) and not foreign.match(name)]
    expected |= {f"rlregress/suite/{name}" for name in names}
    assert _in_wheel(suite.find_suite_root()) == expected
    for package in OWN_DATA:
        text = (suite.find_suite_root() / "tools" / package / "pyproject.toml").read_text(
            encoding="utf-8"
        )
        project = tomllib.loads(text)["project"]
        assert project["version"] == __version__
        assert project["dependencies"] == [f"rlregress=={__version__}"]


@pytest.mark.parametrize("package", OWN_DATA)
def test_a_further_package_takes_its_code_and_the_data_that_it_alone_reads(package):
    """Its tests stay in the checkout; every file of data is in one wheel."""
    files, folder = _in_git(), f"tools/{package}/"
    code = [name for name in files if name.startswith(folder) and name.endswith(".py")]
    expected = {name.removeprefix("tools/") for name in code if "/tests/" not in name}
    expected |= {f"{package}/{name}" for name in files if re.match(OWN_DATA[package], name)}
    assert _in_wheel(suite.find_suite_root() / folder) == expected


#: the program in an installation that has only some entry points
_WITH_ENTRY_POINTS = """
import sys
from importlib.metadata import EntryPoint
from rlregress.probing import installed_metadata
find, given = installed_metadata.map_entry_points, eval(sys.argv.pop(1))
points = {name: EntryPoint(name, value, "rlregress.commands") for name, value in given.items()}
installed_metadata.map_entry_points = lambda group: (
    points if group == "rlregress.commands" else find(group))
import rlregress_studies, rlregress_power
from rlregress import cli
cli.main()
"""


@pytest.mark.parametrize(
    ("points", "words", "reason"),
    every(3, [
        ({}, ["study", "rank", "x.csv"], "which is not installed"),
        ({}, ["selftest"], "which is not installed"),
        ({"study": "rlregress_studies.gone:STUDY"}, ["study", "--help"],
         "which cannot be imported (No module named 'rlregress_studies.gone')"),
    ]),
)  # fmt: skip
def test_commands_of_a_missing_package_name_it(points, words, reason):
    """Entry points are asked: the folders of a clone can be imported all the same."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _WITH_ENTRY_POINTS, repr(points), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    package = {"study": "studies", "selftest": "power"}[words[0]]
    missing = run(*words)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == (
        f"rlregress: 'rlregress {words[0]}' is in the package rlregress-{package}, {reason}; "
        f"install it from a clone of rlregress: pip install ./tools/rlregress_{package}\n"
    )
    help_text = run("--help").stdout
    assert "  trend " in help_text
    assert f"  {words[0]} " not in help_text


def _in_wheel(project: Path) -> set[str]:
    """Return the files that the wheel of a project would hold, its own metadata apart."""
    wheel = pytest.importorskip("hatchling.builders.wheel", reason=BUILDS)
    builder = wheel.WheelBuilder(str(project))
    forced = builder.recurse_forced_files(builder.config.get_force_include())
    selected = [*builder.recurse_selected_project_files(), *forced]
    return {file.distribution_path for file in selected}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with an installed wheel and another package, as far as finding the suite goes."""
    site, library = tmp_path / "site", Path(suite.__file__).parents[1]
    shutil.copytree(library / "suite", site / "rlregress" / "suite")
    for name in ("__init__.py", "errors.py", "files.py"):
        shutil.copy(library / name, site / "rlregress" / name)
    for name in ("baselines", "tests_unit", "tests_behavior", "tests_performance"):
        (site / "rlregress" / "suite" / name).mkdir()
    (site / "beside.py").write_text("")
    return site


def _python(code: str, path: Path | str, cache: Path, cwd: Path) -> str:
    """Return the output of Python with a module path and without installed packages.

    The sentence of an error is printed, too.
    """
    variables = {"PYTHONPATH": str(path), suite.CACHE_VARIABLE: str(cache)}
    program = "from rlregress import suite\nfrom rlregress.errors import UserError\n"
    program += f"try: {code}\nexcept UserError as error: print(error)"
    return _call([sys.executable, "-S", "-c", program], cwd, variables).stdout.strip()


def test_another_environment_has_only_the_library(site, tmp_path):
    """Its baselines are found; a cache that cannot be written is one sentence."""
    cache, say = tmp_path / "cache", "print(suite.locate_folder_with_only_library())"
    library = _python(say, site, cache, tmp_path)
    code = (
        "import importlib.util as i; print(i.find_spec('beside') is None, suite.locate_baselines())"
    )
    baselines = site / "rlregress" / "suite" / "baselines"
    assert _python(code, library, cache, tmp_path) == f"True {baselines}"
    assert _python(code, site, cache, tmp_path) == f"False {baselines}"
    # a process of that side starts one of its own
    assert _python(say, library, cache, tmp_path) == library
    assert _python(say, site, cache, tmp_path) == library
    (tmp_path / "file").write_text("")
    text = _python("suite.locate_folder_with_only_library()", site, tmp_path / "file", tmp_path)
    assert text.startswith(f"the cache {tmp_path / 'file'} cannot be written: ")
    assert text.endswith(suite.CACHE_VARIABLE)


def test_an_installed_wheel_is_not_written_to(site, tmp_path):
    """Results lie below the current folder; what writes into a checkout says so."""
    (tmp_path / "here").mkdir()

    def text(code: str) -> str:
        return _python(code, site, tmp_path / "cache", tmp_path / "here")

    assert text("print(suite.locate_checkout_or_current_folder())") == str(tmp_path / "here")
    sentence = "recording writes into a checkout of rlregress, and this was installed from a "
    assert text("suite.require_checkout('recording')").startswith(sentence)


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from the source distribution."""
    pytest.importorskip("hatchling", reason=BUILDS)
    folder = tmp_path_factory.mktemp("wheel")
    # what these import from PYTHONPATH here is no part of what is tested
    tools = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder]
    _call(build, suite.find_suite_root(), tools)
    [source] = folder.glob("*.tar.gz")
    _call([*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source], folder, tools)
    [wheel] = folder.glob("*.whl")
    assert "rlregress/suite/baselines/gate.toml" in zipfile.ZipFile(wheel).namelist()
    return wheel


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a fresh environment with the wheel, and nothing of here.

    What the wheel depends on is that of this environment, without its editable installation.
    """
    folder = tmp_path_factory.mktemp("installed")
    virtual_environment = folder / "environment"
    _call([sys.executable, "-m", "venv", "--without-pip", virtual_environment], folder)
    [packages] = virtual_environment.glob("lib/python*/site-packages")
    # a line of such a file adds a folder and reads none of the .pth files in it
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    python = virtual_environment / "bin" / "python"
    _call([*PIP, "--python", python, "install", "--no-deps", "--no-index", built], folder)
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        (virtual_environment / "bin" / "uv").symlink_to(uv)
    where = _call([python, "-c", "import rlregress; print(rlregress.__file__)"], folder).stdout
    assert Path(where.strip()).is_relative_to(packages)
    return virtual_environment


def _files(environment: Path) -> set[Path]:
    """Return the installed files, without compiled ones."""
    [package] = environment.glob("lib/python*/site-packages/rlregress")
    return {path for path in package.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("arguments", "value"),
    [("details ppo.value_clip", "ppo.value_clip"), ("plan", "CPU minutes of fresh seeds, at most"),
     ("details --installed --framework sb3", "sac.critic_loss.scale"),
     ("compare sb3 torchrl", "sac.critic_loss.scale"),
     ("check --framework sb3 --algorithm td3 --budget smoke --seeds 1 -n 2 --report report",
      "report:")],
)  # fmt: skip
def test_commands_work_in_an_empty_folder(environment, tmp_path, arguments, value):
    """Every command answers from the wheel alone, and writes nothing into it."""
    before = _files(environment)
    # a training of the smoke budget says nothing of returns
    code = EXIT_CODES[INCONCLUSIVE] if arguments.startswith("check") else 0
    process = _call([environment / "bin" / "rlregress", *arguments.split()], tmp_path, code=code)
    assert value in process.stdout
    assert _files(environment) == before
    if arguments.startswith("check"):
        verdict = json.loads((tmp_path / "report" / "verdict.json").read_text())
        assert not verdict["unjudged"]
        tests = verdict["frameworks"]["sb3"]["tests"]
        passed = {tier for tier, counts in tests.items() if counts.get("passed")}
        assert passed == {"unit", "behavior", "performance"}
        # the run is below the current folder
        assert list((tmp_path / "runs").rglob("*.json*"))
