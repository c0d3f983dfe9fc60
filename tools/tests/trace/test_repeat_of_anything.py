"""Whatever a call is given, holds or leaves behind: differences are found, rewrites are none."""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import multiprocessing as mp
import os
import random
import re
import sys
from dataclasses import dataclass
from types import SimpleNamespace as Made

import numpy as np
import pytest
import torch

from rlregress.inside import leaves
from rlregress.inside.copies import Copies, NoCopy
from rlregress.inside.repeat import FunctionVersion
from rlregress.model.code import ChangedPiece
from rlregress.model.recorded_traces import Divergence
from rlregress.model.upgrade_result import Culprits, PieceExecution, RepeatedCalls
from rlregress.upgrade.evidence import direct_calls

from ..upgrade import small_traces
from .scripts import examine_call

COUNT = 0
CHANGED = []


def examined(old, new, arguments, joint=lambda same: None):
    """Return the result of one call with both versions."""
    return examine_call(old, new, arguments, 1.0, joint, modules=[sys.modules[__name__]])


def network():
    """A network with gradients, its optimiser, and a scheduler that has replaced its step."""
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    (net(torch.randn(4, 3)) * 100).sum().backward()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    return Made(net=net, optimizer=optimizer, schedule=schedule)


def _clip(limit):
    return lambda self: torch.nn.utils.clip_grad_norm_(self.net.parameters(), limit) and None


def _with_precision(dtype):
    return lambda x: x.to(dtype) * 1


def _drawing(dtype):
    return lambda x: (torch.rand(3, dtype=dtype), x)[1]


class Trains:
    """Its objects have no attribute of their own at first."""

    training = True


def _closure(factor):
    return lambda x: lambda left: x + factor * left


def _advanced(x):
    iterator = iter([1, 2])
    next(iterator)
    return iterator


def _through_view(self):
    self.view[0] = 1.0
    return self.base.sum()


def _before_view(self):
    total = self.base.sum()
    self.view[0] = 1.0
    return total


def _through_base(self):
    self.base[0] = 1.0
    return self.base.sum()


def viewed(kind):
    """An array and a part of it."""
    base = kind(4)
    return Made(base=base, view=base[:2])


def _count_calls(x):
    global COUNT
    COUNT += 1
    return x


class Named:
    """With a number."""

    count = 0

    def __init__(self, n):
        self.n = n


Unit, Kind = (enum.IntEnum(name, ["STEP"]) for name in ("Unit", "Kind"))


def _shared(first, second, third):
    objects = Named(1), Named(2)
    return lambda x: [objects[first], objects[second], objects[third]]


def _registered(*names):
    modules = [(name, torch.nn.Identity()) for name in names]
    return lambda x: torch.nn.Sequential(collections.OrderedDict(modules))


def _read_only(x):
    array = x.copy()
    array.flags.writeable = False
    return array


def _with_option(number):
    def schedule(*, scale=number):
        return scale

    return lambda x: schedule


def _as_it_is(x):
    return x


@dataclass
class Out:
    """The output of a network."""

    value: torch.Tensor


