"""Whose an error is, by its traceback."""

from __future__ import annotations

import contextlib
import importlib
import sys

import numpy as np
import pytest
import torch

from rlregress.inside import error_origin, events
from rlregress.inside.error_origin import RECORDER, SUITE, TRACED, UNKNOWN
from rlregress.inside.recorder import Recorder
from rlregress.probing import framework_errors, toys
from rlregress.probing.framework_errors import call_original

MODULE = """
import copy
import random
import threading

import gymnasium
import numpy as np
import torch
from torch import nn

def fails():
    raise ValueError

def calls(function, *arguments):
    function(*arguments)

class Net(nn.Module):
    def __init__(self, size=1):
        super().__init__(size) if size > 1 else super().__init__()
        self.layer = nn.Linear(1, 1)

    def forward(self, x):
        return {"loss": self.layer(x).sum() / 0}

class Environment(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return int("x"), {}

    def step(self, action):
        return int("x"), 0.0, False, False, {}
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A module of the traced code."""
    (tmp_path / "theirs.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("theirs")
    del sys.modules["theirs"]


def origin(theirs, call, hooked=True):
    """Whose error it is that a call ends in, where the recorder's hooks are there or not."""
    places = events.Places([theirs.__file__])
    hooks = Recorder(places) if hooked else contextlib.nullcontext()
    with hooks, pytest.raises(Exception) as failed:  # noqa: PT011
        call()
    return error_origin.find_error_origin(failed.value, places)


def test_the_innermost_frame_decides(theirs):
    """Torch and others raise for who calls them; the recorder does not."""
    assert origin(theirs, theirs.fails) == TRACED
    assert origin(theirs, lambda: theirs.calls(int, "x")) == TRACED
    assert origin(theirs, lambda: int("x"), hooked=False) == UNKNOWN
    assert (
        origin(theirs, lambda: theirs.calls(events.write_trace, "/none/such", {}, [])) == RECORDER
    )
    assert origin(theirs, lambda: theirs.calls(toys.MixedEndsEnv, False, "none")) == SUITE


#: functions that a hook passes on, and arguments that they refuse.
PASSED_ON = {
    "torch": lambda _: (torch.rand, "x"),
    "tensor": lambda _: (torch.ones(1).normal_, "x"),
    "data": lambda _: (torch.tensor, object()),
    "an array": lambda _: (torch.as_tensor, np.array(["x", "y"])),
    "write": lambda _: (torch.ones(1).copy_, "x"),
    "function that writes": lambda _: (torch.add, "x"),
    "numpy": lambda _: (np.random.rand, "x"),
    "random": lambda _: (_.random.choice, []),
    "seed": lambda _: (torch.manual_seed, "x"),
    "generator": lambda _: (np.random.default_rng, "x"),
    "backward": lambda _: (torch.ones(1).backward,),
    "grad": lambda _: (torch.autograd.grad, torch.ones(1), torch.ones(1)),
    "module": lambda _: (_.Net, 2),
    "copy of a module": lambda _: (torch.nn.Linear(1, 1).__setstate__, 1),
    "loss": lambda _: (_.Net(),),
    "reset": lambda _: (_.Environment().reset, 1),
    "step": lambda _: (_.Environment().step,),
    "vector": lambda _: (_.gymnasium.vector.SyncVectorEnv([_.Environment]).step,),
    "sample": lambda _: (_.gymnasium.spaces.Box(0, 1, (2,)).sample, "x"),
    "thread": lambda _: (threading_started(_).start,),
}


def threading_started(theirs):
    """A thread that cannot be started once more."""
    thread = theirs.threading.Thread(target=len, args=("",))
    thread.start()
    return thread


def test_what_a_hook_passes_on_is_the_callers(theirs):
    """The frames of a hook say nothing of an error in what it stands for."""
    origins = {
        case: origin(theirs, lambda call=call: theirs.calls(*call(theirs)))
        for case, call in PASSED_ON.items()
    }
    assert origins == dict.fromkeys(PASSED_ON, TRACED)


def test_an_error_says_where_it_was_raised(theirs):
    """The innermost frames of the traced code, and of who called it, functions qualified."""
    with pytest.raises(ValueError, match="x") as failed:
        theirs.Environment().step(0)
    origin = error_origin.describe_error_for_header(failed.value, events.Places([theirs.__file__]))
    line = MODULE.splitlines().index('        return int("x"), 0.0, False, False, {}') + 1
    assert origin == {
        "type": "ValueError",
        "error": "ValueError: invalid literal for int() with base 10: 'x'",
        "origin": TRACED,
        "at": f"theirs.py:{line} Environment.step",
        "by": "",
    }


def test_a_file_that_cannot_be_compiled_is_theirs(tmp_path, monkeypatch):
    """No frame is in it: whoever imports it, such as this suite, has not made the error."""
    broken = tmp_path / "uncompilable.py"
    broken.write_text("x = 1\ndef f(:\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SyntaxError) as failed:
        importlib.import_module("uncompilable")
    origin = error_origin.describe_error_for_header(failed.value, events.Places([str(broken)]))
    assert (origin["origin"], origin["at"]) == (TRACED, "uncompilable.py:2 <module>")
    assert framework_errors.find_error_origin(failed.value, ["uncompilable.py"]) == "framework"
    elsewhere = error_origin.find_error_origin(failed.value, events.Places(["elsewhere"]))
    assert elsewhere != TRACED


def test_the_place_of_an_error_is_none_of_a_wrapper():
    """An error passed on by the suite's wrappers names their caller."""

    def wrapper():
        return call_original(int, "x")

    with pytest.raises(ValueError, match="x") as failed:
        wrapper()
    function = framework_errors.find_error_location(failed.value)["function"]
    assert function == "test_the_place_of_an_error_is_none_of_a_wrapper"
