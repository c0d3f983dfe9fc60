"""Two traces: equal, close or diverged; the first difference, its kind, and skipped events."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rlregress.inside import events
from rlregress.model import explain
from rlregress.model.explain import Repeated
from rlregress.model.recorded_traces import (
    Part,
    describe_first_differing_types,
    estimate_relative_difference,
)
from rlregress.trace import trace_comparison, trace_reader
from rlregress.trace.trace_comparison import compare_traces

from ..upgrade import small_traces
from ..upgrade.small_traces import event, part
from .scripts import TRAINING, changed, recorded_here


def traced(folder, text, name="a"):
    """The trace of a script that ran in this process."""
    inner = folder / name
    inner.mkdir()
    recorder, _ = recorded_here(text, inner)
    events.write_trace(
        str(inner / "trace"), {"failure": "", "seeded": [], "lines": {}}, recorder.events
    )
    return trace_reader.load_trace(inner / "trace")


@functools.cache
def training():
    """The trace of the training as it is, recorded once."""
    with tempfile.TemporaryDirectory() as folder:
        return traced(Path(folder), TRAINING)


def compared(folder, *changes):
    """The training beside itself with changes."""
    return compare_traces(training(), traced(folder, changed(*changes), "b"))


def test_the_same_training_is_equal(tmp_path):
    """The same script twice is equal to the bit, with nothing skipped."""
    comparison = compared(tmp_path)
    assert comparison.verdict == "equal"
    assert comparison.extra == ()
    assert comparison.compared == comparison.equal > 50


@pytest.mark.parametrize(
    ("old", "new", "kind", "function"),
    [
        ("torch.manual_seed(1)", "torch.manual_seed(2)", "initialisation", "networks"),
        ("random.seed(1)\nnp", "random.seed(2)\nnp", "exploration", "explore"),
        ("reset(seed=3)", "reset(seed=4)", "environment", "main"),
        ("size=8)", "size=8) // 2 * 2 % len(memory)", "data", "minibatch"),
        ("np.random.randint(0, len(memory), size=8)",
         "np.random.randint(0, len(memory) + 1, size=8) - 1", "sampling", "minibatch"),
        (".mean()\n", ".mean() * 2\n", "loss", "main"),
        ("clip_grad_norm_(online.parameters(), 0.5)",
         "clip_grad_norm_(online.parameters(), 0.25)", "gradient", "main"),
        ("loss.backward()", "loss.backward(); online[0].bias.grad = online[0].bias.grad * 2",
         "gradient", "main"),
        ("step / 40", "step / 20", "schedule", "main"),
        ("lr=1e-2)", "lr=1e-2, eps=1e-3)", "optimiser", "main"),
        ("0.1 * new + 0.9 * old", "0.2 * new + 0.8 * old", "target update", "follow"),
        ("        follow(online, target)\n",
         "        follow(online, target) if step % 2 else None\n", "order", "follow"),
        ("        optimizer.step()\n", "        optimizer.step(); optimizer.step()\n", "order",
         "main"),
    ],
)  # fmt: skip
def test_a_change_is_named_where_it_is(tmp_path, old, new, kind, function):
    """One changed line is the first divergence, of the right kind and in the right function."""
    comparison = compared(tmp_path, (old, new))
    assert comparison.verdict == "diverged"
    assert comparison.first.kind == kind
    on_either = [event.function for event in (comparison.first.old, comparison.first.new) if event]
    assert function in on_either


def test_a_doubled_loss_has_the_ratio_two(tmp_path):
    """The report gives both values and lines, the ratio, and what came just before."""
    old = training()
    new = traced(tmp_path, changed((".mean()\n", ".mean() * 2\n")), "b")
    comparison = compare_traces(old, new)
    assert comparison.first.ratio == pytest.approx(2.0)
    text = "\n".join(explain.describe_trace_comparison(comparison, old, new))
    assert "first difference (loss)" in text
    assert "new / old: x2" in text
    assert "here.py:" in text
    assert "just before, the same on both versions" in text
    assert f"diverged after {comparison.equal} equal events" in text


def test_an_extra_event_is_aligned(tmp_path):
    """An event that one version has in every step is noted; equal numbers after it stay equal."""
    comparison = compared(
        tmp_path, ("    chosen =", "    torch.zeros(3).copy_(torch.ones(3))\n    chosen =")
    )
    assert comparison.verdict == "equal"
    assert [label for label, _ in comparison.extra] == ["new"] * 8
    assert {event.kind for _, event in comparison.extra} == {"write"}


def test_reordered_arithmetic_is_close(tmp_path):
    """A sum in another order differs by a rounding, grows, and is close."""
    comparison = compared(
        tmp_path, ("((given - wanted) ** 2).mean()", "((given - wanted) ** 2 / 7).sum() * 7 / 8")
    )
    assert comparison.verdict == "close"
    assert comparison.growth
    gaps = [gap for growth in comparison.growth for gap in growth.gaps]
    assert max(gaps) < trace_comparison.GROWN


def test_a_renamed_function_and_moved_lines_are_equal(tmp_path):
    """Functions with other names on other lines are the same training."""
    comparison = compared(
        tmp_path,
        ("loss_of", "squared_error"),
        ("\ndef main", "\n# moved\n\n\ndef main"),
        ("follow(", "track("),
        ("minibatch(", "sample("),
    )
    assert comparison.verdict == "equal"
    assert comparison.extra == ()


def test_a_function_split_in_two_draws_alike(tmp_path):
    """Another function of the same draw with the same result is an event like it."""
    comparison = compared(tmp_path, ("np.random.rand() < rate", "np.random.random_sample() < rate"))
    assert comparison.verdict == "equal"
    assert len(comparison.extra) == 16


# -- synthetic events --------------------------------------------------------------------------


def build_trace(kinds, numbers=None):
    """Return a trace of events of these kinds, "b" a backward, "o" an optimiser step, and so on."""
    names = {"b": "backward", "o": "optimizer", "d": "draw", "s": "step", "w": "write",
             "f": "final", "r": "optimizer"}  # fmt: skip
    parts = {"b": "loss", "o": "update", "d": "value", "s": "observation", "w": "value",
             "f": "parameters", "r": "learning_rate"}  # fmt: skip
    numbers = range(len(kinds)) if numbers is None else numbers
    return small_traces.trace(*(
        event(names[kind], index=n, file="f.py", line=n, function="train",
              parts={parts[kind]: part(float(number))})
        for n, (kind, number) in enumerate(zip(kinds, numbers, strict=True))
    ))  # fmt: skip


def test_a_training_that_continues_in_one_version_diverges():
    """More updates at the end of one version are a divergence of order, not a note."""
    comparison = compare_traces(build_trace("dbodbo"), build_trace("dbodbodbo"))
    assert comparison.verdict == "diverged"
    assert (comparison.first.kind, comparison.first.old) == ("order", None)
    assert comparison.equal == 6


def test_networks_that_one_version_alone_changes_are_a_divergence():
    """No event shows who has written them."""
    for kinds in (("dbo", "dbof"), ("dbof", "dbo")):
        comparison = compare_traces(*map(build_trace, kinds))
        assert comparison.verdict == "diverged"
        assert comparison.first.kind == "order"


def test_another_whole_number_is_no_rounding():
    """However large it is, and however long the training has gone on."""
    old, new = (
        small_traces.trace(small_traces.event(
            "log", "steps", parts={"value": part(float(10**9 + more), types=types)}))
        for types, more in (("int", 0), ("int", 1))
    )  # fmt: skip
    assert compare_traces(old, new).verdict == "diverged"


def test_draws_at_the_end_of_one_trace_are_a_note():
    """Draws after the last update, on one version only, leave the verdict equal."""
    comparison = compare_traces(build_trace("dbodbo"), build_trace("dbodbodd"))
    assert comparison.verdict == "equal"
    assert len(comparison.extra) == 2


def test_an_extra_event_is_blamed_for_what_follows():
    """Numbers that part soon after an extra event are a divergence of order at that event."""
    old = build_trace("dbodbobo", [0, 1, 2, 3, 4, 5, 6, 7])
    new = build_trace("dbowdbobo", [0, 1, 2, 99, 3, 4, 5, 66, 77])
    comparison = compare_traces(old, new)
    assert comparison.verdict == "diverged"
    assert comparison.first.kind == "order"
    assert comparison.first.new.kind == "write"


def test_an_extra_event_is_acquitted_by_equal_updates():
    """Numbers that part only after more equal updates are a divergence of their own."""
    old = build_trace("dbobobobobo", range(11))
    new = build_trace("dbowbobobobo", [0, 1, 2, 99, 3, 4, 5, 6, 7, 8, 77, 78])
    comparison = compare_traces(old, new)
    assert comparison.first.kind == "loss"
    assert [event.kind for _, event in comparison.extra] == ["write"]


@pytest.mark.parametrize(
    ("numbers", "index"),
    [
        ([1 + 1e-8, 1 + 1e-8, 1 + 2e-8, 1, 1.5, 1.5], 4),
        ([1 + 1e-8, 1, float("nan"), 1], 2),
        # a rounding that grows step by step leads back to where it began
        ([1 + gap for gap in (1e-7, 1e-5, 1e-3, 5e-3, 0.1, 0.5)], 0),
    ],
    ids=["a jump", "not a number", "growing"],
)
def test_a_fault_beyond_a_rounding_is_told_from_it(numbers, index):
    """After a rounding, the fault is named where it is, with the rounding beside it."""
    kinds = "bo" * (len(numbers) // 2)
    comparison = compare_traces(build_trace(kinds, [1] * len(kinds)), build_trace(kinds, numbers))
    assert comparison.verdict == "diverged"
    assert comparison.first.old.index == index
    assert index == 0 or comparison.rounding.old.index == 0


def test_an_exchange_deep_in_an_array_is_no_rounding():
    """Two values exchanged beyond those that are kept show in the difference."""
    array = np.arange(1.0, 101.0)
    exchanged = array.copy()
    exchanged[[60, 80]] = exchanged[[80, 60]]
    old, new = (
        trace_reader.make_part_of_values(*events.make_event_part(x)) for x in (array, exchanged)
    )
    assert estimate_relative_difference(old, new) > 1e-2


def test_the_empty_trace_is_equal_to_itself():
    """Nothing beside nothing is equal; nothing beside a training is diverged."""
    assert compare_traces(build_trace(""), build_trace("")).verdict == "equal"
    assert compare_traces(build_trace(""), build_trace("dbo")).verdict == "diverged"


def test_what_is_no_number_shows_behind_numbers():
    """A value that is NaN after one that is the same is no rounding either."""
    number, nan = (
        Part(digest=f"{last}", norm=2.0, values=(1.0, last)) for last in (1.5, float("nan"))
    )
    assert estimate_relative_difference(number, nan) == float("inf")


def test_a_rounding_excuses_no_other_learning_rate():
    """No rounding moves a learning rate, so it is compared as closely after one as before."""
    old = build_trace("br", [1, 1])
    assert compare_traces(old, build_trace("br", [1 + 1e-7, 1 + 1e-8])).verdict == "close"
    comparison = compare_traces(old, build_trace("br", [1 + 1e-7, 1 + 5e-5]))
    assert (comparison.verdict, comparison.first.kind) == ("diverged", "schedule")


def test_a_rounding_of_one_part_hides_no_other_part():
    """All parts of an event are compared, not only the first that differs."""

    def step(gradient, rate):
        parts = {"gradient": part(gradient), "learning_rate": part(rate)}
        return small_traces.trace(event("optimizer", "Adam 0", parts=parts))

    comparison = compare_traces(step(1.0, 1e-3), step(1 + 1e-7, 1.00005e-3))
    assert comparison.verdict == "diverged"
    assert (comparison.first.kind, comparison.first.part) == ("schedule", "learning_rate")


def retype(trace, number, types):
    """Return the trace with other types of an event."""
    rows = list(trace.events)
    ((name, value),) = rows[number].parts.items()
    rows[number] = replace(rows[number], parts={name: replace(value, digest=types, types=types)})
    return replace(trace, events=tuple(rows))


@pytest.mark.parametrize("number", [1, 1 + 1e-7, 1.005])
def test_another_type_is_the_first_difference_whatever_the_numbers(number):
    """The same numbers of another type, and others after it, are a difference of the type."""
    old = retype(build_trace("bbo", [1, 1, 1]), 0, "uint8 array 3")
    comparison = compare_traces(
        old, retype(build_trace("bbo", [1, number, 1]), 0, "float64 array 3")
    )
    assert (comparison.verdict, comparison.equal) == ("diverged", 0)
    first = comparison.first
    assert (first.kind, first.part, first.ratio) == ("interface", "loss", None)
    assert (comparison.numbers is not None) == (number == 1.005)
    (title, old, new, *_) = explain.describe_divergence(comparison.first)
    words = "float64 array 3 where the old version has uint8 array 3"
    assert title == f"first difference (interface): {words}"
    assert old.endswith("loss uint8 array 3")
    assert new.endswith("loss float64 array 3")


@pytest.mark.parametrize(
    ("letter", "kind"), [("f", "interface"), ("l", "logs"), ("m", "module"), ("d", "interface"),
                         ("w", "interface"), ("s", "interface"), ("o", "interface")],
)  # fmt: skip
def test_another_type_is_never_rounding(letter, kind):
    """Of final networks, logs, modules, draws, writes, steps and optimisers, with equal numbers."""
    kinds = {"l": "log", "m": "module"}
    old, new = (
        build_trace("bb" + ("b" if letter in kinds else letter), [1, 1, 1]) for _ in range(2)
    )
    rows = [
        replace(trace.events[2], kind=kinds.get(letter, trace.events[2].kind))
        for trace in (old, new)
    ]
    old, new = (
        replace(s, events=(*s.events[:2], r)) for s, r in zip((old, new), rows, strict=True)
    )
    comparison = compare_traces(
        retype(old, 2, "float32 array 3"), retype(new, 2, "float64 array 3")
    )
    assert comparison.verdict == "diverged"
    assert comparison.first.kind == kind
    assert "float64 array 3 where" in explain.describe_divergence(comparison.first)[0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a: int; b: float", "a: int; b: bool", "b: bool where the old version has float"),
        ("a: int; b: float", "b: bool; c: int", "b: bool where the old version has float"),
        ("a: int", "a: int; b: bool", "other names: b where the old version has 1 values"),
        ("int; float", "int; bool", "bool where the old version has float"),
        ("a: int", "a: int", ""),
    ],
)
def test_other_types_are_named_before_other_names(old, new, words):
    """By name, and by place where values have no names."""
    assert describe_first_differing_types(old, new) == words


REPLAY = """
import numpy as np, torch
memory = {memory}
taken = memory[:4]
loss = (torch.nn.Linear(3, 1)(torch.tensor(taken).float()) ** 2).mean()
loss.backward()
"""


@pytest.mark.parametrize(
    ("memory", "verdict"),
    [
        ("np.zeros((9, 3), np.uint8)", "equal"),
        ("np.zeros((9, 3))", "diverged"),
        ("np.zeros((9, 3), np.uint8).tolist()", "diverged"),
        ("np.array([[0] * 3] * 9, dtype='u1')", "equal"),
    ],
)
def test_a_memory_of_another_type_is_no_rounding(tmp_path, memory, verdict):
    """A memory of floats, or a list, in place of bytes differs; one that is made otherwise not."""
    old, new = (
        traced(tmp_path, "import torch; torch.manual_seed(0)" + REPLAY.format(memory=text), name)
        for text, name in (("np.zeros((9, 3), np.uint8)", "a"), (memory, "b"))
    )
    assert compare_traces(old, new).verdict == verdict


def rename_events(trace, *names):
    """Return the trace with other names of its events."""
    rows = [replace(event, name=name) for event, name in zip(trace.events, names, strict=True)]
    return replace(trace, events=tuple(rows))


def test_an_environment_of_one_version_only_is_a_note():
    """An evaluation that was added changes nothing that the training does."""
    old = rename_events(build_trace("sbosbo", range(6)), *["x"] * 6)
    # more often than events in a row could agree
    numbers = [0, 70, 1, 71, 2, 72, 3, 73, 4, 74, 5]
    new = rename_events(build_trace("ssbsosssbso", numbers), *["x", "other"] * 5, "x")
    comparison = compare_traces(old, new)
    assert comparison.verdict == "equal"
    assert [(label, event.name) for label, event in comparison.extra] == [("new", "other")] * 5


def trace_outputs(*names, file=""):
    """Return a trace of outputs, which code of the framework hands out where a file is named."""
    rows = [
        event("output", name, index=n, file=file, parts={"value": part(1.0)})
        for n, name in enumerate(names)
    ]
    return small_traces.trace(*rows)


@pytest.mark.parametrize(
    ("old_names", "new_names", "expected_names"),
    [
        # refused: there is one answer in place of several
        (("loss.actor", "loss.critic"), ("loss",), ("loss.actor", "loss")),
        (("loss",), ("loss", "entropy"), (None, "entropy")),
        (("loss", "entropy"), ("loss",), ("entropy", None)),
    ],
)
def test_an_answer_of_one_version_only_is_a_difference(old_names, new_names, expected_names):
    """A training shows it: the library gives more, or less, or refuses."""
    old, new = trace_outputs(*old_names), trace_outputs(*new_names)
    comparison = compare_traces(old, new)
    first = comparison.first
    assert (comparison.verdict, first.kind, first.part) == ("diverged", "interface", "")
    assert tuple(event and event.name for event in (first.old, first.new)) == expected_names
    text = " ".join(explain.describe_trace_comparison(comparison, old, new))
    assert "nothing of that name" in text or all(expected_names)
    # what code of the framework hands to another is no answer
    inner = (trace_outputs(*names, file="f.py") for names in (old_names, new_names))
    assert compare_traces(*inner).verdict == "equal"


def calls(*names, values=()):
    """Return a trace of calls generated from signatures, some of which return other values."""
    plain = trace_outputs(*names)
    rows = [
        replace(event, parts={"value": part(2.0)}) if event.name in values else event
        for event in plain.events
    ]
    return small_traces.trace(*rows, generated=True)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        # a call of an option that one version alone has
        (calls("one", "two"), calls("one", "three"), "equal"),
        # what both make is compared, whatever one has beside it
        (calls("one", "two"), calls("one", "two", "three", values=["one"]), "diverged"),
        (calls("one", "two"), calls("two", values=["two"]), "diverged"),
        # nothing is left to compare
        (calls("one", "two"), calls("three"), "diverged"),
        (calls("one"), calls(), "diverged"),
        # calls that no signature gives have to be on both versions
        (calls("one", "two"), trace_outputs("one"), "diverged"),
    ],
)
def test_a_generated_call_of_one_version_only_is_no_difference(first, second, verdict):
    """The other version has no such option; all other calls have to be the same."""
    for old, new in ((first, second), (second, first)):
        comparison = compare_traces(old, new)
        assert comparison.verdict == verdict
        # it is reported: the reader can tell how much was not compared
        one_sided = {e.name for e in old.events} ^ {e.name for e in new.events}
        assert {event.name for _, event in comparison.extra} == one_sided
        text = " ".join(explain.describe_trace_comparison(comparison, old, new))
        assert all(f"only the {label} version has" in text for label, _ in comparison.extra)


@pytest.mark.parametrize("kind", ["output", "step", "loss", "file", "log"])
def test_a_part_of_one_version_only_is_a_difference(kind):
    """An observation, a line of a file or a loss that only one version has is reported."""
    few, all_parts = (
        small_traces.trace(event(kind, file="f.py", parts=dict.fromkeys(names, part(1.0))))
        for names in (("first",), ("first", "second"))
    )
    for old, new, values in (
        (few, all_parts, ["nothing", "1"]),
        (all_parts, few, ["1", "nothing"]),
    ):
        comparison = compare_traces(old, new)
        assert (comparison.verdict, comparison.first.part) == ("diverged", "second")
        lines = [line for line in explain.describe_divergence(comparison.first) if "second" in line]
        assert [line.rpartition(" ")[2] for line in lines] == values


def test_answers_after_an_extra_draw_are_compared():
    """A draw of one version only does not hide that answers at the end have other numbers."""
    old, new = trace_outputs("first", "last"), trace_outputs("first", "last")
    (draw,) = build_trace("d").events
    old = replace(old, events=(draw, *old.events))
    assert compare_traces(old, new).verdict == "equal"
    last = replace(new.events[-1], parts={"value": part(2.0)})
    comparison = compare_traces(old, replace(new, events=(*new.events[:-1], last)))
    assert comparison.verdict == "diverged"
    assert comparison.first.old is draw


def test_another_answer_is_not_skipped_because_all_goes_on_alike():
    """Equal events after a draw and another answer do not acquit the answer."""
    (draw,) = build_trace("d").events
    further = build_trace("sbosbo", range(1, 7)).events
    (answer,) = trace_outputs("asked").events
    changed_answer = replace(answer, parts={"value": part(2.0)})
    old = small_traces.trace(answer, *further)
    assert compare_traces(old, replace(old, events=(draw, answer, *further))).verdict == "equal"
    assert (
        compare_traces(old, replace(old, events=(draw, changed_answer, *further))).verdict
        == "diverged"
    )


def explain_difference(kind, file, old, new):
    """Return the explanation of two events that differ in a part of these texts or numbers."""

    def trace(value):
        parts = {"value": part(value)}
        named = {"value ": part(value), "value a": part(value)}
        return small_traces.trace(event(kind, "policy", file=file, parts=parts, named=named))

    return explain.describe_divergence(compare_traces(trace(old), trace(new)).first)


@pytest.mark.parametrize("values", [("evaluates on", "trains on"), (1.0, 0.0), ("int", "float")])
@pytest.mark.parametrize(
    ("kind", "file", "meaning"),
    [("output", "", "a call returns"), ("output", "f.py", "collector returns"),
     ("data", "f.py", "other values")],
)  # fmt: skip
def test_a_difference_is_said_of_numbers_only_where_numbers_differ(kind, file, meaning, values):
    """A text, a flag and a type are other values; a part without a name is not named."""
    first, *further = explain_difference(kind, file, *values)
    assert meaning in first
    assert "number" not in first
    assert [line for line in further if line.startswith("  in")] == ["  in a"]


def test_an_optimiser_of_another_class_is_known_by_its_number():
    """A subclass that makes the same steps is the same optimiser."""
    old, new = (
        rename_events(build_trace("bo"), "x", "Adam 0"),
        rename_events(build_trace("bo"), "x", "OwnAdam 0"),
    )
    assert compare_traces(old, new).verdict == "equal"
    assert (
        compare_traces(old, rename_events(build_trace("bo"), "x", "Adam 1")).verdict == "diverged"
    )


def test_extra_updates_are_acquitted_by_how_networks_end():
    """An update that only one version makes counts unless the networks end alike."""
    few, longer = "bobobobo", "bobobobobo"

    def with_extra_updates(old_end, new_end):
        old = build_trace(few + "f" * len(old_end), [0, 1, 2, 3, 4, 5, 6, 7, *old_end])
        new = build_trace(longer + "f" * len(new_end), [0, 1, 98, 99, 2, 3, 4, 5, 6, 7, *new_end])
        return compare_traces(old, new)

    assert with_extra_updates([], []).verdict == "diverged"
    assert with_extra_updates([5.0], [5.0]).verdict == "equal"
    comparison = with_extra_updates([5.0], [6.0])
    assert comparison.verdict == "diverged"
    assert comparison.first.kind == "order"


def test_networks_that_end_otherwise_are_a_divergence():
    """Whatever no event shows is seen in how the networks end."""
    comparison = compare_traces(build_trace("bof", [0, 1, 2]), build_trace("bof", [0, 1, 3]))
    assert comparison.verdict == "diverged"
    assert comparison.first.kind == "parameters"
    title = explain.describe_divergence(comparison.first)[0]
    assert "the networks end with other parameters or buffers" in title


def test_networks_that_end_within_a_rounding_are_close():
    """Only equal bits are called equal."""
    old, new = build_trace("bof", [0, 1, 2]), build_trace("bof", [0, 1, 2 + 1e-7])
    assert compare_traces(old, new).verdict == "close"


@pytest.mark.parametrize(
    ("kind", "number", "source"),
    [
        ("s", 2, "the environment (its reset or its steps are not seeded)"),
        ("b", 1 + 2e-6, "arithmetic (threads, or a GPU)"),
        # a large difference does not come from threads
        ("b", 2, "something that the tracer does not record"),
    ],
)
def test_what_is_not_controlled_is_named(kind, number, source):
    """A training that differs from its own repetition is no evidence, and the source is named."""
    first, second = build_trace(kind, [1]), build_trace(kind, [number])
    repeated = Repeated(trace=first, with_itself=compare_traces(first, second), repetition=second)
    assert not repeated.repeats
    text = "\n".join(repeated.describe_repetition())
    assert f"the training does not repeat itself, because of {source}" in text


@pytest.mark.parametrize(
    ("kind", "events_", "source"),
    [
        ("exploration", "bb", "action sampling"),
        ("initialisation", "bb", "the initialisation of the networks"),
        ("sampling", "bb", "random draws"),
        ("data", "bb", "random draws"),
        # a draw beside a step decides on the action
        ("order", "ds", "action sampling"),
        ("order", "db", "random draws"),
    ],
)
def test_the_kind_of_the_first_difference_names_the_source(kind, events_, source):
    """Each kind of difference that chance can make has its own words."""
    comparison = compare_traces(build_trace("b", [1]), build_trace("b", [2]))
    old, new = build_trace(events_).events
    comparison = replace(comparison, first=replace(comparison.first, kind=kind, old=old, new=new))
    assert explain.describe_random_source(comparison).startswith(source)


JOURNAL = (
    "import copy",
    "import copy\nimport time\nfrom stable_baselines3.common.logger import Logger\n"
    "journal = Logger(None, [])",
)


def journalled(loss="loss.item()", longer=""):
    """The training, which logs its loss and its speed after each step of the optimiser."""
    text = f"journal.record('train/loss', {loss}); journal.record('time/fps', time.time()){longer}"
    step = "        optimizer.step()\n"
    return changed(JOURNAL, (step, f"{step}        {text}\n"))


@pytest.mark.parametrize(
    ("loss", "more", "verdict"),
    [
        ("loss.item()", "", "equal"),
        ("loss.item() * (1 + 1e-8)", "", "close"),
        ("loss.item() * 2", "", "diverged"),
        ("loss.item()", "; journal.record('train/steps', step)", "diverged"),
        ("loss.item()", "; journal.record_mean('x', 1.0) if step == 5 else None", "diverged"),
    ],
)
def test_what_is_logged_is_compared_by_itself(tmp_path, loss, more, verdict):
    """Name by name, but for times, and only where the training is the same."""
    pytest.importorskip("stable_baselines3")
    old = traced(tmp_path, journalled(), "a")
    assert old.count_events_of_kind("log") == 8
    comparison = compare_traces(old, traced(tmp_path, journalled(loss, more), "b"))
    assert comparison.verdict == verdict
    assert comparison.in_logs_only == (verdict == "diverged")
    if comparison.first is not None:
        listed = comparison.first.new
        assert listed.function == "main"
        assert "logged" in "\n".join(explain.describe_divergence(comparison.first))


def test_a_training_that_differs_differs_in_more_than_its_logs(tmp_path):
    """Its logs follow from it."""
    pytest.importorskip("stable_baselines3")
    changed_text = journalled().replace("0.9 * target", "0.8 * target")
    comparison = compare_traces(
        traced(tmp_path, journalled(), "a"), traced(tmp_path, changed_text, "b")
    )
    assert comparison.verdict == "diverged"
    assert not comparison.in_logs_only


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("size=8)", "size=9)", "int64 array 9 where the old version has int64 array 8"),
        ("reset(seed=3)", "reset(seed=4)", "begins with another observation: another seed"),
    ],
)
def test_the_reason_is_said_and_not_what_follows_from_it(tmp_path, old, new, message):
    """A shape is no other value, and another seed is no effect of an action."""
    comparison = compared(tmp_path, (old, new))
    assert message in explain.describe_divergence(comparison.first)[0]


PAIR = """
class Pair(nn.Module):
    def forward(self, x):
        return x, {factor} * x


