"""Working trees as users have them: clones, copies of a package, folders above or below them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.upgrade.versions import installed, prepared_versions, requested
from rlregress.upgrade.versions.resolved import ResolvedVersion
from tools.tests.nightly import all_frameworks

PACKAGES = [
    name
    for name in frameworks.list_framework_names()
    if frameworks.get_adapter(name).framework.modules
]
#: where the package lies in the folder of a clone, and what is named on the command line.
LAYOUTS = {
    "clone": ("clone", "clone"),
    "src layout": ("clone/src", "clone"),
    "src itself": ("clone/src", "clone/src"),
    "package itself": ("clone", "clone/{module}"),
    "package below src": ("clone/src", "clone/src/{module}"),
    "folder above": ("above/clone", "above"),
}


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def clone(tmp_path):
    """A folder with a framework's package, and the folder that is named."""

    def write(name, layout="clone"):
        module = frameworks.get_adapter(name).framework.modules[0]
        below, named = LAYOUTS[layout]
        package = tmp_path / below / module
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        return str(tmp_path / named.format(module=module))

    return write


def _prepared(name, folder):
    version = ResolvedVersion("new", requested.parse_requested_version(folder))
    return prepared_versions.prepare_version(version, [frameworks.get_adapter(name)])


def _version(name, prepared):
    """Return the adapter's version in a process of that version."""
    code = (
        f"from rlregress import frameworks; print(frameworks.get_adapter('{name}').code.version())"
    )
    return subprocess.run(
        [sys.executable, "-c", code], env=prepared.runtime.make_environment_variables(), cwd="/",
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", all_frameworks(PACKAGES))
def test_a_tree_is_a_package_wherever_it_lies(clone, tmp_path, name, layout):
    """Whatever folder of a clone is named, its package is found, and goes before the installed."""
    prepared = _prepared(name, clone(name, layout))
    assert prepared.runtime.paths[0] == str(tmp_path / LAYOUTS[layout][0])


@pytest.mark.parametrize("name", all_frameworks(PACKAGES))
def test_a_tree_needs_no_metadata(clone, monkeypatch, name):
    """A clone of a package that is not installed has a version that no documentation covers."""
    monkeypatch.setattr(installed, "find_installed_version", lambda package: None)
    prepared = _prepared(name, clone(name))
    assert _version(name, prepared) == "0+unknown"
    (lacks,) = [line for line in prepared.not_checked if "version" in line]
    module = frameworks.get_adapter(name).framework.modules[0]
    assert lacks == f"what is documented of its version, as {module} states none"
    assert f"  not checked: {lacks}" in prepared.lines


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "[project]\nname = 'x'\nversion = '0.9.7'"),
        ("setup.cfg", "[metadata]\nname = x\nversion = 0.9.7"),
        ("{module}/version.txt", "0.9.7\n"),
        ("version.txt", "0.9.7\n"),
        ("{module}/version.py", '__version__ = "0.9.7"\n'),
        ("{module}/__init__.py", '"""A package."""\n\n__version__: str = \'0.9.7\'\n'),
    ],
)
def test_a_tree_has_the_version_that_it_states(clone, file, text):
    """The version of a clone is its own, and not that of the installed package."""
    folder = clone("sb3")
    (Path(folder) / "pyproject.toml").write_text("[project]\nname = 'x'\ndynamic = ['version']")
    (Path(folder) / file.format(module="stable_baselines3")).write_text(text)
    prepared = _prepared("sb3", folder)
    assert _version("sb3", prepared) == "0.9.7"
    assert not any("version" in line for line in prepared.not_checked)


def test_a_copy_has_the_version_of_what_it_was_copied_from(clone):
    """A copy that states no version has that of the installed package."""
    assert _version("sb3", _prepared("sb3", clone("sb3"))) == installed.find_installed_version(
        "stable-baselines3"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_requirements_are_looked_for_up_to_the_clone(clone, tmp_path, layout):
    """They are those of the folder above, where a folder below it is named."""
    folder = clone("sb3", layout)
    assert [x for x in _prepared("sb3", folder).not_checked if "requirements" in x] == [
        "its requirements, as it has none of pyproject.toml, setup.cfg, setup.py"
    ]
    root = tmp_path / LAYOUTS[layout][0]
    (root.parent if root.name == "src" else root).joinpath("setup.py").write_text("")
    assert not any("requirements" in x for x in _prepared("sb3", folder).not_checked)


def test_a_package_of_an_environment_is_refused(tmp_path):
    """To put it in front would put all of its environment there."""
    package = tmp_path / "env" / "site-packages" / "stable_baselines3"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    with pytest.raises(UserError, match="is a package of an environment; expected that"):
        requested.parse_requested_version(str(package))
