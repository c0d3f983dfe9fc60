"""What counts as a change of a function, between the sources of two sides."""

from __future__ import annotations

import pytest

from rlregress.model.code import ADDED, CHANGED, MOVED, REMOVED, WORDING
from rlregress.upgrade import attribution, changed_functions

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


def differ(folder, old, new, file="module.py"):
    """Name -> how it differs, of a package of one module."""
    sides = []
    for label, text in (("a", old), ("b", new)):
        path = folder / label / "package" / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        sides.append([str(path.parent)])
    return changed_functions.find_changed(*sides)


def names(found):
    """Name -> how it differs."""
    return {each.name: each.how for each in found}


STYLE = {
    "a comment": ("total: int = x", "total: int = x  # of all"),
    "lines that moved": ("import warnings\n", "\n\nimport warnings\n\n\n"),
    "how it is set": ("k=1", "k = 1"),
}


@pytest.mark.parametrize("case", STYLE)
def test_comments_and_formatting_are_no_difference(tmp_path, case):
    """A file whose statements are the same has no pieces that differ."""
    old, new = STYLE[case]
    assert BASE.count(old) == 1
    assert names(differ(tmp_path, BASE, BASE.replace(old, new))) == {}


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


@pytest.mark.parametrize("case", TEXTS)
def test_messages_docstrings_and_annotations_are_listed_as_wording(tmp_path, case):
    """The piece is returned, as one whose code does the same."""
    old, new = TEXTS[case]
    assert BASE.count(old) == 1
    found = differ(tmp_path, BASE, BASE.replace(old, new))
    assert [each.how for each in found] == [WORDING]
    assert not found[0].counts


