"""The recorded part of a value, and the file of a trace."""

from __future__ import annotations

import copy
import dataclasses
import gzip
import json
import time
from typing import Any

import numpy as np
import pytest
import torch

from rlregress.errors import UserError
from rlregress.inside import events
from rlregress.inside.events import (
    Places,
    convert_to_array,
    has_readable_numbers,
    join_event_parts,
    make_event_part,
    make_part_of_many_arrays,
)
from rlregress.trace import trace_reader


def test_equal_bits_have_equal_digests():
    """The digest is that of type, shape and bits."""
    array = np.arange(6, dtype=np.float32)
    assert make_event_part(array) == make_event_part(array.copy())
    different = [
        torch.arange(6, dtype=torch.float32), array.astype(np.float64), array.reshape(2, 3),
        np.nextafter(array, 9), array.tolist(), tuple(array.tolist()), list(array),
    ]  # fmt: skip
    assert len({make_event_part(x)[0] for x in [array, *different]}) == 8
    assert (
        make_event_part(1)[0]
        != make_event_part(1.0)[0]
        != make_event_part(True)[0]
        != make_event_part(np.float32(1))[0]
    )


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (np.zeros((2, 3), np.uint8), "uint8 array 2x3"),
        (torch.zeros(()), "float32 tensor scalar"),
        (torch.nn.Parameter(torch.zeros(1)), "float32 Parameter 1"),
        (torch.zeros(2, 2).to_sparse(), "float32 tensor 2x2 torch.sparse_coo"),
        (torch.zeros(2, device="meta"), "float32 tensor 2 meta"),
        (np.float32(1), "float32 scalar"),
        ([1.0, 2.0], "list of 2 float"),
        ((), "tuple of 0"),
        (
            {"b": [1, np.zeros(2)], "a": True},
            "a: bool; b: list of 2; b[0]: int; b[1]: float64 array 2",
        ),
        ({"next": {"reward": 1.0}}, "next.reward: float"),
    ],
)
def test_types_are_named(value, types):
    """Python type, dtype, shape, device and layout, by name."""
    assert events.describe_types(value) == types


def test_many_types_are_short_and_tell_the_last_one_apart():
    """A network of many layers has a digest in place of the names of all."""
    many = [np.zeros(n) for n in range(500)]
    words = events.describe_types(many)
    assert len(words) < 500
    assert words != events.describe_types([*many[:-1], many[-1].astype(np.float32)])


def test_the_numbers_of_a_part():
    """Norm and values to nine digits; words have a digest only, a tree those of its leaves."""
    digest, norm, values, shadow, _, _ = make_event_part(np.array([3.0, 4.0, 0.0, 0.0, 0.0]))
    assert len(digest) == 16
    assert (norm, values) == (5.0, [3.0, 4.0, 0.0, 0.0])
    assert shadow is not None
    assert make_event_part(np.float64(1 / 3))[2] == [0.333333333]
    assert make_event_part("word")[1:] == [None, [], None, "", "str"]
    assert make_event_part("word")[0] != make_event_part("words")[0]
    tree = {"b": np.zeros(2), "a": (1.0, "word")}
    assert make_event_part(tree)[0] == make_event_part({"a": (1.0, "word"), "b": np.zeros(2)})[0]
    assert make_event_part(tree)[0] != make_event_part({"a": (1.0, "word"), "b": np.ones(2)})[0]


def test_a_shadow_falls_alike_from_short_and_long_arrays():
    """It does not depend on earlier arrays, and draws nothing from the training's generators."""
    array = np.linspace(1, 2, 50)
    before = make_event_part(array)[3]
    make_event_part(np.ones(100_000))
    assert make_event_part(array)[3] == before
    # parameter by parameter is as one array
    assert make_part_of_many_arrays([array[:20], array[20:]])[3] == before
    np.random.seed(1)
    state = np.random.get_state()[1].copy()
    make_event_part(np.ones(300_000))
    assert np.array_equal(np.random.get_state()[1], state)


