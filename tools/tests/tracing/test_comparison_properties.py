"""What no two traces may ever come to: a changed number that is equal, a verdict that depends on
who is first, on where lines stand, or on what code is called.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rlregress.model.recorded_traces import Event, Part, Trace
from rlregress.tracing.trace_comparison import compare
from rlregress.tracing.trace_reader import CAUSAL

#: kinds that decide a verdict; "module" and "log" move nothing by themselves.
KINDS = ("step", "draw", "data", "backward", "optimizer", "write", "output")
#: parts that are numbers.
NUMBERS = {
    **dict.fromkeys(KINDS, ("value",)),
    **{kind: CAUSAL[kind] for kind in ("step", "optimizer")},
    "backward": ("loss",),
    "output": ("value", "observation", "reward", "flags", "last"),
}
FLOATS = st.floats(-8.0, 8.0, allow_nan=False).map(lambda number: round(number, 3))


def part(number):
    """A recorded number: equal digests are equal bits."""
    return Part(digest=f"{number!r}", norm=abs(number), values=(number,))


@st.composite
def events(draw):
    """The event of one place of a training."""
    kind = draw(st.sampled_from(KINDS))
    function = draw(st.sampled_from(["train", "act"]))
    return Event(
        index=0,
        kind=kind,
        name="1",
        file="framework/agent.py",
        line=draw(st.integers(1, 99)),
        function=function,
        parts={name: part(draw(FLOATS)) for name in NUMBERS[kind]},
    )


def trace(of):
    """A trace of events, by their order."""
    numbered = tuple(replace(event, index=number) for number, event in enumerate(of))
    return Trace(header={"failure": ""}, events=numbered)


BODIES = st.lists(events(), min_size=1, max_size=12)
FINAL = Event(index=0, kind="final", name="networks", file="", line=0, function="",
              parts={name: part(1.0) for name in CAUSAL["final"]})  # fmt: skip
#: with the networks as the training leaves them, or without.
TRACES = st.builds(lambda body, end: trace([*body, *end]), BODIES, st.sampled_from([[], [FINAL]]))


@st.composite
def changed(draw):
    """A trace, the same with one number that is far from it, and where."""
    old = draw(TRACES)
    number = draw(st.integers(0, len(old.events) - 1))
    event = old.events[number]
    name = draw(st.sampled_from(sorted(event.parts)))
    was = event.parts[name].values[0]
    new = replace(event, parts={**event.parts, name: part(was + draw(st.floats(0.5, 4.0)))})
    return old, trace([*old.events[:number], new, *old.events[number + 1 :]]), number


@given(TRACES)
@settings(deadline=None, max_examples=25)
def test_a_trace_is_equal_to_itself(one):
    """All of its events are compared."""
    found = compare(one, one)
    assert (found.verdict, found.equal, found.first) == ("equal", len(one.events), None)


@given(changed())
@settings(deadline=None, max_examples=50)
def test_another_number_is_never_equal(found):
    """Wherever it stands; and nothing before it is blamed for it."""
    old, new, number = found
    comparison = compare(old, new)
    assert comparison.verdict == "diverged"
    assert comparison.first.old is None or comparison.first.old.index >= number


def test_another_number_among_equal_ones_is_never_equal():
    """An event that is skipped on each side is no event more, although the networks end alike."""
    loss = Event(index=0, kind="backward", name="1", file="framework/agent.py", line=1,
                 function="train", parts={"loss": part(0.0)})  # fmt: skip
    other = replace(loss, parts={"loss": part(1.0)})
    draw = replace(loss, kind="draw", parts={"value": part(0.0)})
    for n in range(6):
        same = [*[loss] * n, draw]
        found = compare(trace([loss, *same, FINAL]), trace([other, *same, FINAL]))
        assert (n, found.verdict) == (n, "diverged")


@given(changed())
@settings(deadline=None, max_examples=25)
def test_the_verdict_does_not_depend_on_which_is_first(found):
    """Nor does the place."""
    old, new, _ = found
    there, back = compare(old, new), compare(new, old)
    assert there.verdict == back.verdict
    assert there.first.part == back.first.part


@given(changed(), st.integers(1, 500))
@settings(deadline=None, max_examples=25)
def test_lines_that_move_change_nothing(found, shift):
    """A comment above moves all lines of a file."""
    old, new, _ = found
    moved = trace([replace(event, line=event.line + shift) for event in new.events])
    assert compare(old, moved).verdict == compare(old, new).verdict
    again = trace([replace(event, line=event.line + shift) for event in old.events])
    assert compare(old, again).verdict == "equal"


@given(BODIES, events().filter(lambda event: event.kind == "optimizer"), st.data())
@settings(deadline=None, max_examples=25)
def test_an_update_that_one_version_makes_is_never_equal(body, more, data):
    """However alike the rest is; nothing says that the networks end alike."""
    at = data.draw(st.integers(0, len(body)))
    old, new = trace(body), trace([*body[:at], more, *body[at:]])
    assert compare(old, new).verdict == compare(new, old).verdict == "diverged"


@given(BODIES, events().filter(lambda event: event.kind in ("optimizer", "step")))
@settings(deadline=None, max_examples=25)
def test_a_training_that_goes_on_is_never_equal(body, more):
    """Even where the networks end alike."""
    old, new = trace([*body, FINAL]), trace([*body, more, FINAL])
    assert compare(old, new).verdict == compare(new, old).verdict == "diverged"
