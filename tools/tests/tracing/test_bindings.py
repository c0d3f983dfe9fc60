"""Values that modules and classes are given at import are those of another version for a while."""

from __future__ import annotations

import importlib

import pytest

from rlregress.tracing import bindings
from rlregress.tracing.bindings import BODY, MODULE
from rlregress.tracing.methods import Misfit

OLD = """
import math

_LOW = -20
_HIGH = 2
RANGE = (_LOW, _HIGH)
SAME = 1 + 1
__all__ = ["Actor"]
if math.pi > 3:
    ROUND = "no"
_GONE = 7

class Actor:
    _bound = _scale = 1.0

    class Inner:
        rate = 0.5

def f():
    _LOW = 3
    return _LOW
"""
NEW = (
    OLD.replace("_HIGH = 2", "_HIGH: int = 4").replace("1 + 1", "2").replace('"no"', '"yes"')
    .replace('["Actor"]', "[]")
    .replace("_scale = 1.0", "_scale = 2.0").replace("0.5", "0.25").replace("_GONE = 7\n", "")
    .replace("    _LOW = 3", "    _LOW = 4")
)  # fmt: skip


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The new version, and a module that has imported a value of it by name."""
    package = tmp_path / f"bound_{tmp_path.name}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "code.py").write_text(NEW)
    (package / "user.py").write_text("from .code import _HIGH, _LOW\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(f"{package.name}.user")
    return importlib.import_module(f"{package.name}.code")


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (MODULE, {"_HIGH", "RANGE", "SAME", "ROUND", "_GONE"}),
        (f"{BODY}Actor", {"_bound", "_scale"}),
        (f"{BODY}Actor.Inner", {"rate"}),
        (f"{BODY}Absent", set()),
        ("f", set()),
    ],
)
def test_names_that_are_given_another_value(piece, expected):
    """What follows from another name counts; what a function gives a value does not."""
    assert bindings.names(piece, (NEW, OLD)) == expected


def test_annotations_bind_nothing():
    """A type is no value."""
    assert not bindings.names(MODULE, ("X: int = 1\nY: int", "X: float = 1"))


def test_the_old_values_hold_for_a_while(module):
    """Also where another module has imported one by its name; equal values stay."""
    user = importlib.import_module(module.__name__.replace(".code", ".user"))
    found = bindings.others(module, MODULE, (NEW, OLD))
    assert {each.name for each in found} == {"_HIGH", "RANGE", "ROUND", "_GONE"}
    with bindings.meanwhile(found):
        assert (module._HIGH, module.RANGE, module.ROUND, module._GONE) == (2, (-20, 2), "no", 7)
        assert (user._HIGH, user._LOW) == (2, -20)
    assert (module._HIGH, module.RANGE, module.ROUND, user._HIGH) == (4, (-20, 4), "yes", 4)
    assert not hasattr(module, "_GONE")


def test_attributes_of_classes_hold_for_a_while_too(module):
    """They are put back when the call has ended in an error."""
    found = bindings.others(module, f"{BODY}Actor", (NEW, OLD))

    def fail():
        with bindings.meanwhile(found):
            assert module.Actor()._bound == 1.0
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert module.Actor()._bound == 2.0


def test_a_value_that_cannot_be_had_is_no_evidence(module):
    """What the other version made of something that is not there."""
    other = OLD.replace("_HIGH = 2", "_HIGH = absent()")
    with pytest.raises(Misfit, match="cannot be had: name 'absent' is not defined"):
        bindings.others(module, MODULE, (NEW, other))


def test_the_other_version_brings_what_its_values_are_made_of(module):
    """Imports and functions of its own."""
    other = OLD.replace("_HIGH = 2", "import cmath\ndef two():\n    return cmath.sqrt(4)\n"
                        "_HIGH = two().real")  # fmt: skip
    found = {each.name: each.value for each in bindings.others(module, MODULE, (NEW, other))}
    assert found["_HIGH"] == 2.0
    assert not hasattr(module, "two")
