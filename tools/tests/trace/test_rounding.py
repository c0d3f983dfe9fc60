"""Rounding goes as far as copies with numbers one unit away, and no further."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.model import explain
from rlregress.model.recorded_traces import Trace
from rlregress.trace import rounding
from rlregress.trace.trace_comparison import compare_traces

from ..upgrade import small_traces
from ..upgrade.small_traces import event, part
from .scripts import changed


def trace(*losses, name="loss"):
    """Return a trace of these losses, each followed by a step of an optimiser."""
    rows = []
    for loss in losses:
        for kind, label in (("backward", "loss"), ("optimizer", "parameters")):
            value = part(loss)
            value = replace(value, digest=f"{kind} {loss!r}")
            rows.append(event(kind, name, index=len(rows), file="a.py", line=1, function="train",
                              parts={label: value}))  # fmt: skip
    return small_traces.trace(*rows)


OLD = trace(1.0, 1.0, 1.0)


def measure(old, new, copies, **changes):
    """Return the comparison of two traces, with changes, measured by copies of the old one."""
    comparison = replace(compare_traces(old, new), **changes)
    return rounding.measure_rounding_of_comparison(comparison, old, new, copies)


@pytest.mark.parametrize(
    ("new", "copies", "without", "measured"),
    [
        # it grows as in the copies, though more than usual
        (trace(1 + 5e-7, 1.0, 1.03), [trace(1 + 1e-7, 1.0, 1.008)], "diverged", "close"),
        # it grows as usual, though no copy does
        (trace(1 + 5e-7, 1.0, 1 + 4e-4), [trace(1 + 1e-7, 1.0, 1 + 2e-7)], "close", "diverged"),
        # one of several copies is enough
        (trace(1 + 5e-7, 1.0, 1.03), [trace(1 + 1e-7, 1.0, 1.0), trace(1 + 1e-7, 1.0, 0.992)],
         "diverged", "close"),
        # and where a copy was as far before, and came back
        (trace(1 + 5e-7, 1.0, 1.03), [trace(1 + 1e-7, 1.008, 1.0)], "diverged", "close"),
        (trace(1 + 5e-7, 1.0, 9.0), [trace(1 + 1e-7, 1.0, 1.0)], "diverged", "diverged"),
    ],
)  # fmt: skip
def test_what_departs_as_far_as_the_copies_is_close(new, copies, without, measured):
    """And what departs further is a change, whatever the usual limits say."""
    comparison = compare_traces(OLD, new)
    assert (comparison.verdict, rounding.find_rounding_start(comparison)) == (without, 0)
    assert measure(OLD, new, copies).verdict == measured


#: copies of the old version: one that keeps to it, and those that do something else from a loss on.
HOLDS, SECOND, THIRD = (trace(1 + 1e-7, *rest) for rest in ((1.0, 1.0), (5.0, 5.0), (1.0, 7.0)))


@pytest.mark.parametrize(
    ("losses", "copies", "not_compared"),
    [
        # as far as any copy keeps to the old version, the new one is compared with it
        ((1.0, 1 + 5e-7), [SECOND, HOLDS], 0),
        ((1 + 5e-7, 9.0), [SECOND, THIRD], 2),
        # where the new one departs after a copy has, rounding may be the reason
        ((9.0, 9.0), [SECOND, HOLDS], 4),
        # a training that ends early, or goes on, is no other case
        ((1.0,), [SECOND, HOLDS], 2),
        ((1.0, 1.0, 1.0), [THIRD, HOLDS], 2),
        ((1.0, 9.0), [trace(1 + 1e-7, 1.0)], 2),
    ],
)
def test_what_no_copy_reaches_is_counted_as_not_compared(losses, copies, not_compared):
    """Events after the new version departs, or after the last copy does, are neither close nor
    a change.
    """
    new = trace(1 + 5e-7, *losses)
    measured = measure(OLD, new, copies, verdict="diverged")
    assert (measured.verdict, measured.not_compared) == ("close", not_compared)
    words = "\n".join(explain.describe_trace_comparison(measured, OLD, new))
    assert (f"the last {not_compared} are not compared" in words) == bool(not_compared)


def test_what_copies_do_not_decide():
    """A close training is compared to its end; an error and a large difference are no rounding."""
    measured = measure(OLD, trace(1 + 5e-7, 1.0, 1 + 4e-4), [SECOND, HOLDS])
    assert (measured.verdict, measured.not_compared) == ("close", 0)
    new = replace(trace(1 + 5e-7), header={**OLD.header, "failure": "RuntimeError: no"})
    assert measure(OLD, new, [SECOND], verdict="diverged").verdict == "diverged"
    assert rounding.find_rounding_start(compare_traces(OLD, trace(1.001, 1.0, 1.0))) is None
    assert rounding.find_rounding_start(compare_traces(OLD, OLD)) is None


@pytest.mark.parametrize("copies", [[trace(1 + 1e-7, 1.0, 1.0)], []])
@pytest.mark.parametrize("header", [{"failure": "killed"}, {"failure": "", "stopped": True}])
def test_a_copy_that_was_ended_early_explains_nothing(copies, header):
    """Neither alone nor beside others: an error or a time limit ended it, and not rounding."""
    ended = Trace(header=header, events=OLD.events[:1])
    assert measure(OLD, trace(1 + 5e-7, 1.0, 9.0), [ended, *copies]).verdict == "diverged"


def with_row(training, text, number=0.0, at=6):
    """Return the trace of a training that also writes a row of a file, after so many events."""
    row = replace(part(number), digest=f"{text} {number}", text=f"{text} {number}")
    written = event("file", "progress.csv", index=at, parts={"row 1": row})
    rows = [*training.events[:at], written, *training.events[at:]]
    return replace(training, events=tuple(replace(e, index=n) for n, e in enumerate(rows)))


@pytest.mark.parametrize(
    ("old_row", "new_row", "copy_row", "verdict"),
    [
        # numbers of a file may round as those of the training, words may not
        (("loss", 1.0), ("loss", 2.0), ("loss", 1.0), "close"),
        (("loss", 1.0), ("loss,loss", 1.0), ("loss", 1.0), "diverged"),
        # unless rounding decides on them
        (("loss", 1.0), ("best", 1.0), ("other", 1.0), "close"),
    ],
)
def test_rounding_explains_no_other_words(old_row, new_row, copy_row, verdict):
    """A training that rounds and also writes something else is a change."""
    old, new, copy = (
        with_row(training, *row)
        for training, row in (
            (OLD, old_row),
            (trace(1 + 5e-7, 1.0, 1.03), new_row),
            (trace(1 + 1e-7, 1.0, 1.008), copy_row),
        )
    )
    measured = measure(old, new, [copy])
    assert measured.verdict == verdict
    if verdict == "diverged":
        assert (measured.first.kind, measured.rounding.old.index) == ("files", 0)


@pytest.mark.parametrize(
    ("losses", "copies", "at", "verdict"),
    [
        # a copy that has departed excuses no other words
        ((1.0, 1 + 5e-7), [SECOND, HOLDS], 6, "diverged"),
        ((1.0, 9.0), [SECOND, HOLDS], 4, "diverged"),
        ((9.0, 9.0), [SECOND, SECOND], 2, "diverged"),
        # what is written after that belongs to what is not compared
        ((9.0, 9.0), [SECOND, SECOND], 3, "close"),
    ],
)
def test_other_words_are_found_as_far_as_traces_are_compared(losses, copies, at, verdict):
    """Other words in a file are a change up to the event at which the comparison ends."""
    old = with_row(OLD, "loss", at=at)
    new = with_row(trace(1 + 5e-7, *losses), "best", at=at)
    same_words = [with_row(copy, "loss", at=at) for copy in copies]
    assert measure(old, new, same_words, verdict="diverged").verdict == verdict


REWRITE = ("0.1 * new + 0.9 * old", "old + 0.1 * (new - old)")
FAULT = ("0.1 * new + 0.9 * old", "0.10001 * new + 0.89999 * old")


def test_copies_of_a_training_tell_a_rewrite_from_a_fault(recorded):
    """Of the same formula in another order, and of one that differs by a ten-thousandth."""
    old, rewritten, wrong = (recorded(changed(*changes)) for changes in ((), (REWRITE,), (FAULT,)))
    begin = rounding.find_rounding_start(compare_traces(old, rewritten))
    assert begin is not None
    assert begin == rounding.find_rounding_start(compare_traces(old, wrong))
    copies = [recorded(changed(), unit=(begin, seed)) for seed in range(rounding.COPIES)]
    assert rounding.COPIES >= 8
    assert all(compare_traces(old, copy).verdict != "equal" for copy in copies)
    assert all(copy.events[:begin] == old.events[:begin] for copy in copies)
    for new, verdict in ((rewritten, "close"), (wrong, "diverged")):
        assert measure(old, new, copies).verdict == verdict