@dataclasses.dataclass
class Held:
    """Numbers in an object."""

    value: Any


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Held(np.array([0.123456789])), Held(np.array([0.123456788]))),
        (Held(torch.tensor([0.123456])), Held(torch.tensor([0.123457]))),
        (Held(np.zeros(2000)), Held(np.eye(1, 2000, 1000)[0])),
        (np.array(["a"] * 2000), np.array(["a"] * 1000 + ["b"] + ["a"] * 999)),
        (np.array([{"x": np.zeros(2000)}]), np.array([{"x": np.eye(1, 2000, 1000)[0]}])),
    ],
)
def test_all_numbers_of_an_object_are_told_apart(old, new):
    """Its words leave out none of its numbers, nor of their digits."""
    assert make_event_part(old) == make_event_part(copy.deepcopy(old))
    assert make_event_part(old)[0] != make_event_part(new)[0]


class Odd:
    """Cannot be read, and has no words for itself."""

    def __repr__(self):
        raise RuntimeError("no words")

    def __array__(self, *_, **__):
        raise RuntimeError("no numbers")

    def detach(self):
        """Raise, as no tensor does."""
        raise RuntimeError("no tensor")


def test_what_cannot_be_read_is_known_by_its_type():
    """No value makes the recorder fail; the same type is the same part, in any process."""
    assert make_event_part(Odd()) == make_event_part(Odd())
    assert bytes(convert_to_array(Odd())).decode().startswith("unreadable ")
    assert make_event_part(Odd()) != make_event_part(torch.nn.UninitializedParameter())
    # an object's place in memory is no value
    assert make_event_part(object()) == make_event_part(object())
    assert make_event_part([Odd(), object(), "word", None]) is not None


def test_tensors_of_all_kinds_are_read():
    """Sparse, small and complex numbers are kept as they are; on device meta there are none."""
    dense = torch.tensor([[0.0, 2.0], [0.0, 0.0]])
    for sparse in (dense.to_sparse(), dense.to_sparse_csr()):
        assert make_event_part(sparse)[1:5] == make_event_part(dense)[1:5]
    assert make_event_part(torch.tensor([1.5, 2.5], dtype=torch.bfloat16))[2] == [1.5, 2.5]
    assert make_event_part(torch.tensor([1.5, 2.5], dtype=torch.float16))[2] == [1.5, 2.5]
    number = torch.tensor([1.0 + 2.0j])
    assert make_event_part(number)[2] == [1.0, 2.0]
    assert make_event_part(number.conj())[2] == [1.0, -2.0]
    assert make_event_part(np.array([1.0 + 2.0j]))[2] == [1.0, 2.0]
    empty = torch.ones(2, device="meta")
    assert has_readable_numbers(torch.ones(2))
    assert has_readable_numbers([torch.ones(2), 1.0, "word"])
    assert not has_readable_numbers(empty)
    assert not has_readable_numbers([torch.ones(2), (empty,)])


def test_an_exchange_of_two_parts_shows():
    """Joined parts are weighed by their place."""
    a, b = make_event_part(np.ones(9)), make_event_part(2 * np.ones(9))
    assert join_event_parts([a, b])[0] != join_event_parts([b, a])[0]
    assert join_event_parts([a, b])[3] != join_event_parts([b, a])[3]


def test_what_is_not_finite_is_kept(tmp_path):
    """NaN and infinity go through the file and come back."""
    part_found = make_event_part(np.array([np.nan, np.inf, 1.0, 2.0, 3.0]))
    event = {"kind": "backward", "name": "loss", "at": None, "parts": {"loss": part_found}}
    events.write_trace(str(tmp_path / "t"), {"failure": "", "seeded": [], "lines": {}}, [event])
    (read,) = trace_reader.load_trace(tmp_path / "t").events
    assert np.isnan(read.parts["loss"].values[0])
    assert read.parts["loss"].values[1] == np.inf


