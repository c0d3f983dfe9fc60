"""The pieces of code that count as changed between two versions."""

from __future__ import annotations

import pytest

from rlregress.model.code import ADDED, CODE_CHANGED, CODE_MOVED, REMOVED, WORDING
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.differences import changed_functions
from tools.tests.upgrade.small_packages import write_versions

BASE = '''
import warnings
from typing import TYPE_CHECKING, override

__all__ = ["Agent"]
if TYPE_CHECKING:
    import one


class Agent(Base):
    """An agent."""

    rate = 0.1

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = value

    @scaled(2)
    def step(self, x: int, k=1) -> int:
        """One step."""
        total: int = x
        warnings.warn("slowly")
        assert x, "no x"

        def inner(y):
            return y + 1

        if x > k:
            raise ValueError("too large")
        return inner(total)


try:
    from fast import table
except ImportError:
    def table():
        return [1]
'''
STEP, INNER, SIZE, BODY = "Agent.step", "Agent.step.inner", "Agent.size", "<class> Agent"


def find_pieces(folder, old, new, file="module.py"):
    """Name -> how it differs, of a package of one module."""
    return changed_functions.find_changed_functions(
        *write_versions(folder, {file: old}, {file: new})
    )


def name_changes(pieces):
    """Name -> how it differs."""
    return {piece.name: piece.how for piece in pieces}


STYLE = {
    "a comment": ("total: int = x", "total: int = x  # of all"),
    "lines that moved": ("import warnings\n", "\n\nimport warnings\n\n\n"),
    "how it is set": ("k=1", "k = 1"),
}


def test_comments_and_formatting_are_no_difference(tmp_path):
    """A file whose statements are the same has no pieces that differ."""
    for case, (old, new) in STYLE.items():
        assert BASE.count(old) == 1, case
        pieces = find_pieces(tmp_path / case, BASE, BASE.replace(old, new))
        assert name_changes(pieces) == {}, case


TEXTS = {
    "a docstring": ('"""One step."""', '"""A step."""'),
    "no docstring": ('        """One step."""\n', ""),
    "an annotation of an argument": ("inner(y)", "inner(y: float)"),
    "an annotation of a result": ("inner(y):", "inner(y) -> int:"),
    "an annotation of a variable": ("total: int = x", "total = x"),
    "what an error says": ('"too large"', 'f"{x} is too large"'),
    "what an assertion says": ('assert x, "no x"', "assert x"),
    "a warning": ('        warnings.warn("slowly")\n', ""),
    "what a warning says": ('"slowly"', '"quickly"'),
    "a message": ('warnings.warn("slowly")', 'logger.info("slowly")'),
    "what a type checker imports": ("import one", "import other"),
    "a decorator that a type checker reads": ("    @scaled(2)", "    @override\n    @scaled(2)"),
    "a docstring of a class": ('"""An agent."""', '"""Any agent."""'),
}


def test_messages_docstrings_and_annotations_are_listed_as_wording(tmp_path):
    """The piece is returned, as one whose code does the same."""
    for case, (old, new) in TEXTS.items():
        assert BASE.count(old) == 1, case
        pieces = find_pieces(tmp_path / case, BASE, BASE.replace(old, new))
        assert [(piece.how, piece.counts) for piece in pieces] == [(WORDING, False)], case


