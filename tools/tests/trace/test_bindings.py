"""Values that modules and classes are given at import are those of another version for a while."""

from __future__ import annotations

import importlib
import re

import pytest

from rlregress.inside.bindings import (
    BODY,
    MODULE,
    bind_temporarily,
    find_bindings_to_second_text,
    find_names_with_other_values,
)
from rlregress.inside.methods import Misfit

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
    most = _HIGH + 1

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
    (package / "user.py").write_text(
        "from .code import _HIGH as _MOST, _LOW\ndef limit(most=_MOST): return most\n"
    )
    # an equal number of its own, and one with its name
    (package / "other.py").write_text("_HIGH = 4\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(f"{package.name}.user")
    importlib.import_module(f"{package.name}.other")
    return importlib.import_module(f"{package.name}.code")


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (MODULE, {"_HIGH", "RANGE", "SAME", "ROUND", "_GONE", "most"}),
        (f"{BODY}Actor", {"_bound", "_scale"}),
        (f"{BODY}Actor.Inner", {"rate"}),
    ],
)
def test_names_that_are_given_another_value(piece, expected):
    """Values that follow from another name count; assignments in functions and types do not."""
    assert find_names_with_other_values(piece, (NEW, OLD)) == expected
    assert not find_names_with_other_values(MODULE, ("X: int = 1\nY: int", "X: float = 1"))


def test_the_old_values_hold_for_a_while(module):
    """In modules, wherever one was imported, and in classes; also if the call ends in an error."""
    importing, other = (
        importlib.import_module(module.__name__.replace(".code", f".{name}"))
        for name in ("user", "other")
    )
    old_bindings = find_bindings_to_second_text(module, MODULE, (NEW, OLD))
    names = {"__defaults__", "__kwdefaults__", "_HIGH", "_MOST", "RANGE", "ROUND", "_GONE", "most"}
    assert {binding.name for binding in old_bindings} == names
    with bind_temporarily(old_bindings):
        assert (module._HIGH, module.RANGE, module.ROUND, module._GONE) == (2, (-20, 2), "no", 7)
        assert (importing._MOST, importing._LOW, other._HIGH, module.Actor.most) == (2, -20, 4, 3)
        assert importing.limit() == 2
    assert (module._HIGH, module.RANGE, module.ROUND, importing._MOST) == (4, (-20, 4), "yes", 4)
    assert importing.limit() == 4
    assert not hasattr(module, "_GONE")
    old_bindings = find_bindings_to_second_text(module, f"{BODY}Actor", (NEW, OLD))
    with pytest.raises(KeyError, match=r"1\.0"), bind_temporarily(old_bindings):
        raise KeyError(module.Actor()._bound)
    assert module.Actor()._bound == 2.0


#: the new version, the old one, and what of it cannot be reverted.
MISFITS = {
    "a field of a dataclass that gets a factory": (
        "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    rate: float = 2.0\n",
        ("2.0", "field(default_factory=float)"), "is made in another way"),
    "a field of a dataclass that was set later": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    rate: float = 2.0\n"
        "A.__dataclass_fields__['rate'].default = 3.0\n",
        ("= 2.0", "= 1.0"), "is made in another way"),
    "a field that is compared": (
        "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
        "    rate: float = field(default=2.0, compare=False)\n",
        ("compare=False", "compare=True"), "is made in another way"),
    "a member that was another name": (
        "import enum\nclass A(enum.Enum):\n    LOW = 1\n    HIGH = 2\n", ("= 2", "= 1"),
        "another name of a member"),
    "a field of what the import makes": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    rate: float = 2.0\n"
        "class B:\n    def use(self, a=A()):\n        return a.rate\n", ("= 2.0", "= 1.0"),
        "the import makes instances of A"),
    "a member that is a number": (
        "import enum\nclass A(enum.IntEnum):\n    rate = 2\n", ("rate = 2", "rate = 1"),
        "is a number or text itself, or no constant"),
    "a member of one version": (
        "import enum\nclass A(enum.Enum):\n    rate = 2\n", ("rate = 2", "scale = 2"),
        "a member of one version only"),
    "a registry that is filled later": (
        "def put(f):\n    A['f'] = f\n    return f\nA = {}\n@put\ndef f(): pass\n",
        ("A = {}", "A = dict()"), "not what its assignment gives"),
    "a function that is replaced": (
        "def f(): return 1\ndef twice(g, n): return lambda: n * g()\nf = twice(f, 1 + 1)\n",
        ("1 + 1", "2"), "defined as a function"),
    "what a decorator is made of": (
        "import functools\nA = 2\n@functools.lru_cache(maxsize=A)\ndef f(n): return n\n",
        ("A = 2", "A = 1"), "f is decorated with"),
    "a default that was set later": (
        "A = 2\ndef f(n=A): return n\nf.__defaults__ = (3,)\n", ("A = 2", "A = 1"),
        "the defaults of f are not"),
    "a default of what is not in memory": (
        "A = 2\ndef only_called(f): return f()\n@only_called\ndef f(n=A): return n\n",
        ("A = 2", "A = 1"), "is not in memory"),
    "a loop": ("A = []\nfor n in (1, 2):\n    A.append(n)\n", ("(1, 2)", "(1, 3)"),
               "other than a plain assignment"),
}  # fmt: skip


