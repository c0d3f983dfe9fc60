"""What changed in the public names of a package is read from its source, and is complete."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rlregress.errors import UserError
from rlregress.upgrade import cached_folders, public_names, public_tree, wheels


def package(folder, files):
    """A package of these files below a folder; a text alone is its module ``m``."""
    root = folder / "p"
    shutil.rmtree(root, ignore_errors=True)
    files = {"m.py": files} if isinstance(files, str) else files
    for name, text in {"__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def found(tmp_path):
    """Compare two packages; the entries."""

    def compare(old, new):
        return public_names.changes(package(tmp_path / "a", old), package(tmp_path / "b", new))

    return compare


def entry(kind, message, breaks=False):
    """An entry as the table below lists it."""
    return (kind, breaks, message)


def gone(message):
    """What is gone breaks a caller."""
    return entry("gone", message, True)


def breaking(message):
    """A signature that breaks a caller."""
    return entry("signature", message, True)


def harmless(message):
    """A signature that breaks none."""
    return entry("signature", message)


CASES = {
    # -- names
    "the same": ("def f(): return 1", "def f(): return 2", []),
    "a function that is gone": (
        "def f(): pass\ndef g(): pass",
        "def g(): pass",
        [gone("function p.m.f is gone")],
    ),
    "a class that is gone": ("class A: x = 1", "", [gone("class p.m.A is gone")]),
    "a constant that is gone": ("X = 1", "", [gone("attribute p.m.X is gone")]),
    "what is new": (
        "",
        "def f(): pass\nclass A: pass\nX = 1",
        [
            entry("new", "attribute p.m.X is new"),
            entry("new", "class p.m.A is new"),
            entry("new", "function p.m.f is new"),
        ],
    ),
    "a private name": ("def _f(): pass\n_X = 1", "", []),
    "a private name in __all__": (
        "__all__ = ['_f']\ndef _f(): pass",
        "__all__ = []",
        [gone("function p.m._f is gone")],
    ),
    "a private module": ({"_m.py": "def f(): pass"}, {}, []),
    "tests": ({"tests/__init__.py": "", "tests/m.py": "def f(): pass"}, {}, []),
    "what is imported from elsewhere": ("from os import path", "", []),
    "what is imported from elsewhere and listed": (
        "__all__ = ['path']\nfrom os import path",
        "",
        [gone("p.m.path is gone")],
    ),
    "what is imported for annotations alone": (
        {
            "m.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.n import f",
            "n.py": "def f(): pass",
        },
        {"m.py": "", "n.py": "def f(): pass"},
        [],
    ),
    "an annotation alone": ("x: int", "", []),
    "a module that is gone": (
        {"m.py": "def f(): pass"},
        {},
        [gone("function p.m.f is gone"), gone("module p.m is gone")],
    ),
    # -- where names are
    "a function that has moved": (
        {"m.py": "def f(x): return x", "n.py": ""},
        {"m.py": "", "n.py": "def f(x): return x"},
        [entry("moved", "p.m.f has moved to p.n.f", True)],
    ),
    "one that has moved and changed": (
        {"m.py": "def f(x): return x", "n.py": ""},
        {"m.py": "", "n.py": "def f(y): return y"},
        [
            entry("moved", "p.m.f has moved to p.n.f", True),
            breaking("parameter `x` of f was removed"),
            breaking("parameter `y` of f is new and required"),
            breaking("positional argument 1 of f is `y` (was `x`)"),
        ],
    ),
    "one of several of its name has the same code": (
        {"m.py": "def f(x): return x", "n.py": "", "o.py": ""},
        {"m.py": "", "n.py": "def f(x): return x", "o.py": "def f(x): return 1"},
        [entry("moved", "p.m.f has moved to p.n.f", True), entry("new", "function p.o.f is new")],
    ),
    "none of several of its name has the same code": (
        {"m.py": "def f(x): return x", "n.py": "", "o.py": ""},
        {"m.py": "", "n.py": "def f(x): return 2", "o.py": "def f(x): return 1"},
        [
            gone("function p.m.f is gone"),
            entry("new", "function p.n.f is new"),
            entry("new", "function p.o.f is new"),
        ],
    ),
    "one of another kind": (
        {"m.py": "def f(): pass", "n.py": ""},
        {"m.py": "", "n.py": "class f: pass"},
        [gone("function p.m.f is gone"), entry("new", "class p.n.f is new")],
    ),
    "one that can still be imported": (
        {"m.py": "def f(x): return x", "n.py": ""},
        {"m.py": "from p.n import f", "n.py": "def f(x): return x"},
        [entry("new", "p.n.f is another path to what was there before")],
    ),
    "one that can be imported from a private module": (
        {"m.py": "def f(x): pass"},
        {"m.py": "from p._n import f", "_n.py": "def f(x, y): pass"},
        [breaking("parameter `y` of f is new and required")],
    ),
    "a path that is gone": (
        {"__init__.py": "from p.m import f", "m.py": "def f(): pass"},
        {"m.py": "def f(): pass"},
        [entry("moved", "p.f is gone; it is still p.m.f", True)],
    ),
    "a shorter path": (
        {"m.py": "def f(): pass"},
        {"__init__.py": "from p.m import f", "m.py": "def f(): pass"},
        [entry("new", "p.f is another path to what was there before")],
    ),
    "a difference is one entry, at the shortest path": (
        {"__init__.py": "from p.m import f", "m.py": "def f(): pass"},
        {"__init__.py": "from p.m import f", "m.py": "def f(x=1): pass"},
        [harmless("parameter `x` of f is new")],
    ),
    "all names of a module": (
        {"__init__.py": "from p._m import *", "_m.py": "def f(): pass"},
        {"__init__.py": "from p._m import *", "_m.py": ""},
        [gone("function p.f is gone")],
    ),
    "a name that is imported when it is first used": (
        {"__init__.py": "__all__ = ['f']\ndef __getattr__(name): ...", "_m.py": "def f(): pass"},
        {"__init__.py": "__all__ = ['f']\ndef __getattr__(name): ...", "_m.py": "def f(x): pass"},
        [breaking("parameter `x` of f is new and required")],
    ),
    "another package has it now": (
        "def f(): pass",
        "__all__ = ['f']\nfrom other import f",
        [entry("moved", "p.m.f is imported from other.f (was defined in the package)")],
    ),
    "another name of a class": (
        "class A: pass\nclass B: pass\nDefault = A",
        "class A: pass\nclass B: pass\nDefault = B",
        [entry("value", "p.m.Default stands for p.m.B (was p.m.A)", True)],
    ),
    "a class of another name behind the same one": (
        "class A:\n    def f(self): pass\nDefault = A",
        "class C:\n    def f(self, x): pass\nDefault = C",
        [
            entry("moved", "p.m.A is gone; it is still p.m.Default", True),
            entry("new", "p.m.C is another path to what was there before"),
            breaking("parameter `x` of Default.f is new and required"),
        ],
    ),
    # -- signatures
    "annotations alone": ("def f(x: int) -> int: pass", "def f(x: 'str'): pass", []),
    "a parameter that was removed": (
        "def f(x, y): pass",
        "def f(x): pass",
        [breaking("parameter `y` of f was removed")],
    ),
    "one that **kwargs takes": (
        "def f(x, y=1): pass",
        "def f(x, **kwargs): pass",
        [
            breaking("parameter `y` of f was removed (**kwargs takes it now)"),
            harmless("parameter `kwargs` of f is new"),
        ],
    ),
    "*args that was removed": (
        "def f(*args): pass",
        "def f(): pass",
        [breaking("parameter `args` of f was removed")],
    ),
    "an optional parameter": (
        "def f(x): pass",
        "def f(x, y=1): pass",
        [harmless("parameter `y` of f is new")],
    ),
    "an optional parameter before others": (
        "def f(x, y=1): pass",
        "def f(x, z=1, y=1): pass",
        [
            breaking("positional argument 2 of f is `z` (was `y`)"),
            harmless("parameter `z` of f is new"),
        ],
    ),
    "another order": (
        "def f(x, y): pass",
        "def f(y, x): pass",
        [breaking("positional argument 1 of f is `y` (was `x`)")],
    ),
    "by name alone": (
        "def f(x, y=1): pass",
        "def f(x, *, y=1): pass",
        [breaking("parameter `y` of f is keyword-only (was positional or keyword)")],
    ),
    "no longer by name alone": (
        "def f(*, y=1): pass",
        "def f(y=1): pass",
        [harmless("parameter `y` of f is positional or keyword (was keyword-only)")],
    ),
    "another default": (
        "def f(x=1e-4): pass",
        "def f(x=1): pass",
        [breaking("the default of `x` of f is 1 (was 0.0001)")],
    ),
    "the same default": ("def f(x=1e-4, y='a'): pass", 'def f(x=0.0001, y="a"): pass', []),
    "a default behind a private constant": (
        "_X = 1\ndef f(x=_X): pass",
        "_X = 2\ndef f(x=_X): pass",
        [breaking("the default of `x` of f is _X with _X = 2 (was _X with _X = 1)")],
    ),
    "a default that is gone": (
        "def f(x=1): pass",
        "def f(x): pass",
        [breaking("parameter `x` of f is required now")],
    ),
    "a first default": (
        "def f(x): pass",
        "def f(x=1): pass",
        [harmless("parameter `x` of f has a default now: 1")],
    ),
    "async": (
        "def f(): pass",
        "async def f(): pass",
        [entry("kind", "p.m.f is async (was plain)", True)],
    ),
    # -- classes
    "a method": (
        "class A:\n    def f(self, x): pass",
        "class A:\n    def f(self): pass",
        [breaking("parameter `x` of A.f was removed")],
    ),
    "a method that is gone": (
        "class A:\n    def f(self): pass",
        "class A: pass",
        [gone("function p.m.A.f is gone")],
    ),
    "a method that is inherited now": (
        "class B: pass\nclass A(B):\n    def f(self): pass",
        "class B:\n    def f(self): pass\nclass A(B): pass",
        [entry("new", "function p.m.B.f is new")],
    ),
    "a method of a base class from elsewhere": (
        "from os import E\nclass A(E):\n    def f(self): pass",
        "from os import E\nclass A(E): pass",
        [gone("function p.m.A.f is gone; os.E may still define it")],
    ),
    "a method of a private base class": (
        "class _B:\n    def f(self): pass\nclass A(_B): pass",
        "class _B:\n    def f(self, x): pass\nclass A(_B): pass",
        [breaking("parameter `x` of A.f is new and required")],
    ),
    "a method of a base class is one entry": (
        "class B:\n    def f(self): pass\nclass A(B): pass",
        "class B:\n    def f(self, x): pass\nclass A(B): pass",
        [breaking("parameter `x` of B.f is new and required")],
    ),
    "a method of a base class that is gone": (
        "class B:\n    def f(self): pass\nclass A(B): pass",
        "class B: pass\nclass A(B): pass",
        [gone("function p.m.B.f is gone")],
    ),
    "a new method of a private base class": (
        "class _B: pass\nclass A(_B): pass\nclass C(_B): pass",
        "class _B:\n    def f(self): pass\nclass A(_B): pass\nclass C(_B): pass",
        [entry("new", "function p.m.A.f is new")],
    ),
    "a new base class": (
        "class A: pass",
        "class B:\n    def f(self): pass\nclass A(B): pass",
        [
            entry("base class", "p.m.A is a subclass of p.m.B now"),
            entry("new", "class p.m.B is new"),
        ],
    ),
    "a private method": ("class A:\n    def _f(self): pass", "class A: pass", []),
    "a special method": (
        "class A:\n    def __len__(self): return 1",
        "class A: pass",
        [gone("function p.m.A.__len__ is gone")],
    ),
    "a method that has to be overridden": (
        "import abc\nclass A(abc.ABC): pass",
        "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self): pass",
        [entry("new", "function p.m.A.f is new, and a subclass has to define it", True)],
    ),
    "a static method": (
        "class A:\n    def f(self): pass",
        "class A:\n    @staticmethod\n    def f(): pass",
        [entry("kind", "p.m.A.f is staticmethod (was plain)", True)],
    ),
    "a property": (
        "class A:\n    def f(self): pass",
        "class A:\n    @property\n    def f(self): pass",
        [entry("kind", "p.m.A.f is a property (was a function)", True)],
    ),
    "a property that can no longer be set": (
        "class A:\n    @property\n    def f(self): pass\n    @f.setter\n    def f(self, x): pass",
        "class A:\n    @property\n    def f(self): pass",
        [entry("kind", "property p.m.A.f can no longer be set", True)],
    ),
    "an attribute of the instance": (
        "class A:\n    def __init__(self): self.x = 1",
        "class A:\n    def __init__(self): pass",
        [gone("attribute p.m.A.x is gone")],
    ),
    "one that another method sets": (
        "class A:\n    def __init__(self): self.x = 1",
        "class A:\n    def __init__(self): self.g()\n    def g(self): self.x = 2",
        [entry("new", "function p.m.A.g is new")],
    ),
    "one that is registered": (
        "class A:\n    def __init__(self): self.x = 1",
        "class A:\n    def __init__(self): self.register_buffer('x', 1)",
        [],
    ),
    "another value in a constructor": (
        "class A:\n    def __init__(self): self.x = 1",
        "class A:\n    def __init__(self): self.x = 2",
        [],
    ),
    "an attribute of the class": (
        "class A:\n    x = 1",
        "class A:\n    x = 2",
        [entry("value", "p.m.A.x is 2 (was 1)", True)],
    ),
    "one that only instances have now": (
        "class A:\n    x = 1",
        "class A:\n    def __init__(self): self.x = 1",
        [
            entry("kind", "p.m.A.x is an attribute of the instance (was of the class)", True),
            entry("new", "function p.m.A.__init__ is new"),
        ],
    ),
    "a field of a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n    y: int = 1",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    y: int = 2",
        [
            breaking("parameter `x` of A.__init__ was removed"),
            breaking("positional argument 1 of A.__init__ is `y` (was `x`)"),
            breaking("the default of `y` of A.__init__ is 2 (was 1)"),
        ],
    ),
    "a field of a named tuple": (
        "from typing import NamedTuple\nclass A(NamedTuple):\n    x: int",
        "from typing import NamedTuple\nclass A(NamedTuple):\n    y: int\n    x: int = 1",
        [
            breaking("parameter `y` of A is new and required"),
            breaking("positional argument 1 of A is `y` (was `x`)"),
            harmless("parameter `x` of A has a default now: 1"),
        ],
    ),
    "a base class that is gone": (
        "class B: pass\nclass A(B): pass",
        "class B: pass\nclass A: pass",
        [entry("base class", "p.m.A is no longer a subclass of p.m.B", True)],
    ),
    "a base class that is still above": (
        "class B: pass\nclass C(B): pass\nclass A(B): pass",
        "class B: pass\nclass C(B): pass\nclass A(C): pass",
        [entry("base class", "p.m.A is a subclass of p.m.C now")],
    ),
    "a base class that has moved": (
        {"m.py": "class B: pass\nclass A(B): pass"},
        {"m.py": "from p.n import B\nclass A(B): pass", "n.py": "class B: pass"},
        [
            entry("new", "module p.n is new"),
            entry("new", "p.n.B is another path to what was there before"),
        ],
    ),
    "a private base class that has moved": (
        {"_b.py": "class B: pass", "m.py": "from p._b import B as _B\nclass A(_B): pass"},
        {"_c.py": "class B: pass", "m.py": "from p._c import B as _B\nclass A(_B): pass"},
        [],
    ),
    "a class that became a function": (
        "class A: pass",
        "def A(): pass",
        [entry("kind", "p.m.A is a function (was a class)", True)],
    ),
    # -- values
    "a constant": ("X = 1", "X = 2", [entry("value", "p.m.X is 2 (was 1)", True)]),
    "a constant in other words": ("X = [1, 'a']", 'X = [1, "a"]  # two', []),
    "a constant behind a private one": (
        "_Y = 1\nX = _Y * 2",
        "_Y = 2\nX = _Y * 2",
        [entry("value", "p.m.X is _Y * 2 with _Y = 2 (was _Y * 2 with _Y = 1)", True)],
    ),
    "a type": (
        "from typing import Union\nX = Union[int, str]",
        "from typing import Union\nX = Union[int, float]",
        [entry("value", "type alias p.m.X is Union[int, float] (was Union[int, str])")],
    ),
    # -- deprecations
    "a deprecation": (
        "import warnings\ndef f(): pass",
        "import warnings\ndef f():\n    warnings.warn(f'use {g}', DeprecationWarning)",
        [entry("deprecated", "p.m.f: DeprecationWarning: use {g}")],
    ),
    "a deprecation by name": (
        "import warnings\ndef f(): pass",
        "import warnings\ndef f():\n    warnings.warn(category=FutureWarning, message='no')",
        [entry("deprecated", "p.m.f: FutureWarning: no")],
    ),
    "a deprecation as an object": (
        "import warnings\ndef f(): pass",
        "import warnings\ndef f():\n    warnings.warn(PendingDeprecationWarning('no'))",
        [entry("deprecated", "p.m.f: PendingDeprecationWarning: no")],
    ),
    "a deprecation of no category": (
        "import warnings\ndef f(): pass",
        "import warnings\ndef f():\n    warnings.warn('f() is deprecated')",
        [entry("deprecated", "p.m.f: UserWarning: f() is deprecated")],
    ),
    "another warning": (
        "import warnings\ndef f(): pass",
        "import warnings\ndef f(): warnings.warn('x', UserWarning)",
        [],
    ),
    "the same deprecation": (
        "import warnings\ndef f(): warnings.warn('gone in 3', FutureWarning)",
        "import warnings\ndef f():\n    warnings.warn('gone in 3', FutureWarning)",
        [],
    ),
    "a later removal": (
        "import warnings\ndef f(): warnings.warn('gone in 3', FutureWarning)",
        "import warnings\ndef f(): warnings.warn('gone in 4', FutureWarning)",
        [entry("deprecated", "p.m.f: FutureWarning: gone in 4")],
    ),
    "no longer deprecated": (
        "import warnings\ndef f(): warnings.warn('gone in 3', FutureWarning)",
        "import warnings\ndef f(): pass",
        [entry("deprecated", "p.m.f no longer gives its warning: FutureWarning: gone in 3")],
    ),
    "a decorator": (
        "from warnings import deprecated\nclass A: pass",
        "from warnings import deprecated\n@deprecated('use B')\nclass A: pass",
        [entry("deprecated", "p.m.A: deprecated: use B")],
    ),
    # -- what cannot be read
    "a file that does not parse": (
        {"m.py": "X = 1"},
        {"m.py": "X = "},
        [
            gone("attribute p.m.X is gone"),
            gone("module p.m is gone"),
            entry(
                "unread",
                "p/m.py was not read: it does not parse: invalid syntax (<unknown>, line 1)",
                True,
            ),
        ],
    ),
    "the same file that does not parse": ({"m.py": "X = "}, {"m.py": "X = "}, []),
    "a package that does not parse": (
        {"__init__.py": "X = 1"},
        {"__init__.py": "X ="},
        [
            gone("attribute p.X is gone"),
            gone("module p is gone"),
            entry(
                "unread",
                "p/__init__.py was not read: it does not parse: invalid syntax (<unknown>, line 1)",
                True,
            ),
        ],
    ),
    "a folder without __init__.py": (
        {},
        {"n/m.py": "X = 1"},
        [
            entry(
                "unread",
                "p/n/m.py was not read: it is in no package: an __init__.py is missing above it",
                True,
            )
        ],
    ),
    "a compiled module": (
        {"_m.so": "1"},
        {"_m.so": "2"},
        [entry("unread", "p/_m.so was not read: it is compiled", True)],
    ),
    "a name of a compiled module": (
        {"_m.so": "1", "m.py": "from p._m import f"},
        {"_m.so": "1", "m.py": "\nfrom p._m import f"},
        [],
    ),
    "a listed name that nothing defines": (
        "__all__ = ['f']",
        "__all__ = ['f']\n\n_x = 1",
        [
            entry(
                "unread",
                "p.m.f was not read: __all__ lists it, and no statement of the module defines it",
                True,
            )
        ],
    ),
    "the same listed name": ("__all__ = ['f']", "__all__ = ['f']", []),
}


@pytest.mark.parametrize("case", CASES)
def test_every_difference_is_one_entry(found, case):
    """Each change that a caller can notice has its kind, its sentence, and whether it breaks."""
    old, new, expected = CASES[case]
    assert sorted((c.kind, c.breaks, c.summary) for c in found(old, new)) == sorted(expected)


def test_a_file_that_nests_too_deeply_is_unread(found):
    """One sum of thousands of terms is no traceback, and what was not read is named."""
    terms = "+".join(["y"] * 10_000)
    (entry_,) = found(f"X = {terms}", f"X = {terms} + 1")
    assert (entry_.kind, entry_.file) == ("unread", "p/m.py")


def test_an_entry_says_where(found):
    """File and line are those of the new version, and of the old one for what is gone."""
    entries = found("\n\ndef f(): pass\nX = 1", "\n\n\n\ndef f(x): pass")
    assert [(c.name, c.file, c.line) for c in entries] == [
        ("p.m.X", "p/m.py", 4),
        ("p.m.f", "p/m.py", 5),
    ]
    (_, other) = entries
    assert (other.old, other.new) == ("", "x")


def test_a_name_that_a_module_only_used_is_marked(found):
    """A path that nobody documented is an entry, and can be told from one that is."""
    old = {"m.py": "from p.n import f", "n.py": "def f(): pass"}
    (only,) = found(old, {**old, "m.py": ""})
    assert (only.name, only.incidental, only.breaks) == ("p.m.f", True, True)
    (only,) = found({**old, "m.py": f"__all__ = ['f']\n{old['m.py']}"}, {**old, "m.py": ""})
    assert (only.name, only.incidental, only.breaks) == ("p.m.f", False, True)


def test_nothing_is_executed(found, tmp_path):
    """A package is read, not imported."""
    trap = f"open({str(tmp_path / 'executed')!r}, 'w')\n"
    assert [c.summary for c in found(trap, trap + "X = 1")] == ["attribute p.m.X is new"]
    assert not (tmp_path / "executed").exists()


def test_a_folder_that_is_no_package_is_refused(tmp_path):
    """What was given and what was expected are one sentence."""
    with pytest.raises(UserError, match="is no package; expected a folder with an __init__.py"):
        public_names.changes(tmp_path, tmp_path)


def released(name, module, version):
    """The folder of a published package, downloaded once."""
    return wheels.unpacked(f"{name}=={version}", (), cached_folders.silent) / module


#: what the changelogs list of public names under breaking changes and new features.
RELEASES = {
    ("2.6.0", "2.7.0"): {
        ("signature", "parameter `n_steps` of DQN.__init__ is new"),
        ("new", "class stable_baselines3.common.buffers.NStepReplayBuffer is new"),
        ("new", "class stable_baselines3.common.utils.LinearSchedule is new"),
        (
            "deprecated",
            "stable_baselines3.common.utils.constant_fn: UserWarning: constant_fn() is deprecated, "
            "please use ConstantSchedule() instead",
        ),
    },
    ("2.8.0", "2.9.2"): {
        ("gone", "function stable_baselines3.common.logger.read_csv is gone"),
        ("gone", "function stable_baselines3.common.logger.read_json is gone"),
    },
}


@pytest.mark.nightly
@pytest.mark.parametrize("versions", RELEASES, ids=" ".join)
def test_what_a_changelog_lists_is_found(versions):
    """Of real releases, every public name that the changelog lists is an entry."""
    old, new = (released("stable-baselines3", "stable_baselines3", v) for v in versions)
    entries = {(c.kind, c.summary) for c in public_names.changes(Path(old), Path(new))}
    assert RELEASES[versions] <= entries


#: an edit of ``_EDITED``, and whether it is one of what a function computes alone.
_EDITED = """
import warnings

