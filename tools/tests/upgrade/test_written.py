"""What frameworks write: faults are named with file and place, rewrites are the same."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.model import explain
from rlregress.tracing import jobs, recording_processes
from rlregress.tracing.recording_processes import Side
from rlregress.tracing.trace_comparison import compare, without_unsteady

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
    job = jobs.of_script(script, (), (), 0)
    trace = recording_processes.record(job, output, side or recording_processes.current("A"))
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
            one, other = (record(script, folder / f"{n}.trace") for n in range(2))
            known[name] = script, without_unsteady(one, other)
        return known[name]

    return recorded


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_a_fault_in_what_is_written_is_named_and_a_rewrite_is_not(kind, row, plain, tmp_path):
    """A fault makes the traces diverge at the file and place where it shows; a rewrite is equal."""
    pytest.importorskip({"sb3": "stable_baselines3"}.get(row["script"], row["script"]))
    script, old = plain(row["script"])
    frameworks.get(row["script"]).copy_to_change(row["file"], tmp_path)
    path = tmp_path / row["file"]
    text = path.read_text()
    for before, after in [(row["old"], row["new"]), *row.get("then", ())]:
        assert text.count(before) == 1
        text = text.replace(before, after)
    path.unlink()
    path.write_text(text)
    side = replace(Side("B"), paths=(str(tmp_path),))
    found = compare(old, record(script, tmp_path / "new.trace", side))
    if kind == "rewrite":
        assert found.verdict == "equal", explain.divergence(found.first)
    else:
        assert found.trains_the_same
        assert explain.written(found.first).startswith(row["finds"])