#: text of the new version, which ends in what a training would do; new and old text of a value.
CULPRITS = {
    "a member of an enumeration": (
        "import enum\nclass A(enum.Enum):\n    STEP = 'step'\n    EPISODE = 'episode'\n"
        "def use():\n    step = A.STEP.value\n    return step, A(step).name, A('episode').name\n",
        ("STEP = 'step'", "STEP = 'steps'")),
    "members that change their values": (
        "import enum\nclass A(enum.Enum):\n    LOW = 1\n    HIGH = 2\n"
        "def use():\n    return A(1).name, A(2).name, [a.value for a in A]\n",
        ("LOW = 1\n    HIGH = 2", "LOW = 2\n    HIGH = 1")),
    "fields of a dataclass and of what inherits it": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    epochs: int = 3\n"
        "    rate: float = 0.5\n    clip: float = 0.2\n@dataclass\nclass B(A):\n    more: int = 1\n"
        "def use():\n    return A(), B(), A(1), B(rate=2.0, more=3), A.rate\n",
        ("epochs: int = 3\n    rate: float = 0.5", "epochs: int = 4\n    rate: float = 0.25")),
    "an attribute that the base class has, too": (
        "class B:\n    clip = 0.1\nclass A(B):\n    clip = 0.2\n"
        "def use():\n    return A().clip\n", ("clip = 0.2", "pass")),
    "a field with a slot": (
        "from dataclasses import dataclass\n@dataclass(slots=True)\nclass A:\n    rate: int = 3\n"
        "def use():\n    return A(), A(rate=2).rate\n", ("= 3", "= 4")),
    "a default of a function": (
        "BOUND = 2\nclass B:\n    SIZE = BOUND\n    def f(self, n=BOUND, *, m=SIZE):\n"
        "        return n, m\ndef made(n=BOUND):\n    return n\n"
        "def use():\n    return made(), B().f()\n", ("BOUND = 2", "BOUND = 1")),
    "a default behind a decorator": (
        "import functools\nBOUND = 2\ndef twice(f):\n    @functools.wraps(f)\n"
        "    def inner(*a): return 2 * f(*a)\n    return inner\n"
        "@twice\ndef made(n=-BOUND): return n\ndef use(): return made()\n",
        ("BOUND = 2", "BOUND = 1")),
    "a default that a member gives": (
        "import enum\nclass A(enum.Enum):\n    STEP = 'step'\n"
        "def made(n=A.STEP.value): return n\ndef use(): return made()\n",
        ("STEP = 'step'", "STEP = 'steps'")),
    "a field that a factory makes": (
        "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    name: str = 'a'\n"
        "    sizes: list = field(default_factory=lambda: [64, 64])\n    last: int = 5\n"
        "def use():\n    return A(), A(last=1), A(sizes=[1])\n", ("[64, 64]", "[256, 256]")),
}  # fmt: skip


@pytest.fixture
def import_text(request, tmp_path, monkeypatch):
    """Return a function that imports a text as a module."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def import_text(name, text):
        name = f"{name}_{re.sub('[^old-z]', '_', request.node.callspec.id)}"
        (tmp_path / f"{name}.py").write_text(text)
        return importlib.import_module(name)

    return import_text


def find_changed_piece(*texts):
    """Return the module, or the class of it that differs."""
    pieces = (MODULE, f"{BODY}A", f"{BODY}B")
    return next(piece for piece in pieces if find_names_with_other_values(piece, texts))


@pytest.mark.parametrize("case", CULPRITS)
def test_a_value_that_is_reverted_restores_the_old_behaviour(case, import_text):
    """The module behaves as the old one; reverted to itself, it behaves as before."""
    new, (value, old_value) = CULPRITS[case]
    old = new.replace(value, old_value)
    modules = [import_text("old", old), import_text("new", new)]
    expected, observed = (repr(module.use()) for module in modules)
    assert expected != observed
    piece = find_changed_piece(new, old)
    for text, result in ((old, expected), (new, observed)):
        with bind_temporarily(find_bindings_to_second_text(modules[1], piece, (new, text))):
            assert repr(modules[1].use()) == result
    assert repr(modules[1].use()) == observed


@pytest.mark.parametrize("case", MISFITS)
def test_what_cannot_be_put_back_says_so(case, import_text):
    """Its statements alone do not define it, or its class forbids the change."""
    text, (new, old), why = MISFITS[case]
    imported = import_text("misfit", text)
    before = dict(vars(imported))
    texts = (text, text.replace(new, old))
    piece = find_changed_piece(*texts)
    with pytest.raises(Misfit, match=why):
        find_bindings_to_second_text(imported, piece, texts)
    assert vars(imported) == before


def test_the_other_version_brings_what_its_values_are_made_of(module):
    """Imports and functions of its own; a value computed from something missing is no evidence."""
    other = OLD.replace("_HIGH = 2", "_HIGH = absent()")
    with pytest.raises(Misfit, match="cannot be computed: name 'absent' is not defined"):
        find_bindings_to_second_text(module, MODULE, (NEW, other))
    other = OLD.replace("_HIGH = 2", "import cmath\ndef two():\n    return cmath.sqrt(4)\n"
                        "_HIGH = two().real")  # fmt: skip
    old_bindings = {
        binding.name: binding.value
        for binding in find_bindings_to_second_text(module, MODULE, (NEW, other))
    }
    assert old_bindings["_HIGH"] == 2.0
    assert not hasattr(module, "two")
