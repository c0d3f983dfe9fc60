"""Trainings that end in an error: what can be held against the other side all the same."""

from __future__ import annotations

import pytest

from rlregress.inside import error_origin, events
from rlregress.model import explain
from rlregress.model.recorded_traces import Event, NotTraced, Part, Trace, Traced, in_words
from rlregress.reporting.html import traces_page
from rlregress.tracing.trace_reader import load
from rlregress.upgrade import compared_trainings
from tools.tests.tracing.scripts import changed, recorded_here

DTYPE = "Traceback\nRuntimeError: mat1 and mat2 must have the same dtype"
LOAD = "Traceback\nUnpicklingError: weights only"


def trace(count: int, failure: str = "", theirs: bool = True, kind: str = "step") -> Trace:
    """So many steps, and the error that ended them."""
    rows = [
        Event(
            index=n,
            kind=kind,
            name="environment 0",
            file="",
            line=0,
            function="",
            parts={"reward": Part(digest=str(n), norm=1.0, values=(float(n),))},
        )
        for n in range(count)
    ]
    error = {"origin": error_origin.TRACED if theirs else error_origin.RECORDER} if failure else {}
    header = {"failure": failure, "error": error, "seeded": [], "lines": {}}
    return Trace(header=header, events=tuple(rows))


def held(old: Trace, new: Trace) -> Traced | NotTraced:
    """The two beside each other; each repeats itself."""
    return compared_trainings.compare_training("sac delays", old, new, lambda _: (old, new))


BEGUN = "nn.Linear(16, 2))\n"
CLIPPED = "        nn.utils.clip_grad_norm_(online.parameters(), 0.5)\n"
ENTRIES = {
    "a parameter": (
        BEGUN, BEGUN + "    online[2].bias.data.fill_(0.25)\n", "value", ["Sequential.2.bias"]),
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

    def sides(named):
        for label, text in (("a", changed()), ("b", changed((old, new)))):
            folder = tmp_path / f"{label}{len(named)}"
            folder.mkdir()
            recorder, _ = recorded_here(text, folder, named)
            path = folder / "trace"
            header = {"failure": "", "seeded": [], "lines": {}}
            events.write(str(path), header, recorder.events)
            yield load(path)

    def again(comparison):
        training = compared_trainings.Training("script", "here.py", {"script": "here.py"})
        return tuple(
            sides(compared_trainings.name_first_difference(training, comparison).job["named"])
        )

    found = compared_trainings.compare_training("here.py", *sides(()), again)
    first = found.comparison.first
    assert (first.part, first.entries) == (part, names)
    assert f"in {', '.join(names)}" in "\n".join(explain.divergence(first))


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        (trace(5, DTYPE), trace(9), (None, 5)),
        (trace(9), trace(5, LOAD), (5, None)),
        # no further, but on one side it ends well
        (trace(5, DTYPE), trace(5), (None, None)),
        # both break off, elsewhere
        (trace(5, DTYPE), trace(9, LOAD), (None, 5)),
        (trace(5, LOAD), trace(0, DTYPE), (0, None)),
    ],
)
def test_a_training_that_breaks_off_on_one_side_parts(old, new, at):
    """It does not do the same, and the report says how it ends."""
    found = held(old, new)
    assert isinstance(found, Traced)
    assert (found.comparison.verdict, found.repeats, found.proved) == ("diverged", True, False)
    first = found.comparison.first
    assert (first.kind, *(e and e.index for e in (first.old, first.new))) == ("order", *at)
    text = str(traces_page.finding([found], None, (), "").parts)
    for label, side in (("old", old), ("new", new)):
        message = f"{in_words(label)} breaks off with an error: {side.failure.splitlines()[-1:]}"
        assert (message.replace("['", "").replace("']", "") in text) == bool(side.failure)


@pytest.mark.parametrize(
    ("old", "new", "sides"),
    [
        # before anything is trained there is nothing to compare
        (trace(0, DTYPE), trace(9), ["old"]),
        # an error of this library's own
        (trace(5, DTYPE, theirs=False), trace(9), ["old"]),
        # the same error on both sides says nothing of what comes after
        (trace(5, LOAD), trace(5, LOAD), ["old", "new"]),
    ],
)
def test_other_errors_are_gaps(old, new, sides):
    """They are named, and are no change."""
    found = held(old, new)
    assert isinstance(found, NotTraced)
    assert list(found.sides) == sides
    assert found.counts
