"""Clamps that bind, masks that mask: what a line did beside being run."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlregress.inside.activity import Activity
from rlregress.inside.events import Places
from rlregress.inside.recorder import Recorder


def seen(call):
    """Return operation -> outcomes, for a function of this file."""
    places = Places([__file__])
    activity = Activity(places)
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
