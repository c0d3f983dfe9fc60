"""A call is repeated with the old and the new code: what differs is found, and nothing else."""

from __future__ import annotations

import math
import threading
import time

import numpy as np
import pytest
import torch

from rlregress.inside import repeat
from rlregress.inside.copies import Copies
from rlregress.inside.repeat import Call, Code

EPSILON = 1e-8


class Loss(torch.nn.Module):
    """What functions under test are methods of."""

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


def examined(old, new, seconds=5.0, same_together=False, known=(), **arguments):
    """What comes of one call with both versions."""
    names = set(old.__code__.co_names)
    joint = lambda same: same_together  # noqa: E731
    call = Call(Code(old), Code(new), arguments, names, set(), old.__globals__, joint, known)
    return call.examine(seconds)


def _loss(self, batch):
    value = self.net(batch["observation"])
    target = batch["reward"] + self.gamma * (1 - batch["done"]) * value.detach()
    return ((value - target.clamp(-self.bound, self.bound)) ** 2).mean()


def _lower_bound(self, batch):
    value = self.net(batch["observation"])
    target = batch["reward"] + self.gamma * (1 - batch["done"]) * value.detach()
    return ((value - target.clamp(-2 * self.bound, self.bound)) ** 2).mean()


def _no_mask(self, batch):
    value = self.net(batch["observation"])
    target = batch["reward"] + self.gamma * value.detach()
    return ((value - target.clamp(-self.bound, self.bound)) ** 2).mean()


def _no_detach(self, batch):
    value = self.net(batch["observation"])
    target = batch["reward"] + self.gamma * (1 - batch["done"]) * value
    return ((value - target.clamp(-self.bound, self.bound)) ** 2).mean()


def _count_calls(self, batch):
    self.calls += 1
    return _loss(self, batch)


def _drawing(self, batch):
    torch.rand(1)
    return _loss(self, batch)


def _raising(self, batch):
    if self.gamma >= 1:
        raise ValueError("gamma")
    return _loss(self, batch)


def _grouped(self, batch):
    value = self.net(batch["observation"])
    target = batch["reward"] + (1 - batch["done"]) * (value.detach() * self.gamma)
    return (value - target.clamp(-self.bound, self.bound)).pow(2).sum() * (1 / 7)


def _another_attribute(self, batch):
    self.last = batch["reward"].mean()
    return _loss(self, batch)


@pytest.mark.parametrize(
    ("new", "path", "given"),
    [
        (_lower_bound, "the result", False),
        (_no_mask, "the result", False),
        (_no_detach, "gradient", True),
        (_count_calls, "self.calls", True),
        (_drawing, "draws from torch", True),
        (_raising, "error", False),
    ],
)
def test_a_fault_is_found_with_the_arguments_that_show_it(new, path, given):
    """Behind a bound, a mask of ones or a flag; in gradients, state, draws and errors."""
    result = examined(_loss, new, self=Loss(), batch=values())
    assert result["differs"]["path"].startswith(path)
    assert result["given"] is given


def test_the_same_code_is_called_in_many_ways_and_differs_in_none():
    """Copies of all that it is called with are as equal as the code."""
    result = examined(_loss, _loss, seconds=0.6, self=Loss(), batch=values())
    assert "differs" not in result
    assert result["same"] > 20


def test_the_arguments_of_a_difference_are_named():
    """The smallest of what was changed, and both results."""
    result = examined(_loss, _raising, self=Loss(), batch=values())["differs"]
    assert result["arguments"].startswith("self.gamma ")
    assert result["new"] == "error ValueError: gamma"


def _delayed(self, batch, steps):
    for step in range(steps):
        self.calls += step % self.every == 0


def _delayed_otherwise(self, batch, steps):
    for step in range(steps):
        self.calls += step % (2 * self.every - 1) == 0


def test_the_smallest_arguments_that_show_a_difference_are_named():
    """Of a fault that needs two values at once, these two alone."""
    instance = Loss()
    instance.every = 1
    result = examined(_delayed, _delayed_otherwise, self=instance, batch=values(), steps=1)[
        "differs"
    ]
    assert result["arguments"].count(",") == 1
    assert "self.every " in result["arguments"]
    assert "steps " in result["arguments"]


class Bounded:
    """What constructors under test are methods of."""

    def __init__(self):
        self.bound = 10.0


def _begin(self, limits):
    self._bound, self._limits = self.bound, limits


