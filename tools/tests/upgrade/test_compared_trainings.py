"""Trainings that end in an error: what can be held against the other version all the same."""

from __future__ import annotations

import pytest

from rlregress.inside import error_origin, events
from rlregress.model import explain
from rlregress.model.recorded_traces import NotTraced, Traced, describe_version_label
from rlregress.report.html import traces_page
from rlregress.trace.trace_reader import load_trace
from rlregress.upgrade.evidence import compared_trainings
from tools.tests.trace.scripts import changed, recorded_here
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import event, part

DTYPE = "Traceback\nRuntimeError: mat1 and mat2 must have the same dtype"
LOAD = "Traceback\nUnpicklingError: weights only"


def trace(count, failure="", theirs=True, kind="step"):
    """Return a trace of so many steps, and the error that ended them."""
    rows = [event(kind, "environment 0", index=n, parts={"reward": part(float(n))})
            for n in range(count)]  # fmt: skip
    error = {"origin": error_origin.TRACED if theirs else error_origin.RECORDER} if failure else {}
    return small_traces.trace(*rows, failure=failure, error=error)


def compare_traces(old, new):
    """The two beside each other; each repeats itself."""
    return small_traces.compare_training("sac delays", old, new, lambda _: (old, new))


LAST_LAYER = "nn.Linear(16, 2))\n"
CLIPPED = "        nn.utils.clip_grad_norm_(online.parameters(), 0.5)\n"
ENTRIES = {
    "a parameter": (
        LAST_LAYER, LAST_LAYER + "    online[2].bias.data.fill_(0.25)\n", "value",
        ["Sequential.2.bias"]),
    "a gradient": (
        CLIPPED, CLIPPED + "        online[0].bias.grad.mul_(0.5)\n", "value",
        ["gradient of Sequential.0.bias (again)"]),
    "another network": (
        "old.copy_(0.1 * new + 0.9 * old)", "old.copy_(0.1 * new + (0.9 + 0.05 * (old.dim() > 1)) "
        "* old)", "value", ["Sequential 2.0.weight", "Sequential 2.2.weight"]),
}  # fmt: skip


@pytest.mark.parametrize("case", ENTRIES)
def test_what_differs_first_is_named(case, tmp_path):
    """By the parameter and its network, when both versions are recorded again."""
    old, new, part, names = ENTRIES[case]

    def record_named(named):
        for label, text in (("a", changed()), ("b", changed((old, new)))):
            folder = tmp_path / f"{label}{len(named)}"
            folder.mkdir()
            recorder, _ = recorded_here(text, folder, named)
            path = folder / "trace"
            header = {"failure": "", "seeded": [], "lines": {}}
            events.write_trace(str(path), header, recorder.events)
            yield load_trace(path)

    def record_again(comparison):
        training = compared_trainings.Training("script", "here.py", {"script": "here.py"})
        return tuple(
            record_named(
                compared_trainings.name_parts_of_first_difference(training, comparison).job["named"]
            )
        )

    training = small_traces.compare_training("here.py", *record_named(()), record_again)
    first = training.comparison.first
    assert (first.part, first.entries) == (part, names)
    assert f"in {', '.join(names)}" in "\n".join(explain.describe_divergence(first))


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
    assert isinstance(training, Traced)
    assert (training.comparison.verdict, training.repeats, training.proved) == (
        "diverged",
        True,
        False,
    )
    first = training.comparison.first
    assert (first.kind, *(e and e.index for e in (first.old, first.new))) == ("order", *at)
    text = str(traces_page.make_finding_of_trainings([training], None, (), "").parts)
    for label, trace in (("old", old), ("new", new)):
        message = (
            f"{describe_version_label(label)} breaks off with an error: "
            f"{trace.failure.splitlines()[-1:]}"
        )
        assert (message.replace("['", "").replace("']", "") in text) == bool(trace.failure)


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        # before anything is trained there is nothing to compare
        (trace(0, DTYPE), trace(9), ["old"]),
        # an error of this library's own
        (trace(5, DTYPE, theirs=False), trace(9), ["old"]),
        # the same error on both versions says nothing of what comes after
        (trace(5, LOAD), trace(5, LOAD), ["old", "new"]),
    ],
)
def test_other_errors_are_gaps(old, new, labels):
    """They are named, and are no change."""
    training = compare_traces(old, new)
    assert isinstance(training, NotTraced)
    assert list(training.reasons) == labels
    assert training.counts
