"""What a command prints: nobody reads it, there is no room for it, or it tries to break out."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlregress.commands import output


def started(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rlregress.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        **more,
    )


def store_with(folder: Path, *damaged: str) -> str:
    """A store with records that are damaged."""
    (folder / "cell").mkdir(parents=True)
    for name in damaged:
        (folder / "cell" / f"{name}.json").write_text("{}")
    return str(folder)


@pytest.mark.parametrize(
    ("command", "code"), [("details", output.READER_GONE), ("status", 0), ("verify", 1)]
)
def test_a_reader_that_goes_away_is_no_error(tmp_path, command, code):
    """The command ends silently: with its exit code if that is known, else as SIGPIPE ends one."""
    store = store_with(tmp_path / "runs", "0000-damaged")
    reading, writing = os.pipe()
    os.close(reading)
    given = [] if command == "details" else ["--store", store]
    ended = started(command, *given, stdout=writing)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (code, "")


@pytest.mark.parametrize("given", [["details"], ["--help"], ["plan", "--help"]])
def test_an_output_without_room_is_said(given):
    """One sentence, and no complaint of Python as it ends."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = started(*given, stdout=full)
    assert ended.returncode == 2
    assert ended.stderr == (
        "rlregress: what the command prints cannot be written: No space left on device; expected "
        "an output with room\n"
    )


def test_a_working_directory_that_is_gone_is_said(tmp_path):
    """Every relative name would mean nothing."""
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = started("plan", stdout=subprocess.DEVNULL, cwd=gone, preexec_fn=gone.rmdir)
    assert ended.returncode == 2
    assert ended.stderr.startswith("rlregress: the working directory is gone")
    assert len(ended.stderr.splitlines()) == 1


def test_a_user_without_a_name_is_given_one(command, monkeypatch, tmp_path):
    """In a container a user id may have none; libraries ask for it when they are imported."""

    def unknown() -> str:
        if "USER" not in os.environ:
            raise KeyError("getpwuid(): uid not found")
        return os.environ["USER"]

    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setattr(getpass, "getuser", unknown)
    code, _, error = command("status", "--store", store_with(tmp_path / "runs"))
    assert (code, error) == (0, "")
    assert getpass.getuser() == f"uid-{os.getuid()}"
    monkeypatch.delenv("USER")


def test_what_a_file_holds_is_shown_and_not_obeyed(command, tmp_path):
    """Escape sequences and commands of hosts of code, in the name of a record and in a reason."""
    store = tmp_path / "runs"
    store_with(store, "::error::\x1b]0;x\x07")
    (store / "cell" / "::error::\x1b]0;x\x07.failed").write_text("::error::y\n::error::z\x1b[2J")
    for name in ("status", "verify"):
        _, said, error = command(name, "--store", str(store))
        assert "\x1b" not in said + error
        assert not any(line.lstrip().startswith("::") for line in (said + error).splitlines())


def test_what_a_failing_test_says_is_not_obeyed_either(tmp_path):
    """A failure of pytest tells what a record holds."""
    test = tmp_path / "test_it.py"
    said = "a\n::error::x\x1b]0;t\x07"
    test.write_text(f"import pytest\ndef test_it():\n    pytest.fail({said!r}, pytrace=False)\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "rlregress.pytest_plugin", "-q", str(test)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ended.returncode == 1
    assert ": :error::x\\x1b]0;t\\x07" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert "\n::" not in ended.stdout
