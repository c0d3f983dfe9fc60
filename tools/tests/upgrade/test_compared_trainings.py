"""Trainings that end in an error: what can be held against the other version all the same."""

from __future__ import annotations

import signal

import pytest

from rlregress.errors import UserError
from rlregress.inside import events
from rlregress.inside.error_origin import RECORDER, SUITE, TRACED
from rlregress.model.recorded_traces import UncomparedTraining
from rlregress.trace.trace_reader import load_trace
from rlregress.upgrade.evidence import compared_trainings, runtimes
from rlregress.upgrade.evidence.compared_trainings import Training, note_end_without_recorder
from tools.tests.processes import run_python
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
        named = compared_trainings.request_names_of_differing_values(training, comparison)
        return tuple(record_named(named.job["named"]))

    training = small_traces.compare_training("here.py", *record_named(()), record_again)
    first = training.comparison.first
    names = ["Sequential 2.0.weight", "Sequential 2.2.weight"]
    assert (first.part, first.differing_entries) == ("value", names)


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
UNFIT = "the adapter's training does not fit that version"


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
    assert isinstance(training, UncomparedTraining)
    assert {label: why.partition(":")[0] for label, why in training.reasons.items()} == reasons
    assert training.is_supported_by_both_versions
    assert (training.crash and training.crash.label) == (
        "old" if reasons == {"old": ENDED} else None
    )


FOUND = {"learner": "/new/learner.py"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # a gate on nothing is no acquittal
        (small_traces.trace(), trace(9), "nothing was traced on the old version"),
        (trace(9, modules={"learner": ""}), trace(9, modules=FOUND),
         "imported no changed package on the old version .learner"),
        (trace(9, modules=FOUND), trace(9, modules=FOUND), "both versions imported 'learner' from"),
    ],
)  # fmt: skip
def test_a_training_that_does_not_use_what_differs_is_refused(old, new, message):
    """It trains nothing, imports nothing of one version, or the same copy on both."""
    with pytest.raises(UserError, match=message):
        compared_trainings.compare_recorded_training("train.py", old, new)


FILES = {
    "train.py": "import learner\n\ndef loss_of():\n    learner.Loss().of()\n\nloss_of()\n",
    "learner/__init__.py": (
        "import os, signal\n\nclass Loss:\n    def of(self):\n        signal.raise_signal({})\n"
    ),
}


@pytest.mark.parametrize(
    ("number", "is_crash"),
    # SIGKILL is what a machine without memory sends
    [(signal.SIGABRT, True), (signal.SIGKILL, False)],
)
def test_a_process_that_a_signal_ends_is_a_crash_if_the_code_sent_it(tmp_path, number, is_crash):
    """It names the signal, where it was raised, and the line of the script."""
    files = {name: text.format(int(number)) for name, text in FILES.items()}
    script = write_files(tmp_path, files) / "train.py"
    process = run_python("-X", "faulthandler", script, code=-number)
    text = f"{process.stderr}\nthe process was ended by {number.name}"
    training = Training("script", "train.py", {"script": str(script), "packages": ["learner"]})
    ended = runtimes._make_killed_trace(training, runtimes._ENDED.search(text), text)
    crash = compare_traces(trace(9), ended).crash
    if not is_crash:
        assert crash is None
        return
    assert crash.label == "new"
    assert crash.error == "the process was ended by SIGABRT"
    assert (crash.at, crash.by) == ("learner/__init__.py:5 Loss.of", "train.py:4 loss_of")
