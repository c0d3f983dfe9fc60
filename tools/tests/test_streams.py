"""What a command prints: nobody reads it, there is no room for it, or it tries to break out."""

from __future__ import annotations

import getpass
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rlregress import cli
from rlregress.cli import ci_annotations as hosts
from rlregress.cli import output
from rlregress.errors import UserError
from tools.tests.nightly import every


def started(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rlregress", *arguments],
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
    ("command", "code"),
    every(3, [("runs status", 0), ("details", output.READER_GONE), ("runs status --verify", 1)]),
)
def test_a_reader_that_goes_away_is_no_error(tmp_path, command, code):
    """The command ends silently: with its exit code if that is known, else as SIGPIPE ends one."""
    store = store_with(tmp_path / "runs", "0000-damaged")
    reading, writing = os.pipe()
    os.close(reading)
    words = [] if command == "details" else ["--store", store]
    process = started(*command.split(), *words, stdout=writing)
    os.close(writing)
    assert (process.returncode, process.stderr) == (code, "")


@pytest.mark.parametrize(
    "words",
    every(4, ["--version", "--help", "plan --help", "details", "runs status --store {}",
              "runs status --verify --store {}", "plan --framework sb3"]),
)  # fmt: skip
def test_an_output_without_room_is_said(words, tmp_path):
    """One sentence, and no complaint of Python as it ends."""
    store = store_with(tmp_path / "runs", "0000-damaged")
    words = [each.format(store) for each in words.split()]
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = started(*words, stdout=full)
    assert process.returncode == 2
    assert process.stderr == (
        "rlregress: the output of the command cannot be written: No space left on device; "
        "expected an output with room\n"
    )


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    every(3, [("--version", ">&-", 0), ("--version", "2>&-", 0), ("nonsense", ">&- 2>&-", 2),
              ("nonsense", "2>/dev/full", 2),
              ("runs status --verify --store runs", ">&- 2>&-", 1)]),
)  # fmt: skip
def test_streams_that_are_closed_are_those_of_nobody(words, closed, code, tmp_path):
    """The exit code says it alone; 1 would be a verdict."""
    store_with(tmp_path / "runs", "0000-damaged")
    line = f'"{sys.executable}" -m rlregress {words} {closed}'
    process = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, "Traceback" in process.stdout + process.stderr) == (code, False)


@pytest.mark.parametrize(
    ("name", "words"),
    every(5, [("CLEANRL_HOME", ["--version"]),
              ("RLREGRESS_CACHE", ["upgrade", "stable-baselines3==0.0.1", "installed"]),
              *((name, ["runs", "status"])
                for name in ("GITHUB_WORKSPACE", "MPLCONFIGDIR", "XDG_CONFIG_HOME"))]),
)  # fmt: skip
def test_a_variable_that_names_a_loop_of_links_is_no_error_of_the_suite(name, words, tmp_path):
    """Nor is one that says something else than how wide a terminal is."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    more = ["--store", store_with(tmp_path / "runs")] if words == ["runs", "status"] else []
    widths = {"COLUMNS": "9" * 11, "TERMINAL_WIDTH": "wide", "MPLBACKEND": "agg"}
    environment = {**os.environ, **widths, name: str(loop)}
    process = started(*words, *more, stdout=subprocess.PIPE, env=environment)
    assert "Traceback" not in process.stderr
    assert "error of the suite" not in process.stderr
    assert process.returncode == (2 if words[0] == "upgrade" else 0)


def test_the_top_of_a_repository_is_no_loop(tmp_path, monkeypatch):
    """Nor is a page of a run a pipe, which nobody may ever read."""
    loop, pipe = tmp_path / "loop", tmp_path / "pipe"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(loop))
    assert hosts.top() == loop
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pipe))
    with pytest.raises(UserError, match="it is a pipe, not a file"):
        hosts.summarise("# Gate")


@pytest.mark.parametrize(
    "parts", ["# #[error]x", "## [error]x", "##vso [task]", ": :error::x", "\t ::error::x"]
)
def test_a_command_in_several_writes_is_none(command, monkeypatch, parts):
    """A host of code reads whole lines."""
    monkeypatch.setattr(cli, "_run", lambda: print(*parts.split(" "), sep="") or 0)
    _, text, _ = command()
    assert not re.search(r"##\w*\[|^\s*::", text)


def test_a_user_without_a_name_is_given_one(command, monkeypatch, tmp_path):
    """In a container a user id may have none; libraries ask for it when they are imported."""

    def unknown() -> str:
        if "USER" not in os.environ:
            raise KeyError("getpwuid(): uid not found")
        return os.environ["USER"]

    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setattr(getpass, "getuser", unknown)
    code, _, error = command("runs", "status", "--store", store_with(tmp_path / "runs"))
    assert (code, error) == (0, "")
    assert getpass.getuser() == f"uid-{os.getuid()}"
    monkeypatch.delenv("USER")


def test_what_a_file_holds_is_shown_and_not_obeyed(command, tmp_path):
    """Escape sequences and commands of hosts of code, in the name of a record and in a reason."""
    store = tmp_path / "runs"
    store_with(store, "1000-abc")
    (store / "cell" / "1000-abc.failed").write_text("::error::y\n::error::z\x1b[2J")
    for options in ([], ["--verify"]):
        _, text, error = command("runs", "status", *options, "--store", str(store))
        assert "\x1b" not in text + error
        assert not any(line.lstrip().startswith("::") for line in (text + error).splitlines())


@pytest.mark.usefixtures("warm_python")
def test_what_a_failing_test_says_is_not_obeyed_either(tmp_path):
    """A failure of pytest tells what a record holds."""
    test = tmp_path / "test_it.py"
    text = "a\n::error::x\x1b]0;t\x07"
    test.write_text(f"import pytest\ndef test_it():\n    pytest.fail({text!r}, pytrace=False)\n")
    words = ["-m", "pytest", "-p", "rlregress.pytest_plugin", "-q", str(test)]
    process = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 1
    assert ": :error::x\\x1b]0;t\\x07" in process.stdout
    assert "\x1b" not in process.stdout
    assert "\n::" not in process.stdout