CHANGES = {
    "a number": ("y + 1", "y + 2", {INNER: CODE_CHANGED}),
    "a condition": ("x > k", "x >= k", {STEP: CODE_CHANGED}),
    "a default": ("k=1", "k=2", {STEP: CODE_CHANGED}),
    "the name of an argument": ("k=1", "n=1", {STEP: CODE_CHANGED}),
    "a decorator": ("@scaled(2)", "@scaled(3)", {STEP: CODE_CHANGED}),
    "the kind of an error": ("ValueError", "TypeError", {STEP: CODE_CHANGED}),
    "no error": ('raise ValueError("too large")', "return 0", {STEP: CODE_CHANGED}),
    "what is asserted": ("assert x,", "assert not x,", {STEP: CODE_CHANGED}),
    "a property": ("return self._size", "return self._size + 1", {SIZE: CODE_CHANGED}),
    "its setter": ("= value", "= value + 1", {SIZE: CODE_CHANGED}),
    "a value of a class": ("rate = 0.1", "rate = 0.2", {BODY: CODE_CHANGED}),
    "a base of a class": ("Agent(Base)", "Agent(Other)", {BODY: CODE_CHANGED}),
    "a value of a module": ("__all__", "rate = 1\n__all__", {"<module>": CODE_CHANGED}),
    "a function of an error's branch": ("return [1]", "return [2]", {"table": CODE_CHANGED}),
    "what a module offers": ('["Agent"]', '["Agent", "table"]', {"<module>": CODE_CHANGED}),
    "what is imported": ("import warnings", "import warnings, os", {"<module>": CODE_CHANGED}),
    "what is imported in a function": ("total: int = x", "import total", {STEP: CODE_CHANGED}),
    "a message that is computed": (
        'warnings.warn("slowly")', "warnings.warn(self.step())", {STEP: CODE_CHANGED}
    ),
    "a computed message of an error": ('"too large"', "self.step()", {STEP: CODE_CHANGED}),
    "what runs without a type checker": (
        "    import one\n", "    import one\nelse:\n    one = 1\n", {"<module>": CODE_CHANGED}
    ),
    "a special name of a class": (
        "rate = 0.1", "rate = 0.1\n    __hash__ = None", {BODY: CODE_CHANGED}
    ),
    "an annotation that a class may be made of": (
        "rate = 0.1", "rate: float = 0.1", {BODY: CODE_CHANGED}
    ),
    "a decorator of a class": ("class Agent", "@made\nclass Agent", {BODY: CODE_CHANGED}),
    "another name": ("def inner", "def outer", {INNER: REMOVED, "Agent.step.outer": ADDED}),
}  # fmt: skip


def test_what_computes_something_is_a_change_of_its_function(tmp_path):
    """It is told of the innermost function, class or module that it stands in, and of no other."""
    for case, (old, new, expected) in CHANGES.items():
        assert old in BASE, case
        pieces = find_pieces(tmp_path / case, BASE, BASE.replace(old, new, 1))
        assert name_changes(pieces) == expected, case


def test_a_change_has_its_place_in_either_version(tmp_path):
    """Lines begin at the decorators, and are those of a property and its setter together."""
    later = BASE.replace("import warnings\n", "import warnings\n\n").replace("x > k", "x < k")
    (only,) = find_pieces(tmp_path, BASE, later)
    line = 1 + BASE.split("    @scaled")[0].count("\n")
    assert (only.old.first, only.new.first) == (line, line + 1)
    assert only.old.last == 1 + BASE.split("        return inner(total)")[0].count("\n")
    assert str(only) == f"package/module.py:{line + 1} Agent.step"
    assert [path.relative_to(tmp_path).parts[0] for path in only.paths] == ["old", "new"]
    assert not only.at_import
    (only,) = find_pieces(tmp_path / "x", BASE, BASE.replace("return self._size", "return 1"))
    text = BASE.split("\n")
    assert text[only.new.first - 1].strip() == "@property"
    assert text[only.new.last - 1].strip() == "self._size = value"


def find_moved(tmp_path, old, new):
    """Changes of a package whose one module has another name on the new version."""
    return changed_functions.find_changed_functions(
        *write_versions(tmp_path, {"old.py": old}, {"new.py": new})
    )


def test_functions_of_a_file_that_one_version_lacks(tmp_path):
    """All of them are added, or removed, and so is the code that an import runs."""
    pieces = find_moved(
        tmp_path, "rate = 1\n\n\ndef f():\n    pass\n", "rate = 1\n\n\ndef g():\n    pass\n"
    )
    assert [(piece.file, piece.name, piece.how) for piece in pieces] == [
        ("package/new.py", "<module>", ADDED),
        ("package/new.py", "g", ADDED),
        ("package/old.py", "<module>", REMOVED),
        ("package/old.py", "f", REMOVED),
    ]
    assert [piece.at_import for piece in pieces] == [True, False, True, False]
    assert (pieces[1].paths[0], pieces[3].paths[1]) == (None, None)
    assert pieces[3].place == "package/old.py:4"
    assert not any(piece.counts for piece in pieces)


