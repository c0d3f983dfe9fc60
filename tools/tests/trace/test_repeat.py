"""A call is repeated with the old and the new code: differences are found, and nothing else."""

from __future__ import annotations

import math
import threading
import time

import numpy as np
import pytest
import torch

from rlregress.inside import repeat
from rlregress.inside.copies import Copies

from .scripts import edit_function, examine_call

pytestmark = pytest.mark.usefixtures("repetitions_of_100_ms")

EPSILON = 1e-8


class Loss(torch.nn.Module):
    """The class of functions under test."""

    def __init__(self, gamma=0.9):
        super().__init__()
        self.net = torch.nn.Linear(3, 1)
        self.gamma, self.bound, self.calls = gamma, 10.0, 0
        self.lock, self.schedule = threading.Lock(), lambda left: left * gamma


def values():
    """A batch of what a loss reads."""
    torch.manual_seed(0)
    return {
        "observation": torch.randn(7, 3), "reward": torch.rand(7, 1),
        "done": torch.zeros(7, 1),
    }  # fmt: skip


def examined(old, new, seconds=5.0, known=(), **arguments):
    """Return the result of one call with both versions."""
    return examine_call(old, new, arguments, seconds, all_names=known)


def edit(text, *edits):
    """Return the function of a text, and the same with fragments replaced."""
    versions = [edit_function(text, *pairs, namespace=globals()) for pairs in ((), edits)]
    return versions[0], versions[1]


LOSS = """
def loss(self, batch):
    value = self.net(batch["observation"])
    target = batch["reward"] + self.gamma * (1 - batch["done"]) * value.detach()
    return ((value - target.clamp(-self.bound, self.bound)) ** 2).mean()
"""
FIRST = "    value = "
RAISING = (FIRST, f'    if self.gamma >= 1: raise ValueError("gamma")\n{FIRST}')


@pytest.mark.parametrize(
    ("old", "new", "path", "is_given"),
    [
        ("-self.bound", "-2 * self.bound", "the result", False),
        (' * (1 - batch["done"])', "", "the result", False),
        (".detach()", "", "gradient", True),
        (FIRST, f"    self.calls += 1\n{FIRST}", "self.calls", True),
        (FIRST, f"    torch.rand(1)\n{FIRST}", "draws from torch", True),
        (*RAISING, "error", False),
    ],
    ids=["a bound", "a mask", "a gradient", "a count", "a draw", "an error"],
)
def test_a_fault_is_found_with_the_arguments_that_show_it(old, new, path, is_given):
    """Behind a bound, a mask of ones or a flag; in gradients, state, draws and errors."""
    result = examined(*edit(LOSS, (old, new)), self=Loss(), batch=values())
    assert result["differs"]["path"].startswith(path)
    assert result["given"] is is_given


def test_the_same_code_is_called_in_many_ways_and_differs_in_none():
    """Copies of all that it is called with are as equal as the code."""
    result = examined(*edit(LOSS), self=Loss(), batch=values())
    assert "differs" not in result
    assert result["same"] > 20


DELAYED = """
def delayed(self, batch, steps):
    for step in range(steps):
        self.calls += step % self.every == 0
"""


def test_the_smallest_arguments_that_show_a_difference_are_named():
    """Of a fault that needs two values at once, these two alone."""
    instance = Loss()
    instance.every = 1
    versions = edit(DELAYED, ("self.every", "(2 * self.every - 1)"))
    result = examined(*versions, self=instance, batch=values(), steps=1)
    arguments = result["differs"]["arguments"]
    assert arguments.count(",") == 1
    assert "self.every " in arguments
    assert "steps " in arguments


class Bounded:
    """The class of constructors under test."""

    def __init__(self):
        self.bound = 10.0


BEGIN = "def begin(self, limits):\n    self._bound, self._limits = self.bound, limits\n"
RENAMED = ("self._bound", "self._largest_bound")