def _begin_renamed(self, limits):
    self._largest_bound, self._limits = self.bound, limits


def _begin_dropped(self, limits):
    self._largest_bound = self.bound


def _begin_otherwise(self, limits):
    self._largest_bound, self._limits = 2 * self.bound, limits


def _begin_elsewhere(self, limits):
    self._largest, self._limits = self.bound, limits


def _begin_public(self, limits):
    self.largest_bound, self._limits = self.bound, limits


class Running:
    """Statistics that a function writes and does not return."""

    def __init__(self):
        self.mean, self.count, self.low = np.zeros(2), 1e-4, np.full(2, -np.inf)


def _updated(self, batch, count):
    total = self.count + count
    self.mean = self.mean + (batch - self.mean) * count / total
    self.count = total


def _updated_by_a_share(self, batch, count):
    share = count / (self.count + count)
    self.mean = self.mean + (batch - self.mean) * share
    self.count = self.count + count


def test_arguments_that_make_the_state_nan_are_no_evidence():
    """As those that make a result so: of no batch at all the old code has no mean either."""
    result = examined(
        _updated, _updated_by_a_share, self=Running(), batch=np.ones(2), count=0, seconds=1.0
    )
    assert "differs" not in result
    assert result["skipped"]


def test_a_private_attribute_under_another_name_does_not_differ():
    """It holds the same, and its name has the words of the old one: readers are told by traces."""
    assert "differs" not in examined(_begin, _begin_renamed, self=Bounded(), limits=[1.0])
    assert "differs" not in examined(_begin_renamed, _begin, self=Bounded(), limits=[1.0])
    # where the new version names it still, somebody reads it
    instance = {"self": Bounded(), "limits": [1.0]}
    assert "differs" in examined(_begin, _begin_renamed, known={"_bound"}, **instance)


@pytest.mark.parametrize("new", [_begin_dropped, _begin_otherwise, _begin_elsewhere, _begin_public])
def test_an_attribute_that_is_gone_differs(new):
    """Dropped, with another value, under a name of other words, or public: somebody may read it."""
    result = examined(_begin, new, self=Bounded(), limits=[1.0])
    assert result["given"]
    assert result["differs"]["new"] == "nothing"


@pytest.mark.parametrize("new", [_grouped, _another_attribute])
def test_what_rounds_or_adds_an_attribute_does_not_differ(new):
    """An attribute that only new code sets is read by new code alone."""
    result = examined(_loss, new, seconds=0.5, self=Loss(), batch=values())
    assert "differs" not in result
    assert (result["close"] > 0) is (new is _grouped)


def _scaled(x):
    return x / (x.std() + 1e-8)


def _scaled_otherwise(x):
    return x / (x.std() + 1e-5)


def _scaled_by_global(x):
    return x / (x.std() + EPSILON)


def test_a_constant_differs_where_it_decides():
    """Of an epsilon that is too small to change what a training gives; one may be given a name."""
    x = torch.tensor([1000.0, 2000.0, 4000.0, -8000.0])
    assert "differs" in examined(_scaled, _scaled_otherwise, x=x)
    assert "differs" not in examined(_scaled, _scaled_by_global, x=x)
    assert "differs" in examined(_scaled_otherwise, _scaled_by_global, x=x)
    assert "differs" in examined(_scaled_by_global, _scaled, x=x)


def _advantages(rewards, gamma):
    last, result = 0.0, np.zeros_like(rewards)
    for step in reversed(range(len(rewards))):
        last = rewards[step] + gamma * 0.95 * last
        result[step] = last
    return result


def _advantages_grouped(rewards, gamma):
    last, result = 0.0, np.zeros_like(rewards)
    for step in reversed(range(len(rewards))):
        last = gamma * (0.95 * last) + rewards[step]
        result[step] = last
    return result


def _advantages_small(rewards, gamma):
    return _advantages(rewards, gamma) * np.float32(1.00002)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rounding_is_measured_in_either_precision(kind):
    """A sum in another order is close; two hundred-thousandths are not."""
    rewards = np.random.default_rng(0).standard_normal(200).astype(kind)
    close = examined(_advantages, _advantages_grouped, rewards=rewards, gamma=0.99)
    assert "differs" not in close
    assert close["close"]
    assert "differs" in examined(_advantages, _advantages_small, rewards=rewards, gamma=0.99)


def _root(x):
    return torch.sqrt(x)


