"""Whatever a call is given, holds or leaves behind: differences are found, rewrites are none."""

from __future__ import annotations

import collections
import functools
import itertools
import multiprocessing as mp
import random
import sys
from dataclasses import dataclass
from types import SimpleNamespace as Made

import numpy as np
import pytest
import torch

from rlregress.inside import leaves
from rlregress.inside.copies import Copies, NoCopy
from rlregress.inside.repeat import Call, Code
from rlregress.model.code import Changed
from rlregress.model.recorded_traces import Comparison, Divergence, Event, Trace, Traced
from rlregress.model.upgrade_result import Calls, Culprits, PieceExecution
from rlregress.upgrade import direct_calls

CACHE, COUNT = {}, 0


def examined(old, new, arguments, seconds=1.0, joint=lambda same: None):
    """Return the result of one call with both versions."""
    names = set(old.__code__.co_names)
    return Call(Code(old), Code(new), arguments, names, set(), old.__globals__, joint).examine(
        seconds
    )


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
    def make(a, b):
        return lambda left: a + factor * left * (b - a)

    return make


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


def _cached(x):
    if "x" not in CACHE:
        CACHE["x"] = x * 2
    return CACHE["x"]


def _cached_otherwise(x):
    if "x" not in CACHE:
        CACHE["x"] = x * 3
    return CACHE["x"]


def _count_calls(x):
    global COUNT
    COUNT += 1
    return x


def _as_it_is(x):
    return x


@dataclass
class Out:
    """The output of a network."""

    value: torch.Tensor


def _hang(x):
    while True:
        pass


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


class Forgetful:
    """Its copies are not made by Python."""

    def __init__(self):
        self.held = {1: 2.0}


