"""Environments of the versions: made once, whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

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

SB3 = frameworks.get_adapter("sb3")


def test_a_folder_is_made_once(cache):
    """The second command that wants the same environment finds it."""
    folder, calls = cache / "overlays" / "x", []
    make = lambda target: calls.append(target) or {"made": 1}  # noqa: E731
    assert not cached_folders.make_folder_once(folder, make)
    assert cached_folders.make_folder_once(folder, make)
    assert len(calls) == 1
    assert cached_folders.read_ready_record(folder) == {"made": 1}


def test_a_folder_that_could_not_be_made_is_not_there(cache):
    """After an error there is neither a folder nor a part of one, and earlier folders stay."""
    earlier = cache / "overlays" / "kept"
    cached_folders.make_folder_once(earlier, lambda target: {})

    def broken(target):
        (target / "half").write_text("")
        raise UserError("no network")

    with pytest.raises(UserError, match="no network"):
        cached_folders.make_folder_once(cache / "overlays" / "x", broken)
    assert {path.name for path in (cache / "overlays").iterdir() if path.is_dir()} == {"kept"}
    assert cached_folders.read_ready_record(earlier) == {}


def test_a_killed_command_leaves_nothing_that_looks_finished(cache):
    """A command killed while it makes an environment leaves no lock, and the next one makes it."""
    script = (
        "import sys, time; from pathlib import Path\n"
        "from rlregress.upgrade.versions import cached_folders\n"
        "def make(target):\n"
        "    (target / 'half').write_text(''); print('making', flush=True); time.sleep(60)\n"
        f"cached_folders.make_folder_once(Path({str(cache / 'overlays' / 'x')!r}), make)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline().strip() == b"making"
        process.send_signal(signal.SIGKILL)
    folder = cache / "overlays" / "x"
    assert cached_folders.read_ready_record(folder) is None
    assert not cached_folders.make_folder_once(folder, lambda target: {"files": os.listdir(target)})
    assert cached_folders.read_ready_record(folder) == {"files": []}
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["x"]


def test_two_commands_do_not_make_the_same_folder(cache):
    """The second command reports that it waits, and finds the first one's folder."""
    folder, text = cache / "overlays" / "x", []
    (cache / "overlays").mkdir(parents=True)
    results = []
    with FileLock(f"{folder}.lock"):
        second = threading.Thread(
            target=lambda: results.append(
                cached_folders.make_folder_once(folder, lambda target: {}, text.append)
            )
        )
        second.start()
        for _ in range(100):
            if text:
                break
            time.sleep(0.05)
        folder.mkdir()
        (folder / cached_folders.READY).write_text("{}")
    second.join(timeout=10)
    assert results == [True]
    assert text
    assert "waiting" in text[0]


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    """The user is told which variable names another folder."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UserError, match=cached_folders.CACHE_VARIABLE):
        cached_folders.make_folder_once(
            cached_folders.locate_cache() / "overlays" / "x", lambda target: {}
        )


@pytest.mark.parametrize(
    ("file", "message"), [("", "holds no framework"), ("pyvenv.cfg", "without a Python")]
)
def test_a_folder_that_is_no_version_is_refused(tmp_path, file, message):
    """A tree without a framework, and a user's environment whose interpreter is gone."""
    if file:
        (tmp_path / file).write_text("")
    with pytest.raises(UserError, match=message):
        prepared_versions.prepare_version(
            ResolvedVersion("new", requested.parse_requested_version(str(tmp_path))), [SB3]
        )


def test_a_users_environment_that_changed_in_place_is_another_version(tmp_path, monkeypatch):
    """Nothing that an interrupted gate has left of it is used again."""
    source = tmp_path / "lib" / "python3" / "site-packages" / "package" / "code.py"
    source.parent.mkdir(parents=True)
    source.write_text("1\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    (tmp_path / "pyvenv.cfg").touch()
    monkeypatch.setattr(
        interpreters, "_ask_interpreter", lambda python: ([3, 11], "3.11.0", "", [])
    )
    version = prepared_versions.prepare_version(
        ResolvedVersion("old", requested.parse_requested_version(str(tmp_path))), [SB3]
    )
    assert version.lines == [f"old: {tmp_path} (your environment)"]
    before = state.digest_version_state(version, [SB3])
    assert state.digest_version_state(version, [SB3]) == before
    source.write_text("22\n")
    assert state.digest_version_state(version, [SB3]) != before
