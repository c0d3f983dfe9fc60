"""Defaults of what users call: every one is read, and in the same words in every process."""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import types

import numpy as np
import pytest
import torch

from rlregress.probing import signatures

PACKAGE = __name__.partition(".")[0]


class Colour(enum.Enum):
    """Two colours."""

    RED = 1
    BLUE = 2


class Losing:
    """A class with a constructor, a method, a constant and keys."""

    limit = 3
    kind = Colour.RED

    @dataclasses.dataclass
    class Keys:
        """Names of what it reads."""

        advantage: str = "advantage"
        others: list = dataclasses.field(default_factory=list)

    def __init__(self, rate, clip=0.2, *, network=torch.nn.Tanh, made=lambda: None):
        self.rate = rate

    def forward(self, data, steps=5):
        """Nothing."""

    def _hidden(self, x=1):
        """Nobody calls it."""


class Bare(torch.nn.Module):
    """A class without a constructor of its own."""


def train(agent, total=100):
    """Nothing."""


def _module(monkeypatch, **content):
    module = types.ModuleType(__name__)
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, "some_users_call", module)
    return signatures.signatures(["some_users_call"])


def test_parameters_constants_and_keys_are_read(monkeypatch):
    """Those of constructors, of public methods, of functions and of what is nested."""
    found, unread = _module(monkeypatch, Losing=Losing, train=train, Bare=Bare, np=np, sqrt=np.sqrt)
    here = f"{__name__}.Losing"
    assert unread == {}
    assert found == {
        here: {
            "clip": "0.2",
            "network": "torch.Tanh",
            "made": f"{PACKAGE}.Losing.<lambda>",
            ".limit": "3",
            ".kind": "Colour.RED",
        },
        f"{here}.Keys": {"advantage": "'advantage'", "others": "list()"},
        f"{here}.forward": {"steps": "5"},
        f"{__name__}.train": {"total": "100"},
    }


def test_a_module_that_cannot_be_imported_hides_no_others(monkeypatch):
    """It is named with the reason, and the others are read."""
    module = types.ModuleType(__name__)
    module.train = train
    monkeypatch.setitem(sys.modules, "some_users_call", module)
    found, unread = signatures.signatures(["nowhere.to.be.found", "some_users_call"])
    assert list(found) == [f"{__name__}.train"]
    assert unread == {"nowhere.to.be.found": "ModuleNotFoundError: No module named 'nowhere'"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3e-4, "0.0003"),
        (np.float32(0.5), "0.5"),
        (True, "True"),
        (Colour.BLUE, "Colour.BLUE"),
        (torch.float32, "torch.float32"),
        (torch.nn.ReLU, "torch.ReLU"),
        (len, "len"),
        (np.zeros, "numpy.zeros"),
        (functools.partial(train, total=2), f"partial({PACKAGE}.train, total=2)"),
        ({"b": Colour.RED, "a": [train]}, f"{{'b': Colour.RED, 'a': [{PACKAGE}.train]}}"),
        ((1,), "(1,)"),
        ({"c", "a", "b"}, "{'a', 'b', 'c'}"),
    ],
)
def test_a_value_is_said_in_the_same_words_everywhere(value, text):
    """Functions and classes by their names, numbers as Python writes them, sets in order."""
    assert signatures.text_of(value) == text


def test_no_text_holds_an_address():
    """What has no words of its own is said by its class."""
    assert "0x" not in signatures.text_of(object())
    assert "0x" not in signatures.text_of({"a": (object(), lambda: None)})