pair = Pair()


def networks():"""


@pytest.mark.parametrize(("factor", "verdict"), [("1.0", "equal"), ("2.0", "diverged")])
def test_what_a_module_returns_is_compared(tmp_path, factor, verdict):
    """Also where the training uses nothing of it."""
    used = "        observation = pair(torch.as_tensor(following))[0].numpy()\n"

    def text(factor):
        return changed(
            ("def networks():", PAIR.format(factor=factor)),
            ("        observation = following\n", used),
        )

    old = traced(tmp_path, text("1.0"), "a")
    assert old.count_events_of_kind("module") == 8
    comparison = compare_traces(old, traced(tmp_path, text(factor), "b"))
    assert comparison.verdict == verdict
    assert not comparison.in_logs_only
    if comparison.first is not None:
        assert comparison.first.kind == "module"


@pytest.mark.parametrize(
    ("factor", "loss", "kind"),
    [("2.0", ".mean()", "computation"), ("1.0", ".mean() * 2", "loss")],
    ids=["targets", "loss"],
)
def test_a_loss_is_blamed_only_if_its_targets_are_the_same(tmp_path, factor, loss, kind):
    """Results of a module that computes the targets of a loss are the first that differ."""

    def text(factor, loss):
        return changed(
            ("def networks():", PAIR.format(factor=factor)),
            ("target(following).max(dim=1).values", "pair(target(following).max(1).values)[1]"),
            (".mean()", loss),
        )

    old, new = text("1.0", ".mean()"), text(factor, loss)
    comparison = compare_traces(traced(tmp_path, old, "a"), traced(tmp_path, new, "b"))
    assert comparison.first.kind == kind
    assert (comparison.first.old.kind == "module") is (kind == "computation")
    assert all(before.index < comparison.first.old.index for before in comparison.first.before)
    same = "everything recorded before it is the same"
    assert same in explain.describe_divergence(comparison.first)[0]
