"""What frameworks write: faults are named with file and place, rewrites are the same."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.model import differences, explain
from rlregress.model.recorded_traces import LOST, Event, Part, Trace
from rlregress.tracing import jobs, recording_processes
from rlregress.tracing.recording_processes import Side
from rlregress.tracing.trace_comparison import compare, without_unsteady
from rlregress.upgrade import compared_trainings, entries

pytestmark = pytest.mark.usefixtures("warm_python")

TABLE = tomllib.loads(Path(__file__).with_name("written.toml").read_text(encoding="utf-8"))
#: one of each kind is quick enough for every change.
QUICK = {"TorchRL: the last line of a text is lost", "TorchRL: a row in two pieces"}
ROWS = [
    pytest.param(
        kind, row, id=f"{kind}: {row['what']}",
        marks=[] if row["what"] in QUICK else [pytest.mark.nightly],
    )
    for kind in ("fault", "rewrite")
    for row in TABLE[kind]
]  # fmt: skip


def record(script, output, side=None):
    """The trace of a script; it has to end well."""
    job = jobs.build_script_job(script, (), (), 0)
    trace = recording_processes.record(job, output, side or recording_processes.current("old"))
    assert not trace.failure
    return trace


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Records the installed framework once for each script, with what repeats itself."""
    known = {}

    def recorded(name):
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            script = folder / "train.py"
            script.write_text(TABLE["scripts"][name])
            first, second = (record(script, folder / f"{n}.trace") for n in range(2))
            known[name] = script, without_unsteady(first, second)
        return known[name]

    return recorded


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_a_fault_in_what_is_written_is_named_and_a_rewrite_is_not(kind, row, plain, tmp_path):
    """A fault makes the traces diverge at the file and place where it shows; a rewrite is equal."""
    pytest.importorskip({"sb3": "stable_baselines3"}.get(row["script"], row["script"]))
    script, old = plain(row["script"])
    frameworks.get(row["script"]).code.copy_to_change(row["file"], tmp_path)
    path = tmp_path / row["file"]
    text = path.read_text()
    for before, after in [(row["old"], row["new"]), *row.get("then", ())]:
        assert text.count(before) == 1
        text = text.replace(before, after)
    path.unlink()
    path.write_text(text)
    side = replace(Side("new"), paths=(str(tmp_path),))
    found = compare(old, record(script, tmp_path / "new.trace", side))
    if kind == "rewrite":
        assert found.verdict == "equal", explain.divergence(found.first)
    else:
        assert found.trains_the_same
        assert explain.written(found.first).startswith(row["finds"])


def trace(**parts):
    """A trace of one step and of a file, which consists of some parts."""
    step = Event(index=0, kind="step", name="E", file="", line=0, function="", parts={})
    made = {n: Part(digest=text, norm=None, values=(), text=text) for n, text in parts.items()}
    file = replace(step, index=1, kind="file", name="x.csv", parts=made)
    header = {"failure": "", "error": {}, "seeded": [], "lines": {}}
    return Trace(header=header, events=(step, file))


@pytest.mark.parametrize(
    ("old", "new", "again", "state", "reason"),
    [
        ({"row": "a"}, {"row": "b"}, ("a", "b"), differences.DIFFERS, "x.csv, row: a -> b"),
        ({"row": "a"}, {"row": "b"}, ("c", "d"), differences.ONE_WAY, ""),
        ({LOST: "large"}, {LOST: "large"}, None, differences.NOT_COMPARED, "x.csv: large"),
    ],
)
def test_what_is_written_decides_the_entry_of_its_training(old, new, again, state, reason):
    """It differs with file, place and values; a file that is not compared is not the same."""
    repetitions = again and tuple(trace(row=text) for text in again)
    held = compared_trainings.compare_training(
        "x", trace(**old), trace(**new), lambda _: repetitions
    )
    entry = entries.make_traced(held, "sb3")
    assert entry.state == state
    assert reason in entry.reason
    assert held.repeats
    assert bool(state == differences.ONE_WAY) is any("not compared" in note for note in held.notes)