def _root_of_size(x):
    return torch.sqrt(x.abs())


def test_arguments_that_the_old_code_does_not_take_count_only_if_a_training_gives_them():
    """Of numbers below zero it makes NaN."""
    assert "differs" not in examined(_root, _root_of_size, x=torch.tensor([1.0, 4.0]))
    assert examined(_root, _root_of_size, x=torch.tensor([-1.0, 4.0]))["given"]


def _halves(items):
    for item in items:
        yield item / 2


def _halves_but_one(items):
    for item in items:
        if item != 3:
            yield item / 2


def test_generators_are_arguments_and_results():
    """Their items are compared."""
    make_generator = lambda: (float(n) for n in range(5))  # noqa: E731
    assert "differs" not in examined(_halves, _halves, items=make_generator())
    assert examined(_halves, _halves_but_one, items=make_generator())["given"]


def _timed(x):
    return {"time": time.time_ns(), "value": x}


def _unstable(x):
    return x + time.perf_counter()


def test_what_does_not_repeat_itself_is_not_compared():
    """But for what is named as a time."""
    assert "does not repeat itself" in examined(_unstable, _unstable, x=1.0)["why"]
    assert "differs" not in examined(_timed, _timed, x=1.0)
    assert "why" not in examined(_timed, _timed, x=1.0)


def _endless(x):
    while x > 0:
        pass


def test_what_takes_too_long_is_not_compared():
    """The rest of the gate goes on."""
    assert "longer" in examined(_endless, _endless, seconds=0.2, x=1.0)["why"]
    result = examined(_scaled, _endless, seconds=0.2, x=torch.tensor(-1.0))
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
    """All attributes, one copy of what is held twice; what has no copy is shared."""
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
    first, second = copies.make(), copies.make()
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
    assert (
        torch.rand(2, generator=first["draw"]).tolist()
        == torch.rand(2, generator=second["draw"]).tolist()
    )


def test_more_repetitions_are_as_close_as_the_limits_say():
    """The limits of rounding are those of STATISTICS: eight repetitions at least."""
    assert repeat.REPEATS >= 8


def _stored(memory, value):
    memory["image"] = np.zeros((4, 2), np.uint8)
    memory["image"][0] = value


def _stored_as_floats(memory, value):
    memory["image"] = np.zeros((4, 2))
    memory["image"][0] = value


def _stored_as_lists(memory, value):
    memory["image"] = [[value] * 2, [0] * 2, [0] * 2, [0] * 2]


def _stored_flat(memory, value):
    memory["image"] = np.zeros((8,), np.uint8)
    memory["image"][:2] = value


def _stored_as_a_tensor(memory, value):
    memory["image"] = torch.zeros((4, 2), dtype=torch.uint8)
    memory["image"][0] = value


def _stored_and_wrong(memory, value):
    memory["first"] = value + 1
    memory["image"] = np.zeros((4, 2))


def _stored_otherwise(memory, value):
    memory["image"] = np.full((4, 2), 0, dtype="u1")
    memory["image"][:1, :] = value


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (_stored_as_floats, "float64 array 4x2"), (_stored_as_lists, "object list of 4"),
        (_stored_flat, "uint8 array 8"), (_stored_as_a_tensor, "uint8 tensor 4x2"),
        (_stored_and_wrong, "float64 array 4x2"),
    ],
)  # fmt: skip
def test_another_type_is_named_before_other_values(new, words):
    """Dtype, shape and Python type of what a call leaves behind, whatever the values."""
    differs = examined(_stored, new, memory={}, value=7)["differs"]
    assert (differs["path"], differs["old"], differs["new"]) == (
        "memory['image']",
        "uint8 array 4x2",
        words,
    )


def _sums(values):
    return values.sum()


def _sums_as_an_array(values):
    return np.asarray(values.sum())


def _sums_as_a_number(values):
    return float(values.sum())


@pytest.mark.parametrize("new", [_sums_as_an_array, _sums_as_a_number])
def test_a_scalar_of_another_kind_differs(new):
    """A scalar of NumPy, an array without axes and a number of Python are three types."""
    differs = examined(_sums, new, values=np.ones(3))["differs"]
    assert (differs["path"], differs["old"]) == ("the result", "float64")


def test_what_is_stored_otherwise_in_the_same_type_is_the_same():
    """Another way to make an array of the same type differs in nothing."""
    assert "differs" not in examined(_stored, _stored_otherwise, memory={}, value=7)
