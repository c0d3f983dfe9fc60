"""Which functions, lines and branches count as executed."""

from __future__ import annotations

import importlib
import sys
import threading

import cloudpickle
import pytest

from rlregress import marks
from rlregress.inside import lines
from rlregress.inside.events import Places

MODULE = """
class Some:
    low = 1
    high = 2

    def reach(self):
        if self.low > self.high:
            return 0
        return 1

    @property
    def rate(self):
        def inner():
            return self.low
        return inner()

double = lambda x: 2 * x


def values():
    return [i for i in steps()]


def steps():
    yield 1
"""


@pytest.fixture
def record(tmp_path):
    """Return a function that runs a text as a module, calls it, and returns the executed lines."""

    def record(text, call=lambda names: None, within=None, name="module", file="module.py"):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        executed = lines.ExecutionNotes(Places([str(tmp_path / "module.py")]), within)
        names = {"__name__": name}
        with executed:
            code = marks.compile_source(text.encode(), str(path), name == "__main__")
            exec(code, names)
            call(names)
        return executed

    return record


def test_called_functions_of_the_file_count_in_any_thread(record):
    """A class only defines; a file whose path only begins alike is another one."""
    executed = record(MODULE, lambda names: names["Some"]().reach())
    assert executed.list_line_coverage() == {"module.py": ([7, 9], [7, 8, 9])}
    assert executed.list_called_functions() == {"module.py": ["Some.reach"]}
    executed = record(MODULE, lambda names: _in_a_thread(names["Some"]().reach))
    assert executed.list_line_coverage() == {"module.py": ([7, 9], [7, 8, 9])}
    call = lambda names: names["Some"]().reach()  # noqa: E731
    assert record(MODULE, call, file="module.py_more/module.py").list_called_functions() == {}


def test_functions_have_qualified_names(record):
    """A comprehension belongs to its function; a lambda of a module is no body."""
    generators = []
    for call, functions in (
        (lambda names: names["Some"]().rate, ["Some.rate", "Some.rate.inner"]),
        (lambda names: generators.append(names["steps"]()), None),
        (lambda names: names["values"](), ["steps", "values"]),
    ):
        assert record(MODULE, call).list_called_functions().get("module.py") == functions
    for name, functions in (("module", {}), ("__main__", {"module.py": ["<module>"]})):
        executed = record(MODULE, lambda names: names["double"](2), name=name)
        assert executed.list_called_functions() == functions


def test_lines_behind_an_error_that_is_thrown_into_a_generator_count(record):
    """A context manager goes on with its handler when its block fails."""
    text = """
def guarded():
    try:
        yield
    except ValueError:
        reached = 1
        yield reached
"""

    def call(names):
        generator = names["guarded"]()
        next(generator)
        generator.throw(ValueError())

    assert record(text, call).list_line_coverage() == {
        "module.py": ([3, 4, 5, 6, 7], [3, 4, 5, 6, 7])
    }


def test_lines_are_listed_within_the_functions_that_are_named(record):
    """Other functions are known to be called."""
    text = f"{MODULE}\n\ndef other():\n    return Some().reach()\n"
    for within, executed_lines in (
        ([("module.py", "other")], {"module.py": ([29], [29])}),
        ([("elsewhere.py", "other")], {}),
        ([], {}),
    ):
        executed = record(text, lambda names: names["other"](), within)
        assert executed.list_line_coverage() == executed_lines
        assert executed.list_called_functions() == {"module.py": ["Some.reach", "other"]}
        assert executed.list_tested_branches() == {}


def test_lines_add_up_over_several_times(record):
    """Calls in between do not count; the body of a script is named <module>."""
    text = "def used(x):\n    if x:\n        return 1\n    return 2\ndef unused():\n    return 3\n"
    functions = {}
    executed = record(text, lambda names: (functions.update(names), names["used"](1)))
    functions["unused"]()
    assert executed.list_line_coverage() == {"module.py": ([2, 3], [2, 3, 4])}
    with executed:
        functions["used"](0)
    assert executed.list_line_coverage() == {"module.py": ([2, 3, 4], [2, 3, 4])}
    text = "def used(x):\n    return x\nif used(1):\n    y = 2\nclass Some:\n    low = 1\n"
    executed = record(text, within=[("module.py", "<module>")], name="__main__")
    assert executed.list_called_functions() == {"module.py": ["<module>", "used"]}
    assert executed.list_line_coverage() == {"module.py": ([1, 3, 4, 5], [1, 3, 4, 5])}
    assert executed.list_tested_branches() == {"module.py": [(3, True, False, "used(1)")]}


