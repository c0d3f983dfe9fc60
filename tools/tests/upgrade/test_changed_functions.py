"""The pieces of code that count as changed between two versions, and the statements in them."""

from __future__ import annotations

import pytest

from rlregress.model.code import ADDED, CODE_CHANGED, CODE_MOVED, REMOVED, WORDING
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.differences import changed_functions, changed_statements
from tools.tests.small_files import write_versions

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
    def step(self, x: int, k=1, *, n=2) -> int:
        """One step."""
        total: int = x
        warnings.warn("slowly")
        assert x, "no x"

        def inner(y):
            return y + 1

        if x > k:
            raise ValueError("too large")
        for n in range(k):
            total += (
                n
                - 1
            )
        if x: total = 4
        try:
            z = x and total
        except KeyError:
            z = [a for a in total]
        return inner(total) if x else z


try:
    from fast import table
except ImportError:
    def table():
        return [1]
'''
AT_IMPORT, IN_F, IN_A = ({name: CODE_CHANGED} for name in ("<module>", "f", "<class> A"))
STEP, INNER, SIZE, BODY = "Agent.step", "Agent.step.inner", "Agent.size", "<class> Agent"


def find_pieces(folder, old, new, files=("module.py", "module.py")):
    """Return the pieces that differ of a package of one module, which may have two names."""
    versions = ({file: text} for file, text in zip(files, (old, new), strict=True))
    return changed_functions.find_changed_pieces(*write_versions(folder, *versions))


def name_changes(pieces):
    """Name -> how it differs."""
    return {piece.name: piece.how for piece in pieces}


def test_comments_and_formatting_are_no_difference(tmp_path):
    """Lines are Python's: a character that ends none of them does not move them."""
    new = BASE.replace("import warnings\n", "\nimport warnings  # of all\n").replace("k=1", "k = 1")
    assert find_pieces(tmp_path, BASE, new) == []
    text = "# \f \x85\ndef f():\n    return {}\n"
    (piece,) = find_pieces(tmp_path, text.format(1), text.format(2))
    (row,) = attribution.collect_differing_lines([piece], {})[piece].differing_rows
    assert (row.old, row.new) == ((3, "    return 1"), (3, "    return 2"))


TEXTS = [
    ('"""One step."""', '"""A step."""'), ("inner(y)", "inner(y: float)"),
    ("total: int = x", "total = x"), ('"too large"', 'f"{x} is too large"'),
    ('assert x, "no x"', "assert x"), ('"slowly"', '"quickly"'),
    ('warnings.warn("slowly")', 'print("slowly")'), ("import one", "import other"),
    ("    @scaled(2)", "    @override\n    @scaled(2)"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), TEXTS)
def test_messages_docstrings_and_annotations_are_listed_as_wording(tmp_path, old, new):
    """The piece is returned, as one whose code does the same."""
    (piece,) = find_pieces(tmp_path, BASE, BASE.replace(old, new))
    assert (piece.how, piece.can_change_results) == (WORDING, False)


CHANGES = {
    STEP: [
        ("@scaled(2)", "@scaled(3)"), ("k=1", "k=2"), ("ValueError", "TypeError"),
        ("assert x,", "assert not x,"), ("total: int = x", "import total"),
        ('warnings.warn("slowly")', "warnings.warn(self.step())"), ('"too large"', "self.step()"),
    ],
    INNER: [("y + 1", "y + 2")],
    SIZE: [("return self._size", "return self._size + 1"), ("= value", "= value + 1")],
    # a class may be made of annotations and of special names
    BODY: [
        ("Agent(Base)", "Agent(Other)"), ("class Agent", "@made\nclass Agent"),
        ("rate = 0.1", "rate = 0.1\n    __hash__ = None"), ("rate = 0.1", "rate: float = 0.1"),
    ],
    "<module>": [
        ("__all__", "rate = 1\n__all__"),
        ("    import one\n", "    import one\nelse:\n    one = 1\n"),
    ],
    "table": [("return [1]", "return [2]")],
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_computes_something_is_a_change_of_its_function(tmp_path, name):
    """It is told of the innermost function, class or module that it stands in, and of no other."""
    for number, (old, new) in enumerate(CHANGES[name]):
        assert old in BASE
        pieces = find_pieces(tmp_path / str(number), BASE, BASE.replace(old, new, 1))
        assert name_changes(pieces) == {name: CODE_CHANGED}, new


def test_a_change_has_its_place_in_either_version(tmp_path):
    """Lines begin at the decorators, and are those of a property and its setter together."""
    later = BASE.replace("import warnings\n", "import warnings\n\n").replace("x > k", "x < k")
    (only,) = find_pieces(tmp_path, BASE, later)
    line = 1 + BASE.split("    @scaled")[0].count("\n")
    assert (only.old.first, only.new.first) == (line, line + 1)
    assert only.old.last == 1 + BASE.split("        return inner(total)")[0].count("\n")
    assert str(only) == f"package/module.py:{line + 1} Agent.step"
    assert [path.relative_to(tmp_path).parts[0] for path in only.paths] == ["old", "new"]
    (only,) = find_pieces(tmp_path / "x", BASE, BASE.replace("return self._size", "return 1"))
    first, last = (BASE.split("\n")[line - 1].strip() for line in (only.new.first, only.new.last))
    assert (first, last) == ("@property", "self._size = value")


MOVED = ("old.py", "new.py")


def test_functions_of_a_file_that_one_version_lacks(tmp_path):
    """All of them are added, or removed, and so is the code that an import runs."""
    pieces = find_pieces(
        tmp_path, "rate = 1\n\n\ndef f(): 1\n", "rate = 1\n\n\ndef g(): 1\n", MOVED
    )
    assert [(piece.file, piece.name, piece.how, piece.runs_at_import) for piece in pieces] == [
        ("package/new.py", "<module>", ADDED, True), ("package/new.py", "g", ADDED, False),
        ("package/old.py", "<module>", REMOVED, True), ("package/old.py", "f", REMOVED, False),
    ]  # fmt: skip
    assert (pieces[1].paths[0], pieces[3].paths[1]) == (None, None)
    assert pieces[3].place == "package/old.py:4"
    assert not any(piece.can_change_results for piece in pieces)


def test_a_function_that_has_moved_is_listed_with_both_files(tmp_path):
    """One that has changed, too, as changed; the names of another file may mean something else."""
    text = "class Agent(Base):\n    def step(self):\n        return {}\n"
    for number, how in ((1, CODE_MOVED), (2, CODE_CHANGED)):
        pieces = find_pieces(tmp_path / how, text.format(1), text.format(number), MOVED)
        (step,) = [piece for piece in pieces if piece.name == STEP]
        assert (step.how, step.can_change_results) == (how, True)
    assert (step.file, step.was) == ("package/new.py", "package/old.py")
    assert [path.name for path in step.paths] == ["old.py", "new.py"]
    assert (step.get_file_in_version("old"), step.get_file_in_version("new")) == (
        step.was,
        step.file,
    )


BRANCHED = "if fast:\n    class A: x = {}\nelse:\n    class A: x = 2\n"
DEEP = f"x = {' + '.join(['1'] * 3000)}\n"
LOGGED = "logger = made()\ndef f(): {}('a')"
#: old text, new text and what differs, of whole modules
MODULES = {
    "the order of imports is style": (
        "import os, sys\nfrom a import b\n", "from a import b\nimport sys\nimport os\n",
        {"<module>": WORDING}),
    "what stands under @overload is never run": (
        "from typing import overload\ndef f(x): 1",
        "from typing import overload\n@overload\ndef f(x: int): ...\ndef f(x): 1", {}),
    "of two classes of one name both are compared": (BRANCHED.format(1), BRANCHED.format(3), IN_A),
    "a file that cannot be read has none of its functions": (
        "def f(): 1", "def (:", {"<module>": CODE_CHANGED, "f": REMOVED}),
    "what nests too deeply is compared as text": (DEEP, f"{DEEP}y = 2\n", AT_IMPORT),
    "an unknown decorator may dispatch on annotations": (
        "@dispatched\ndef f(x: int): 1", "@dispatched\ndef f(x: float): 1", IN_F),
    "a property does not read annotations": (
        "@property\ndef f(x: int) -> int: 1", "@property\ndef f(x: float): 1", {"f": WORDING}),
    "that of another module may": (
        "from own import property\n@property\ndef f(x: int) -> int: 1",
        "from own import property\n@property\ndef f(x: int): 1", IN_F),
    "another name": ("def f(): 1", "def g(): 1", {"f": REMOVED, "g": ADDED}),
    "a function that is awaited": ("def f(): 1", "async def f(): 1", IN_F),
    "star imports in another order": (
        "from a import *\nfrom b import *", "from b import *\nfrom a import *", AT_IMPORT),
    "one name imported twice, in another order": (
        "from a import x\nfrom b import x", "from b import x\nfrom a import x", AT_IMPORT),
    "definitions in another order": (
        "@r\ndef f(): 1\n@r\ndef g(): 1", "@r\ndef g(): 1\n@r\ndef f(): 1", AT_IMPORT),
    "a definition in the other branch": (
        "if x:\n    def f(): 1\nelse: 1", "if x: 1\nelse:\n    def f(): 1", AT_IMPORT),
    "an overload that runs": (
        "@numba.overload(q)\ndef f(): 1", "@numba.overload(q)\ndef f(): return 2", IN_F),
    "a class that its metaclass makes of types": (
        "class A(metaclass=M): x: int", "class A(metaclass=M): x: float", IN_A),
    "a base that becomes a decorator": ("class A(B): pass", "@B\nclass A: pass", IN_A),
    "annotations that are evaluated": (
        "from __future__ import annotations\nx = 1", "x = 1", AT_IMPORT),
    "a type that is used": (
        "from typing import cast\nx = cast(int, 1)", "x = cast(int, 1)", AT_IMPORT),
    "an exit code": ("def f(): raise SystemExit(0)", "def f(): raise SystemExit(1)", IN_F),
    "the cause of an error": ("def f(): raise V('a') from g()", "def f(): raise V('a')", IN_F),
    "a function that only has the name of one that prints": (
        "from own import print\ndef f(x): print(x)", "from own import print\ndef f(x): print(-x)",
        IN_F),
    "an own function that only has the name of a warning's": (
        "def warn(x): 1\ndef f(x): warn(x)", "def warn(x): 1\ndef f(x): warn(-x)", IN_F),
    "a logger of the module": (
        LOGGED.format("print"), LOGGED.format("logger.info"), {"f": WORDING}),
    "a method that only has the name of a log's": (
        "def f(s, x): s.stats.info(x)", "def f(s, x): s.stats.info(-x)", IN_F),
}  # fmt: skip


def test_modules_are_compared_piece_by_piece(tmp_path):
    """What looks like style and is none counts: order, place, types that are read, own words."""
    for case, (old, new, expected) in MODULES.items():
        assert name_changes(find_pieces(tmp_path / case, old, new)) == expected, case


#: functions of ``x``: statements of the old version, and of the new one
FAILING_MESSAGES = {
    "a name that nothing binds": ("print(f'to {x}')", "print(f'to {path}')"),
    "a logger that nothing binds": ("print('a')", "logger.info('a')"),
    "an attribute": ("raise V(f'{type(x)}')", "raise V(f'{type(x).name}')"),
    "a call in an assertion": ("assert x, 'a'", "assert x, x.name()"),
    "another key": ("print(f'{x[\"a\"]}')", "print(f'{x[\"b\"]}')"),
    "another format": ("print(f'{x:.2f}')", "print(f'{x:d}')"),
}  # fmt: skip
REWORDINGS = {
    "the same values in another order": ("print(f'{x} {x.a:d}')", "print(f'{x.a:d} {x}')"),
    "a value less": ("print(f'{x} {x.a}')", "print(f'{x}')"),
    "a value that the code has read": ("y = x.a\n    print('a')", "y = x.a\n    print(y, x.a)"),
    "its type": ("raise V('a')", "raise V(f'{type(x)} {x!r}')"),
    "an error that its handler binds": (
        "try: x()\n    except A as e: print('a')", "try: x()\n    except A as e: print(e)"),
    "a value that is formatted otherwise": ("raise V('a %s' % x)", "raise V(f'{x} b')"),
    "values of a text in another order": ("print('%s %s' % (x, x.a))", "print('%s %s' % (x.a, x))"),
    "other words around a format": ("print('a %d' % x.a)", "print('%d b' % x.a)"),
    "a condition of the assertion": ("assert x.a, 'a'", "assert x.a, f'b {x.a}'"),
    "fewer of the values that a text takes": (
        "print('{} {}'.format(x, x.a))", "print('{}'.format(x))"),
}  # fmt: skip


def test_a_message_that_may_newly_fail_is_no_wording(tmp_path):
    """It evaluates what the old function did not: it, and so the training, can end in an error."""
    function = "def f(x):\n    {}\n"
    for cases, how in ((FAILING_MESSAGES, CODE_CHANGED), (REWORDINGS, WORDING)):
        for case, versions in cases.items():
            (piece,) = find_pieces(tmp_path / case, *map(function.format, versions))
            assert piece.how == how, case
            differs = changed_statements.find_differing_statements(piece)
            found = bool(differs.spans or differs.unmeasured)
            assert found == (how == CODE_CHANGED), case


SCRIPTED = "class A:\n    def forward(self, x: {}) -> T: 1\n    def {}(self): 1\n"
LOCAL = "from torch import jit\ndef f(x):\n    y: {} = x\n    return jit.script(y)\n"


def test_types_count_where_torchscript_may_read_them(tmp_path):
    """That is in files that name it."""
    for case, (text, expected) in {
        "method": (SCRIPTED.format("{}", "as_jit"), {"A.forward": CODE_CHANGED}),
        "variable": (LOCAL, IN_F),
        "import": ("from torch.jit import script\ndef f(x: {}): 1", IN_F),
        "another word": (SCRIPTED.format("{}", "jitter"), {"A.forward": WORDING}),
    }.items():
        pieces = find_pieces(tmp_path / case, text.format("int"), text.format("float"))
        assert name_changes(pieces) == expected, case
        differs = changed_statements.find_differing_statements(pieces[0])
        assert bool(differs.spans) == (WORDING not in expected.values()), case


NEW_METHOD = "class Agent:\n    def step(self):\n        return 1\n"


def test_methods_of_a_class_that_stays_count(tmp_path):
    """They take the place of those of its base, or give it back; a new function takes nobody's."""
    old = "class Agent:\n    pass\n"
    new = "\n\ndef new():\n    pass\n\n\nclass New:\n    def step(self):\n        pass\n"
    pieces = find_pieces(tmp_path, old, NEW_METHOD + new)
    assert {piece.name: piece.can_change_results for piece in pieces} == {
        "Agent.step": True, "<class> Agent": True, "new": False, "New.step": False,
        "<class> New": False,
    }  # fmt: skip
    pieces = find_pieces(tmp_path / "gone", NEW_METHOD, "class Agent:\n    rate = 1\n")
    assert {piece.name: piece.can_change_results for piece in pieces}["Agent.step"]
    added = NEW_METHOD + "    def act(self):\n        return 2\n"
    pieces = find_pieces(tmp_path / "moved", NEW_METHOD, added, MOVED)
    assert [(p.how, p.within) for p in pieces if p.name == "Agent.act"] == [(ADDED, True)]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ({"m.py": "x = round(1.5)\n"}, {"m.py": "x = round(1.5)\ndef round(y): 1\n"}, "m.py round"),
        ({"m.py": "x = f()\n"}, {"m.py": "x = f()\ndef f(): 1\n"}, "m.py f"),
        ({"__init__.py": "from ._fast import x\n"}, {"_fast.py": "x = 1\n"}, "_fast.py <module>"),
        ({"m.py": "x = 1\n"}, {"m.py": "x = 1\ndef __getattr__(n): 1\n"}, "m.py __getattr__"),
    ],
)
def test_a_new_function_or_module_that_old_code_names_is_awaited(tmp_path, old, new, key):
    """It hides a builtin, or what a star import gave; an import succeeds; Python calls it."""
    pieces = changed_functions.find_changed_pieces(*write_versions(tmp_path, old, old | new))
    (named,) = [piece for piece in pieces if f"{piece.file} {piece.name}" == f"package/{key}"]
    assert (named.how, named.awaited) == (ADDED, True)


def test_a_function_that_left_a_file_that_still_names_it_is_gone(tmp_path):
    """Its import was forgotten: whoever calls it there fails."""
    same, user = "def _same(x):\n    return x\n", "def f(x):\n    return _same(x)\n"
    folders = write_versions(
        tmp_path, {"noise.py": same + user, "utils.py": ""}, {"noise.py": user, "utils.py": same}
    )
    pieces = changed_functions.find_changed_pieces(*folders)
    assert {(piece.file, piece.how) for piece in pieces} == {
        ("package/noise.py", REMOVED), ("package/utils.py", CODE_MOVED)
    }  # fmt: skip


def find_difference(folder, old, new):
    """The difference of the only piece that differs."""
    assert BASE.count(old) == 1
    (piece,) = find_pieces(folder, BASE, BASE.replace(old, new))
    return changed_statements.find_differing_statements(piece)


@pytest.mark.parametrize(
    ("old", "new", "spans"),
    [
        ("total: int = x\n", "total = 2 * x\n", [(26, 26)]),
        ("- 1\n", "- 2\n", [(36, 39)]),
        ("x > k", "x >= k", [(33, 33)]),
        ("        for", "        total += 1\n        for", [(35, 35)]),
        ("        total: int = x\n", "", [(27, 27)]),
        ("except KeyError", "except ValueError", [(43, 43)]),
        ("k=1", "l=1", [(24, 45)]),
        # its text is the same, and when it runs is not
        ("            raise", "            pass\n        raise", [(34, 34), (35, 35)]),
        # parts that may not be evaluated though their line runs are not measured
        *((*pair, []) for pair in (
            ("x and total", "x and not total"), ("[a for a in total]", "[a + 1 for a in total]"),
            ("if x else z", "if x else -z"), ("total = 4", "total = 3"), ("k=1", "k=2"),
            ("n=2", "n=3"))),
    ],
)  # fmt: skip
def test_the_statements_that_differ_are_found_by_line(tmp_path, old, new, spans):
    """Those of the new version, with all their lines; a removed one has the line in its place."""
    difference = find_difference(tmp_path, old, new)
    assert (list(difference.spans), difference.unmeasured) == (spans, int(not spans))


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ('["Agent"]', "[]", {"__all__"}),
        ("import warnings", "import warnings as w", {"warnings", "w"}),
        ("rate = 0.1", "rate = 0.2", {"rate"}),
    ],
)
def test_statements_outside_of_functions_come_with_the_names_that_they_bind(
    tmp_path, old, new, names
):
    """By these the difference of a module or a class body can reach other code."""
    assert find_difference(tmp_path, old, new).binds == names
