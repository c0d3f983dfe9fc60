"""Which lines count as reached, and how a script is compiled."""

from __future__ import annotations

import sys
import threading

import pytest

from rlregress.inside import trace_worker
from rlregress.inside.events import Places
from rlregress.inside.lines import Lines

MODULE = """
class Some:
    low = 1
    high = 2

    def reach(self):
        if self.low > self.high:
            return 0
        return 1
"""


def lines_of(folder, text, call):
    """Line numbers reached, and all that count, of a module that is run by a thread or here."""
    path = folder / "module.py"
    path.write_text(text, encoding="utf-8")
    lines = Lines(Places([str(path)]))
    names = {"__name__": "module"}
    before = sys.gettrace()
    with lines:
        exec(compile(text, str(path), "exec"), names)
        call(names)
    assert sys.gettrace() is None
    sys.settrace(before)
    return lines.executed()["module.py"]


def test_lines_of_classes_do_not_count(tmp_path):
    """A class only defines things: what counts are the functions that are entered."""
    assert lines_of(tmp_path, MODULE, lambda n: n["Some"]().reach()) == ([7, 9], [7, 8, 9])


def test_lines_reached_by_a_thread_count(tmp_path):
    """A function that only another thread enters is reached."""

    def call(names):
        thread = threading.Thread(target=names["Some"]().reach)
        thread.start()
        thread.join()

    assert lines_of(tmp_path, MODULE, call) == ([7, 9], [7, 8, 9])


def test_lines_are_noted_within_the_functions_that_are_named(tmp_path):
    """Of others it is known that they are entered."""
    path = tmp_path / "module.py"
    text = f"{MODULE}\n\ndef other():\n    return Some().reach()\n"
    path.write_text(text, encoding="utf-8")
    for within, executed in (
        ([("module.py", "other")], {"module.py": ([13], [13])}),
        ([("elsewhere.py", "other")], {}),
        ([], {}),
    ):
        names = {"__name__": "module"}
        with Lines(Places([str(path)]), within) as lines:
            exec(compile(text, str(path), "exec"), names)
            names["other"]()
        assert lines.executed() == executed
        assert lines.functions() == {"module.py": ["Some.reach", "other"]}
        assert lines.branches() == {}


def test_the_main_module_counts(tmp_path):
    """The statements of a script do things; those of its classes define them."""
    path = tmp_path / "script.py"
    path.write_text(MODULE, encoding="utf-8")
    with Lines(Places([str(path)])) as lines:
        exec(compile(MODULE, str(path), "exec"), {"__name__": "__main__"})
    assert lines.executed()["script.py"] == ([2], [2])


def test_the_body_of_a_script_is_named(tmp_path):
    """It is a function named <module>, also behind a function on its first line."""
    text = "def used(x):\n    return x\nif used(1):\n    y = 2\n"
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    with Lines(Places([str(path)]), [("script.py", "<module>")]) as lines:
        exec(compile(text, str(path), "exec"), {"__name__": "__main__"})
    assert lines.functions() == {"script.py": ["<module>", "used"]}
    assert lines.executed() == {"script.py": ([1, 3, 4], [1, 3, 4])}
    assert lines.branches() == {"script.py": [(3, True, False, "used(1)")]}


def test_a_lambda_of_an_imported_module_is_no_body(tmp_path):
    """It runs, and the body of the module did not run as a script."""
    text = "double = lambda x: 2 * x\n"
    path = tmp_path / "module.py"
    path.write_text(text, encoding="utf-8")
    for name, functions in (("module", {}), ("__main__", {"module.py": ["<module>"]})):
        with Lines(Places([str(path)])) as lines:
            names = {"__name__": name}
            exec(compile(text, str(path), "exec"), names)
            names["double"](2)
        assert lines.functions() == functions


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfword = '\xc3\xa4'\n",
        b"# -*- coding: latin-1 -*-\nword = '\xe4'\n",
        b"def f(x: int): pass\nassert f.__annotations__ == {'x': int}\nword = '\\xe4'\n",
    ],
    ids=["byte-order-mark", "coding", "annotations"],
)
def test_a_script_is_compiled_as_python_would(tmp_path, monkeypatch, source):
    """Its coding is its own, and the recorder's future statements are not its."""
    path = tmp_path / "script.py"
    path.write_bytes(source)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    trace_worker._script({"script": str(path)})(None)
    assert sys.modules["__main__"].word == "\xe4"


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


def raising(x):
    try:
        if x.nothing:
            return 1
    except AttributeError:
        return 2
"""


def branches_of(folder, call):
    """Text of a condition -> whether it has held, and whether it has failed."""
    path = folder / "module.py"
    path.write_text(BRANCHES, encoding="utf-8")
    lines, names = Lines(Places([str(path)])), {"__name__": "module"}
    with lines:
        exec(compile(BRANCHES, str(path), "exec"), names)
        call(names)
    rows = lines.branches().get("module.py", [])
    return {text: (went_true, failed) for _, went_true, failed, text in rows}


def test_a_branch_that_goes_one_way_only_is_told(tmp_path):
    """A condition that never holds, one that never fails, and one that does both."""
    branches = branches_of(tmp_path, lambda n: [n["clip"](x) for x in (1, 4)])
    assert branches == {
        "low is not None": (False, True),
        "x > 5 and x < 7": (False, True),
        "x > 3": (True, True),
        "x": (True, False),
    }


def test_a_condition_over_several_lines_holds(tmp_path):
    """The step from its last line into the body counts, and no step inside it."""
    branches = branches_of(tmp_path, lambda n: n["clip"](6, 0))
    assert branches["x > 5 and x < 7"] == (True, False)
    assert branches["low is not None"] == (True, False)


def test_a_condition_that_ends_a_function_fails(tmp_path):
    """Returning from the condition itself is the other way."""
    assert branches_of(tmp_path, lambda n: n["last"](0)) == {"x": (False, True)}


def test_an_error_in_a_condition_is_no_way(tmp_path):
    """It went neither into the body nor past it."""
    assert branches_of(tmp_path, lambda n: n["raising"](1)) == {}


def test_functions_that_were_entered_are_named(tmp_path):
    """By their qualified names."""
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    lines, names = Lines(Places([str(path)])), {"__name__": "module"}
    with lines:
        exec(compile(MODULE, str(path), "exec"), names)
        names["Some"]().reach()
    assert lines.functions() == {"module.py": ["Some.reach"]}