def test_a_private_attribute_under_another_name_does_not_differ():
    """It holds the same, and its name has the words of the old one: readers are told by traces."""
    old, new = edit(BEGIN, RENAMED)
    assert "differs" not in examined(old, new, self=Bounded(), limits=[1.0])
    # where the new version names it still, somebody reads it
    assert "differs" in examined(old, new, known={"_bound"}, self=Bounded(), limits=[1.0])


@pytest.mark.parametrize(
    "edits",
    [
        [("self._bound, self._limits = self.bound, limits", "self._largest_bound = self.bound")],
        [RENAMED, ("= self.bound", "= 2 * self.bound")],
        [("self._bound", "self._largest")],
        [("self._bound", "self.largest_bound")],
    ],
    ids=["dropped", "another value", "other words", "public"],
)
def test_an_attribute_that_is_gone_differs(edits):
    """Dropped, with another value, under a name of other words, or public: somebody may read it."""
    result = examined(*edit(BEGIN, *edits), self=Bounded(), limits=[1.0])
    assert result["given"]
    assert result["differs"]["new"] == "nothing"


GROUPED = [
    ('self.gamma * (1 - batch["done"]) * value.detach()',
     '(1 - batch["done"]) * (value.detach() * self.gamma)'),
    (" ** 2).mean()", ".pow(2)).sum() * (1 / 7)"),
]  # fmt: skip
MORE = [(FIRST, f'    self.last = batch["reward"].mean()\n{FIRST}')]


@pytest.mark.parametrize("edits", [GROUPED, MORE], ids=["grouped", "an attribute more"])
def test_what_rounds_or_adds_an_attribute_does_not_differ(edits):
    """An attribute that only new code sets is read by new code alone."""
    result = examined(*edit(LOSS, *edits), self=Loss(), batch=values())
    assert "differs" not in result
    assert (result["close"] > 0) is (edits is GROUPED)


def test_a_constant_differs_where_it_decides():
    """An epsilon may be too small to change a training; giving it a name is no difference."""
    x = torch.tensor([1000.0, 2000.0, 4000.0, -8000.0])
    small, large = lambda x: x / (x.std() + 1e-8), lambda x: x / (x.std() + 1e-5)
    named = lambda x: x / (x.std() + EPSILON)  # noqa: E731
    assert "differs" in examined(small, large, x=x)
    assert "differs" not in examined(small, named, x=x)
    assert "differs" in examined(large, named, x=x)
    assert "differs" in examined(named, large, x=x)


ADVANTAGES = """
def advantages(rewards, gamma):
    last, result = 0.0, np.zeros_like(rewards)
    for step in reversed(range(len(rewards))):
        last = rewards[step] + gamma * 0.95 * last
        result[step] = last
    return result
"""


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rounding_is_measured_in_either_precision(kind):
    """A sum in another order is close; two hundred-thousandths are not."""
    rewards = np.random.default_rng(0).standard_normal(200).astype(kind)
    grouped = ("rewards[step] + gamma * 0.95 * last", "gamma * (0.95 * last) + rewards[step]")
    close = examined(*edit(ADVANTAGES, grouped), rewards=rewards, gamma=0.99)
    assert "differs" not in close
    assert close["close"]
    larger = ("return result", "return result * np.float32(1.00002)")
    assert "differs" in examined(*edit(ADVANTAGES, larger), rewards=rewards, gamma=0.99)


def test_arguments_that_the_old_code_does_not_take_count_only_if_given():
    """Of numbers below zero it makes NaN; of generators the items are compared."""
    old, new = lambda x: torch.sqrt(x), lambda x: torch.sqrt(x.abs())
    assert "differs" not in examined(old, new, x=torch.tensor([1.0, 4.0]))
    assert examined(old, new, x=torch.tensor([-1.0, 4.0]))["given"]
    text = "def halve(items):\n    for item in items:\n        if item != 9: yield item / 2\n"
    make_generator = lambda: (float(n) for n in range(5))  # noqa: E731
    assert "differs" not in examined(*edit(text), items=make_generator())
    assert examined(*edit(text, ("9", "3")), items=make_generator())["given"]