CHANGES = {
    "a number": ("y + 1", "y + 2", {INNER: CHANGED}),
    "a condition": ("x > k", "x >= k", {STEP: CHANGED}),
    "a default": ("k=1", "k=2", {STEP: CHANGED}),
    "the name of an argument": ("k=1", "n=1", {STEP: CHANGED}),
    "a decorator": ("@scaled(2)", "@scaled(3)", {STEP: CHANGED}),
    "the kind of an error": ("ValueError", "TypeError", {STEP: CHANGED}),
    "no error": ('raise ValueError("too large")', "return 0", {STEP: CHANGED}),
    "what is asserted": ("assert x,", "assert not x,", {STEP: CHANGED}),
    "a property": ("return self._size", "return self._size + 1", {SIZE: CHANGED}),
    "its setter": ("= value", "= value + 1", {SIZE: CHANGED}),
    "a value of a class": ("rate = 0.1", "rate = 0.2", {BODY: CHANGED}),
    "a base of a class": ("Agent(Base)", "Agent(Other)", {BODY: CHANGED}),
    "a value of a module": ("__all__", "rate = 1\n__all__", {"<module>": CHANGED}),
    "a function of an error's branch": ("return [1]", "return [2]", {"table": CHANGED}),
    "what a module offers": ('["Agent"]', '["Agent", "table"]', {"<module>": CHANGED}),
    "what is imported": ("import warnings", "import warnings, os", {"<module>": CHANGED}),
    "what is imported in a function": ("total: int = x", "import total", {STEP: CHANGED}),
    "a message that is computed": (
        'warnings.warn("slowly")', "warnings.warn(self.step())", {STEP: CHANGED}
    ),
    "a computed message of an error": ('"too large"', "self.step()", {STEP: CHANGED}),
    "what runs without a type checker": (
        "    import one\n", "    import one\nelse:\n    one = 1\n", {"<module>": CHANGED}
    ),
    "a special name of a class": ("rate = 0.1", "rate = 0.1\n    __hash__ = None", {BODY: CHANGED}),
    "an annotation that a class may be made of": (
        "rate = 0.1", "rate: float = 0.1", {BODY: CHANGED}
    ),
    "a decorator of a class": ("class Agent", "@made\nclass Agent", {BODY: CHANGED}),
    "another name": ("def inner", "def outer", {INNER: REMOVED, "Agent.step.outer": ADDED}),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_what_computes_something_is_a_change_of_its_function(tmp_path, case):
    """It is told of the innermost function, class or module that it stands in, and of no other."""
    old, new, expected = CHANGES[case]
    assert old in BASE
    assert names(differ(tmp_path, BASE, BASE.replace(old, new, 1))) == expected


def test_a_change_has_its_place_on_either_side(tmp_path):
    """Lines begin at the decorators; the files are those of the sides."""
    later = BASE.replace("import warnings\n", "import warnings\n\n").replace("x > k", "x < k")
    (only,) = differ(tmp_path, BASE, later)
    line = 1 + BASE.split("    @scaled")[0].count("\n")
    assert (only.old.first, only.new.first) == (line, line + 1)
    assert only.old.last == 1 + BASE.split("        return inner(total)")[0].count("\n")
    assert str(only) == f"package/module.py:{line + 1} Agent.step"
    assert [path.relative_to(tmp_path).parts[0] for path in only.paths] == ["a", "b"]
    assert not only.at_import


def test_a_property_and_its_setter_are_one_function(tmp_path):
    """Its lines are those of both, so that a change of either stands within."""
    (only,) = differ(tmp_path, BASE, BASE.replace("return self._size", "return self._size + 1"))
    text = BASE.split("\n")
    assert text[only.new.first - 1].strip() == "@property"
    assert text[only.new.last - 1].strip() == "self._size = value"


def moved(tmp_path, old, new):
    """Changes of a package whose one module has another name on the new version."""
    folders = []
    for label, file, text in (("a", "old.py", old), ("b", "new.py", new)):
        path = tmp_path / label / "package" / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        folders.append([str(path.parent)])
    return changed_functions.find_changed(*folders)


def test_functions_of_a_file_that_one_side_lacks(tmp_path):
    """All of them are added, or removed, and what runs when the file is imported too."""
    found = moved(
        tmp_path, "rate = 1\n\n\ndef f():\n    pass\n", "rate = 1\n\n\ndef g():\n    pass\n"
    )
    assert [(each.file, each.name, each.how) for each in found] == [
        ("package/new.py", "<module>", ADDED),
        ("package/new.py", "g", ADDED),
        ("package/old.py", "<module>", REMOVED),
        ("package/old.py", "f", REMOVED),
    ]
    assert [each.at_import for each in found] == [True, False, True, False]
    assert (found[1].paths[0], found[3].paths[1]) == (None, None)
    assert found[3].place == "package/old.py:4"
    assert not any(each.counts for each in found)


def test_a_function_that_has_only_moved_is_listed_as_moved(tmp_path):
    """Its code is the same, but its names may mean something else in the other file."""
    text = "class Agent(Base):\n    def step(self):\n        return 1\n"
    found = {each.name: each for each in moved(tmp_path, text, text)}
    assert (found[STEP].how, found[STEP].counts) == (MOVED, True)


def test_a_function_that_has_moved_and_changed_is_a_changed_one(tmp_path):
    """Both of its files are told."""
    text = "class Agent(Base):\n    def step(self):\n        return {}\n"
    found = moved(tmp_path, text.format(1), text.format(2))
    (step,) = [each for each in found if each.name == STEP]
    assert (step.how, step.file, step.was) == (CHANGED, "package/new.py", "package/old.py")
    assert [path.name for path in step.paths] == ["old.py", "new.py"]
    assert (step.file_on("old"), step.file_on("new")) == (step.was, step.file)
    assert step.counts


NEW_METHOD = "class Agent:\n    def step(self):\n        return 1\n"


def test_a_new_method_of_a_class_that_stays_counts(tmp_path):
    """It may take the place of a method of its base; a new function takes nobody's."""
    old = "class Agent:\n    pass\n"
    new = (
        NEW_METHOD + "\n\ndef new():\n    pass\n\n\nclass New:\n    def step(self):\n        pass\n"
    )
    found = {each.name: each for each in differ(tmp_path, old, new)}
    assert {name: calls.counts for name, calls in found.items()} == {
        "Agent.step": True, "<class> Agent": True, "new": False, "New.step": False,
        "<class> New": False,
    }  # fmt: skip


def test_a_method_that_is_gone_from_a_class_that_stays_counts(tmp_path):
    """That of its base takes its place."""
    found = differ(tmp_path, NEW_METHOD, "class Agent:\n    rate = 1\n")
    assert {each.name: each.counts for each in found}["Agent.step"]


def test_variants_that_only_a_type_checker_reads_are_no_functions(tmp_path):
    """What stands under @overload is never run."""
    text = "from typing import overload\ndef f(x):\n    return x\n"
    variant = "@overload\ndef f(x: int) -> int: ...\n"
    assert differ(tmp_path, text, text.replace("def", f"{variant}def", 1)) == []


def test_a_file_that_cannot_be_read_is_a_changed_module(tmp_path):
    """What its other version has is removed, without an error."""
    found = differ(tmp_path, "def f():\n    return 1\n", "def (:")
    assert names(found) == {"<module>": CHANGED, "f": REMOVED}


def test_of_two_classes_of_one_name_both_are_compared(tmp_path):
    """They are defined in the branches of a condition."""
    text = "if fast:\n    class A:\n        x = 1\nelse:\n    class A:\n        x = 2\n"
    assert names(differ(tmp_path, text, text.replace("x = 1", "x = 3"))) == {"<class> A": CHANGED}


def test_annotations_count_where_a_decorator_may_read_them(tmp_path):
    """An unknown decorator may dispatch on them; a property does not."""
    text = "@{}\ndef f(x: {}):\n    return x\n"
    for decorator, how in (("dispatched", CHANGED), ("property", WORDING)):
        old, new = (text.format(decorator, kind) for kind in ("int", "float"))
        assert names(differ(tmp_path / decorator, old, new)) == {"f": how}


def test_the_order_of_imports_is_style(tmp_path):
    """Neighbouring imports are compared as a set, one name each."""
    old, new = "import os, sys\nfrom a import b\n", "from a import b\nimport sys\nimport os\n"
    assert names(differ(tmp_path, old, new)) == {"<module>": WORDING}


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


@pytest.mark.parametrize("case", SMALL)
def test_what_looks_like_style_and_is_not_counts(tmp_path, case):
    """Order, kind and place of definitions, types that are read, and words that are no words."""
    old, new, expected = SMALL[case]
    found = differ(tmp_path, old, new)
    assert {each.name for each in found if each.how == CHANGED} == expected


def test_a_sum_of_thousands_of_terms_is_compared_as_text(tmp_path):
    """Python imports it; what it is made of is too deep to be walked."""
    text = f"x = {' + '.join(['1'] * 3000)}\n"
    assert names(differ(tmp_path, text, text + "y = 2\n")) == {"<module>": CHANGED}


def test_a_new_method_of_a_class_that_has_moved_counts(tmp_path):
    """It hides that of a base all the same."""
    old = "class Agent(Base):\n    def step(self):\n        return 1\n"
    new = old + "    def act(self):\n        return 2\n"
    found = {each.name: each for each in moved(tmp_path, old, new)}
    assert (found["Agent.act"].how, found["Agent.act"].within) == (ADDED, True)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("x = round(1.5)\n", "x = round(1.5)\ndef round(y):\n    return y\n", "round"),
        ("def g():\n    return f()\n", "def g():\n    return f()\ndef f():\n    return 1\n", "f"),
    ],
)
def test_a_new_function_that_old_code_names_is_awaited(tmp_path, old, new, name):
    """It hides a builtin, or what a star import gave."""
    found = {each.name: each for each in differ(tmp_path, old, new)}
    assert (found[name].how, found[name].awaited) == (ADDED, True)


