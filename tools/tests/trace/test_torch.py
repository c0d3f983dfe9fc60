"""Functions and devices of torch under a recorder, and what clamps and masks did."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlregress.inside.activity import ClampAndMaskEffects
from rlregress.inside.events import Places, make_event_part
from rlregress.inside.recorder import Recorder
from rlregress.trace import recording_processes

from .scripts import recorded_here


@pytest.mark.parametrize("inside", [False, True], ids=["before", "inside"])
def test_a_default_device_is_obeyed(inside):
    """Functions that make tensors are seen by a default device, whenever it was set."""
    from torch.utils import _device

    _device._device_constructors.cache_clear()
    recorder = Recorder(Places([__file__]))
    outer, inner = (recorder, torch.device("meta"))[:: 1 if inside else -1]
    with outer, inner:
        tensors = [torch.rand(2), torch.tensor(np.zeros(2)), torch.randn(2)]
        tensors.append(torch.as_tensor(np.ones(2)))
    assert all(tensor.is_meta for tensor in tensors)
    # numbers that do not exist are no events
    assert {e["kind"] for e in recorder.events} == {"data"}


def test_transformed_and_compiled_functions_are_left_alone(tmp_path):
    """Under vmap and grad they go through, unrecorded; torch.jit compiles the original."""
    text = (
        "import torch\n"
        "torch.manual_seed(0)\n"
        "def noisy(x):\n    y = x * 1\n    y.detach().mul_(2)\n    return y + torch.randn(2)\n"
        "moved = torch.func.vmap(noisy, randomness='different')(torch.zeros(3, 2))\n"
        "slope = torch.func.grad(lambda w: (w * torch.randn(2)).sum())(torch.ones(2))\n"
        "drawn = torch.randn(2)\n"
    )
    recorder, names = recorded_here(text, tmp_path)
    untraced = {}
    exec(text, untraced)
    for name in ("moved", "slope", "drawn"):
        assert torch.equal(names[name], untraced[name])
    assert recorder.events[-1]["parts"]["value"] == make_event_part(names["drawn"])
    from torch.jit import _builtins

    text = (
        "import torch\n"
        "@torch.jit.script\n"
        "def noisy(x: torch.Tensor):\n"
        "    return x.clone().mul_(2.0) + torch.rand([2]) + torch.tensor(1.0)\n"
        "found = noisy(torch.zeros(2))\n"
    )
    before = dict(_builtins._get_builtin_table())
    _, names = recorded_here(text, tmp_path)
    assert (names["found"] >= 1).all()
    assert _builtins._get_builtin_table() == before


@pytest.mark.nightly
def test_functions_compiled_whole_are_taken_as_ever(tmp_path):
    """A function that torch.compile has to take in one piece draws and writes, in one process."""
    script = tmp_path / "whole.py"
    script.write_text(
        "import torch\n"
        "torch.manual_seed(0)\n"
        "@torch.compile(backend='eager', fullgraph=True)\n"
        "def noisy(x, y):\n"
        "    with torch.no_grad():\n"
        "        y.lerp_(x, 0.5)\n"
        "    return y + torch.rand(2) + torch.randn_like(x)\n"
        "found = noisy(torch.zeros(2), torch.ones(2))\n"
        "torch.rand(3)\n",
        encoding="utf-8",
    )
    job = {"script": str(script), "arguments": [], "packages": []}
    result = recording_processes.record_trace(
        job, tmp_path / "trace", recording_processes.make_current_runtime("old")
    )
    assert result.failure == ""
    assert result.count_events_of_kind("draw") > 0


def test_sparse_gradients_are_recorded(tmp_path):
    """A step with a sparse gradient is an event with all of its numbers."""
    text = (
        "import torch\n"
        "table = torch.nn.Embedding(5, 3, sparse=True)\n"
        "optimizer = torch.optim.SparseAdam(list(table.parameters()), lr=0.1)\n"
        "table(torch.tensor([1, 2])).sum().backward()\n"
        "optimizer.step()\n"
    )
    recorder, names = recorded_here(text, tmp_path)
    (step,) = [e for e in recorder.events if e["kind"] == "optimizer"]
    gradient = names["table"].weight.grad
    assert step["parts"]["gradient"][1:5] == make_event_part(gradient.to_dense())[1:5]
    assert step["parts"]["gradient"][5] == "float32 tensor 5x3 torch.sparse_coo"
    assert step["parts"]["gradient"][1] == pytest.approx(6**0.5)


def seen(call):
    """Return operation -> outcomes, for a function of this file."""
    places = Places([__file__])
    activity = ClampAndMaskEffects(places)
    with Recorder(places) as recorder:
        activity.install(recorder)
        call()
    return {row[3]: row[4] for row in activity.list_effects_by_place()}


X = torch.tensor([-2.0, 0.0, 2.0])

CASES = {
    "a clamp that never binds": (lambda: X.clamp(-9, 9), {"clamp": ["inside"]}),
    "a clamp that binds below": (
        lambda: torch.clamp(X, min=-1), {"clamp": ["above", "below", "inside"]}),
    "bounds as tensors": (
        lambda: X.clamp(-torch.ones(3), torch.ones(3)), {"clamp": ["above", "below", "inside"]}),
    "numpy's clip": (lambda: np.clip(np.array([0.5]), 0, 1), {"clamp": ["inside"]}),
    "the smaller of two": (lambda: torch.min(X, X + 1), {"minimum": ["first"]}),
    "a minimum over an axis": (lambda: torch.min(X, 0), {"minimum": ["first", "second"]}),
    "a mask that is all ones": (lambda: torch.where(X < 9, X, X), {"where": ["true"]}),
    "what continues after every step": (lambda: 1 - torch.zeros(3), {"complement": ["one"]}),
    "what ends now and then": (
        lambda: 1 - torch.tensor([0.0, 1.0]), {"complement": ["one", "zero"]}),
    "what hides no error": (lambda: X.nan_to_num(), {"nan_to_num": ["finite"]}),
    "what hides an infinity": (
        lambda: torch.nan_to_num(1 / X), {"nan_to_num": ["finite", "not finite"]}),
    "no mask at all": (lambda: 1 - X, {"complement": ["one", "zero"]}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_an_operation_did_is_noted(case):
    """Each says which of the things that it can do to a number it has done."""
    call, expected = CASES[case]
    assert seen(call) == expected


@pytest.mark.parametrize(("limit", "did"), [(0.1, "clipped"), (1e3, "left")])
def test_a_gradient_that_is_clipped_is_told_from_one_that_is_not(limit, did):
    """By the norm before clipping; the clamp inside of it is not the traced code's."""
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    outcomes = seen(lambda: torch.nn.utils.clip_grad_norm_([parameter], limit))
    assert (outcomes["clip_grad_norm"], "clamp" in outcomes) == ([did], False)


def test_values_and_gradients_are_left_alone():
    """Watching a clamp changes neither what it returns nor what flows back through it."""
    x = X.clone().requires_grad_()
    values = {}

    def call():
        values["value"] = x.clamp(-1, 1)
        values["value"].sum().backward()

    seen(call)
    assert torch.equal(values["value"], X.clamp(-1, 1))
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