def _in_a_thread(target):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()


BRANCHES = """
def clip(x, low=None):
    if low is not None:
        x = max(x, low)
    if (
        x > 5
        and x < 7
    ):
        x = 5
    while x > 3:
        x -= 1
    if x:
        return x


def last(x):
    if x:
        x += 1


def nested(depth):
    if depth and nested(depth - 1):
        return True
    return False


def raising(x):
    try:
        if x.nothing:
            return 1
    except AttributeError:
        return 2
"""


@pytest.fixture
def branches_of(record):
    """Text of a condition -> whether it has held, and whether it has failed."""

    def branches_of(call):
        rows = record(BRANCHES, call).list_tested_branches().get("module.py", [])
        return {text: (held, failed) for _, held, failed, text in rows}

    return branches_of


def test_a_branch_that_goes_one_way_only_is_reported(branches_of):
    """A condition that never holds, one that never fails, and one that does both."""
    assert branches_of(lambda names: [names["clip"](x) for x in (1, 4)]) == {
        "low is not None": (False, True),
        "x > 5 and x < 7": (False, True),
        "x > 3": (True, True),
        "x": (True, False),
    }


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # the step from its last line into the body counts, and no step inside it
        (lambda names: names["clip"](6, 0),
         {"x > 5 and x < 7": (True, False), "low is not None": (True, False)}),
        # returning from the condition itself is the other way
        (lambda names: names["last"](0), {"x": (False, True)}),
        # an error went neither into the body nor past it
        (lambda names: names["raising"](1), {}),
        # a test of one call does not continue in a line of another one
        (lambda names: names["nested"](1), {"depth and nested(depth - 1)": (False, True)}),
    ],
    ids=["several lines", "the end of a function", "an error", "nested calls"],
)  # fmt: skip
def test_a_condition_goes_the_way_of_the_next_line_of_its_call(branches_of, call, expected):
    """Over several lines, at the end of a function, in an error and in nested calls."""
    branches = branches_of(call)
    assert {text: branches[text] for text in expected or branches} == expected


PARTS = """
def choose(x, items=()):
    y = (
        x
        if x > 0
        else -x
    )
    z = [
        2 * item
        for item in items
    ]
    try:
        return y / x, (y and
            x), z
    except (
        KeyError,
        ZeroDivisionError,
    ):
        return 0
    finally:
        assert (
            x < 5
        ), (
            x
        )


def make_scaling(low, scale=lambda x: (x or
        low)):
    'Return a function.'
    class Kept:
        ratio = 2
        double = [2 * x for x in (1, 2)]
    return lambda x: (
        Kept.ratio * x
    )


@staticmethod
def declared():
    'Declare nothing else.'


async def waiting():
    match low:
        case 1:
            return 2
        case _:
            return low
"""


@pytest.mark.parametrize(
    ("call", "missed"),
    [
        (lambda names: names["choose"](1), {6, 9, 15, 16, 17, 19, 24}),
        (lambda names: names["choose"](0, [1]), {4, 14, 24}),
        (lambda names: names["choose"](-1), {4, 9, 15, 16, 17, 19, 24}),
        (lambda names: names["make_scaling"](1), {29, 35}),
        (lambda names: names["make_scaling"](1)(1), {29}),
    ],
)
def test_parts_on_lines_of_their_own_count_if_they_ran(record, call, missed):
    """Arms of conditions, elements, handlers and bodies of lambdas are parts of their own."""
    executed, executable = record(PARTS, call).list_line_coverage()["module.py"]
    assert {*executable} - {*executed} == missed


