"""Environments of the versions, made once; working trees as users have them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.upgrade.versions import (
    cached_folders,
    installed,
    interpreters,
    prepared_versions,
    requested,
    state,
    working_tree,
)
from rlregress.upgrade.versions.resolved import ResolvedVersion
from tools.tests.processes import run_python
from tools.tests.small_files import write_files

pytestmark = pytest.mark.usefixtures("cache")

SB3 = frameworks.get_adapter("sb3")


def list_folders(cache):
    """Return the names of the folders that are in the cache."""
    return [path.name for path in (cache / "overlays").iterdir() if path.is_dir()]


def test_a_folder_is_made_once(cache):
    """The second command that wants the same environment finds it."""
    folder, calls = cache / "overlays" / "x", []
    assert not cached_folders.reuse_or_make_folder(folder, calls.append)
    assert cached_folders.reuse_or_make_folder(folder, calls.append)
    assert len(calls) == 1
    assert cached_folders.is_ready(folder)


def test_what_failed_or_was_killed_is_no_finished_folder(cache):
    """After an error nothing is left; leftovers there or beside it are not used."""

    def broken(target):
        (target / "half").write_text("")
        raise UserError("no network")

    with pytest.raises(UserError, match="no network"):
        cached_folders.reuse_or_make_folder(cache / "overlays" / "x", broken)
    assert list_folders(cache) == []
    folder = cache / "overlays" / "x"
    for left in (folder, folder.with_name("making-x-1")):
        write_files(left, {"half": ""})
    content = []
    assert not cached_folders.reuse_or_make_folder(folder, lambda x: content.extend(os.listdir(x)))
    assert cached_folders.is_ready(folder)
    assert content == []
    assert not (folder / "half").exists()
    assert list_folders(cache) == ["x"]


def test_a_temporary_folder_goes_with_its_command_and_those_of_killed_ones(cache):
    """Nobody holds the lock of what a killed command has left."""
    left = cache / "bisect" / "left"
    left.mkdir(parents=True)
    left.with_suffix(".lock").touch()
    with cached_folders.make_temporary_folder("bisect") as folder:
        assert [path for path in left.parent.iterdir() if path.is_dir()] == [folder]
    assert list(left.parent.iterdir()) == []


def test_two_commands_do_not_make_the_same_folder(cache):
    """The second command reports that it waits, and finds the first one's folder."""
    folder, said = cache / "overlays" / "x", []
    folder.parent.mkdir(parents=True)
    first = FileLock(f"{folder}.lock")
    first.acquire()

    def finish_first_command(text):
        said.append(text)
        folder.mkdir()
        (folder / cached_folders.READY).touch()
        first.release()

    assert cached_folders.reuse_or_make_folder(folder, print, finish_first_command)
    assert "waiting" in said[0]


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    """The user is told which variable names another folder."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UserError, match=cached_folders.CACHE_VARIABLE):
        cached_folders.reuse_or_make_folder(tmp_path / "file" / "overlays" / "x", print)


@pytest.mark.parametrize(
    ("file", "message"), [("README", "holds no framework"), ("pyvenv.cfg", "without a Python")]
)
def test_a_folder_that_is_no_version_is_refused(tmp_path, file, message):
    """A tree without a framework, and a user's environment whose interpreter is gone."""
    (tmp_path / file).touch()
    version = ResolvedVersion("new", requested.parse_requested_version(str(tmp_path)))
    with pytest.raises(UserError, match=message):
        prepared_versions.prepare_version(version, [SB3])


def test_a_users_environment_that_changed_in_place_is_another_version(tmp_path, monkeypatch):
    """Nothing that an interrupted gate has left of it is used again."""
    source = "lib/python3/site-packages/package/code.py"
    write_files(tmp_path, {source: "1\n", "bin/python": "", "pyvenv.cfg": ""})
    monkeypatch.setattr(
        interpreters, "_query_interpreter", lambda python: ([3, 11], "3.11.0", "", [])
    )
    version = prepared_versions.prepare_version(
        ResolvedVersion("old", requested.parse_requested_version(str(tmp_path))), [SB3]
    )
    before = state.describe_version_state(version, [SB3])
    assert state.describe_version_state(version, [SB3]) == before
    write_files(tmp_path, {source: "22\n"})
    assert state.describe_version_state(version, [SB3]) != before


#: where the package lies in the folder of a clone, and what is named on the command line.
LAYOUTS = {
    "clone": ("clone", "clone"),
    "src layout": ("clone/src", "clone"),
    "src itself": ("clone/src", "clone/src"),
    "package itself": ("clone", "clone/stable_baselines3"),
    "package below src": ("clone/src", "clone/src/stable_baselines3"),
    "folder above": ("above/clone", "above"),
}


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