class Counting(list):
    """A list that counts its appends."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def append(self, item):
        """Count it."""
        self.count += 1
        super().append(item)


def counting():
    """One with an item."""
    instance = Counting()
    instance.append(1.0)
    return instance


#: both versions, called with x = 1.0.
OF_ONE = {
    "a draw of another precision": (_drawing(torch.float32), _drawing(torch.float64)),
    "not a number, and infinite": (
        lambda x: np.array([1.0, np.nan]) * x, lambda x: np.array([1.0, np.inf]) * x),
    "items of an iterator": (lambda x: map(abs, [x]), lambda x: map(abs, [x + 1])),
    "what is left of an iterator": (lambda x: iter([1, 2]), _advanced),
    "the count of an iterator": (lambda x: itertools.count(3), lambda x: itertools.count(4)),
    "what a function holds": (_closure(1.0), _closure(2.0)),
    "the code of a function": (_closure(1.0), lambda x: lambda left: x - 1.0 * left),
    "keys that are numbers": (lambda x: {0.1: x}, lambda x: {0.2: x}),
    "keys in another order": (lambda x: {0.1: x, 0.2: x}, lambda x: {0.2: x, 0.1: x}),
    "an object in an array": (
        lambda x: np.array([Out(x)], dtype=object), lambda x: np.array([Out(x + 1)], dtype=object)),
    "a counter of the module": (_count_calls, _as_it_is),
    "gradients switched off": (_as_it_is, lambda x: (torch.set_grad_enabled(False), x)[1]),
    "a variable of the environment": (_as_it_is, lambda x: (os.environ.update(ADDED="1"), x)[1]),
    "another default precision": (
        _as_it_is, lambda x: (torch.set_default_dtype(torch.float64), x)[1]),
    "it ends the program": (_as_it_is, lambda x: sys.exit()),
    "it does not end": (_as_it_is, lambda x: [n for n in itertools.count() if n < 0]),
    "the length of a queue": (
        lambda x: collections.deque(maxlen=10), lambda x: collections.deque(maxlen=100)),
    "a key of NumPy": (lambda x: {np.int64(1): x}, lambda x: {np.int64(2): x}),
    "a key that is a class": (lambda x: {int: x}, lambda x: {float: x}),
    "the last digits of an item of a set": (
        lambda x: {0.12345678901}, lambda x: {0.12345678902}),
    "a member of another enumeration": (lambda x: Unit.STEP, lambda x: Kind.STEP),
    "a module": (lambda x: np, lambda x: torch),
    "a default by keyword": (_with_option(1), _with_option(2)),
    "a method of a list": (lambda x: [1].append, lambda x: [2].append),
    "the end of long bytes": (lambda x: bytearray(2000), lambda x: bytearray(1999) + b"a"),
    "the end of a long pattern": (
        lambda x: re.compile("a" * 300), lambda x: re.compile("a" * 299 + "b")),
    "the shape of an array of objects": (
        lambda x: np.full((2, 3), "a", object), lambda x: np.full((3, 2), "a", object)),
    "which object is there twice": (_shared(0, 1, 0), _shared(0, 1, 1)),
    "the order of modules": (_registered("a", "b"), _registered("b", "a")),
    "large integers": (lambda x: [2**63, -1] * 300, lambda x: [2**63 + 1, -1] * 300),
    "an integer of many digits": (lambda x: 2**80, lambda x: 2**80 + 1),
}  # fmt: skip
DIFFERENT = {
    **{case: (*versions, lambda: {"x": 1.0}) for case, versions in OF_ONE.items()},
    "a gradient is clipped less": (_clip(0.5), _clip(5.0), lambda: {"self": network()}),
    "an optimiser with a scheduler does not step": (
        lambda self: self.optimizer.step(), lambda self: None, lambda: {"self": network()}),
    "a precision": (_with_precision(torch.float32), _with_precision(torch.float64),
                    lambda: {"x": torch.randn(4)}),
    "an error on both precisions": (
        lambda x: torch.zeros(3) @ x, lambda x: torch.ones(3, dtype=torch.float64) @ x * 0,
        lambda: {"x": torch.randn(3)}),
    "a key that is gone": (lambda self: self.d.pop("a"), lambda self: self.d["a"],
                           lambda: {"self": Made(d={"a": 1})}),
    "an attribute of a class is hidden": (
        lambda self, x: None, lambda self, x: setattr(self, "training", False),
        lambda: {"self": Trains(), "x": 2.0}),
    "a generator of Python": (lambda self: None, lambda self: self.rng.random(),
                              lambda: {"self": Made(rng=random.Random(1))}),
    "a view of an array": (_through_view, _before_view, lambda: {"self": viewed(np.zeros)}),
    "a view of a tensor": (_through_view, _before_view, lambda: {"self": viewed(torch.zeros)}),
    "a gradient in an object": (
        lambda x: Out(x * 2), lambda x: Out(x * 3 - x.detach()),
        lambda: {"x": torch.ones(2, requires_grad=True)}),
    "gradients exchanged": (
        lambda s: (s * 2, s * 3), lambda s: (s * 3 - s.detach(), s * 2 + s.detach()),
        lambda: {"s": torch.ones((), requires_grad=True)}),
    "items of a list of its own kind": (
        lambda items: len(items), lambda items: len(items) + 1, lambda: {"items": counting()}),
    "an array that nobody may write": (lambda x: x.copy(), _read_only, lambda: {"x": np.ones(2)}),
    "a partial": (
        lambda self, x: self.schedule() * self.args.lr * x, lambda self, x: self.args.lr + x,
        lambda: {"self": Made(schedule=functools.partial(pow, 2.0, 0.5), args=Made(lr=0.1)),
                 "x": 2.0}),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_on_the_given_arguments_is_found(case):
    """In results, gradients, state, draws, errors and what the module holds."""
    old, new, arguments = DIFFERENT[case]
    result = examined(old, new, arguments())
    assert result.get("given") is True, result
    assert COUNT == 0
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32
    assert "ADDED" not in os.environ


def _schedule(x):
    def schedule(left):
        return left

    return schedule


def _explained_schedule(x):
    def schedule(left):
        """Return what is left."""
        return left

    schedule.__qualname__ = "_schedule.<locals>.schedule"
    return schedule


REWRITTEN = {
    "an attribute more, of what it returns": (
        lambda self, x: vars(self).update(n=x) or self,
        lambda self, x: vars(self).update(n=x, last=x) or self,
        lambda: {"self": Made(n=0.0), "x": 2.0}),
    "a set of objects in any order": (
        lambda self: sorted(o.n for o in self.s), lambda self: sorted([o.n for o in list(self.s)]),
        lambda: {"self": Made(s={Named(1), Named(2)})}),
    "an iterator": (_advanced, lambda x: _advanced(x), lambda: {"x": 1.0}),
    "a function with a docstring": (_schedule, _explained_schedule, lambda: {"x": 1.0}),
    "a view, and the same place of its base": (
        _through_view, _through_base, lambda: {"self": viewed(np.zeros)}),
    "days that are none": (
        lambda x: np.array(["NaT"], "M8[s]"), lambda x: np.array(["NaT"], "M8[s]"),
        lambda: {"x": 1.0}),
    "a parameter with an attribute": (
        lambda p: p * p.scale, lambda p: p.scale * p, lambda: {"p": _scaled()}),
}  # fmt: skip


def _scaled():
    instance = torch.nn.Parameter(torch.ones(2))
    instance.scale = 3.0
    return instance


@pytest.mark.parametrize("case", REWRITTEN)
def test_what_is_the_same_is_not_reported(case):
    """And it is compared, too."""
    old, new, arguments = REWRITTEN[case]
    result = examined(old, new, arguments())
    assert "differs" not in result, result
    assert "why" not in result, result
    assert result["same"] + result["close"]


def test_code_that_moved_and_rounds_is_close():
    """With the old code of all changed functions; the sign of zero is rounding, too."""
    result = examined(
        lambda x: x / 3 * 0.1 / 3, lambda x: x / 3 * 0.1, {"x": torch.randn(50)},
        joint=lambda same: same(FunctionVersion(lambda x: x * 0.1 * (1 / 3))),
    )  # fmt: skip
    assert "differs" not in result
    result = examined(lambda x: x - x, lambda x: -(x - x), {"x": np.ones(2)})
    assert "differs" not in result
    assert result["close"]


def test_what_is_too_large_is_not_compared(monkeypatch):
    """It is said, and not left out; shared memory of processes has no copy."""
    assert leaves.MOST == 50_000
    monkeypatch.setattr(leaves, "MOST", 500)
    held = Made(memory=[[Named(n) for n in range(25)] for _ in range(25)])
    result = examined(lambda self: None, lambda self: None, {"self": held})
    assert "more than 500 parts" in result["why"]
    with pytest.raises(NoCopy, match="has no copy"):
        Copies({"x": mp.Value("i", 0).get_obj()})


_FREE = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: (x, (item for item in [x])), "on equal arguments differ in"),
        (lambda x: (n for n in range(1001)), "more than 1000 items"),
        (lambda x: functools.reduce(lambda inner, _: [inner], range(50), 1), "more than 40 levels"),
    ],
)
def test_what_nothing_shows_is_not_compared(function, why):
    """A generator among others, items after many, and what lies deep."""
    assert why in examined(function, function, {"x": 1.0})["why"]


@pytest.mark.parametrize(
    ("new", "path"),
    [
        (lambda x: CHANGED.append(x), "CHANGED"),
        (lambda x: setattr(Named, "count", x), "Named.count"),
        # on other arguments than the given ones
        (lambda x: setattr(Named, "count", x) if x == 5 else None, "Named.count"),
    ],
)
def test_what_changes_more_than_its_arguments_is_not_compared(new, path, monkeypatch):
    """Variables of a module and attributes of a class, which have no copy."""
    monkeypatch.setattr(sys.modules[__name__], "CHANGED", [])
    monkeypatch.setattr(Named, "count", 0)
    result = examined(lambda x: None, new, {"x": 1})
    assert result["why"] == f"calls of it change {__name__}.{path}, which has no copy"


def test_what_is_written_in_c_is_compared_and_copied_by_itself_or_shared():
    """A simulation has numbers that no attribute shows."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(_FREE)

    def move(x):
        x.qpos[0] += 1

    assert examined(lambda x: None, move, {"x": mujoco.MjData(model)})["given"]
    copied = Copies({"m": model, "d": mujoco.MjData(model), "i": itertools.count(3)}).make_copy()
    assert (copied["m"].nq, copied["d"].qpos.tolist()) == (7, [0, 0, 0, 1, 0, 0, 0])
    assert next(copied["i"]) == 3
    # no name leads to it, as none leads to what a method that is cached belongs to
    cached = functools.cache(model.__repr__)
    assert Copies({"f": cached}).make_copy()["f"] is cached
    queue = Copies(collections.deque([1.0], maxlen=2)).make_copy()
    assert (list(queue), queue.maxlen) == ([1.0], 2)


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [
        (RepeatedCalls(captured=1, same=10), "diverged"),
        (RepeatedCalls(captured=1, skipped=10), "diverged"),
        (RepeatedCalls(captured=1, same=3, close=7), "close"), (None, "diverged"),
    ],
)  # fmt: skip
def test_logs_that_differ_are_close_only_if_direct_calls_have_seen_rounding(calls, verdict):
    """Calls that detect nothing are no evidence."""
    culprit = ChangedPiece(
        file="a.py", name="train", how="changed", old=None, new=None, paths=(None, None)
    )
    log, nothing = small_traces.event("log"), small_traces.trace()
    first = Divergence(kind="logs", part="", old=log, new=log, before=())
    held = small_traces.traced("ppo", nothing, nothing, first=first)
    executions = [PieceExecution(function=culprit, calls=calls)]
    (result,) = direct_calls.mark_trainings_that_differ_by_rounding(
        [held], {"ppo": Culprits(influencing=(culprit,))}, executions
    )
    assert result.comparison.verdict == verdict