DIFFERENT = {
    "a gradient is clipped less": (_clip(0.5), _clip(5.0), lambda: {"self": network()}),
    "an optimiser with a scheduler does not step": (
        lambda self: self.optimizer.step(), lambda self: None, lambda: {"self": network()}),
    "a loss is not propagated": (
        lambda self, loss: loss.backward(), lambda self, loss: None,
        lambda: {"self": (agent := network()), "loss": (agent.net(torch.ones(2, 3)) ** 2).mean()}),
    "a precision": (_with_precision(torch.float32), _with_precision(torch.float64),
                    lambda: {"x": torch.randn(4)}),
    "a draw of another precision": (
        _drawing(torch.float32), _drawing(torch.float64), lambda: {"x": 1.0}),
    "an error on both precisions": (
        lambda x: torch.zeros(3) @ x, lambda x: torch.ones(3, dtype=torch.float64) @ x * 0,
        lambda: {"x": torch.randn(3)}),
    "not a number, and infinite": (
        lambda x: np.array([1.0, np.nan]) * x, lambda x: np.array([1.0, np.inf]) * x,
        lambda: {"x": 1.0}),
    "a key": (lambda self, x: None, lambda self, x: self.stats.update(n=x),
              lambda: {"self": Made(stats={}), "x": 2.0}),
    "a key that is gone": (lambda self: self.d.pop("a"), lambda self: self.d["a"],
                           lambda: {"self": Made(d={"a": 1})}),
    "an attribute that is gone": (lambda self, x: delattr(self, "z"), lambda self, x: None,
                                  lambda: {"self": Made(z=1), "x": 1.0}),
    "an attribute of a class is hidden": (
        lambda self, x: None, lambda self, x: setattr(self, "training", False),
        lambda: {"self": Trains(), "x": 2.0}),
    "a generator of Python": (lambda self: None, lambda self: self.rng.random(),
                              lambda: {"self": Made(rng=random.Random(1))}),
    "items of an iterator": (lambda x: map(abs, [x]), lambda x: map(abs, [x + 1]),
                             lambda: {"x": 1.0}),
    "bytes": (lambda x: bytearray(b"a"), lambda x: bytearray(b"b"), lambda: {"x": 1.0}),
    "what a function holds": (_closure(1.0), _closure(2.0), lambda: {"a": 1.0, "b": 2.0}),
    "keys that are numbers": (lambda x: {0.1: x}, lambda x: {0.2: x}, lambda: {"x": 1.0}),
    "an object in an array": (
        lambda x: np.array([Out(x)], dtype=object), lambda x: np.array([Out(x + 1)], dtype=object),
        lambda: {"x": 1.0}),
    "a view of an array": (_through_view, _before_view, lambda: {"self": viewed(np.zeros)}),
    "a view of a tensor": (_through_view, _before_view, lambda: {"self": viewed(torch.zeros)}),
    "a cache of the module": (_cached, _cached_otherwise, lambda: {"x": 2.0}),
    "a counter of the module": (_count_calls, _as_it_is, lambda: {"x": 2.0}),
    "gradients switched off": (
        _as_it_is, lambda x: (torch.set_grad_enabled(False), x)[1], lambda: {"x": 2.0}),
    "another default precision": (
        _as_it_is, lambda x: (torch.set_default_dtype(torch.float64), x)[1], lambda: {"x": 2.0}),
    "a gradient in an object": (
        lambda x: Out(x * 2), lambda x: Out(x * 3 - x.detach()),
        lambda: {"x": torch.ones(2, requires_grad=True)}),
    "gradients exchanged": (
        lambda s: (s * 2, s * 3), lambda s: (s * 3 - s.detach(), s * 2 + s.detach()),
        lambda: {"s": torch.ones((), requires_grad=True)}),
    "it does not end": (_as_it_is, _hang, lambda: {"x": 1.0}),
    "it ends the program": (_as_it_is, lambda x: sys.exit(), lambda: {"x": 1.0}),
    "items of a list of its own kind": (
        lambda items: len(items), lambda items: len(items) + 1, lambda: {"items": counting()}),
    "a partial": (
        lambda self, x: self.schedule() * self.args.lr * x, lambda self, x: self.args.lr + x,
        lambda: {"self": Made(schedule=functools.partial(pow, 2.0, 0.5), args=Made(lr=0.1)),
                 "x": 2.0}),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_on_the_given_arguments_is_found(case):
    """In results, gradients, state, draws, errors and what the module holds."""
    old, new, arguments = DIFFERENT[case]
    CACHE.clear()
    result = examined(old, new, arguments())
    assert result.get("given") is True, result
    assert (dict(CACHE), COUNT) == ({}, 0)
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def _returns_itself(self, x):
    self.n = x
    return self


def _returns_itself_with_more(self, x):
    self.n = x
    self.last = x
    return self


class Named:
    """With a number."""

    def __init__(self, n):
        self.n = n


REWRITTEN = {
    "an attribute more, of what it returns": (
        _returns_itself, _returns_itself_with_more, lambda: {"self": Made(n=0.0), "x": 2.0}),
    "an argument named results": (
        lambda results, x: setattr(results, "n", x),
        lambda results, x: (setattr(results, "n", x), setattr(results, "last", x))[2:] or None,
        lambda: {"results": Made(n=0.0), "x": 2.0}),
    "a set of objects in any order": (
        lambda self: sorted(o.n for o in self.s), lambda self: sorted([o.n for o in list(self.s)]),
        lambda: {"self": Made(s={Named(1), Named(2)})}),
    "a view, and the same place of its base": (
        _through_view, _through_base, lambda: {"self": viewed(np.zeros)}),
    "days that are none": (
        lambda x: np.array(["NaT"], "M8[s]"), lambda x: np.array(["NaT"], "M8[s]"),
        lambda: {"x": 1.0}),
    "keys in another order": (
        lambda x: {0.1: x, 0.2: x}, lambda x: {0.2: x, 0.1: x}, lambda: {"x": 1.0}),
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
    """With the old code of all changed functions, up to rounding."""
    result = examined(
        lambda x: x / 3 * 0.1 / 3, lambda x: x / 3 * 0.1, {"x": torch.randn(50)},
        joint=lambda same: same(Code(lambda x: x * 0.1 * (1 / 3))),
    )  # fmt: skip
    assert "differs" not in result


def test_what_is_too_large_is_not_compared(monkeypatch):
    """It is said, and not left out; shared memory of processes has no copy."""
    assert leaves.MOST == 50_000
    monkeypatch.setattr(leaves, "MOST", 500)
    held = Made(memory=[[Named(n) for n in range(25)] for _ in range(25)])
    result = examined(lambda self: None, lambda self: None, {"self": held})
    assert "more than 500 parts" in result["why"]
    with pytest.raises(NoCopy, match="has no copy"):
        Copies({"x": mp.Value("i", 0).get_obj()})


def test_what_is_written_in_c_is_copied_by_itself_or_shared():
    """A simulation has numbers that no attribute shows."""
    mujoco = pytest.importorskip("mujoco")
    text = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    copied = Copies({"m": model, "d": mujoco.MjData(model), "i": itertools.count(3)}).make()
    assert (copied["m"].nq, copied["d"].qpos.tolist()) == (7, [0, 0, 0, 1, 0, 0, 0])
    assert next(copied["i"]) == 3
    queue = Copies(collections.deque([1.0], maxlen=2)).make()
    assert (list(queue), queue.maxlen) == ([1.0], 2)


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [
        (Calls(captured=1, same=10), "diverged"), (Calls(captured=1, skipped=10), "diverged"),
        (Calls(captured=1, same=3, close=7), "close"), (None, "diverged"),
    ],
)  # fmt: skip
def test_logs_that_differ_are_close_only_if_direct_calls_have_seen_rounding(calls, verdict):
    """Calls that detect nothing are no evidence."""
    culprit = Changed(
        file="a.py", name="train", how="changed", old=None, new=None, paths=(None, None)
    )
    event = Event(index=0, kind="log", name="kl", file="", line=0, function="", parts={})
    first = Divergence(kind="logs", part="", old=event, new=event, before=())
    comparison = Comparison(verdict="diverged", compared=1, first=first)
    trace = Trace(header={}, events=())
    held = Traced(name="ppo", comparison=comparison, old=trace, new=trace, repeats=True, notes=())
    executions = [PieceExecution(function=culprit, calls=calls)]
    (result,) = direct_calls.mark_rounding(
        [held], {"ppo": Culprits(influencing=(culprit,))}, executions
    )
    assert result.comparison.verdict == verdict