def test_places_are_below_their_root(tmp_path):
    """A file of a root is named from the root on; any other has no name."""
    names = {"package/inner.py": "package/inner.py", "script.py": "script.py"}
    places = Places([str(tmp_path / "package"), str(tmp_path / "script.py")])
    for file in (*names, "package2/other.py"):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.touch()
        assert places.find_path_below_root(str(path)) == names.get(file)


def written(folder, text):
    """A compressed file with this text."""
    path = folder / "some.trace"
    with gzip.open(path, "wt") as file:
        file.write(text)
    return path


HEADER = json.dumps({"schema": events.SCHEMA, "failure": "", "seeded": [], "lines": {}}) + "\n"


FORGED = "x\nequal: 9 events the same to the bit"
IN_ONE_LINE = "expected text in one line"


def event_row(name="x", at=None, kind="draw", **parts):
    """Return the line of an event."""
    return json.dumps({"kind": kind, "name": name, "at": at, "parts": parts}) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ""), ("[]\n", ""), ("{}\n", ""), ("no json\n", ""),
        (json.dumps({"schema": events.SCHEMA}), ""),
        (HEADER + event_row(value=["a"]), ""),
        # it is shown, and its second line would be taken for one of this program
        (HEADER + event_row(FORGED), IN_ONE_LINE),
        (HEADER + event_row(at=[FORGED, 1, "f", []]), IN_ONE_LINE),
        (HEADER + event_row(at=["a.py", 1, FORGED, []]), IN_ONE_LINE),
        (HEADER + event_row(at=["a.py", 1, "f", [[FORGED, 1, "f"]]]), IN_ONE_LINE),
        (HEADER + event_row(at=["a.py", 1, "f", [["a", 1, FORGED]]]), IN_ONE_LINE),
    ],
)  # fmt: skip
def test_a_damaged_trace_says_so(tmp_path, text, message):
    """Whatever is wrong inside, the message names the file and what to do."""
    with pytest.raises(UserError, match=rf"some\.trace.*{message}.* record it again"):
        trace_reader.load_trace(written(tmp_path, text))


def test_a_cut_or_overwritten_file_says_so(tmp_path):
    """A file that is cut, changed inside, of something else, or not there is named."""
    path = tmp_path / "whole"
    rows = [
        {
            "kind": "draw",
            "name": "x",
            "at": None,
            "parts": {"value": make_event_part(np.random.rand(9))},
        }
        for _ in range(50)
    ]
    events.write_trace(str(path), {"failure": "", "seeded": [], "lines": {}}, rows)
    content = path.read_bytes()
    start, middle, end = content[:150], content[150:190], content[190:]
    turned = bytes(255 - byte for byte in middle)
    for damaged in (start, start + turned + end, b"text", b""):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match="whole cannot be read"):
            trace_reader.load_trace(path)
    with pytest.raises(UserError, match="there is no trace .*nothing"):
        trace_reader.load_trace(tmp_path / "nothing")


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    """A trace that cannot be written to its end does not take the place of the one before."""
    path = tmp_path / "t"
    events.write_trace(str(path), {"failure": "", "seeded": [], "lines": {}}, [])
    with pytest.raises(TypeError):
        events.write_trace(
            str(path), {"failure": "x", "seeded": [], "lines": {}}, [{"parts": object()}]
        )
    assert trace_reader.load_trace(path).failure == ""


def test_words_of_a_part_are_one_line(tmp_path):
    """An error of a framework may have several lines."""
    parts = {"value": events.make_part_of_text(FORGED + "\x1b", events.RAISED)}
    row = event_row(kind="output", **parts)
    (event,) = trace_reader.load_trace(written(tmp_path, HEADER + row)).events
    assert event.error == f"{FORGED.replace(chr(10), ' ')} "


def test_a_trace_of_too_many_events_is_refused_soon(tmp_path, monkeypatch):
    """A file of a few KB may hold millions."""
    monkeypatch.setattr(trace_reader, "_MOST_EVENTS", 100_000)
    path = written(tmp_path, HEADER + event_row() * 500_000)
    started = time.process_time()
    with pytest.raises(UserError, match="it has more than 100000 events"):
        trace_reader.load_trace(path)
    assert time.process_time() - started < 5