LIMIT = 3

class Agent:
    rate = 0.1

    def __init__(self, size, *, depth=2):
        self.size = size

    @property
    def name(self):
        return "a"

    def act(self, x):
        y = x + 1
        return y

    def old(self):
        warnings.warn("use act", DeprecationWarning)
"""
_EDITS = [
    ("y = x + 1", "y = x + 2", True),
    ('return "a"', 'return "b"', True),
    ("        y = x + 1\n", "        y = x\n        y += 1\n", True),
    ("LIMIT = 3", "LIMIT = 4", False),
    ("LIMIT = 3", "def __getattr__(name):\n    return 3", False),
    ("rate = 0.1", "rate = 0.2", False),
    ("depth=2", "depth=3", False),
    ("self.size = size", "self.width = size", False),
    ("    @property\n", "", False),
    ("def act", "def move", False),
    ("use act", "use act, as old will be removed", False),
    ("y = x + 1", "self.last = y = x", False),
    ("y = x + 1", "warnings.warn('gone', FutureWarning); y = x", False),
    ("import warnings\n", "import warnings\nfrom os import path\n", False),
]


@pytest.mark.parametrize(("old", "new", "computes"), _EDITS)
def test_what_functions_compute_alone_needs_no_reading(tmp_path, monkeypatch, old, new, computes):
    """The package is read unless only bodies differ, and what is reported is the same."""
    assert old in _EDITED
    folders = []
    for side, text in (("a", _EDITED), ("b", _EDITED.replace(old, new, 1))):
        folders.append(tmp_path / side / "package")
        folders[-1].mkdir(parents=True)
        (folders[-1] / "__init__.py").write_text(text)
    whole = public_names.between(*map(public_tree.read, folders))
    reads = []
    read = public_tree.read
    monkeypatch.setattr(
        public_tree, "read", lambda folder, until: reads.append(folder) or read(folder)
    )
    assert public_names.changes(*folders) == whole
    assert (not reads) == computes
    assert not (computes and whole)