def test_what_does_not_repeat_itself_is_not_compared():
    """Values named as a time are left out; a call that takes too long is not compared."""
    unstable = lambda x: x + time.perf_counter()  # noqa: E731
    assert "two calls of the old code" in examined(unstable, unstable, x=1.0)["why"]
    timed = lambda x: {"time": time.time_ns(), "value": x}  # noqa: E731
    result = examined(timed, timed, x=1.0)
    assert not {"differs", "why"} & set(result)

    def endless(x):
        while x > 0:
            pass

    assert "longer" in examined(endless, endless, seconds=0.2, x=1.0)["why"]
    result = examined(lambda x: -x, endless, seconds=0.2, x=torch.tensor(-1.0))
    assert "differs" in result


class Guarded:
    """Its copies are made without something."""

    __slots__ = ("kept", "__dict__")

    def __init__(self):
        self.kept, self.second = [1.0], {"a": 2}

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        raise AssertionError("it is not whole")


def test_copies_are_whole_and_apart():
    """All attributes, one copy of a shared object; an object that cannot be copied is shared."""
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.full((2,), 3.0)
    hanging = (weight * 2).sum()
    lock = threading.Lock()
    instance = {
        "weight": weight, "optimizer": torch.optim.SGD([weight], lr=0.1), "lock": lock,
        "guarded": Guarded(), "hanging": hanging, "function": math.floor,
        "draw": torch.Generator().manual_seed(1), "module": torch,
    }  # fmt: skip
    copies = Copies(instance)
    first, second = copies.make_copy(), copies.make_copy()
    first["optimizer"].step()
    assert first["weight"].tolist() == pytest.approx([0.7, 0.7])
    assert second["weight"].tolist() == weight.tolist() == [1.0, 1.0]
    assert first["optimizer"].param_groups[0]["params"][0] is first["weight"]
    assert first["lock"] is lock
    assert (first["guarded"].kept, first["guarded"].second) == ([1.0], {"a": 2})
    assert first["guarded"].second is not second["guarded"].second
    assert first["hanging"].is_leaf
    assert first["hanging"].requires_grad
    assert (first["function"], first["module"]) == (math.floor, torch)
    drawn = [torch.rand(2, generator=copied["draw"]).tolist() for copied in (first, second)]
    assert drawn[0] == drawn[1]
    # the limits of rounding are for so many repetitions
    assert repeat.REPEATS >= 8


STORED = """
def store(memory, value):
    memory["image"] = np.zeros((4, 2), np.uint8)
    memory["image"][0] = value
"""
ZEROS = "np.zeros((4, 2), np.uint8)"
#: other ways to store -> the type, if it is another one
STORES = {
    "lists": ([(ZEROS, "[[0] * 2 for _ in range(4)]"), ("[0] = value", "[0] = [value] * 2")],
              "object list of 4"),
    "a tensor": ([(ZEROS, "torch.zeros((4, 2), dtype=torch.uint8)")], "uint8 tensor 4x2"),
    "another value, too": ([(ZEROS, "np.zeros((4, 2)); memory['first'] = value + 1")],
                           "float64 array 4x2"),
    "the same type": ([(ZEROS, "np.full((4, 2), 0, dtype='u1')"), ("[0] = ", "[:1, :] = ")], ""),
}  # fmt: skip


@pytest.mark.parametrize("case", STORES)
def test_another_type_is_named_before_other_values(case):
    """Dtype, shape and Python type of the state after a call; another way to store is the same."""
    edits, words = STORES[case]
    differs = examined(*edit(STORED, *edits), memory={}, value=7).get("differs")
    if words:
        assert (differs["path"], differs["old"]) == ("memory['image']", "uint8 array 4x2")
    assert (differs and differs["new"]) == (words or None)
