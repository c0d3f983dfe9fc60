"""Two traces: equal, close or diverged; the first difference, its kind, and skipped events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlregress.inside import events
from rlregress.model import explain
from rlregress.model.explain import RepeatedTrace
from rlregress.model.recorded_traces import (
    Part,
    describe_first_differing_types,
    estimate_relative_difference,
)
from rlregress.trace import trace_reader
from rlregress.trace.trace_comparison import compare_traces

from ..upgrade import small_traces
from ..upgrade.small_traces import event, part
from .scripts import TRAINING, changed


@pytest.mark.parametrize(
    ("old", "new", "kind", "function"),
    [
        ("torch.manual_seed(1)", "torch.manual_seed(2)", "initialisation", "networks"),
        ("random.seed(1)\nnp", "random.seed(2)\nnp", "exploration", "explore"),
        ("size=8)", "size=8) // 2 * 2 % len(memory)", "data", "minibatch"),
        ("np.random.randint(0, len(memory), size=8)",
         "np.random.randint(0, len(memory) + 1, size=8) - 1", "sampling", "minibatch"),
        ("clip_grad_norm_(online.parameters(), 0.5)",
         "clip_grad_norm_(online.parameters(), 0.25)", "gradient", "main"),
        ("loss.backward()", "loss.backward(); online[0].bias.grad = online[0].bias.grad * 2",
         "gradient", "main"),
        ("step / 40", "step / 20", "schedule", "main"),
        ("lr=1e-2)", "lr=1e-2, eps=1e-3)", "optimiser", "main"),
        ("0.1 * new + 0.9 * old", "0.2 * new + 0.8 * old", "target update", "follow"),
        ("        follow(online, target)\n",
         "        follow(online, target) if step % 2 else None\n", "order", "follow"),
    ],
)  # fmt: skip
def test_a_change_is_named_where_it_is(recorded, old, new, kind, function):
    """One changed line is the first divergence, of the right kind and in the right function."""
    comparison = compare_traces(recorded(TRAINING), recorded(changed((old, new)), "b"))
    assert (comparison.verdict, comparison.first.kind) == ("diverged", kind)
    on_either = [event.function for event in (comparison.first.old, comparison.first.new) if event]
    assert function in on_either


def test_a_doubled_loss_has_the_ratio_two(recorded):
    """The report gives both values and lines, the ratio, and what came just before."""
    old, new = recorded(TRAINING), recorded(changed((".mean()\n", ".mean() * 2\n")), "b")
    comparison = compare_traces(old, new)
    assert comparison.first.new_to_old_ratio == pytest.approx(2.0)
    text = "\n".join(explain.describe_trace_comparison(comparison, old, new))
    for words in ("first difference (loss)", "new / old: x2", "b.py:",
                  "just before, the same on both versions",
                  f"diverged after {comparison.equal} equal events"):  # fmt: skip
        assert words in text


def test_renamed_functions_moved_lines_and_other_draws_are_equal(recorded):
    """Other names on other lines are the same training; so is a like draw of another function."""
    text = changed(
        ("loss_of", "squared_error"),
        ("\ndef main", "\n# moved\n\n\ndef main"),
        ("follow(", "track("),
        ("minibatch(", "sample("),
    )
    comparison = compare_traces(recorded(TRAINING), recorded(text, "b"))
    assert (comparison.verdict, comparison.extra) == ("equal", ())
    assert comparison.compared == comparison.equal > 50
    text = changed(("np.random.rand() < rate", "np.random.random_sample() < rate"))
    comparison = compare_traces(recorded(TRAINING), recorded(text, "b"))
    assert comparison.verdict == "equal"
    assert len(comparison.extra) == 16


# -- synthetic events --------------------------------------------------------------------------


def build_trace(kinds, numbers=None):
    """Return a trace of events of these kinds, "b" a backward, "o" an optimiser step, and so on."""
    names = {"b": "backward", "o": "optimizer", "d": "draw", "s": "step", "w": "write",
             "f": "final", "r": "optimizer", "l": "log"}  # fmt: skip
    parts = {"b": "loss", "o": "update", "d": "value", "s": "observation", "w": "value",
             "f": "parameters", "r": "learning_rate", "l": "value"}  # fmt: skip
    numbers = range(len(kinds)) if numbers is None else numbers
    return small_traces.trace(*(
        event(names[kind], index=n, file="f.py", line=n, function="train",
              parts={parts[kind]: part(float(number))})
        for n, (kind, number) in enumerate(zip(kinds, numbers, strict=True))
    ))  # fmt: skip


def rename_events(trace, *names):
    """Return the trace with other names of its events."""
    rows = [replace(event, name=name) for event, name in zip(trace.events, names, strict=True)]
    return replace(trace, events=tuple(rows))


def trace_steps(number, types="int"):
    """Return a trace that logs a number of steps."""
    return small_traces.trace(event("log", "steps", parts={"value": part(number, types=types)}))


def retype(trace, number, types):
    """Return the trace with other types of an event."""
    rows = list(trace.events)
    ((name, value),) = rows[number].parts.items()
    rows[number] = replace(rows[number], parts={name: replace(value, digest=types, types=types)})
    return replace(trace, events=tuple(rows))


def trace_outputs(*names, file=""):
    """Return a trace of outputs, which code of the framework hands out where a file is named."""
    rows = [
        event("output", name, index=n, file=file, parts={"value": part(1.0)})
        for n, name in enumerate(names)
    ]
    return small_traces.trace(*rows)


def trace_between(trace, name):
    """Return the trace with an output of the framework before each event."""
    output = replace(trace.events[0], kind="output", name=name)
    return replace(trace, events=tuple(row for event in trace.events for row in (output, event)))


def calls(*names, values=()):
    """Return a trace of calls generated from signatures, some of which return other values."""
    plain = trace_outputs(*names)
    rows = [
        replace(event, parts={"value": part(2.0)}) if event.name in values else event
        for event in plain.events
    ]
    return small_traces.trace(*rows, generated=True)


def step_with_rate(gradient, rate):
    """Return a trace of a step of an optimiser."""
    parts = {"gradient": part(gradient), "learning_rate": part(rate)}
    return small_traces.trace(event("optimizer", "Adam 0", parts=parts))


def answer(number, before="", after=""):
    """Return a trace of an answer with this number, amid equal events of these kinds."""
    asked = event("output", "asked", parts={"value": part(number)})
    first, last = (build_trace(kinds, range(1, 1 + len(kinds))).events for kinds in (before, after))
    return small_traces.trace(*first, asked, *last)


#: with two updates more amid the same ones.
LONGER = "bobobobobo", [0, 1, 98, 99, 2, 3, 4, 5, 6, 7]
#: old and new trace, verdict, and kind of the first difference.
VERDICTS = {
    "nothing": (build_trace(""), build_trace(""), "equal", None),
    "a training beside nothing": (build_trace(""), build_trace("dbo"), "diverged", "order"),
    "networks that the new version alone changes": (
        build_trace("dbo"), build_trace("dbof"), "diverged", "order"),
    "networks that the old version alone changes": (
        build_trace("dbof"), build_trace("dbo"), "diverged", "order"),
    "networks that end otherwise": (
        build_trace("bof"), build_trace("bof", [0, 1, 3]), "diverged", "parameters"),
    "networks that end within a rounding": (
        build_trace("bof"), build_trace("bof", [0, 1, 2 + 1e-7]), "close", "parameters"),
    "draws at the end": (build_trace("dbodbo"), build_trace("dbodbodd"), "equal", None),
    "numbers that part soon after an extra event": (
        build_trace("dbodbobo"), build_trace("dbowdbobo", [0, 1, 2, 99, 3, 4, 5, 66, 77]),
        "diverged", "order"),
    "numbers that part after an extra event and more equal updates": (
        build_trace("dbobobobobo"),
        build_trace("dbowbobobobo", [0, 1, 2, 99, 3, 4, 5, 6, 7, 8, 77, 78]), "diverged", "loss"),
    "updates more": (build_trace("bobobobo"), build_trace(*LONGER), "diverged", "order"),
    "updates more of networks that end alike": (
        build_trace("bobobobof"), build_trace(LONGER[0] + "f", [*LONGER[1], 8]), "equal", None),
    "updates more of networks that end otherwise": (
        build_trace("bobobobof"), build_trace(LONGER[0] + "f", [*LONGER[1], 9]),
        "diverged", "order"),
    # no rounding moves a learning rate: after one it is compared as closely as before
    "a learning rate that rounds": (
        build_trace("br", [1, 1]), build_trace("br", [1 + 1e-7, 1 + 1e-8]), "close", "loss"),
    "a learning rate beyond a rounding": (
        build_trace("br", [1, 1]), build_trace("br", [1 + 1e-7, 1 + 5e-5]), "diverged", "schedule"),
    "an optimiser of another class": (
        rename_events(build_trace("bo"), "x", "Adam 0"),
        rename_events(build_trace("bo"), "x", "OwnAdam 0"), "equal", None),
    "another optimiser": (
        rename_events(build_trace("bo"), "x", "Adam 0"),
        rename_events(build_trace("bo"), "x", "Adam 1"), "diverged", "order"),
    "another whole number, however large": (
        trace_steps(1e9), trace_steps(1e9 + 1), "diverged", "logs"),
    "a rounding of one part, and more of another": (
        step_with_rate(1.0, 1e-3), step_with_rate(1 + 1e-7, 1.00005e-3), "diverged", "schedule"),
    # equal numbers of another type are no rounding
    "networks of another type": (
        retype(build_trace("bbf", [1, 1, 1]), 2, "float32 array 3"),
        retype(build_trace("bbf", [1, 1, 1]), 2, "float64 array 3"), "diverged", "interface"),
    "logs of another type": (
        retype(build_trace("bbl", [1, 1, 1]), 2, "float32 array 3"),
        retype(build_trace("bbl", [1, 1, 1]), 2, "float64 array 3"), "diverged", "logs"),
    # refused: there is one answer in place of several
    "one answer in place of several": (
        trace_outputs("loss.actor", "loss.critic"), trace_outputs("loss"), "diverged", "interface"),
    "an answer of one version only": (
        trace_outputs("loss"), trace_outputs("loss", "entropy"), "diverged", "interface"),
    # what code of the framework hands to another is no answer
    "an inner answer of one version only": (
        trace_outputs("loss", file="f.py"), trace_outputs("loss", "entropy", file="f.py"),
        "equal", None),
    # more often than events in a row could agree
    "inner answers of one version between all events": (
        build_trace("bobo"), trace_between(build_trace("bobo"), "VecEnv.reset"), "equal", None),
    "a generated call of an option that one version alone has": (
        calls("one", "two"), calls("one", "three"), "equal", None),
    # what both make is compared, whatever one has beside it
    "a generated call with another result": (
        calls("one", "two"), calls("one", "two", "three", values=["one"]), "diverged", "data"),
    "no generated call of both": (calls("one", "two"), calls("three"), "diverged", "interface"),
    "no generated call of one version": (calls("one"), calls(), "diverged", "interface"),
    "calls that no signature gives": (
        calls("one", "two"), trace_outputs("one"), "diverged", "interface"),
    # equal events after a draw of one version and another answer do not acquit the answer
    "an answer after an extra draw": (answer(1.0), answer(1.0, before="d"), "equal", None),
    "another answer after an extra draw": (
        answer(1.0), answer(2.0, before="d"), "diverged", "order"),
    "another answer after an extra draw and before equal events": (
        answer(1.0, after="sbosbo"), answer(2.0, before="d", after="sbosbo"),
        "diverged", "order"),
}  # fmt: skip


@pytest.mark.parametrize("case", VERDICTS)
def test_two_traces_have_a_verdict_and_a_first_difference(case):
    """What one version alone does is a note where all goes on alike, and else a difference.

    Which version is the old one does not decide.
    """
    old, new, verdict, kind = VERDICTS[case]
    comparison = compare_traces(old, new)
    assert (comparison.verdict, comparison.first and comparison.first.kind) == (verdict, kind)
    assert compare_traces(new, old).verdict == verdict


@pytest.mark.parametrize("names", [("one",), ("one", "two", "three")])
def test_what_one_version_alone_has_is_reported(names):
    """A generated call, and an answer of the framework."""
    old, new = calls("one", "two"), calls(*names)
    comparison = compare_traces(old, new)
    one_sided = {e.name for e in old.events} ^ {e.name for e in new.events}
    assert {event.name for _, event in comparison.extra} == one_sided
    ((label, _),) = comparison.extra
    text = " ".join(explain.describe_trace_comparison(comparison, old, new))
    assert f"only the {label} version has" in text
    first = compare_traces(trace_outputs("one", "two"), trace_outputs(*names)).first
    assert (first.old or first.new).name == one_sided.pop()
    assert "nothing of that name" in "".join(explain.describe_divergence(first))


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


def test_what_is_no_rounding():
    """Values exchanged beyond those that are kept, and NaN after one that is the same."""
    array = np.arange(1.0, 101.0)
    exchanged = array.copy()
    exchanged[[60, 80]] = exchanged[[80, 60]]
    old, new = (
        trace_reader.make_part_of_values(*events.make_event_part(x)) for x in (array, exchanged)
    )
    assert estimate_relative_difference(old, new) > 1e-2
    number, nan = (
        Part(digest=f"{last}", norm=2.0, values=(1.0, last)) for last in (1.5, float("nan"))
    )
    assert estimate_relative_difference(number, nan) == float("inf")


@pytest.mark.parametrize("number", [1, 1 + 1e-7, 1.005])
def test_another_type_is_the_first_difference_whatever_the_numbers(number):
    """The same numbers of another type, and others after it, are a difference of the type."""
    old = retype(build_trace("bbo", [1, 1, 1]), 0, "uint8 array 3")
    new = retype(build_trace("bbo", [1, number, 1]), 0, "float64 array 3")
    comparison = compare_traces(old, new)
    assert (comparison.verdict, comparison.equal) == ("diverged", 0)
    first = comparison.first
    assert (first.kind, first.part, first.new_to_old_ratio) == ("interface", "loss", None)
    assert (comparison.numbers is not None) == (number == 1.005)
    (title, old, new, *_) = explain.describe_divergence(comparison.first)
    words = "float64 array 3 where the old version has uint8 array 3"
    assert title == f"first difference (interface): {words}"
    assert old.endswith("loss uint8 array 3")
    assert new.endswith("loss float64 array 3")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a: int; b: float", "a: int; b: bool", "b: bool where the old version has float"),
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
        ("np.zeros((9, 3))", "diverged"),
        ("np.zeros((9, 3), np.uint8).tolist()", "diverged"),
        ("np.array([[0] * 3] * 9, dtype='u1')", "equal"),
    ],
)
def test_a_memory_of_another_type_is_no_rounding(recorded, memory, verdict):
    """A memory of floats, or a list, in place of bytes differs; one that is made otherwise not."""
    old, new = (
        recorded("import torch; torch.manual_seed(0)" + REPLAY.format(memory=text))
        for text in ("np.zeros((9, 3), np.uint8)", memory)
    )
    assert compare_traces(old, new).verdict == verdict


@pytest.mark.parametrize("kind", ["output", "file"])
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


@pytest.mark.parametrize(
    ("kind", "file", "values", "meaning"),
    [
        ("output", "", ("evaluates on", "trains on"), "a call returns"),
        ("output", "f.py", (1.0, 0.0), "collector returns"),
        ("data", "f.py", ("int", "float"), "other values"),
    ],
)
def test_a_difference_is_said_of_numbers_only_where_numbers_differ(kind, file, values, meaning):
    """A text, a flag and a type are other values; a part without a name is not named."""
    old, new = (
        small_traces.trace(event(kind, "policy", file=file, parts={"value": part(value)},
                                 named={"value ": part(value), "value a": part(value)}))
        for value in values
    )  # fmt: skip
    first, *further = explain.describe_divergence(compare_traces(old, new).first)
    assert meaning in first
    assert "number" not in first
    assert [line for line in further if line.startswith("  in")] == ["  in a"]


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
    repeated = RepeatedTrace(
        trace=first, with_itself=compare_traces(first, second), repetition=second
    )
    assert not repeated.repeats
    text = "\n".join(repeated.describe_seeds_and_repeatability())
    assert f"the training does not repeat itself, because of {source}" in text


@pytest.mark.parametrize(
    ("kind", "events_", "source"),
    [
        ("exploration", "bb", "action sampling"),
        ("data", "bb", "random draws"),
        # a draw beside a step decides on the action
        ("order", "ds", "action sampling"),
    ],
)
def test_the_kind_of_the_first_difference_names_the_source(kind, events_, source):
    """Each kind of difference that chance can make has its own words."""
    comparison = compare_traces(build_trace("b", [1]), build_trace("b", [2]))
    old, new = build_trace(events_).events
    comparison = replace(comparison, first=replace(comparison.first, kind=kind, old=old, new=new))
    assert explain.name_uncontrolled_randomness(comparison).startswith(source)


#: the training, which logs its loss and its speed after each step of the optimiser.
JOURNALLED = changed(
    ("import copy", "import copy\nimport time\n"
     "from stable_baselines3.common.logger import Logger\njournal = Logger(None, [])"),
    ("        optimizer.step()\n", "        optimizer.step()\n"
     "        journal.record('loss', loss.item()); journal.record('time/fps', time.time())\n"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "verdict", "differs_in_logs_only"),
    [
        ("", "", "equal", False),
        ("loss.item()", "loss.item() * (1 + 1e-8)", "close", False),
        ("loss.item()", "loss.item() * 2", "diverged", True),
        ("time.time())\n", "time.time()); journal.record_mean('x', 1.0) if step == 5 else None\n",
         "diverged", True),
        # logs follow from a training that differs
        ("0.9 * target", "0.8 * target", "diverged", False),
    ],
)  # fmt: skip
def test_what_is_logged_is_compared_by_itself(recorded, old, new, verdict, differs_in_logs_only):
    """Name by name, but for times, and only where the training is the same."""
    pytest.importorskip("stable_baselines3")
    trace = recorded(JOURNALLED)
    assert trace.count_events_of_kind("log") == 8
    comparison = compare_traces(trace, recorded(JOURNALLED.replace(old, new), "b"))
    assert (comparison.verdict, comparison.differs_in_logs_only) == (verdict, differs_in_logs_only)
    if differs_in_logs_only:
        assert comparison.first.new.function == "main"
        assert "logged" in "\n".join(explain.describe_divergence(comparison.first))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("size=8)", "size=9)", "int64 array 9 where the old version has int64 array 8"),
        ("reset(seed=3)", "reset(seed=4)", "begins with another observation: another seed"),
    ],
)
def test_the_reason_is_said_and_not_what_follows_from_it(recorded, old, new, message):
    """A shape is no other value, and another seed is no effect of an action."""
    comparison = compare_traces(recorded(TRAINING), recorded(changed((old, new)), "b"))
    assert message in explain.describe_divergence(comparison.first)[0]


PAIR = """
class Pair(nn.Module):
    def forward(self, x):
        return x, {factor} * x


