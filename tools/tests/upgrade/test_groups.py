"""One training stands for those that diverge likewise, and for no others."""

from __future__ import annotations

from dataclasses import replace

from rlregress.model.traces import Comparison, Divergence, Event, Part, Trace, Traced
from rlregress.upgrade import groups

TRAIN, SAMPLE = ("sb3/ppo.py", "PPO.train"), ("sb3/buffers.py", "sample")


def trace(events, *functions):
    """A trace of so many events that has executed functions."""
    by_file = {}
    for file, name in functions:
        by_file.setdefault(file, []).append(name)
    made = [
        Event(index=n, kind="backward", name="loss", file="sb3/ppo.py", line=7, function="train",
              parts={"loss": Part(digest=str(n), norm=None, values=())})
        for n in range(events)
    ]  # fmt: skip
    return Trace(header={"functions": by_file, "lines": {}}, events=tuple(made))


def diverging(trace, function="train"):
    """A comparison whose first difference is in a function."""
    event = replace(trace.events[0], function=function)
    first = Divergence(kind="loss", part="loss", a=event, b=event, before=())
    return Comparison(verdict="diverged", compared=1, first=first)


def test_the_shortest_of_those_that_diverge_likewise_stands_for_them():
    """Whatever else they execute: what has not changed is no difference."""
    other = ("sb3/utils.py", "polyak_update")
    traces = {
        "long": trace(9, TRAIN, other), "short": trace(3, TRAIN), "more": trace(2, TRAIN, SAMPLE),
        "elsewhere": trace(5, TRAIN),
    }  # fmt: skip
    found = groups.representatives(
        {
            name: diverging(each, "act" if name == "elsewhere" else "train")
            for name, each in traces.items()
        },
        (traces, traces),
        {TRAIN, SAMPLE},
    )
    assert found == {
        "long": "short", "short": "short", "more": "more", "elsewhere": "elsewhere",
    }  # fmt: skip


def test_a_note_names_the_training_that_was_searched():
    """In place of one that was not recorded again."""
    one = trace(3, TRAIN)
    held = Traced(name="long", comparison=diverging(one), a=one, b=one, repeats=True, notes=())
    (noted,) = groups.likewise([held], {"long": "short"})
    assert "as short" in noted.notes[0]
    assert groups.likewise([held], {"long": "long"}) == [held]
