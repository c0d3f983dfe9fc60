"""Trainings that end in an error: what can be held against the other version all the same."""

from __future__ import annotations

import pytest

from rlregress.inside import events
from rlregress.inside.error_origin import RECORDER, SUITE, TRACED
from rlregress.model.recorded_traces import VERSIONS, NotTraced, Traced
from rlregress.trace import jobs
from rlregress.trace.recording_processes import Runtime
from rlregress.trace.trace_reader import load_trace
from rlregress.upgrade.evidence import compared_trainings, runtimes
from rlregress.upgrade.evidence.compared_trainings import Training, note_end_without_recorder
from rlregress.upgrade.evidence.runtimes import Runtimes
from tools.tests.small_files import write_files
from tools.tests.trace.scripts import changed, recorded_here
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import event, part

DTYPE = "Traceback\nRuntimeError: mat1 and mat2 must have the same dtype"
LOAD = "Traceback\nUnpicklingError: weights only"


def trace(count, failure="", origin=TRACED, **header):
    """Return a trace of so many steps, and the error that ended them."""
    rows = [event("step", "environment 0", index=n, parts={"reward": part(float(n))})
            for n in range(count)]  # fmt: skip
    return small_traces.trace(*rows, failure=failure, error={"origin": origin}, **header)


def compare_traces(old, new):
    """The two beside each other; each repeats itself."""
    return small_traces.compare_training("sac delays", old, new, lambda _: (old, new))


FOLLOWED = "old.copy_(0.1 * new + 0.9 * old)"


def test_what_differs_first_is_named(tmp_path):
    """By the parameters and their network, when both versions are recorded again."""
    matrices_alone = FOLLOWED.replace("0.9", "(0.9 + 0.05 * (old.dim() > 1))")

    def record_named(named):
        for label, text in (("a", changed()), ("b", changed((FOLLOWED, matrices_alone)))):
            folder = tmp_path / f"{label}{len(named)}"
            folder.mkdir()
            recorder, _ = recorded_here(text, folder, named)
            path = folder / "trace"
            header = {"failure": "", "seeded": [], "lines": {}}
            events.write_trace(str(path), header, recorder.events)
            yield load_trace(path)

    def record_again(comparison):
        training = Training("script", "here.py", {"script": "here.py"})
        named = compared_trainings.name_parts_of_first_difference(training, comparison)
        return tuple(record_named(named.job["named"]))

    training = small_traces.compare_training("here.py", *record_named(()), record_again)
    first = training.comparison.first
    names = ["Sequential 2.0.weight", "Sequential 2.2.weight"]
    assert (first.part, first.entries) == ("value", names)


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        (trace(5, DTYPE), trace(9), (None, 5)),
        (trace(9), trace(5, LOAD), (5, None)),
        # no further, but on one version it ends well
        (trace(5, DTYPE), trace(5), (None, None)),
        # both break off, elsewhere
        (trace(5, DTYPE), trace(9, LOAD), (None, 5)),
        (trace(5, LOAD), trace(0, DTYPE), (0, None)),
    ],
)
def test_a_training_that_breaks_off_in_one_version_diverges(old, new, at):
    """It does not do the same, and the report says how it ends."""
    training = compare_traces(old, new)
    assert (training.comparison.verdict, training.repeats) == ("diverged", True)
    first = training.comparison.first
    assert (first.kind, *(e and e.index for e in (first.old, first.new))) == ("order", *at)
    errors = [trace.failure.splitlines()[-1] for trace in (old, new) if trace.failure]
    assert [note.rpartition("an error: ")[2] for note in training.notes] == errors


ENDED, RECORDERS = "it ended in an error", "this suite's recorder failed"
UNFIT = "this suite's training does not fit that version"


