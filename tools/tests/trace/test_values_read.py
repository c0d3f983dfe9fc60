"""Repetitions change the values that differing lines read, and are counted by whether they did."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import torch

from rlregress import marks
from rlregress.inside import leaves, values_read
from rlregress.inside.calls import Capture, Examiner, _list_names_read
from rlregress.inside.events import Places
from rlregress.inside.repeat import Call, FunctionVersion

from .scripts import edit_function

pytestmark = pytest.mark.usefixtures("repetitions_of_100_ms")


def examined(old, new, seconds=5.0, lines=range(1000), **arguments):
    """Return the result of one call with both versions.

    Args:
        lines: that differ, from that of ``def``.
    """
    codes = []
    for function in (old, new):
        text, first = function.__dict__.get("text", TEXT), function.__code__.co_firstlineno
        differing = values_read.list_statements_at_lines(
            text, first, {first + line for line in lines}
        )
        codes.append(FunctionVersion(function, differing=differing))
    read = _list_names_read(old.__code__, arguments)
    return Call(
        *codes, arguments, read, read, old.__globals__, lambda _: None
    ).compare_with_perturbations(seconds)


def scale_by(factor):
    """Return a function that multiplies by an expression."""
    text = f"def scale(owner, x):\n    return x * {factor}\n"
    return edit_function(text, namespace=globals())


TEXT = inspect.getsource(sys.modules[__name__])


class Scaled(torch.nn.Module):
    """Holds a factor of 1 in each way in which a module can hold one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.tensor(1.0))
        self.register_buffer("_mean", torch.ones(2))
        self.weight = torch.nn.Parameter(torch.tensor(1.0))
        self.inner = torch.nn.BatchNorm1d(2)
        self.name = "text"
        self.several = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(2))])

    @property
    def mean(self):
        return self._mean


class Slotted:
    """Holds a factor of 1 in a slot."""

    __slots__ = ("factor",)

    def __init__(self):
        self.factor = 1.0


@dataclass(frozen=True)
class Options:
    """Holds a factor of 1 in a field."""

    factor: float = 1.0


def _tensordict():
    return pytest.importorskip("tensordict").TensorDict({"factor": torch.ones(1)}, [])


@pytest.mark.parametrize(
    ("make", "factor"),
    [
        (Scaled, "owner.buffer"),
        (Scaled, "owner.mean"),
        (Scaled, "owner.inner.running_var"),
        (Scaled, "owner.several[0].detach()"),
        (Slotted, "owner.factor"),
        (Options, "owner.factor"),
        (_tensordict, 'owner["factor"]'),
        (lambda: gymnasium.spaces.Box(-1.0, 1.0, (2,)), "owner.high"),
    ],
)
def test_a_factor_of_1_is_changed_wherever_an_object_holds_it(make, factor):
    """A function that drops the factor differs, on arguments that no training gave."""
    result = examined(scale_by(factor), scale_by("1.0"), owner=make(), x=torch.rand(2) + 1)
    assert result["given"] is False
    assert "owner" in result["differs"]["arguments"]


def _named(owner, x):
    name = owner.name
    return [*x, name]


def _computed(owner, x):
    factor = owner.buffer
    double = 2 * factor
    return [*x, double]


def _only_if(owner, x):
    if owner.buffer > 1e9:
        return [*x, 1]
    return x


def _only_with(owner, x):
    if owner.name is None and owner.buffer > 0:
        return [*x, 1]
    return x


@pytest.mark.parametrize(
    ("line", "function", "touched"),
    [
        # text is not changed
        (1, _named, False),
        # what the line reads is computed from a buffer
        (3, _computed, True),
        # no repetition reaches the line
        (2, _only_if, False),
        # the condition is reached, and what it reads is changed
        (1, _only_if, True),
        # the second operand is never evaluated
        (1, _only_with, False),
    ],
)
def test_repetitions_count_that_change_what_the_lines_read(line, function, touched):
    """A repetition that changes something else is no evidence on a line."""
    result = examined(function, function, lines=[line], owner=Scaled(), x=[1.0])
    assert result["same"] > 1
    assert bool(result["touched"]) is touched


def test_what_a_line_reads_counts_if_the_repetition_changed_it():
    """A line that reads nothing need only run; a time is read anew by each repetition."""
    before = {(0, 0): ([(None,)], 1)}
    assert values_read.do_perturbed_values_differ([before], [before], [before])
    assert not values_read.do_perturbed_values_differ([{}], [{}], [{}])
    times = [{(0, 0): ([(str(n),)], 1)} for n in range(3)]
    assert not values_read.do_perturbed_values_differ(*[[first] for first in times])
    assert values_read.do_perturbed_values_differ([times[0]], [times[0]], [times[1]])


