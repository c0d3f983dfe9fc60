"""Output to closed, full or hostile streams is handled and harmless."""

from __future__ import annotations

import getpass
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest._io import TerminalWriter

from rlregress import cli, pytest_plugin
from rlregress.cli import ci_annotations as hosts
from rlregress.cli import output
from rlregress.errors import UserError
from tools.tests.nightly import every
from tools.tests.processes import run_python


def run_command(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """Run the command in its own process."""
    options |= {"stdin": subprocess.DEVNULL, "timeout": 60, "code": None}
    return run_python("-m", "rlregress", *arguments, **options)


def make_store(folder: Path, *damaged: str) -> str:
    """Return a store with records that are damaged."""
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
    store = make_store(tmp_path / "runs", "0000-damaged")
    reading, writing = os.pipe()
    os.close(reading)
    words = [] if command == "details" else ["--store", store]
    process = run_command(*command.split(), *words, stdout=writing)
    os.close(writing)
    assert (process.returncode, process.stderr) == (code, "")


@pytest.mark.parametrize(
    "words",
    every(7, ["--version", "--help", "plan --help", "details", "runs status --store {}",
              "runs status --verify --store {}", "plan --framework sb3"]),
)  # fmt: skip
def test_a_full_output_is_one_sentence(words, tmp_path):
    """One sentence, and no complaint of Python as it ends."""
    store = make_store(tmp_path / "runs", "0000-damaged")
    words = [word.format(store) for word in words.split()]
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = run_command(*words, stdout=full)
    assert process.returncode == 2
    assert process.stderr == (
        "rlregress: the output of the command cannot be written: No space left on device; "
        "free space, or write elsewhere\n"
    )


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    every(3, [("--version", ">&-", 0), ("--version", "2>&-", 0), ("nonsense", ">&- 2>&-", 2),
              ("nonsense", "2>/dev/full", 2),
              ("runs status --verify --store runs", ">&- 2>&-", 1)]),
)  # fmt: skip
def test_streams_that_are_closed_are_those_of_nobody(words, closed, code, tmp_path):
    """The exit code says it alone; 1 would be a verdict."""
    make_store(tmp_path / "runs", "0000-damaged")
    line = f'"{sys.executable}" -m rlregress {words} {closed}'
    process = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, "Traceback" in process.stdout + process.stderr) == (code, False)


def test_the_top_of_a_repository_is_no_loop(tmp_path, monkeypatch):
    """A loop of links is its own top; a pipe is no page of a run."""
    loop, pipe = tmp_path / "loop", tmp_path / "pipe"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(loop))
    assert hosts.find_repository_or_cwd() == loop
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pipe))
    with pytest.raises(UserError, match="it is a pipe, not a file"):
        hosts.append_github_summary("# Gate")


@pytest.mark.parametrize(
    "parts", ["# #[error]x", "## [error]x", "##vso [task]", ": :error::x", "\t ::error::x"]
)
def test_a_workflow_command_in_several_writes_is_escaped(command, monkeypatch, parts):
    """A host of code reads whole lines."""
    monkeypatch.setattr(cli, "_run_command", lambda: print(*parts.split(" "), sep="") or 0)
    _, text, _ = command()
    assert not re.search(r"##\w*\[|^\s*::", text)


def test_a_user_without_a_name_is_given_one(command, monkeypatch, tmp_path):
    """A user id without a name gets one before libraries ask for it."""

    def unknown() -> str:
        if "USER" not in os.environ:
            raise KeyError("getpwuid(): uid not found")
        return os.environ["USER"]

    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setattr(getpass, "getuser", unknown)
    code, _, error = command("runs", "status", "--store", make_store(tmp_path / "runs"))
    assert (code, error) == (0, "")
    assert getpass.getuser() == f"uid-{os.getuid()}"
    monkeypatch.delenv("USER")


def test_the_message_of_a_failed_test_is_not_obeyed():
    """A failure of pytest tells what a record holds."""
    printed = io.StringIO()
    writer = TerminalWriter(printed)
    config = SimpleNamespace(
        pluginmanager=SimpleNamespace(has_plugin=lambda name: True),
        get_terminal_writer=lambda: writer,
    )
    pytest_plugin.pytest_sessionstart(SimpleNamespace(config=config))
    writer.line("a\n::error::x\x1b]0;t\x07")
    assert printed.getvalue() == "a\n: :error::x\\x1b]0;t\\x07\n"
