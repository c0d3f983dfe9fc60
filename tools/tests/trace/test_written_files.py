"""Every file that a training writes is compared by its type, each time that it is written."""

from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch

from rlregress.inside import written_contents
from rlregress.inside.written_files import WrittenFiles
from rlregress.model.recorded_traces import LOST, Part, estimate_relative_difference
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


def test_a_file_that_is_removed_or_renamed_is_compared(written):
    """Also with its folder; neither the name of a temporary one nor a counted number counts."""

    def train():
        write("a", "1")
        os.remove("a")
        os.makedirs("logs/b")
        write("logs/b/c", "2")
        shutil.rmtree("logs")
        with tempfile.TemporaryDirectory(prefix="mine-") as folder:
            write(f"{folder}/d", "3")
        write("e.new", "1")
        os.replace("e.new", "e")
        os.mkdir("old")
        write("old/f", "2")
        os.rename("old", "new")
        os.mkdir("PPO_17")
        write("PPO_17/g", "1")

    assert written(train) == {
        "a": [["1"]], "logs/b/c": [["2"]], "<temporary>/d": [["3"]], "e": [["1"]],
        "new/f": [["2"]], "PPO_<number>/g": [["1"]],
    }  # fmt: skip


def test_what_is_not_written_by_python_is_compared(written):
    """In a folder that the training has made; a file that is still open is flushed first."""

    def train():
        os.mkdir("made")
        subprocess.run(["sh", "-c", "echo 1 > made/a"], check=True)  # noqa: S607
        torch.save({"x": 1}, "made/b.pt")

    written_files = written(train)
    assert written_files["made/a"] == [["1"]]
    assert len(written_files["made/b.pt"]) == 1
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
    """Neither a line that is another each time nor a file whose name is; all others are."""
    old = steady(trace(a=["x", "time 1"]), trace(a=["x", "time 2"]))
    assert compare_traces(old, trace(a=["x", "time 3"])).verdict == "equal"
    comparison = compare_traces(old, trace(a=["y", "time 3"]))
    assert comparison.verdict == "diverged"
    assert (comparison.first.kind, comparison.first.part) == ("files", "line 0")
    assert compare_traces(trace(a=["x"]), trace(a=["x"], b=["y"])).trains_the_same
    old = steady(trace(a=["x"], b1=["y"]), trace(a=["x"], b2=["y"]))
    new = steady(trace(a=["x"], b3=["y"]), trace(a=["x"], b4=["y"]))
    assert compare_traces(old, new).verdict == "equal"
    assert compare_traces(old, trace(b5=["y"])).verdict == "diverged"


def items(name, content):
    """Name of an item -> its leaf."""
    return dict(written_contents.list_items_of_file(name, content))


def make_part(text):
    """Return the part of a text, as a reader has it."""
    digest, norm, values, shadow, shown, _ = written_contents._make_part_of_words_and_numbers(text)
    return Part(digest=digest, norm=norm, values=tuple(values), shadow=tuple(shadow or ()),
                text=shown)  # fmt: skip


def packed(save, entries):
    """A file of one of the libraries."""
    out = io.BytesIO()
    save(entries, out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("old", "new", "is_masked"),
    [
        ("|    fps        | 1234 |", "|    fps        | 98   |", True),
        ("took 0.25 s", "took 13.5 s", True),
        ("begun 2026-11-28 06:40:12,123", "begun 2027-01-02 16:04:59,001", True),
        ("step 3: 1795849136.25", "step 3: 1795849155", True),
        ("12:01:59 loss 0.5", "09:33:01 loss 0.5", True),
        ("in TEMPORARY/tmpab12_cde/x", "in TEMPORARY/tmpzz99aa_b/x", True),
        ("in CURRENT/runs", "in runs", True),
        ("<A object at 0x7f0011223344>", "<A object at 0x7f0011229999>", True),
        (
            "id 01234567-89ab-cdef-0123-456789abcdef",
            "id 11234567-89ab-cdef-0123-456789abcde0",
            True,
        ),
        ("/x/y.py:12: UserWarning: old\\n  call()\\nend", "end", True),
        (" 45%|####   | 9/20 [00:01<00:01,  7.1it/s]\\nend", "end", True),
        # numbers of other names, blanks where no time is shown, and names of folders
        ("|    loss        | 1.5 |", "|    loss        | 1.6 |", False),
        ('{"time/total_timesteps": 64}', '{"time/total_timesteps": 65}', False),
        ("time/hook/update: 0.0021", "time/hook/update: 1.3e-3", True),
        ("time/hook/update: 0.00", "time/hook/update: 0.01", True),
        ("weights/hook/update: 0.0021", "weights/hook/update: 0.0022", False),
        ("a  b", "a b", False),
        ("/data/run1/x", "/data/run2/x", False),
        ("learning_starts: 100", "learning_starts: 10", False),
    ],
)
def test_what_no_two_runs_have_in_common_is_masked(old, new, is_masked):
    """Times, folders, addresses, random names, warnings and progress bars, and no results."""
    written_contents.list_folder_masks.cache_clear()
    # ids of tests hold no folder of this machine
    names = {"\\n": "\n", "TEMPORARY": tempfile.gettempdir(), "CURRENT": os.getcwd()}
    for name, meant in names.items():
        old, new = old.replace(name, meant), new.replace(name, meant)
    assert (written_contents.mask_text(old) == written_contents.mask_text(new)) == is_masked