MODES = """
def stepped(batch, masks=None):
    if masks is None:
        return batch * 1.0
    if batch.sum() > 3:
        return batch * 2.0
    return batch * 3.0


def padded(batch):
    return batch["x"] * batch.get("mask", 1.0)


def scaled(owner, x):
    return x * owner.factor
"""


@pytest.fixture
def modes(tmp_path, monkeypatch):
    """Return functions with several modes, and a capture of calls of one with a fault."""
    name = f"modes_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODES)
    monkeypatch.syspath_prepend(str(tmp_path))
    marks.mark_imports(Places([str(tmp_path / f"{name}.py")]).find_path_below_root)
    module = importlib.import_module(name)

    def captured(function, old, new, mutant=False, seconds=2.0):
        changes = [{"file": f"{name}.py", "functions": [function], "text": MODES.replace(old, new)}]
        root = str(tmp_path / f"{name}.py")
        return Capture(Places([root]), [(f"{name}.py", function)],
                       Examiner(changes, {}, [root], mutant), seconds)  # fmt: skip

    yield module, captured
    sys.modules.pop(name)


#: function, fault, and calls: of two ways to call it, the one with the fault comes late.
LATE = {
    "other arguments": (
        "stepped", ("batch * 2.0", "batch * 2.5"), (torch.ones(1),),
        (torch.ones(4, 1), torch.ones(4, 1))),
    "a call that raises": (
        "stepped", ("batch * 2.0", "batch * 2.5"), (torch.ones(4, device="meta"), torch.ones(1)),
        (torch.ones(4), torch.ones(1))),
    "other entries of a batch": (
        "padded", ('"mask", 1.0', '"masks", 1.0'), ({"x": torch.ones(4)},),
        ({"x": torch.ones(4), "mask": torch.zeros(4)},)),
}  # fmt: skip


@pytest.mark.parametrize("case", LATE)
def test_each_way_in_which_a_function_is_called_is_captured(modes, case):
    """One that comes after 30 calls of another way is repeated, too."""
    function, fault, often, late = LATE[case]
    if function == "padded":
        batch = pytest.importorskip("tensordict").TensorDict
        often, late = ([batch(entries, [4])] for (entries,) in (often, late))
    module, captured = modes
    with captured(function, *fault, seconds=0.5) as capture:
        for arguments in [*[often] * 30, late]:
            with contextlib.suppress(RuntimeError, NotImplementedError):
                getattr(module, function)(*arguments)
    assert "differs" in capture.rows[-1]


def test_another_device_or_path_is_another_way_to_call(modes):
    """An object on another device, and a call that goes elsewhere; mutants see attributes change"""
    module, captured = modes
    with captured("scaled", "x * owner.factor", "owner.factor * x") as capture:
        for device in ("cpu", "meta"):
            module.scaled(SimpleNamespace(factor=1.0, device=torch.device(device)), torch.ones(2))
    assert len(capture.rows) == 2
    module, captured = modes
    for way, count in ((3.0, 2), (1.0, 1)):
        with captured("stepped", "batch.sum() > 3", "not batch.sum() <= 3") as capture:
            for factor in (1.0, way):
                module.stepped(torch.full((4,), factor / 2), torch.ones(4))
        assert len(capture.rows) == count
    module, captured = modes
    with captured("scaled", "x * owner.factor", "x", mutant=True) as capture:
        module.scaled(Options(), torch.ones(2))
    assert [result["differs"]["arguments"].split()[0] for result in capture.rows] == [
        "owner.factor"
    ]


def test_parameters_without_numbers_do_not_keep_others_from_being_changed():
    """A network whose shape alone is there, or is not yet, lies beside the factor."""
    module = Scaled()
    module.empty = torch.nn.Linear(2, 2, device="meta")
    module.lazy = torch.nn.LazyLinear(2)
    versions = scale_by("owner.buffer"), scale_by("1.0")
    result = examined(*versions, owner=module, x=torch.rand(2) + 1)
    assert "owner" in result["differs"]["arguments"]
    leaves.change_numbers_in_place(module, lambda part: part * 2)
    assert module.buffer == 2


def test_long_sequences_are_compared_at_every_position():
    """A value that differs at one of 2000 places is found, in numbers and in objects."""
    for make in (float, lambda n: SimpleNamespace(n=n)):
        items = [make(n) for n in range(2000)]
        changed = list(items)
        changed[999] = make(-1)
        first, another = leaves.list_leaves(items, "x"), leaves.list_leaves(changed, "x")
        assert any(not np.array_equal(first[path][1], another[path][1]) for path in first)