def test_marks_change_nothing_that_code_shows_of_itself(record, monkeypatch):
    """Names, docstrings, lines and values; nameless code can be hashed, and pickled repeatedly."""
    marked, plain = {}, {}
    record(PARTS, marked.update)
    exec(compile(PARTS, "module.py", "exec", dont_inherit=True), plain)
    for name in ("choose", "make_scaling", "waiting"):
        one, two = marked[name], plain[name]
        for shown in ("co_firstlineno", "co_varnames", "co_flags", "co_freevars", "co_argcount"):
            assert getattr(one.__code__, shown) == getattr(two.__code__, shown)
        assert (one.__doc__, one.__qualname__) == (two.__doc__, two.__qualname__)
        assert marks.list_own_lines(one.__code__) >= marks.list_own_lines(two.__code__)
        assert hash(one.__code__) == hash(one.__code__)
    assert marks.list_own_lines(marked["declared"].__func__.__code__) == set()
    for x in (-2, 0, 3):
        assert marked["choose"](x, [x]) == plain["choose"](x, [x])
    scaling = marked["make_scaling"](1)
    for number in range(4):
        scaling = cloudpickle.loads(cloudpickle.dumps(scaling))
        assert scaling(3) == plain["make_scaling"](1)(3) == 6
        if number == 1:
            # as in a process without this suite
            monkeypatch.delitem(sys.modules, "rlregress.marks")


def test_code_that_was_loaded_without_marks_is_not_all_noted(tmp_path, monkeypatch):
    """A module that was imported before anybody asked; of one that is imported later all is."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("unmarked_first", "marked_then"):
        (tmp_path / f"{name}.py").write_text("def used():\n    return 1\n")
    __import__("unmarked_first")
    for name, noted, called in (
        ("unmarked_first", False, {}),
        ("marked_then", True, {"marked_then.py": ["used"]}),
    ):
        with lines.ExecutionNotes(Places([str(tmp_path / f"{name}.py")])) as executed:
            __import__(name).used()
        header = executed.make_header_entries()
        assert (header["noted"], header["functions"]) == (noted, called)


COMPILED = """
from numba import njit as fast
import functools

@fast(cache=True)
def advantages(x):
    return x

@functools.cache
def plain(x):
    return x
"""


@pytest.mark.parametrize(
    ("more", "called"), [("", {"compiled.py": ["plain"]}), ("plain = fast()(plain)\n", {})]
)
def test_a_function_whose_bytecode_numba_compiles_has_no_marks(tmp_path, monkeypatch, more, called):
    """It would refuse them; so not all that was executed is noted."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "numba.py").write_text("def njit(**_):\n    return lambda function: function\n")
    (tmp_path / "compiled.py").write_text(COMPILED + more)
    for name in ("numba", "compiled"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with lines.ExecutionNotes(Places([str(tmp_path / "compiled.py")])) as executed:
        module = importlib.import_module("compiled")
        assert module.advantages(1) == module.plain(1) == 1
    header = executed.make_header_entries()
    assert (header["noted"], header["functions"]) == (False, called)
    assert not any(isinstance(c, bytearray) for c in module.advantages.__code__.co_consts)


def test_cached_code_has_the_same_marks_and_a_damaged_cache_none(record, tmp_path, monkeypatch):
    """A file is parsed once; what nobody can read in the cache is made again."""
    monkeypatch.setenv("RLREGRESS_CACHE", str(tmp_path / "cache"))
    call = lambda names: names["choose"](1)  # noqa: E731
    first = record(PARTS, call).make_header_entries()
    (cached,) = (tmp_path / "cache" / "marked").iterdir()
    with monkeypatch.context() as context:
        context.setattr(marks.ast, "parse", None)
        assert record(PARTS, call).make_header_entries() == first
    for content in (b"", cached.read_bytes()[:40], cached.read_bytes()[:-3]):
        cached.write_bytes(content)
        assert record(PARTS, call).make_header_entries() == first
    other = record(PARTS.replace("x > 0", "x > 1"), call).list_tested_branches()
    assert other == first["branches"]
    assert record(PARTS.replace("x > 0", "x > 1"), call).list_line_coverage() != first["lines"]
