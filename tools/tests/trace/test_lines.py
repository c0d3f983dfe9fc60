"""Which functions, lines and branches count as executed, however Python reports them."""

from __future__ import annotations

import functools
import sys
import threading

import pytest

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


@pytest.fixture(params=lines.BACK_ENDS)
def record(request, tmp_path):
    """Return a function that runs a text as a module, calls it, and returns the executed lines."""

    def record(text, call=lambda names: None, within=None, name="module", file="module.py"):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        executed = lines.Lines(Places([str(tmp_path / "module.py")]), within, request.param)
        names = {"__name__": name}
        before = sys.gettrace()
        with executed:
            exec(compile(text, str(path), "exec"), names)
            call(names)
        assert sys.gettrace() is before
        return executed

    return record


def test_lines_of_classes_do_not_count(record):
    """A class only defines things: only called functions count."""
    executed = record(MODULE, lambda names: names["Some"]().reach())
    assert executed.list_executed_lines() == {"module.py": ([7, 9], [7, 8, 9])}
    assert executed.list_called_functions() == {"module.py": ["Some.reach"]}
    assert executed.is_whole


def test_what_a_thread_executes_counts(record):
    """A function that only another thread calls was executed, and nothing escaped."""
    executed = record(MODULE, lambda names: _in_a_thread(names["Some"]().reach))
    assert executed.list_executed_lines() == {"module.py": ([7, 9], [7, 8, 9])}
    assert executed.is_whole


def test_functions_have_qualified_names(record):
    """A comprehension belongs to its function, a generator is executed when it is run."""
    generators = []
    for call, functions in (
        (lambda names: names["Some"]().rate, ["Some.rate", "Some.rate.inner"]),
        (lambda names: generators.append(names["steps"]()), None),
        (lambda names: names["values"](), ["steps", "values"]),
    ):
        assert record(MODULE, call).list_called_functions().get("module.py") == functions


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

    assert record(text, call).list_executed_lines() == {
        "module.py": ([3, 4, 5, 6, 7], [3, 4, 5, 6, 7])
    }


def test_functions_of_other_files_do_not_count(record):
    """A file whose path only begins like that of the traced code is another one."""
    call = lambda names: names["Some"]().reach()  # noqa: E731
    assert record(MODULE, call, file="module.py_more/module.py").list_called_functions() == {}


def test_functions_of_a_file_that_is_gone_are_executed(record, tmp_path):
    """They have no name, as nothing parses their source, and still are among the executed ones."""

    def call(names):
        (tmp_path / "module.py").unlink()
        names["values"]()

    assert record(f"# gone\n{MODULE}", call).list_called_functions() == {"module.py": [""]}


def test_a_lambda_of_an_imported_module_is_no_body(record):
    """It runs, and the body of the module did not run as a script."""
    for name, functions in (("module", {}), ("__main__", {"module.py": ["<module>"]})):
        executed = record(MODULE, lambda names: names["double"](2), name=name)
        assert executed.list_called_functions() == functions


def test_lines_are_noted_within_the_functions_that_are_named(record):
    """Other functions are known to be called."""
    text = f"{MODULE}\n\ndef other():\n    return Some().reach()\n"
    for within, executed_lines in (
        ([("module.py", "other")], {"module.py": ([29], [29])}),
        ([("elsewhere.py", "other")], {}),
        ([], {}),
    ):
        executed = record(text, lambda names: names["other"](), within)
        assert executed.list_executed_lines() == executed_lines
        assert executed.list_called_functions() == {"module.py": ["Some.reach", "other"]}
        assert executed.list_tested_branches() == {}


def test_lines_add_up_over_several_times(record):
    """Lines that ran in any call are executed; calls in between do not count."""
    text = "def used(x):\n    if x:\n        return 1\n    return 2\ndef unused():\n    return 3\n"
    functions = {}
    executed = record(text, lambda names: (functions.update(names), names["used"](1)))
    functions["unused"]()
    assert executed.list_executed_lines() == {"module.py": ([2, 3], [2, 3, 4])}
    with executed:
        functions["used"](0)
    assert executed.list_executed_lines() == {"module.py": ([2, 3, 4], [2, 3, 4])}