def test_a_table_is_compared_cell_by_cell_with_its_quotes():
    """A row, a column, and the text of its cell; columns of times are masked."""
    leaves = items("x.csv", b'#{"t_start": 1795849136.5}\nr,t,name\n1.5,0.3,"a, ""b"""\n')
    assert leaves["row 3, r"] == ("text", "1.5")
    assert leaves["row 3, t"] == ("text", "<time>")
    assert leaves["row 3, name"] == ("text", '"a, ""b"""')
    unquoted = items("x.csv", b'#{"t_start": 1.5}\nr,t,name\n1.5,0.3,a, "b"\n')
    assert unquoted["row 3, columns"] != leaves["row 3, columns"]
    # a first row with a number in it is no row of names
    nameless = items("x.csv", b"0,1.5\n1,2.5\n")
    assert (nameless["row 1, column 2"][1], nameless["row 2, column 2"][1]) == ("1.5", "2.5")


@pytest.mark.parametrize("text", [b'a,"b', b"a,b\r", b'"a\nb",c\n', b",,\n\n"])
def test_a_broken_table_is_read_to_its_end(text):
    """An open quote, a line without its end, a break in a cell, and an empty line."""
    assert not any(kind == "bytes" for kind, _ in items("x.csv", text).values())


def test_a_last_row_that_ends_in_a_comma_is_compared():
    """It has no line break, and an empty cell at its end."""
    leaves = items("x.csv", b"a,b\nc,")
    assert [leaves[f"row 2, {name}"][1] for name in ("a", "b", "columns")] == ["c", "", "2''"]


def test_archives_arrays_tensors_and_pickles_are_compared_by_their_values():
    """Dates, packing and versions of Stable-Baselines3 do not count, nor the file around values."""
    contents = []
    for method, version in ((zipfile.ZIP_STORED, "1"), (zipfile.ZIP_DEFLATED, "2")):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            date = (2000 + int(version), 1, 1, 0, 0, 0)
            archive.writestr(zipfile.ZipInfo("notes", date), "text", method)
            archive.writestr("system_info.txt", version)
        contents.append(out.getvalue())
    assert contents[0] != contents[1]
    assert items("x.zip", contents[0]) == items("x.zip", contents[1])
    assert items("x.zip", contents[0])["notes: line 1"] == ("text", "text")
    array = np.arange(4, dtype=np.uint8)
    for name, content, path, kind in (
        ("x.npz", packed(lambda named, out: np.savez(out, **named), {"a": array}),
         "a.npy: array", "uint8 array 4"),
        ("x.pt", packed(torch.save, {"a": torch.arange(4.0)}), "value['a']", "float32 tensor 4"),
        ("x.pkl", pickle.dumps({"a": array}), "value['a']", "uint8 array 4"),
        ("x.pkl.gz", gzip.compress(pickle.dumps({"a": array})), "value['a']", "uint8 array 4"),
    ):  # fmt: skip
        leaves = items(name, content)
        assert leaves[path][0] == kind, name
        assert leaves[path][1].tolist() == [0, 1, 2, 3]
    parts = written_contents.make_event_parts(iter([("a", ("float32", np.float32([1.5])))]))
    assert parts["a"][5].startswith("float32")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, True), (7, False), (np.float32(0.5), True), (torch.tensor([0.5]), True),
        (torch.tensor(0.5, requires_grad=True), True), ('"0.5"', True), ("7", False),
        (10**400, False), (1j, False), (None, False), (np.zeros(2), False), (float("nan"), False),
        (torch.empty(1, device="meta"), False),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_a_fraction_below_time_is_a_time_whatever_is_logged(value, expected):
    """Nothing that a script logs raises or warns."""
    assert written_contents.is_time("time/hook", value) == expected


def test_events_of_tensorboard_are_compared_by_name_and_step(tmp_path):
    """Each scalar is there, without the time at which it was written."""
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 0.5, 3)
        writer.add_scalar("time/fps", 77.0, 3)
        writer.add_scalar("time/hook/update", 0.0021, 3)
        writer.add_scalar("time/iterations", 7, 3)
        writer.add_text("note", "some words", 4)
    (path,) = tmp_path.iterdir()
    leaves = items(path.name, path.read_bytes())
    assert leaves["loss, step 3"][1].tolist() == [0.5]
    assert not any("fps" in name or "update" in name for name in leaves)
    assert leaves["time/iterations, step 3"][1].tolist() == [7]
    assert any(name.startswith("note/text_summary, step 4") for name in leaves)


@pytest.mark.parametrize(
    "content", [b"\x80\x04never a pickle.", b"PK\x03\x04broken", b"\xff\xfe\x00"]
)
def test_what_cannot_be_read_is_compared_by_its_bytes(content):
    """A damaged file raises nothing, and two that differ are not the same."""
    assert items("x", content) != items("x", content + b"!")
    assert items("x", content)["bytes"][0] == "bytes"


@pytest.mark.parametrize(
    ("old", "new", "rounds"),
    [
        ("loss 0.5 at 3", "loss 0.50000001 at 3", True),
        ("loss 0.5", "loss 0.50", False),
        ("loss 0.5", "cost 0.5", False),
        ("loss 0.5", "loss nan", False),
        ("x" * 300 + "a", "x" * 300 + "b", False),
    ],
)
def test_numbers_in_a_text_may_round_and_its_words_may_not(old, new, rounds):
    """Another notation of the same number is a difference of its own."""
    assert (estimate_relative_difference(make_part(old), make_part(new)) < 1e-6) is rounds