def test_a_new_module_that_old_code_tries_to_import_is_awaited(tmp_path):
    """The import succeeds from now on."""
    sides = []
    for label, more in (("a", {}), ("b", {"_fast.py": "x = 1\n"})):
        folder = tmp_path / label / "package"
        folder.mkdir(parents=True)
        text = "try:\n    from ._fast import x\nexcept ImportError:\n    x = 0\n"
        for name, content in {"__init__.py": text, **more}.items():
            (folder / name).write_text(content)
        sides.append([str(folder)])
    (fast,) = changed_functions.find_changed(*sides)
    assert (fast.file, fast.awaited) == ("package/_fast.py", True)


def test_a_function_that_left_a_file_that_still_names_it_is_gone(tmp_path):
    """Its import was forgotten: whoever calls it there fails."""
    sides = []
    for label, texts in (
        ("a", ("def _same(x):\n    return x\ndef f(x):\n    return _same(x)\n", "")),
        ("b", ("def f(x):\n    return _same(x)\n", "def _same(x):\n    return x\n")),
    ):
        folder = tmp_path / label / "package"
        folder.mkdir(parents=True)
        for name, text in zip(("noise.py", "utils.py"), texts, strict=True):
            (folder / name).write_text(text)
        sides.append([str(folder)])
    assert {(each.file, each.how) for each in changed_functions.find_changed(*sides)} == {
        ("package/noise.py", REMOVED), ("package/utils.py", MOVED)
    }  # fmt: skip


def test_functions_with_the_same_lines_in_both_versions_are_not_compared(tmp_path, monkeypatch):
    """Of a large package whose every file differs somewhere, a minute went into them."""
    compared, code = set(), changed_functions._dump_code
    monkeypatch.setattr(
        changed_functions,
        "_dump_code",
        lambda node: compared.add(getattr(node, "name", "")) or code(node),
    )
    same = "class Kept:\n    @property\n    def same(self):\n        return 1\n"
    found = differ(tmp_path, same + "def f():\n    return 2\n", same + "def f():\n    return 3\n")
    assert names(found) == {"f": "changed"}
    assert compared == {"f", "Kept", ""}


def test_the_lines_of_a_function_are_those_of_python(tmp_path):
    """Neither another coding nor a character that ends no line of Python moves them."""
    sides = []
    for number in (1, 2):
        folder = tmp_path / str(number) / "package"
        folder.mkdir(parents=True)
        text = f"# coding: latin-1\n# \f \x85 é\ndef f():\n    return {number}\n"
        (folder / "module.py").write_text(text, encoding="latin-1")
        sides.append([str(folder)])
    (piece,) = changed_functions.find_changed(*sides)
    (row,) = attribution.pair_lines([piece], {})[piece].differing
    assert (row.a, row.b) == ((4, "    return 1"), (4, "    return 2"))
