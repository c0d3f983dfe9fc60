"""Calls of changed functions are captured and repeated, and the training goes on as it would."""

from __future__ import annotations

import importlib
import itertools
import pathlib
import random
import signal
import sys
import weakref

import pytest
import torch

from rlregress import marks
from rlregress.inside import calls
from rlregress.inside.calls import Capture, Examiner
from rlregress.inside.events import Places

OLD = '''
import csv, os, pathlib, random, weakref
import torch

SCALE = 2.0
_LIMIT = 1.0

def limited(x):
    return min(x, _LIMIT)

def by_default(x, most=_LIMIT):
    return min(x, most)

def _halved(x):
    return x * 0.5

def moved(x):
    return _halved(x)

def bounded(x, low=-1.0):
    return min(max(x, low), 1.0)

def written(path):
    with open(path, "a") as file:
        file.write("x")
    return 1

def appended(path):
    with open(path, "a") as file:
        file.write("old")

def printed(file):
    print("this is old")

def sent(file):
    file.write("old")

def tabled(file):
    file.seek(0)
    csv.writer(file).writerow(["old", 1])

def saved(file):
    torch.save({"old": 1}, "made")

def renamed(file):
    os.makedirs("folder/below", exist_ok=True)
    pathlib.Path("folder/below/made").write_text("old")
    os.replace("folder/below/made", "moved")

def removed(path):
    try:
        os.remove(path)
    except OSError:
        print("old")

def drawn():
    return random.random() + random.gauss(0, 1)

def given(x, more=1.0):
    return x + more

def holds(x):
    return x[0]

def collector():
    values = []

    def collect(x):
        values.append(x * 2)
        return 1

    return collect

def lets_go(x):
    reference = weakref.ref(x)
    x = None
    return reference() is None

def reduced(x, reduction: str = "mean"):
    """Reduce.

    Args:
        reduction (str): "mean" or "sum".
    """
    return x if reduction == "mean" else x * 4

def capped(x, most: "float | None" = None):
    return x if most is None else min(x, most * 4)

class Shaped:
    """Shapes.

    Args:
        shape (str): "flat" or "steep".
    """

    def __init__(self, shape: str = "flat"):
        self.shape = shape

    def value(self, x):
        return x if self.shape == "flat" else x * 4

class Agent:
    floor = 0.0

    def __init__(self, rate):
        self.rate = rate

    def kept(self, x):
        return max(x, self.floor)

    def train(self, steps):
        total = 0.0
        for step in range(steps):
            total += self.rate * step
        return total
'''
NEW = (
    OLD.replace('old"', 'new"')
    .replace("x * 0.5", "x").replace("return _halved(x)", "return _halved(x) * 0.5")
    .replace("max(x, low)", "max(x, low * 3)").replace("return 1", "return 0 + 1")
    .replace("random.random() + ", "0.0 + random.random() + ").replace("more=1.0", "more=2.0")
    .replace("_LIMIT = 1.0", "_LIMIT = 2.0").replace("floor = 0.0", "floor = -1.0")
    .replace("return x[0]", "return (x[0])").replace("self.rate * step", "self.rate * min(step, 3)")
    .replace(" * 4", " * 5")
)  # fmt: skip
#: functions that write by what they are named after.
WRITERS = ["printed", "sent", "tabled", "saved", "renamed"]
FUNCTIONS = [
    "_halved", "moved", "bounded", "written", "appended", *WRITERS, "removed", "drawn", "given",
    "holds", "collector.collect", "lets_go", "Agent.train", "reduced", "capped", "Shaped.value",
]  # fmt: skip

#: functions that are the same, and what gives a name that they read another value.
USERS = {"limited": "<module>", "by_default": "<module>", "Agent.kept": "<class> Agent"}


@pytest.fixture
def module(tmp_path, monkeypatch, repetitions_of_100_ms):
    """The new version of a package, imported; and how calls of it are captured."""
    package = tmp_path / f"captured_{tmp_path.name}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "code.py").write_text(NEW)
    monkeypatch.syspath_prepend(str(tmp_path))
    marks.mark_imports(Places([str(package)]).find_path_below_root)
    name = f"{package.name}.code"
    imported = importlib.import_module(name)
    file = f"{package.name}/code.py"
    changes = [{"file": file, "functions": FUNCTIONS, "text": OLD}]
    roots = [str(package)]
    uses = {
        (file, user): [{"file": file, "name": piece, "text": OLD}] for user, piece in USERS.items()
    }
    gone = OLD.replace("SCALE = 2.0", "SCALE = absent()")
    uses[file, "bounded"] = [{"file": file, "name": "<module>", "text": gone}]

    def captured(seconds=2.0):
        functions = [(file, name) for name in (*FUNCTIONS, *USERS)]
        return Capture(Places(roots), functions, Examiner(changes, uses, roots), seconds)

    yield imported, captured
    sys.modules.pop(name)


def only(capture, name):
    """Return the result of the first call of a function."""
    return next(row for row in capture.rows if row["name"] == name)


def test_a_fault_behind_a_bound_is_found(module):
    """With the argument that shows it, though a value that it reads cannot be had."""
    code, captured = module
    with captured() as capture:
        assert code.bounded(0.5) == 0.5
    differs = only(capture, "bounded")["differs"]
    assert differs["path"] == "the result"
    assert differs["arguments"].startswith("x ")