def test_the_body_of_a_script_is_named(record):
    """It is a function named <module>, also behind a function on its first line."""
    text = "def used(x):\n    return x\nif used(1):\n    y = 2\nclass Some:\n    low = 1\n"
    executed = record(text, within=[("module.py", "<module>")], name="__main__")
    assert executed.list_called_functions() == {"module.py": ["<module>", "used"]}
    assert executed.list_executed_lines() == {"module.py": ([1, 3, 4, 5], [1, 3, 4, 5])}
    assert executed.list_tested_branches() == {"module.py": [(3, True, False, "used(1)")]}


def _ignore(*_):
    """Trace nothing."""


def _replace_tracer():
    sys.settrace(None)


def _in_a_thread(target=int):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()


def _replace_tracer_for_a_while():
    before = sys.gettrace()
    sys.settrace(_ignore)
    sys.settrace(before)


def _replace_tracer_of_new_threads(tracer=_ignore):
    before = threading.gettrace()
    threading.settrace(tracer)
    _in_a_thread()
    threading.settrace(before)


SUSPENDED = """
from rlregress.inside.events import suspend_tracer

def hidden():
    return 1

def outer(x):
    if x:
        suspend_tracer(hidden)()
    return x
"""


def test_code_behind_a_suspended_tracer_counts(record):
    """The recorder's own work hides nothing that runs after it."""
    executed = record(SUSPENDED, lambda names: names["outer"](1))
    assert executed.list_executed_lines()["module.py"][0][-3:] == [8, 9, 10]
    assert executed.list_tested_branches() == {"module.py": [(8, True, False, "x")]}
    assert "outer" in executed.list_called_functions()["module.py"]
    assert executed.is_whole


@pytest.mark.parametrize(
    "replace",
    [
        _replace_tracer,
        _replace_tracer_for_a_while,
        _replace_tracer_of_new_threads,
        functools.partial(_replace_tracer_of_new_threads, None),
        functools.partial(_in_a_thread, functools.partial(sys.settrace, None)),
    ],
)
def test_a_tracer_that_was_replaced_has_not_noted_all(tmp_path, replace):
    """Whoever sets another tracer, for however long, may hide code that ran meanwhile."""
    executed = lines.Lines(Places([str(tmp_path)]), (), lines.BACK_ENDS[-1])
    before = sys.gettrace(), threading.gettrace(), threading.settrace
    with executed:
        replace()
    assert executed.make_header_entries()["noted"] is False
    assert (sys.gettrace(), threading.gettrace(), threading.settrace) == before
    with executed:
        pass
    assert executed.is_whole


def test_a_tracer_of_others_does_not_hide_what_is_monitored(tmp_path):
    """From Python 3.12 on only the loss of its number ends the monitoring."""
    if lines.BACK_ENDS[0] is lines.BACK_ENDS[-1]:
        pytest.skip("this Python has no sys.monitoring")
    for end, is_whole in ((_replace_tracer, True), (_free_tools, False)):
        with lines.Lines(Places([str(tmp_path)]), ()) as executed:
            end()
        assert executed.is_whole is is_whole


def _free_tools():
    for tool in range(6):
        sys.monitoring.free_tool_id(tool)


def test_a_tracer_is_put_back_after_an_error(tmp_path):
    """A debugger's tracer is there again afterwards."""
    before = sys.gettrace()
    try:
        sys.settrace(_ignore)
        with pytest.raises(ZeroDivisionError), lines.Lines(Places([str(tmp_path)])):
            raise ZeroDivisionError
        tracer = sys.gettrace()
    finally:
        sys.settrace(before)
    assert tracer is _ignore


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