def test_a_function_that_has_moved_is_listed_with_both_files(tmp_path):
    """One that has changed, too, as changed; the names of another file may mean something else."""
    text = "class Agent(Base):\n    def step(self):\n        return {}\n"
    for number, how in ((1, CODE_MOVED), (2, CODE_CHANGED)):
        pieces = find_moved(tmp_path / how, text.format(1), text.format(number))
        (step,) = [piece for piece in pieces if piece.name == STEP]
        assert (step.how, step.counts) == (how, True)
    assert (step.file, step.was) == ("package/new.py", "package/old.py")
    assert [path.name for path in step.paths] == ["old.py", "new.py"]
    assert (step.get_file_on("old"), step.get_file_on("new")) == (step.was, step.file)


OVERLOADED = "from typing import overload\n{}def f(x):\n    return x\n"
BRANCHED = "if fast:\n    class A:\n        x = {}\nelse:\n    class A:\n        x = 2\n"
#: old text, new text and what differs, of whole modules
MODULES = {
    "the order of imports is style": (
        "import os, sys\nfrom a import b\n", "from a import b\nimport sys\nimport os\n",
        {"<module>": WORDING}),
    "what stands under @overload is never run": (
        OVERLOADED.format(""), OVERLOADED.format("@overload\ndef f(x: int) -> int: ...\n"), {}),
    "of two classes of one name both are compared": (
        BRANCHED.format(1), BRANCHED.format(3), {"<class> A": CODE_CHANGED}),
    "a file that cannot be read has none of its functions": (
        "def f():\n    return 1\n", "def (:", {"<module>": CODE_CHANGED, "f": REMOVED}),
    "what nests too deeply is compared as text": (
        f"x = {' + '.join(['1'] * 3000)}\n", f"x = {' + '.join(['1'] * 3000)}\ny = 2\n",
        {"<module>": CODE_CHANGED}),
    "an unknown decorator may dispatch on annotations": (
        "@dispatched\ndef f(x: int):\n    return x\n",
        "@dispatched\ndef f(x: float):\n    return x\n", {"f": CODE_CHANGED}),
    "a property does not read annotations": (
        "@property\ndef f(x: int):\n    return x\n",
        "@property\ndef f(x: float):\n    return x\n", {"f": WORDING}),
}  # fmt: skip


def test_modules_are_compared_piece_by_piece(tmp_path):
    """Whatever Python never runs or this library cannot read."""
    for case, (old, new, expected) in MODULES.items():
        assert name_changes(find_pieces(tmp_path / case, old, new)) == expected, case


NEW_METHOD = "class Agent:\n    def step(self):\n        return 1\n"


def test_methods_of_a_class_that_stays_count(tmp_path):
    """They take the place of those of its base, or give it back; a new function takes nobody's."""
    old = "class Agent:\n    pass\n"
    new = "\n\ndef new():\n    pass\n\n\nclass New:\n    def step(self):\n        pass\n"
    pieces = find_pieces(tmp_path, old, NEW_METHOD + new)
    assert {piece.name: piece.counts for piece in pieces} == {
        "Agent.step": True, "<class> Agent": True, "new": False, "New.step": False,
        "<class> New": False,
    }  # fmt: skip
    pieces = find_pieces(tmp_path / "gone", NEW_METHOD, "class Agent:\n    rate = 1\n")
    assert {piece.name: piece.counts for piece in pieces}["Agent.step"]
    added = NEW_METHOD + "    def act(self):\n        return 2\n"
    pieces = {piece.name: piece for piece in find_moved(tmp_path / "moved", NEW_METHOD, added)}
    assert (pieces["Agent.act"].how, pieces["Agent.act"].within) == (ADDED, True)