def test_an_argument_and_an_attribute_are_changed_together(module):
    """A loop that is too short to show a difference is made longer."""
    code, captured = module
    agent = code.Agent(1.0)
    with captured() as capture:
        assert agent.train(2) == 1.0
    differs = only(capture, "Agent.train")["differs"]
    assert "steps " in differs["arguments"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("reduced", "reduction 'sum'"), ("capped", "most 0.5"),
        ("Shaped.value", "self.shape 'steep'"),
    ],
)  # fmt: skip
def test_an_option_gets_the_values_of_its_signature_and_documentation(module, name, words):
    """A word or None, of the call or of its object, is replaced by the other values."""
    code, captured = module
    function = code.Shaped().value if "." in name else getattr(code, name)
    with captured() as capture:
        assert function(10.0) == 10.0
    assert only(capture, name)["differs"]["arguments"] == words


def test_code_that_moved_is_the_same_and_a_changed_value_differs(module):
    """Defaults count where a caller leaves them out; constants are in place during the call."""
    code, captured = module
    with captured(seconds=0.5) as capture:
        assert code.moved(3.0) == 1.5
    assert "differs" not in only(capture, "moved")
    assert only(capture, "_halved")["given"] is True
    code, captured = module
    with captured() as capture:
        assert code.given(1.0) == 3.0
    call = only(capture, "given")
    assert (call["given"], call["differs"]["old"], call["differs"]["new"]) == (True, "2", "3")
    code, captured = module
    with captured() as capture:
        assert code.limited(5.0) == 2.0
    assert only(capture, "limited")["given"] is True


@pytest.mark.nightly
def test_a_constant_that_differs_is_behind_a_bound(module):
    """The functions that read it are the same: each is called with the value of either version."""
    code, captured = module
    with captured() as capture:
        assert (code.limited(0.5), code.Agent(1.0).kept(0.5)) == (0.5, 0.5)
        assert code.by_default(0.5) == 0.5
    for name, least in (("limited", 1), ("by_default", 1), ("Agent.kept", 0)):
        call = only(capture, name)
        assert call["given"] is False
        assert call["differs"]["old"] == str(least)
    assert (code._LIMIT, code.Agent.floor) == (2.0, -1.0)


@pytest.mark.nightly
def test_a_bound_that_is_far_away_is_met(module, monkeypatch):
    """Numbers become what lies between the old and the new one, and beyond both."""
    code, captured = module
    monkeypatch.setattr(code, "_LIMIT", 2e7)
    monkeypatch.setattr(code.by_default, "__defaults__", (2e7,))
    for file in pathlib.Path(code.__file__).parent.glob("code.py"):
        file.write_text(NEW.replace("_LIMIT = 2.0", "_LIMIT = 2e7"))
    with captured() as capture:
        assert code.limited(0.5) == 0.5
    assert only(capture, "limited")["differs"]["old"] == "1"


def test_a_training_goes_on_as_it_would(module, tmp_path, monkeypatch):
    """Files, draws, signals and the life of its objects are as without any capture."""
    code, captured = module
    path = tmp_path / "file"
    random.seed(5)
    torch.manual_seed(5)
    expected = (code.drawn(), code.drawn(), torch.rand(1).item())
    random.seed(5)
    torch.manual_seed(5)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with captured() as capture:
            draws = (code.drawn(), code.drawn(), torch.rand(1).item())
            code.written(path)

            class Argument:
                pass

            arguments = [Argument()]
            reference = weakref.ref(arguments[0])
            code.holds(arguments)
            arguments.clear()
            assert reference() is None
            released = code.lets_go(Argument())
            assert released
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert draws == expected
    assert path.read_text() == "x"
    assert "why" not in only(capture, "written") or "no process" in str(capture.rows)


def test_a_function_whose_arguments_take_long_is_captured_no_more(module, monkeypatch):
    """Its time limits all of its calls together, of which none alone takes too long."""
    code, captured = module
    monkeypatch.setattr(calls, "_measure_seconds_of_children", itertools.count(0.0, 0.1).__next__)
    numbers = {}
    for seconds in (0.02, 2.0):
        with captured(seconds) as capture:
            for _ in range(3):
                code.holds([1.0])
        numbers[seconds] = sum(row["name"] == "holds" for row in capture.rows)
    assert numbers == {0.02: 1, 2.0: 2}


def test_what_a_repetition_writes_is_compared_and_reaches_no_file(module, tmp_path):
    """An existing file is copied, and its content after the call is compared."""
    code, captured = module
    path = tmp_path / "file"
    path.write_text("a")
    with captured() as capture:
        code.appended(path)
    assert path.read_text() == "anew"
    call = only(capture, "appended")["differs"]
    assert call["path"].endswith("file, line 1")
    assert (call["old"], call["new"]) == ("text aold", "text anew")


@pytest.mark.parametrize("name", WRITERS)
def test_whatever_a_repetition_writes_by_is_compared(module, tmp_path, name, monkeypatch):
    """By print, into a file that is open, by torch, and under another name."""
    code, captured = module
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "open").open("w+") as file, captured() as capture:
        getattr(code, name)(file)
    # not by the old code
    paths = [path for path in tmp_path.rglob("*") if path.is_file() and "captured" not in str(path)]
    assert not any(b"old" in path.read_bytes() for path in paths)
    call = only(capture, name)
    assert call["differs"]["path"].startswith(("open files, ", "file ")), call


def test_what_changes_a_variable_around_it_is_not_compared(module):
    """All repetitions share it."""
    code, captured = module
    with captured() as capture:
        code.collector()(1.0)
    why = only(capture, "collector.collect")["why"]
    assert why == "calls of it change values around it, which has no copy"


def test_what_a_repetition_may_not_do_is_no_evidence(module, tmp_path):
    """Whatever the code makes of the error: it is not called the same."""
    code, captured = module
    path = tmp_path / "file"
    path.write_text("a")
    with captured() as capture:
        code.removed(path)
    assert not path.exists()
    assert "does not do os.remove" in only(capture, "removed")["why"]
