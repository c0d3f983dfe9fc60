"""Files that frameworks write: faults are named with file and place, rewrites are the same."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.model import differences, explain
from rlregress.model.recorded_traces import LOST
from rlregress.trace import jobs, recording_processes
from rlregress.trace.recording_processes import Runtime
from rlregress.trace.trace_comparison import compare_traces, mark_unsteady_parts
from rlregress.upgrade.verdict import entries
from tools.tests.small_files import edit_copy
from tools.tests.trace.scripts import TRAINING
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import event, part

TABLE = tomllib.loads(Path(__file__).with_name("written.toml").read_text(encoding="utf-8"))
ROWS = [
    pytest.param(kind, row, id=f"{kind}: {row['what']}")
    for kind in ("fault", "rewrite")
    for row in TABLE[kind]
]


def record(script, output, runtime=None):
    """The trace of a script; it has to end well."""
    job = jobs.build_script_job(script, (), (), 0)
    trace = recording_processes.record_trace(
        job, output, runtime or recording_processes.make_current_runtime("old")
    )
    assert not trace.failure
    return trace


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Records the installed framework once for each script, with what repeats itself."""
    traces = {}

    def record_twice(name):
        if name not in traces:
            folder = tmp_path_factory.mktemp(name)
            script = folder / "train.py"
            script.write_text(TABLE["scripts"][name])
            first, second = (record(script, folder / f"{n}.trace") for n in range(2))
            traces[name] = script, mark_unsteady_parts(first, second)
        return traces[name]

    return record_twice


@pytest.mark.nightly
@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_a_fault_in_what_is_written_is_named_and_a_rewrite_is_not(kind, row, plain, tmp_path):
    """A fault makes the traces diverge at the file and place where it shows; a rewrite is equal."""
    pytest.importorskip({"sb3": "stable_baselines3"}.get(row["script"], row["script"]))
    script, old = plain(row["script"])
    edits = [(row["old"], row["new"]), *row.get("then", ())]
    copy = edit_copy(frameworks.get_adapter(row["script"]), row["file"], tmp_path / "copy", *edits)
    runtime = replace(Runtime("new"), paths=(copy,))
    comparison = compare_traces(old, record(script, tmp_path / "new.trace", runtime))
    if kind == "rewrite":
        assert comparison.verdict == "equal", explain.describe_divergence(comparison.first)
    else:
        assert comparison.trains_the_same
        assert explain.describe_divergence_of_written_output(comparison.first).startswith(
            row["finds"]
        )


@pytest.mark.parametrize(
    ("old", "new", "same", "finds"),
    [
        ("open('runs.csv', 'w').write('a,b\\n1,2\\n')",
         "open('runs.csv', 'w').write('a,b\\n1,3\\n')",
         "open('runs.csv', 'w').writelines(['a,b\\n', '1,2\\n'])", "runs.csv, row 2, b: 2 -> 3"),
    ],
)  # fmt: skip
def test_a_script_that_writes_something_else_differs_at_its_file_and_place(
    recorded, tmp_path, monkeypatch, old, new, same, finds
):
    """It trains the same; a script that writes the same, in other code, is equal."""
    monkeypatch.chdir(tmp_path)
    first, other, again = (recorded(f"{TRAINING}\n{text}\n") for text in (old, new, same))
    comparison = compare_traces(first, other)
    assert comparison.trains_the_same
    text = explain.describe_divergence_of_written_output(comparison.first)
    assert text.startswith(finds)
    assert compare_traces(first, again).verdict == "equal"


def trace(**parts):
    """Return a trace of one step and of a file, which consists of some parts."""
    texts = {name: part(text) for name, text in parts.items()}
    return small_traces.trace(event("step"), event("file", "x.csv", index=1, parts=texts))


@pytest.mark.parametrize(
    ("old", "new", "repeated", "state", "reason"),
    [
        ({"row": "a"}, {"row": "b"}, ("a", "b"), differences.DIFFERS, "x.csv, row: a -> b"),
        ({"row": "a"}, {"row": "b"}, ("c", "d"), differences.ONE_WAY, ""),
        ({LOST: "large"}, {LOST: "large"}, None, differences.NOT_COMPARED, "x.csv: large"),
    ],
)
def test_what_is_written_decides_the_entry_of_its_training(old, new, repeated, state, reason):
    """It differs with file, place and values; a file that is not compared is not the same."""
    repetitions = repeated and tuple(trace(row=text) for text in repeated)
    compared = small_traces.compare_training("x", trace(**old), trace(**new), lambda _: repetitions)
    entry = entries.make_compared_training_entry(compared)
    assert entry.state == state
    assert reason in entry.reason
    assert compared.repeats
    assert bool(state == differences.ONE_WAY) is any(
        "not compared" in note for note in compared.notes
    )