@pytest.mark.parametrize(
    ("old", "new", "reasons"),
    [
        # before anything is trained there is nothing to compare
        (trace(0, DTYPE), trace(9), {"old": ENDED}),
        # errors of this library's own, and of a version that its training is not written for
        (trace(5, DTYPE, RECORDER), trace(9), {"old": RECORDERS}),
        (trace(9), note_end_without_recorder(trace(5, DTYPE), trace(9)), {"new": RECORDERS}),
        (trace(5, DTYPE, SUITE), trace(9), {"old": UNFIT}),
        # the same error on both versions says nothing of what comes after
        (trace(5, LOAD), trace(5, LOAD), {"old": ENDED, "new": ENDED}),
    ],
)
def test_other_errors_are_gaps(old, new, reasons):
    """They are named, and are no change."""
    training = compare_traces(old, new)
    assert isinstance(training, NotTraced)
    assert {label: why.partition(":")[0] for label, why in training.reasons.items()} == reasons
    assert training.counts
    assert (training.crash and training.crash.label) == (
        "old" if reasons == {"old": ENDED} else None
    )


LEARNER = """
import numpy
import torch

class Loss:
    def __init__(self):
        self.weight = 1.0

    def of(self, given, wanted):
        return self.weight * ((given - wanted) ** 2).mean()
"""
SCRIPT = "import learner\n" + changed(
    ("    return ((given - wanted) ** 2).mean()", "    return criterion.of(given, wanted)"),
    ("trained = main()", "criterion = learner.Loss()\ntrained = main()"),
)
LOSS_LINE = "return self.weight"


@pytest.fixture
def script(tmp_path, warm_python):
    """Compare a script on a package as it is and with a fragment of it replaced."""

    def compare_script(old, new):
        assert old in LEARNER
        trees, folders = [], []
        for label, source in zip(VERSIONS, (LEARNER, LEARNER.replace(old, new)), strict=True):
            trees.append(write_files(tmp_path / f"tree-{label}", {"learner/__init__.py": source}))
            folders.append(tmp_path / label)
            folders[-1].mkdir()
        path = tmp_path / "train.py"
        path.write_text(SCRIPT, encoding="utf-8")
        job = {**jobs.build_script_job(path, [], ["learner"], 0), "trees": ["learner"]}
        training = Training("script", "train.py", job)
        both = [Runtime(label, paths=(str(p),)) for label, p in
                zip(VERSIONS, trees, strict=True)]  # fmt: skip
        with Runtimes(tuple(both), tuple(folders), 2) as processes:

            def record(**options):
                traces = processes.record_on_both_versions([training], **options)
                return [version["train.py"] for version in traces]

            both = record(lines={"old": True, "new": True})
            return small_traces.compare_training("train.py", *both, lambda _: record(repeats=True))

    return compare_script


def at(text, function):
    """The place of a line of the script."""
    (line,) = [n for n, line_ in enumerate(SCRIPT.splitlines(), 1) if line_.strip() == text]
    return f"train.py:{line} {function}"


LOSS, UPDATE = at("return criterion.of(given, wanted)", "loss_of"), at("loss.backward()", "main")
OF = "learner/__init__.py:10 Loss.of"


@pytest.mark.parametrize(
    ("statement", "error", "innermost", "by"),
    [
        ("given.sum().backward()", "RuntimeError", UPDATE, UPDATE),
        ("import os; os.abort()", "the process was ended by SIGABRT", OF, LOSS),
        pytest.param("raise SystemExit(3)", "SystemExit", OF, LOSS, marks=pytest.mark.nightly),
    ],
)
def test_an_error_of_the_new_version_is_a_crash(script, statement, error, innermost, by):
    """It names the error, where it was raised, and the line of the script."""
    outcome = script(LOSS_LINE, f"{statement}\n        {LOSS_LINE}")
    crash = outcome.crash
    assert (crash.label, crash.error.partition(":")[0]) == ("new", error)
    assert (crash.at, crash.by) == (innermost, by)
    assert isinstance(outcome, Traced) == (crash.executed is not None) == ("process" not in error)
    if crash.executed is not None:
        assert "<module>" in crash.executed.header["functions"]["train.py"]
        assert "train.py" in crash.executed.header["imported"]


def test_a_process_that_is_killed_is_not_judged():
    """SIGKILL is what a machine without memory sends."""
    text = "the process was ended by SIGKILL"
    training = Training("script", "train.py", {"script": "train.py", "packages": ["learner"]})
    killed = runtimes._make_killed_trace(training, runtimes._ENDED.search(text), text)
    assert compared_trainings.find_crash(small_traces.trace(), killed) is None