SMALL = {
    "a function that is awaited": ("def f():\n    pass\n", "async def f():\n    pass\n", {"f"}),
    "star imports in another order": (
        "from a import *\nfrom b import *\n", "from b import *\nfrom a import *\n", {"<module>"}),
    "one name imported twice, in another order": (
        "from a import x\nfrom b import x\n", "from b import x\nfrom a import x\n", {"<module>"}),
    "definitions in another order": (
        "@r\ndef f():\n    pass\n@r\ndef g():\n    pass\n",
        "@r\ndef g():\n    pass\n@r\ndef f():\n    pass\n", {"<module>"}),
    "a definition in the other branch": (
        "if x:\n    def f():\n        pass\nelse:\n    pass\n",
        "if x:\n    pass\nelse:\n    def f():\n        pass\n", {"<module>"}),
    "an overload that runs": (
        "@numba.overload(q)\ndef f():\n    return 1\n",
        "@numba.overload(q)\ndef f():\n    return 2\n", {"f"}),
    "a class that its metaclass makes of types": (
        "class A(metaclass=M):\n    x: int\n", "class A(metaclass=M):\n    x: float\n",
        {"<class> A"}),
    "a base that becomes a decorator": (
        "class A(B):\n    pass\n", "@B\nclass A:\n    pass\n", {"<class> A"}),
    "annotations that are evaluated": (
        "from __future__ import annotations\nx = 1\n", "x = 1\n", {"<module>"}),
    "a type that is used": (
        "from typing import cast\nx = cast(int, 1)\n", "x = cast(int, 1)\n", {"<module>"}),
    "an exit code": (
        "def f():\n    raise SystemExit(0)\n", "def f():\n    raise SystemExit(1)\n", {"f"}),
    "the cause of an error": (
        "def f():\n    raise V('a') from g()\n", "def f():\n    raise V('a')\n", {"f"}),
    "a function that only has the name of one that prints": (
        "from own import print\ndef f(x):\n    print(x)\n",
        "from own import print\ndef f(x):\n    print(-x)\n", {"f"}),
    "an own function that only has the name of a warning's": (
        "def warn(x):\n    return x\ndef f(x):\n    warn(x)\n",
        "def warn(x):\n    return x\ndef f(x):\n    warn(-x)\n", {"f"}),
    "an annotation that a property of another module may read": (
        "from own import property\n@property\ndef f(x: int):\n    pass\n",
        "from own import property\n@property\ndef f(x: str):\n    pass\n", {"f"}),
    "a method that only has the name of a log's": (
        "def f(s, x):\n    s.stats.info(x)\n", "def f(s, x):\n    s.stats.info(-x)\n", {"f"}),
}  # fmt: skip


def test_what_looks_like_style_and_is_not_counts(tmp_path):
    """Order, kind and place of definitions, types that are read, and words that are no words."""
    for case, (old, new, expected) in SMALL.items():
        pieces = find_pieces(tmp_path / case, old, new)
        assert {piece.name for piece in pieces if piece.how == CODE_CHANGED} == expected, case


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("x = round(1.5)\n", "x = round(1.5)\ndef round(y):\n    return y\n", "round"),
        ("def g():\n    return f()\n", "def g():\n    return f()\ndef f():\n    return 1\n", "f"),
    ],
)
def test_a_new_function_that_old_code_names_is_awaited(tmp_path, old, new, name):
    """It hides a builtin, or what a star import gave."""
    pieces = {piece.name: piece for piece in find_pieces(tmp_path, old, new)}
    assert (pieces[name].how, pieces[name].awaited) == (ADDED, True)


def test_a_new_module_that_old_code_tries_to_import_is_awaited(tmp_path):
    """The import succeeds from now on."""
    old = {"__init__.py": "try:\n    from ._fast import x\nexcept ImportError:\n    x = 0\n"}
    folders = write_versions(tmp_path, old, {**old, "_fast.py": "x = 1\n"})
    (fast,) = changed_functions.find_changed_functions(*folders)
    assert (fast.file, fast.awaited) == ("package/_fast.py", True)


def test_a_function_that_left_a_file_that_still_names_it_is_gone(tmp_path):
    """Its import was forgotten: whoever calls it there fails."""
    same, user = "def _same(x):\n    return x\n", "def f(x):\n    return _same(x)\n"
    folders = write_versions(
        tmp_path, {"noise.py": same + user, "utils.py": ""}, {"noise.py": user, "utils.py": same}
    )
    pieces = changed_functions.find_changed_functions(*folders)
    assert {(piece.file, piece.how) for piece in pieces} == {
        ("package/noise.py", REMOVED), ("package/utils.py", CODE_MOVED)
    }  # fmt: skip


def test_the_lines_of_a_function_are_those_of_python(tmp_path):
    """Neither another coding nor a character that ends no line of Python moves them."""
    text = "# coding: latin-1\n# \f \x85 é\ndef f():\n    return {}\n"
    folders = write_versions(
        tmp_path, *({"m.py": text.format(number)} for number in (1, 2)), encoding="latin-1"
    )
    (piece,) = changed_functions.find_changed_functions(*folders)
    (row,) = attribution.collect_differing_lines([piece], {})[piece].differing
    assert (row.old, row.new) == ((4, "    return 1"), (4, "    return 2"))
