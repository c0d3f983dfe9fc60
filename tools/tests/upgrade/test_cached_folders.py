"""Environments of the versions: made once, whole or not at all."""

from __future__ import annotations

import os

import pytest
from filelock import FileLock

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.upgrade.versions import (
    cached_folders,
    interpreters,
    prepared_versions,
    requested,
    state,
)
from rlregress.upgrade.versions.resolved import ResolvedVersion
from tools.tests.small_files import write_files

SB3 = frameworks.get_adapter("sb3")


def list_folders(cache):
    """Return the names of the folders that are in the cache."""
    return [path.name for path in (cache / "overlays").iterdir() if path.is_dir()]


def test_a_folder_is_made_once(cache):
    """The second command that wants the same environment finds it."""
    folder, calls = cache / "overlays" / "x", []
    make = lambda target: calls.append(target) or {"made": 1}  # noqa: E731
    assert not cached_folders.reuse_or_make_folder(folder, make)
    assert cached_folders.reuse_or_make_folder(folder, make)
    assert len(calls) == 1
    assert cached_folders.read_ready_record(folder) == {"made": 1}


def test_a_folder_that_could_not_be_made_is_not_there(cache):
    """After an error there is neither a folder nor a part of one."""

    def broken(target):
        (target / "half").write_text("")
        raise UserError("no network")

    with pytest.raises(UserError, match="no network"):
        cached_folders.reuse_or_make_folder(cache / "overlays" / "x", broken)
    assert list_folders(cache) == []


def test_what_a_killed_command_has_left_is_no_finished_folder(cache):
    """Whether it lies in its place or beside it: the next command makes it from nothing."""
    folder = cache / "overlays" / "x"
    for left in (folder, folder.with_name("making-x-1")):
        write_files(left, {"half": ""})
    assert not cached_folders.reuse_or_make_folder(
        folder, lambda target: {"files": os.listdir(target)}
    )
    assert cached_folders.read_ready_record(folder) == {"files": []}
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
        (folder / cached_folders.READY).write_text("{}")
        first.release()

    assert cached_folders.reuse_or_make_folder(folder, lambda target: {}, finish_first_command)
    assert "waiting" in said[0]


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    """The user is told which variable names another folder."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UserError, match=cached_folders.CACHE_VARIABLE):
        cached_folders.reuse_or_make_folder(tmp_path / "file" / "overlays" / "x", lambda target: {})


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
