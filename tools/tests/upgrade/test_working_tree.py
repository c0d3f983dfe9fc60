"""Working trees as users have them: clones, copies of a package, folders above or below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.upgrade.versions import installed, prepared_versions, requested, working_tree
from rlregress.upgrade.versions.resolved import ResolvedVersion
from tools.tests.processes import run_python
from tools.tests.small_files import write_files

#: where the package lies in the folder of a clone, and what is named on the command line.
LAYOUTS = {
    "clone": ("clone", "clone"),
    "src layout": ("clone/src", "clone"),
    "src itself": ("clone/src", "clone/src"),
    "package itself": ("clone", "clone/stable_baselines3"),
    "package below src": ("clone/src", "clone/src/stable_baselines3"),
    "folder above": ("above/clone", "above"),
}


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def clone(tmp_path):
    """A folder with a framework's package, and the folder that is named."""

    def write(layout="clone"):
        below, named = LAYOUTS[layout]
        write_files(tmp_path, {f"{below}/stable_baselines3/__init__.py": ""})
        return str(tmp_path / named)

    return write


def _prepared(folder):
    version = ResolvedVersion("new", requested.parse_requested_version(folder))
    # of another framework the tree has nothing
    adapters = [frameworks.get_adapter(name) for name in ("sb3", "torchrl")]
    return prepared_versions.prepare_version(version, adapters)


def _version(prepared):
    """Return the adapter's version in a process of that version."""
    code = "from rlregress import frameworks; print(frameworks.get_adapter('sb3').code.version())"
    environment = prepared.runtime.make_environment_variables()
    return run_python("-c", code, env=environment, cwd="/").stdout.strip()


def test_a_tree_needs_no_metadata(clone, monkeypatch):
    """A clone of a package that is not installed has a version that no documentation covers."""
    monkeypatch.setattr(installed, "find_installed_version", lambda package: None)
    prepared = _prepared(clone())
    assert _version(prepared) == "0+unknown"
    (lacks,) = [line for line in prepared.not_checked if "version" in line]
    assert lacks == "what is documented of its version, as stable_baselines3 states none"
    assert f"  not checked: {lacks}" in prepared.lines


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "[project]\nname = 'x'\nversion = '0.9.7'"),
        ("setup.cfg", "[metadata]\nname = x\nversion = 0.9.7"),
        ("package/version.txt", "0.9.7\n"),
        ("version.txt", "0.9.7\n"),
        ("package/version.py", '__version__ = "0.9.7"\n'),
        ("package/__init__.py", '"""A package."""\n\n__version__: str = \'0.9.7\'\n'),
    ],
)
def test_the_version_of_a_package_is_read_from_its_files(tmp_path, file, text):
    """From its project, a text, or a literal."""
    project = "[project]\nname = 'x'\ndynamic = ['version']"
    write_files(tmp_path, {"package/x.py": "", "pyproject.toml": project, file: text})
    assert working_tree.read_package_version(tmp_path / "package", tmp_path) == "0.9.7"


def test_a_tree_has_the_version_that_it_states(clone):
    """Not that of the installed package, which a copy has that states none."""
    folder = clone()
    copied = installed.find_installed_version("stable-baselines3")
    assert _version(_prepared(folder)) == copied
    write_files(Path(folder), {"version.txt": "0.9.7\n", "setup.py": ""})
    prepared = _prepared(folder)
    assert _version(prepared) == "0.9.7"
    assert not any("version" in line for line in prepared.not_checked)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tree_is_a_package_wherever_it_lies(clone, tmp_path, layout):
    """Its package goes before the installed; requirements are those of the folder above."""
    folder = clone(layout)
    prepared = _prepared(folder)
    assert prepared.runtime.paths[0] == str(tmp_path / LAYOUTS[layout][0])
    assert [x for x in prepared.not_checked if "requirements" in x] == [
        "its requirements, as it has none of pyproject.toml, setup.cfg, setup.py"
    ]
    root = tmp_path / LAYOUTS[layout][0]
    (root.parent if root.name == "src" else root).joinpath("setup.py").write_text("")
    assert not any("requirements" in x for x in _prepared(folder).not_checked)


def test_a_package_of_an_environment_is_refused(tmp_path):
    """To put it in front would put all of its environment there."""
    package = write_files(
        tmp_path / "env" / "site-packages" / "stable_baselines3", {"__init__.py": ""}
    )
    with pytest.raises(UserError, match="is a package of an environment; expected that"):
        requested.parse_requested_version(str(package))
