"""What no two traces may ever come to: a changed number that is equal, a verdict that depends on
who is first, on where lines stand, or on what code is called.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rlregress.trace.trace_comparison import compare_traces
from rlregress.trace.trace_reader import CAUSAL

from ..upgrade import small_traces
from ..upgrade.small_traces import event, part

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


@st.composite
def events(draw):
    """The event of one place of a training."""
    kind = draw(st.sampled_from(KINDS))
    function = draw(st.sampled_from(["train", "act"]))
    parts = {name: part(draw(FLOATS)) for name in NUMBERS[kind]}
    line = draw(st.integers(1, 99))
    return event(kind, "1", file="framework/agent.py", line=line, function=function, parts=parts)


def trace(events):
    """Return a trace of events, numbered by their order."""
    return small_traces.trace(*(replace(event, index=n) for n, event in enumerate(events)))


BODIES = st.lists(events(), min_size=1, max_size=12)
#: how a training leaves its networks.
FINAL = event("final", "networks", parts={name: part(1.0) for name in CAUSAL["final"]})
#: with the networks as the training leaves them, or without.
TRACES = st.builds(lambda body, end: trace([*body, *end]), BODIES, st.sampled_from([[], [FINAL]]))


@st.composite
def changed(draw):
    """A trace, the same with one number that is far from it, and where."""
    old = draw(TRACES)
    number = draw(st.integers(0, len(old.events) - 1))
    parts = old.events[number].parts
    name = draw(st.sampled_from(sorted(parts)))
    value = part(parts[name].values[0] + draw(st.floats(0.5, 4.0)))
    moved = replace(old.events[number], parts={**parts, name: value})
    return old, trace([*old.events[:number], moved, *old.events[number + 1 :]]), number


@given(changed())
@settings(max_examples=50)
def test_another_number_is_never_equal(traces):
    """Wherever it stands; and nothing before it is blamed for it."""
    old, new, number = traces
    comparison = compare_traces(old, new)
    assert comparison.verdict == "diverged"
    assert comparison.first.old is None or comparison.first.old.index >= number


def test_another_number_among_equal_ones_is_never_equal():
    """An event that is skipped on each side is no event more, although the networks end alike."""
    loss = event("backward", "1", line=1, parts={"loss": part(0.0)})
    far = replace(loss, parts={"loss": part(1.0)})
    draw = replace(loss, kind="draw", parts={"value": part(0.0)})
    for n in range(6):
        same = [*[loss] * n, draw]
        comparison = compare_traces(trace([loss, *same, FINAL]), trace([far, *same, FINAL]))
        assert (n, comparison.verdict) == (n, "diverged")


@given(changed())
@settings(max_examples=25)
def test_the_verdict_does_not_depend_on_which_is_first(traces):
    """Nor does the place."""
    old, new, _ = traces
    forward, backward = compare_traces(old, new), compare_traces(new, old)
    assert forward.verdict == backward.verdict
    assert forward.first.part == backward.first.part


@given(BODIES, events().filter(lambda event: event.kind == "optimizer"), st.data())
@settings(max_examples=25)
def test_an_update_that_one_version_makes_is_never_equal(body, update, data):
    """However alike the rest is; nothing says that the networks end alike."""
    at = data.draw(st.integers(0, len(body)))
    old, new = trace(body), trace([*body[:at], update, *body[at:]])
    assert compare_traces(old, new).verdict == compare_traces(new, old).verdict == "diverged"


@given(BODIES, events().filter(lambda event: event.kind in ("optimizer", "step")))
@settings(max_examples=25)
def test_a_training_that_goes_on_is_never_equal(body, step):
    """Even where the networks end alike."""
    old, new = trace([*body, FINAL]), trace([*body, step, FINAL])
    assert compare_traces(old, new).verdict == compare_traces(new, old).verdict == "diverged"
