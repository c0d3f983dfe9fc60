"""Defaults of public functions are read alike in every process; generators are restored."""

from __future__ import annotations

import dataclasses
import enum
import functools
import random
import sys
import types

import numpy as np
import pytest
import torch

from rlregress.probing import random_generators, signatures

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
        keys: list = dataclasses.field(default_factory=list)

    def __init__(self, rate, clip=0.2, *, network=torch.nn.Tanh, factory=lambda: None):
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
    return signatures.read_defaults_and_failures(["some_users_call"])


def test_parameters_constants_and_keys_are_read(monkeypatch):
    """Defaults of constructors, public methods, functions and nested classes are read."""
    read, unread = _module(monkeypatch, Losing=Losing, train=train, Bare=Bare, np=np, sqrt=np.sqrt)
    name = f"{__name__}.Losing"
    assert unread == {}
    assert read == {
        name: {
            "clip": "0.2",
            "network": "torch.Tanh",
            "factory": f"{PACKAGE}.Losing.<lambda>",
            ".limit": "3",
            ".kind": "Colour.RED",
        },
        f"{name}.Keys": {"advantage": "'advantage'", "keys": "list()"},
        f"{name}.forward": {"steps": "5"},
        f"{__name__}.train": {"total": "100"},
    }


def test_a_module_that_cannot_be_imported_hides_no_others(monkeypatch, tmp_path):
    """It is named with the reason, unless there is none of its name, and the others are read."""
    _module(monkeypatch, train=train)
    (tmp_path / "broken_here.py").write_text("import nowhere.to.be.found\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = ["some.thing.gone", "broken_here", "some_users_call"]
    read, unread = signatures.read_defaults_and_failures(names)
    assert list(read) == [f"{__name__}.train"]
    assert unread == {"broken_here": "ModuleNotFoundError: No module named 'nowhere'"}


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
def test_a_value_has_the_same_text_everywhere(value, text):
    """Functions and classes by their names, numbers as Python writes them, sets in order."""
    assert signatures.format_value_reproducibly(value) == text


def test_no_text_holds_an_address():
    """An object without a text of its own is described by its class."""
    assert "0x" not in signatures.format_value_reproducibly(object())
    assert "0x" not in signatures.format_value_reproducibly({"a": (object(), lambda: None)})


DRAWS = {
    "python": random.random,
    "numpy": np.random.rand,
    "torch": lambda: torch.rand(1).item(),
}


@pytest.mark.parametrize("library", DRAWS)
def test_a_draw_shows_in_the_states_of_its_generator_alone(library):
    """States can be compared by ``==``."""
    with random_generators.restore_generator_states_after():
        before = random_generators.read_comparable_states()
        assert random_generators.read_comparable_states() == before
        DRAWS[library]()
        after = random_generators.read_comparable_states()
        assert [name for name in before if before[name] != after[name]] == [library]