pair = Pair()


def networks():"""


def test_what_a_module_returns_is_compared(recorded):
    """Also where the training uses nothing of it."""
    used = "        observation = pair(torch.as_tensor(following))[0].numpy()\n"
    old, new = (
        recorded(changed(("def networks():", PAIR.format(factor=factor)),
                         ("        observation = following\n", used)))
        for factor in (1.0, 2.0)
    )  # fmt: skip
    assert old.count_events_of_kind("module") == 8
    comparison = compare_traces(old, new)
    assert (comparison.verdict, comparison.first.kind) == ("diverged", "module")
    assert not comparison.differs_in_logs_only


@pytest.mark.parametrize(
    ("factor", "loss", "kind"),
    [(2.0, ".mean()", "computation"), (1.0, ".mean() * 2", "loss")],
    ids=["targets", "loss"],
)
def test_a_loss_is_blamed_only_if_its_targets_are_the_same(recorded, factor, loss, kind):
    """Results of a module that computes the targets of a loss are the first that differ."""
    old, new = (
        recorded(changed(
            ("def networks():", PAIR.format(factor=factor_)),
            ("target(following).max(dim=1).values", "pair(target(following).max(1).values)[1]"),
            (".mean()", loss_),
        ))
        for factor_, loss_ in ((1.0, ".mean()"), (factor, loss))
    )  # fmt: skip
    comparison = compare_traces(old, new)
    assert comparison.first.kind == kind
    assert (comparison.first.old.kind == "module") is (kind == "computation")
    assert all(before.index < comparison.first.old.index for before in comparison.first.before)
    same = "everything recorded before it is the same"
    assert same in explain.describe_divergence(comparison.first)[0]
