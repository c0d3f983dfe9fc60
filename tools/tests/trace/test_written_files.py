"""Every file that a training writes is an event with its content, each time that it is written."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from dataclasses import replace

import pytest
import torch

from rlregress.inside.written_files import WrittenFiles
from rlregress.model.recorded_traces import LOST
from rlregress.trace.trace_comparison import compare_traces, mark_unsteady_parts

from ..upgrade import small_traces
from ..upgrade.small_traces import event, part


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Runs a function in an empty folder; names of files, and lines of each time."""
    monkeypatch.chdir(tmp_path)

    def recorded(function):
        files = WrittenFiles(str(tmp_path / "trace"))
        with files:
            function()
        written_files = {}
        for row in files.make_events_of_files():
            if row["kind"] == "file":
                lines = [p[4] for n, p in row["parts"].items() if n.startswith("line")]
                written_files.setdefault(row["name"], []).append(lines)
        return written_files

    return recorded


def write(path, text, mode="w"):
    """Write a text into a file."""
    with open(path, mode) as file:
        file.write(text)


def test_a_file_is_compared_each_time_that_it_is_written_anew(written):
    """Pieces that are written one after the other, or appended, are one time.

    What was there before is not of the training; what it only reads is not either.
    """
    write("b", "old\n")
    write("c", "old\n")

    def train():
        write("a", "1\n")
        write("a", "2\n", "a")
        write("a", "3\n")
        write("b", "new\n", "a")
        pathlib.Path("c").read_text()

    assert written(train) == {"a": [["1", "2"], ["3"]], "b": [["new"]]}


def test_a_file_that_is_removed_is_compared(written):
    """By itself, with its folder, and with a temporary folder, whose name does not count."""

    def train():
        write("a", "1")
        os.remove("a")
        os.makedirs("logs/b")
        write("logs/b/c", "2")
        shutil.rmtree("logs")
        with tempfile.TemporaryDirectory(prefix="mine-") as folder:
            write(f"{folder}/d", "3")

    assert written(train) == {"a": [["1"]], "logs/b/c": [["2"]], "<temporary>/d": [["3"]]}


def test_a_file_is_compared_under_the_name_that_it_gets(written):
    """Written beside and renamed is as written; a folder takes its files along.

    The number of a folder that is made one higher each time does not count.
    """

    def train():
        write("a.new", "1")
        os.replace("a.new", "a")
        os.mkdir("old")
        write("old/b", "2")
        os.rename("old", "new")
        os.mkdir("PPO_17")
        write("PPO_17/a", "1")

    assert written(train) == {"a": [["1"]], "new/b": [["2"]], "PPO_<number>/a": [["1"]]}


def test_what_is_not_written_by_python_is_compared(written):
    """In a folder that the training has made, whoever writes there."""

    def train():
        os.mkdir("made")
        subprocess.run(["sh", "-c", "echo 1 > made/a"], check=True)  # noqa: S607
        torch.save({"x": 1}, "made/b.pt")

    written_files = written(train)
    assert written_files["made/a"] == [["1"]]
    assert len(written_files["made/b.pt"]) == 1


def test_a_file_that_is_still_open_is_complete(written):
    """Python's unwritten buffer is flushed first."""
    open_files = []

    def train():
        open_files.append(open("a", "w"))  # noqa: SIM115
        open_files[0].write("late")

    assert written(train) == {"a": [["late"]]}
    open_files[0].close()


def test_the_name_of_a_temporary_folder_does_not_count(written, monkeypatch):
    """Whatever letters chance puts there, and in a folder that is itself temporary."""
    temporary_names = iter(("abcde_42", "ijkl_1_2"))
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: temporary_names)

    def train():
        outer = tempfile.mkdtemp()
        inner = tempfile.mkdtemp(dir=outer)
        write(f"{outer}/a", "1")
        os.makedirs(f"{inner}/run_3")
        write(f"{inner}/run_3/b", "2")
        shutil.rmtree(outer)

    assert written(train) == {"<temporary>/a": [["1"]], "<temporary>/run_<number>/b": [["2"]]}


@pytest.mark.parametrize(
    ("path", "alone"),
    [
        ("{temporary}/SB3-2026-11-28-17-26-43-992231/log.txt", False),
        ("{temporary}/torchinductor_me/a/b", False),
        ("{random}/a", False),
        ("{temporary}/run-2026-11-28-17-26-43/log.txt", True),
        ("runs/2026-11-28-17-26-43-992231/log.txt", True),
        ("{there}", False),
    ],
)
def test_what_both_versions_may_write_is_written_by_one_at_a_time(
    tmp_path, monkeypatch, path, alone
):
    """Others go on where every run has names of its own, and where nothing is written."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    files = WrittenFiles(str(tmp_path / "trace"))
    with files:
        random = tempfile.mkdtemp()
        path = pathlib.Path(path.format(random=random, temporary=tempfile.tempdir, there="there"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(exist_ok=True)
        assert (files._lock >= 0) == alone
    files.make_events_of_files()


def test_a_file_that_cannot_be_read_is_not_compared(tmp_path, monkeypatch):
    """The event says why, in place of a content."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rlregress.inside.written_files._LARGEST", 3)
    files = WrittenFiles("trace")
    with files:
        write("a", "long text")
    (event,) = (e for e in files.make_events_of_files() if e["kind"] == "file")
    assert list(event["parts"]) == [LOST]


# -- what does not repeat itself -------------------------------------------------------------------


def trace(**files):
    """Return a trace of files: name -> lines."""
    return small_traces.trace(*(
        event("file", name, index=number,
              parts={f"line {n}": part(line) for n, line in enumerate(lines)})
        for number, (name, lines) in enumerate(files.items())
    ))  # fmt: skip


def steady(first, second):
    """A trace that was recorded again, as its file would keep it."""
    kept = mark_unsteady_parts(first, second)
    return replace(kept, header=json.loads(json.dumps(dict(kept.header))))


def test_what_does_not_repeat_itself_is_not_compared():
    """A line that is another each time; the other lines of the file still are."""
    old = steady(trace(a=["x", "time 1"]), trace(a=["x", "time 2"]))
    assert compare_traces(old, trace(a=["x", "time 3"])).verdict == "equal"
    comparison = compare_traces(old, trace(a=["y", "time 3"]))
    assert comparison.verdict == "diverged"
    assert (comparison.first.kind, comparison.first.part) == ("files", "line 0")


def test_a_file_of_one_version_alone_is_a_difference():
    """Unless its name is another each time."""
    assert compare_traces(trace(a=["x"]), trace(a=["x"], b=["y"])).trains_the_same
    old = steady(trace(a=["x"], b1=["y"]), trace(a=["x"], b2=["y"]))
    new = steady(trace(a=["x"], b3=["y"]), trace(a=["x"], b4=["y"]))
    assert compare_traces(old, new).verdict == "equal"
    assert compare_traces(old, trace(b5=["y"])).verdict == "diverged"
