"""Contents of files are compared by their type, without parts that differ in every run."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tempfile
import zipfile

import numpy as np
import pytest
import torch

from rlregress.inside import written_contents
from rlregress.model.recorded_traces import Part, estimate_relative_difference


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
        (
            f"in {tempfile.gettempdir()}/tmpab12_cde/x",
            f"in {tempfile.gettempdir()}/tmpzz99aa_b/x",
            True,
        ),
        (f"in {os.getcwd()}/runs", "in runs", True),
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
        ("a  b", "a b", False),
        ("/data/run1/x", "/data/run2/x", False),
        ("learning_starts: 100", "learning_starts: 10", False),
    ],
)
def test_what_no_two_runs_have_in_common_is_masked(old, new, is_masked):
    """Times, folders, addresses, random names, warnings and progress bars, and no results."""
    written_contents.list_folder_masks.cache_clear()
    old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
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


def test_archives_are_compared_by_their_parts():
    """Dates and packing do not count; of Stable-Baselines3, nor do versions."""
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


def test_arrays_tensors_and_pickles_are_compared_by_their_values():
    """Type and numbers of each, whatever the file around them."""
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


def test_events_of_tensorboard_are_compared_by_name_and_step(tmp_path):
    """Each scalar is there, without the time at which it was written."""
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 0.5, 3)
        writer.add_scalar("time/fps", 77.0, 3)
        writer.add_text("note", "some words", 4)
    (path,) = tmp_path.iterdir()
    leaves = items(path.name, path.read_bytes())
    assert leaves["loss, step 3"][1].tolist() == [0.5]
    assert not any("fps" in name for name in leaves)
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
