"""Which trainings the old version has to repeat: those that executed something that differs."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import threading
import time
from dataclasses import replace
from unittest import mock

import pytest

from rlregress.inside import events, lines, loading
from rlregress.inside.events import Places
from rlregress.trace import child_processes, trace_reader
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.both_versions import BothVersions
from rlregress.upgrade.differences import changed_functions, training_selection
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import runtimes as runtimes_module
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Runtimes
from rlregress.upgrade.recordings import RecordedTrainings
from rlregress.upgrade.upgrade_options import Options
from tools.tests.processes import run_python
from tools.tests.small_files import write_files
from tools.tests.upgrade import small_traces

BOTH = (Runtime("old"), Runtime("new"))
#: a package whose ``train`` stands for a training, and what it does not execute.
BASE = """
import dataclasses
import logging
from pack.constants import RATE, TABLE
from pack import registry
from pack import early
from pack import late

HALF = RATE / 2
LOGGER = logging.getLogger("pack")
LOGGER.setLevel(logging.INFO)


def idle(x=1):
    return x


def helper(x, scale=2):
    return x * scale


def tuned(x, scale=2):
    return x * scale + 1


@registry.compiled
def fast(x):
    return x + 7


class Root:
    bias = 1
    names = {}

    def __init_subclass__(cls):
        cls.names[cls.__name__] = len(cls.__name__)

    def shift(self):
        return 1

    def size(self):
        return self.shift() + self.bias


class Agent(Root):
    def shift(self):
        return 2

    @property
    def rate(self):
        return RATE

    @staticmethod
    def fixed(x):
        return x + 1

    def unused(self):
        print("never")


class Other:
    def shift(self):
        return 7


@dataclasses.dataclass
class Settings:
    epochs: int = 3


def max(*numbers):
    return 99


def loud(x):
    print("trained")
    return x


def train():
    agent = Agent()
    try:
        more = tuned(3, scale=4)
    except TypeError:
        more = -1
    try:
        from pack import gone
        extra = gone.VALUE
    except ImportError:
        extra = 0
    flag = hasattr(agent, "save")
    known = list(registry.REGISTERED)
    return [agent.size(), agent.rate, agent.fixed(1), more, extra, flag, known, max(1, 2),
            HALF, fast(1), dict(TABLE), Settings().epochs, dict(Root.names), loud(helper(2)),
            LOGGER.level]
"""
FILES = {
    "__init__.py": "from pack.agent import train\n",
    "agent.py": BASE,
    "constants.py": "RATE = 0.1\nTABLE = {}\n\n\ndef fill():\n    TABLE['a'] = 1\n\n\nfill()\n",
    "registry.py": (
        "REGISTERED = []\n\n\ndef register(function):\n    REGISTERED.append(function.__name__)\n"
        "    return function\n\n\ndef compiled(function):\n"
        "    function.__code__ = function.__code__.replace(co_filename='compiled')\n"
        "    return function\n\n\n@register\ndef first():\n    return 1\n"
    ),
    "early.py": "from pack.registry import register\n\n\n@register\ndef early():\n    return 0\n",
    "late.py": "from pack.registry import register\n\n\n@register\ndef late():\n    return 0\n",
    "gone.py": "VALUE = 5\n",
    "lazy.py": "SIZE = 1\n\n\ndef size():\n    return SIZE\n",
}


def _both(folder, file, old, new):
    """Two versions of the package, between which a text is replaced; without one the file goes."""
    assert old in FILES[file]
    changed = {**FILES, file: FILES[file].replace(old, new, 1)}
    if not old:
        del changed[file]
    both = {"old": FILES, "new": changed}
    return [write_files(folder / label / "pack", files) for label, files in both.items()]


@contextlib.contextmanager
def _importable(root):
    def forget():
        for name in [name for name in sys.modules if name.partition(".")[0] == "pack"]:
            del sys.modules[name]

    forget()
    sys.path.insert(0, str(root.parent))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(root.parent))
        forget()


def _train(root, before=""):
    """What a training returns and prints, and its trace as far as it has what was executed."""
    places = Places([str(root)])
    printed = io.StringIO()
    # this process has run other tests, which start processes, and look for modules and versions
    fresh = mock.patch.multiple(loading, _started=set(), _versions=set(), _sought=set())
    with _importable(root), contextlib.redirect_stdout(printed), fresh:
        if before:
            importlib.import_module(before)
        try:
            with lines.note_functions_called_by_imports(places):
                train = importlib.import_module("pack").train
            with lines.ExecutionNotes(places, ()) as executed:
                result = train()
        except Exception as error:
            return repr(error), small_traces.trace(failure=repr(error))
        return (result, printed.getvalue()), small_traces.trace(**executed.make_header_entries())


def _difference(old, new, *files):
    pieces = changed_functions.find_changed_pieces([str(old)], [str(new)])
    return training_selection.group_differences_by_effect(pieces, dict.fromkeys(files, ""))


#: what makes the two versions train in other ways: file, text of the old version, of the new one.
DIFFERING = {
    "a body": ("agent.py", "return x * scale", "return x * scale + 1"),
    "a message": ("agent.py", 'print("trained")', 'print("has trained")'),
    "a body that an import executes": ("constants.py", "TABLE['a'] = 1", "TABLE['a'] = 2"),
    "a constant": ("constants.py", "RATE = 0.1", "RATE = 0.2"),
    "a constant of another one": ("agent.py", "HALF = RATE / 2", "HALF = RATE / 3"),
    "what is imported": ("agent.py", "import RATE, TABLE", "import TABLE as RATE, TABLE"),
    "a class attribute": ("agent.py", "bias = 1", "bias = 2"),
    "a field of a dataclass": ("agent.py", "epochs: int = 3", "epochs: int = 4"),
    "a default": ("agent.py", "def helper(x, scale=2)", "def helper(x, scale=5)"),
    "a parameter that is gone": (
        "agent.py",
        "def tuned(x, scale=2):\n    return x * scale",
        "def tuned(x, factor=2):\n    return x * factor",
    ),
    "an override that is gone": (
        "agent.py",
        "class Agent(Root):\n    def shift(self):\n        return 2\n",
        "class Agent(Root):\n",
    ),
    "an override that is new": (
        "agent.py",
        "    def unused(self)",
        "    def size(self):\n        return 0\n\n    def unused(self)",
    ),
    "a method that nothing calls": (
        "agent.py",
        "    def unused(self)",
        "    def save(self):\n        pass\n\n    def unused(self)",
    ),
    "a base": ("agent.py", "class Agent(Root)", "class Agent(Other, Root)"),
    "a hook of subclasses": ("agent.py", "= len(cls.__name__)", "= 1 + len(cls.__name__)"),
    "a hook that is gone": (
        "agent.py",
        "    def __init_subclass__(cls):\n        cls.names[cls.__name__] = len(cls.__name__)\n",
        "",
    ),
    "a decorator": ("agent.py", "    @property\n    def rate", "    def rate"),
    "a body that a decorator compiles": ("agent.py", "return x + 7", "return x + 8"),
    "a decorator that registers": ("registry.py", "@register\ndef first", "def first"),
    "a function that is registered": (
        "registry.py",
        "@register\ndef first",
        "@register\ndef second():\n    pass\n\n\n@register\ndef first",
    ),
    "a function that hid a builtin": ("agent.py", "def max(*numbers):\n    return 99\n", ""),
    "a module that is gone": ("gone.py", "", ""),
    "the order of imports": (
        "agent.py",
        "import early\nfrom pack import late",
        "import late\nfrom pack import early",
    ),
    "the level of a logger": ("agent.py", "logging.INFO", "logging.ERROR"),
}


def test_what_trains_otherwise_executes_something_that_differs(tmp_path):
    """Whatever the difference is, the old version is recorded."""
    before, _ = _train(write_files(tmp_path / "pack", FILES))
    for case, change in DIFFERING.items():
        old, new = _both(tmp_path / case, *change)
        trained, trace = _train(new)
        assert before != trained, case
        assert _difference(old, new).select_executed_differences(trace), case


@pytest.mark.parametrize("text", ["", "# nothing\n", '"""Nothing."""\n'])
@pytest.mark.parametrize("only", ["old", "new"])
def test_an_empty_module_of_one_version_is_imported(text, only, tmp_path):
    """An import that finds it does not fail."""
    files = {**FILES, "agent.py": BASE.replace("gone.VALUE", "7"), "gone.py": text}
    old, new = (write_files(tmp_path / label / "pack", files) for label in ("old", "new"))
    (tmp_path / {"old": "new", "new": "old"}[only] / "pack" / "gone.py").unlink()
    trained, trace = _train(new)
    assert _train(old)[0] != trained
    assert _difference(old, new).select_executed_differences(trace)


#: beside its import ``pack.part`` is used so by ``train``: code of both versions, text of the part
#: in the old version and in the new one; None: there is none.
SIZE = "def size():\n    return {}\n"
OWN = """
class own:
    @staticmethod
    def cache(function):
        return function.__annotations__["x"](3.5)

    @staticmethod
    def overload(function):
        global answer
        answer = function
        return function

    @staticmethod
    def final(function):
        return lambda: 2

{}

def size():
    return answer()
"""
TYPED = "class Size:\n    number: {0}\n\ndef size(x: {0} = 1):\n    return x\n"
DOCUMENTED = "def size():\n    'Return {}.'\n"
OVERLOADED = """
import typing
@typing.overload
def size(x: {0}): ...
@typing.overload
def size(x: None): ...
def size(x):
    return x
def idle():
    return {1}
"""
INNER = (
    "def size():\n    if size:\n        def inner():\n            'Return {}.'\n    return inner\n"
)
GUARDED = """
TYPE_CHECKING = True
if TYPE_CHECKING:
    SIZE = {}

def size():
    return SIZE
"""
UNGUARDED = """
import typing
if not typing.TYPE_CHECKING:
    SIZE = {}

def size():
    return SIZE
"""
LOOKING = {
    "a file that is executed": (
        "made = {}\n    exec((FOLDER / 'part.py').read_text(), made)\n    return made['size']()",
        SIZE.format(1), SIZE.format(2)),
    "a file that is run by its path": (
        "import runpy\n    return runpy.run_path(str(FOLDER / 'part.py'))['size']()",
        SIZE.format(1), SIZE.format(2)),
    "a file that is run by its name": (
        "import runpy\n    return runpy.run_module('pack.part')['size']()",
        SIZE.format(1), SIZE.format(2)),
    "a module among those of a package": (
        "import pkgutil\n    return [row.name for row in pkgutil.iter_modules([str(FOLDER)])]",
        None, SIZE.format(1)),
    "a module that is looked for": (
        "from importlib import util\n    return util.find_spec('pack.part') is not None",
        None, SIZE.format(1)),
    "a module that is no longer looked up": (
        "from importlib import util\n    return util.find_spec('pack.part') is not None",
        SIZE.format(1), None),
    "a file among those of a folder": (
        "return sorted(path.name for path in FOLDER.glob('*.py'))", None, SIZE.format(1)),
    "a source that is read": (
        "import inspect\n    from pack.part import size\n    return inspect.getsource(size)",
        SIZE.format(1), SIZE.format(2)),
    "a comment that is read": (
        "import inspect\n    from pack.part import size\n    return inspect.getsource(size)",
        SIZE.format("1  # one"), SIZE.format("1  # a number")),
    "a source that a loader reads": (
        "import pack.part\n    return pack.part.__loader__.get_source('pack.part')",
        SIZE.format(1), SIZE.format(2)),
    "code of another function": (
        "import types\n    from pack.part import size\n"
        "    code = size.__code__.replace(co_filename='made')\n"
        "    return types.FunctionType(code, {})()", SIZE.format(1), SIZE.format(2)),
    "types in a signature": (
        "import inspect\n    from pack.part import size\n    return str(inspect.signature(size))",
        TYPED.format("int"), TYPED.format("float")),
    "types of a function": (
        "import typing\n    from pack.part import size\n    return typing.get_type_hints(size)",
        TYPED.format("int"), TYPED.format("float")),
    "types of a class": (
        "import typing\n    from pack.part import Size\n    return typing.get_type_hints(Size)",
        TYPED.format("int"), TYPED.format("float")),
    "types of a class that an attribute shows": (
        "from pack.part import Size\n    return Size.__annotations__",
        TYPED.format("int"), TYPED.format("float")),
    "a docstring": (
        "import inspect\n    from pack.part import size\n    return inspect.getdoc(size)",
        DOCUMENTED.format("one"), DOCUMENTED.format("a number")),
    "a docstring that an attribute shows": (
        "from pack.part import size\n    return getattr(size, '__doc__')",
        DOCUMENTED.format("one"), DOCUMENTED.format("a number")),
    "a docstring of a module that an attribute shows": (
        "import pack.part as part\n    return part.__doc__", "'One.'\n", "'A number.'\n"),
    "a version": (
        "from pack.part import __version__\n    return __version__ < '2'",
        "__version__ = '1.0'\n", "__version__ = '2.0'\n"),
    "a version of a module that it imports": (
        "import pack.part as part\n    return part.__version__ < '2'",
        "__version__ = '1.0'\n", "__version__ = '2.0'\n"),
    "blanks of a docstring": (
        "from pack.part import size\n    return size.__doc__",
        "def size():\n    'Return.'\n", "def size():\n    ' Return.'\n"),
    "an empty docstring": (
        "from pack.part import size\n    return size.__doc__",
        "def size():\n    ''\n", "def size():\n    pass\n"),
    "types of an overload": (
        "import typing\n    from pack.part import size\n"
        "    return [f.__annotations__ for f in typing.get_overloads(size)]",
        OVERLOADED.format("int", 1), OVERLOADED.format("str", 2)),
    "a docstring of a function inside": (
        "from pack.part import size\n    return size().__doc__",
        INNER.format("one"), INNER.format("a number")),
    "a version that another import may give": (
        "try:\n        from pack import part as lib\n    except ImportError:\n"
        "        import numpy as lib\n    return lib.__version__, 'pack'",
        "__version__ = '1.0'\n", "__version__ = '2.0'\n"),
    "a version of what is chosen": (
        "import numpy\n    import pack\n    from pack import part\n"
        "    return (part if pack else numpy).__version__",
        "__version__ = '1.0'\n", "__version__ = '2.0'\n"),
    "what its own constant hides from a type checker": (
        "from pack.part import size\n    return size()",
        GUARDED.format(1), GUARDED.format(2)),
    "what a type checker does not read": (
        "from pack.part import size\n    return size()",
        UNGUARDED.format(1), UNGUARDED.format(2)),
    "whether a file is there": (
        "return (FOLDER / 'part.py').exists()", None, SIZE.format(1)),
    "whether a function is a generator": (
        "import inspect\n    from pack.part import size\n"
        "    return inspect.isgeneratorfunction(size)",
        SIZE.format(1), "def size():\n    yield 1\n"),
    "code of a function inside": (
        "from pack.part import size\n    held = size.__code__.co_consts\n"
        "    return [c.co_consts for c in held if hasattr(c, 'co_consts')]",
        "def size():\n    def inner():\n        return 1\n    return inner\n",
        "def size():\n    def inner():\n        return 2\n    return inner\n"),
    "a tracer that is taken away for a while": (
        "import sys\n    from pack.part import size\n    tracer = sys.gettrace()\n"
        "    sys.settrace(None)\n    result = size()\n    sys.settrace(tracer)\n"
        "    return result", SIZE.format(1), SIZE.format(2)),
    "a thread without a tracer": (
        "import sys, threading\n    from pack.part import size\n    results = []\n"
        "    def run():\n        sys.settrace(None)\n        results.append(size())\n"
        "    thread = threading.Thread(target=run)\n    thread.start()\n    thread.join()\n"
        "    return results", SIZE.format(1), SIZE.format(2)),
    "a thread that is started without one": (
        "import threading\n    from pack.part import size\n    results = []\n"
        "    tracer = threading.gettrace()\n    threading.settrace(None)\n"
        "    thread = threading.Thread(target=lambda: results.append(size()))\n"
        "    thread.start()\n    thread.join()\n    threading.settrace(tracer)\n"
        "    return results", SIZE.format(1), SIZE.format(2)),
    "an annotation that an own decorator reads": (
        "from pack.part import size\n    return size()",
        OWN.format("@own.cache\ndef found(x: int):\n    pass\n\nanswer = lambda: found\n"),
        OWN.format("@own.cache\ndef found(x: float):\n    pass\n\nanswer = lambda: found\n")),
    "a function that an own decorator keeps": (
        "from pack.part import size\n    return size()",
        OWN.format("@own.overload\ndef answer():\n    return 1\n"),
        OWN.format("@own.overload\ndef answer():\n    return 2\n")),
    "a decorator that has the name of one of typing": (
        "from pack.part import size\n    return size()",
        OWN.format("def answer():\n    return 1\n"),
        OWN.format("@own.final\ndef answer():\n    return 1\n")),
    "the coding of a text": (
        "from pack.part import size\n    return size()",
        "# coding: latin-1\ndef size():\n    return 'é'\n",
        "# coding: utf-8\ndef size():\n    return 'é'\n"),
    "a function of a file that is nested too deeply": (
        "from pack.part import size\n    return size()",
        f"def deep():\n    return {'+'.join(['1'] * 1500)}\n\n{SIZE.format(1)}",
        f"def deep():\n    return {'+'.join(['1'] * 1500)}\n\n{SIZE.format(2)}"),
}  # fmt: skip


VERSION_STRING = training_selection.explain_no_effect("pack/VERSION", [b"1.0", b"2.0"])


def _looking(folder, train, old, new):
    """Two versions of a package whose ``train`` looks at its part."""
    text = (
        f"from pathlib import Path\nFOLDER = Path(__file__).parent\n\ndef train():\n    {train}\n"
    )
    files = {"__init__.py": "from pack.agent import train\n", "agent.py": text}
    parts = [{} if part is None else {"part.py": part} for part in (old, new)]
    return [
        write_files(folder / label / "pack", {**files, **part})
        for label, part in zip(("old", "new"), parts, strict=True)
    ]


def test_code_that_is_looked_at_in_another_way_than_by_a_call_counts(tmp_path):
    """Sources and code that are read, modules that are looked for, and calls without tracers."""
    for case, texts in LOOKING.items():
        old, new = _looking(tmp_path / case, *texts)
        trained, trace = _train(new)
        assert _train(old)[0] != trained, case
        pieces = changed_functions.find_changed_pieces([str(old)], [str(new)])
        files = {} if pieces else {"pack/part.py": "comments only"}
        assert training_selection.group_differences_by_effect(
            pieces, files
        ).select_executed_differences(trace), case


#: their code has no marks.
UNNOTED = {"a file that is run by its path", "a function of a file that is nested too deeply"}


def test_what_is_looked_at_says_nothing_of_other_code(tmp_path):
    """A function that nobody calls, of a file that was imported and that nobody reads.

    Who reads types, docstrings or a version sees no other body, unless the version is another one.
    """
    for case in LOOKING.keys() - UNNOTED:
        train, old, new = LOOKING[case]
        part = old if new is None else new
        roots = _looking(tmp_path / case, f"import pack.idle\n    {train}", part, part)
        for number, root in enumerate(roots):
            write_files(root, {"idle.py": f"def idle():\n    return {number}\n"})
        _, trace = _train(roots[1])
        assert _difference(*roots).select_executed_differences(trace) == [], case
        pieces = changed_functions.find_changed_pieces(*([str(root)] for root in roots))
        reads = "attribute" in case or "version" in case or "own decorator reads" in case
        for files, other_version in ({}, True), ({"pack/VERSION": VERSION_STRING}, False):
            difference = training_selection.group_differences_by_effect(
                pieces, files, other_version
            )
            assert reads <= bool(difference.select_executed_differences(trace)), case


def test_lines_that_are_shown_and_arguments_say_nothing_of_other_code(tmp_path):
    """Warnings and stacks read the file, and the number of arguments is that of both versions.

    Nor does the version of another package.
    """
    shows = "import traceback, warnings\n    warnings.warn('x')\n    traceback.format_stack()"
    asks = "idle.__code__.co_argcount\n    import pack, numpy\n    numpy.__version__"
    roots = _looking(tmp_path, f"{shows}\n    {asks}\n    return 1", None, None)
    for number, root in enumerate(roots):
        with (root / "agent.py").open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef idle(x=1):\n    return {number}\n")
    with pytest.warns(UserWarning, match="x"):
        _, trace = _train(roots[1])
    assert _difference(*roots).select_executed_differences(trace) == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("agent.py", "def idle(x=1):\n    return x", "def idle(x=1):\n    return 2 * x"),
        ("agent.py", 'print("never")', 'print("at no time")'),
        (
            "agent.py",
            "    def size(self):",
            '    def size(self) -> int:\n        """Documented."""',
        ),
        ("agent.py", "epochs: int = 3", "epochs: int = 3\n\n    # three"),
        ("lazy.py", "SIZE = 1", "SIZE = 2"),
        ("lazy.py", "return SIZE", "return 2 * SIZE"),
    ],
)
def test_what_executes_nothing_that_differs_is_not_repeated(file, old, new, tmp_path):
    """Bodies that nobody calls, types and docstrings, and files that nobody imports."""
    folders = _both(tmp_path, file, old, new)
    trained, trace = _train(folders[1])
    assert _train(folders[0])[0] == trained
    assert _difference(*folders).select_executed_differences(trace) == []


@pytest.mark.parametrize(
    ("case", "expected", "piece"),
    [
        ("a message", ("pack/agent.py", "loud"), "loud"),
        ("a constant", ("pack/constants.py", ""), "<module>"),
    ],
)
def test_what_differs_is_named_with_its_file(case, expected, piece, tmp_path):
    """A function that was called, or the file whose import differs; and the piece, if it is one."""
    # a mark of the byte order, and characters that end no line of Python
    with mock.patch.dict(FILES, {"agent.py": "\ufeff# \f \v \u2028\n" + BASE}):
        folders = _both(tmp_path, *DIFFERING[case])
    difference, trace = _difference(*folders), _train(folders[1])[1]
    assert difference.select_executed_differences(trace) == [expected]
    assert difference.find_sole_difference(trace) == (expected[0], piece)
    # who inspects the file has seen its differences, and no others
    trace.header["functions"] = {}
    trace.header["examined"] = [(expected[0], "")]
    assert difference.find_sole_difference(trace) == (expected[0], piece)
    second = {*difference.texts, (expected[0], "another")}
    assert replace(difference, texts=frozenset(second)).find_sole_difference(trace) is None
    assert replace(difference, because="torch").find_sole_difference(trace) is None
    # nor is it the only one beside a file whose pieces are unknown, or with other threads
    trace.header["imported"] = [*trace.header["imported"], "pack/unknown.py"]
    unknown = replace(difference, files=difference.files | {"pack/unknown.py"})
    assert unknown.find_sole_difference(trace) is None
    trace.header["elsewhere"] = [{"what": "thread", "class": "Thread", "file": "", "line": 0}]
    assert difference.find_sole_difference(trace) is None


def test_what_was_not_noted_counts_as_executed(tmp_path):
    """Imports before anything is noted, other processes, a lost tracer, and an early end."""
    idle = ("agent.py", "    return x\n\n\ndef helper", "    return 1\n\n\ndef helper")
    old, new = _both(tmp_path, *idle)
    difference = _difference(old, new)
    _, trace = _train(new, before="pack.agent")
    assert difference.select_executed_differences(trace) == [("", "")]
    _, trace = _train(_both(tmp_path / "fresh", *idle)[1])
    assert difference.select_executed_differences(trace) == []
    process = {"what": "process", "class": "Pool", "file": "", "line": 0, "instead": ""}
    for lacking in (
        {"noted": False}, {"at_import": {}}, {"started": ["os.fork"]}, {"elsewhere": [process]},
        {"failure": "ValueError"},
    ):  # fmt: skip
        assert difference.select_executed_differences(
            small_traces.trace(**{**trace.header, **lacking})
        ), lacking


#: prints what each of many trainings starts; first comes what an import of another package starts
STARTING = """
import json, os, subprocess, sys
from rlregress.inside import loading
from rlregress.inside.events import Places

def fork():
    if not os.fork():
        os._exit(0)
    os.wait()

ways = {
    "": lambda: None,
    "fork": fork,
    "call": lambda: subprocess.run(["true"], check=True),
    "system": lambda: os.system("true"),
    # who tells something of the machine
    "ask": lambda: subprocess.run(["uname"], check=True, stdout=subprocess.DEVNULL),
}
loading.note_everything_loaded()
ways[sys.argv[1]]()
for way in sys.argv[2:]:
    # the process copies itself for each training
    if not os.fork():
        ways[way]()
        started = [loading.list_process_start_events(Places(r)) for r in ([], ["<string>"])]
        print(way, *map(",".join, started), sep="|", flush=True)
        os._exit(0)
    os.wait()
"""


def _start(*ways):
    return run_python("-c", STARTING, *ways, timeout=120).stdout.splitlines()


def test_processes_that_nothing_notes_are_known():
    """What they execute is not in the trace; what other packages start at import is none of it."""
    assert _start("", "fork", "call", "system", "ask") == [
        "fork|os.fork|os.fork", "call|subprocess.Popen|os.fork,subprocess.Popen",
        "system|os.system|os.fork,os.system", "ask||os.fork",
    ]  # fmt: skip
    assert _start("call", "ask") == ["ask||os.fork,subprocess.Popen"]


@pytest.mark.parametrize("file", ["fast.txt", "fast.so"])
def test_a_file_that_is_none_of_python_may_be_read_by_any_training(file, tmp_path):
    """What reads it may be compiled code."""
    old = write_files(tmp_path / "pack", FILES)
    difference = _difference(old, old, f"pack/{file}")
    assert difference.because == f"pack/{file} differs, and what reads it is not noted"
    assert difference.select_executed_differences(_train(old)[1])


@pytest.fixture
def recording(tmp_path, monkeypatch):
    """Record trainings that execute the function of their name; a call for each upgrade.

    It returns what was compared, and the labels and trainings that were recorded.
    """
    executed = {"lines": {}, "noted": True, "started": [], "imported": ["pack/agent.py"],
                "at_import": {"functions": {}, "before": []}, "examined": [], "describing": [],
                "versions_read": [], "listed": [], "sought": []}  # fmt: skip
    step = {"kind": "step", "name": "x", "at": None, "parts": {}}
    done = []

    def record(trainings, runtime, paths, *_):
        for name in [training.name for training in trainings]:
            done.append(f"{runtime.label} {name}")
            functions = {"pack/agent.py": [name]}
            header = {"failure": "", "seeded": [], "functions": functions, **executed}
            events.write_trace(str(paths[name]), header, [step])
            yield name, trace_reader.load_trace(paths[name])

    monkeypatch.setattr(runtimes_module, "_record_traces", record)
    difference = training_selection.ExecutableDifferences(frozenset({("pack/agent.py", "sac")}))

    def call(*names):
        done.clear()
        trainings = [Training("sb3", name, {"framework": "sb3"}) for name in names]
        with Runtimes(BOTH, (tmp_path / "a", tmp_path / "b"), 1) as runtimes:
            versions = BothVersions(runtimes, Inventory(), Options())
            recorded = RecordedTrainings(versions=versions, trainings=trainings, differing=[])
            recorded.record_and_compare({"new": []}, difference)
        return recorded, list(done)

    return call


def test_the_old_version_is_recorded_of_what_executes_a_difference_alone(recording):
    """The new one is of all, and the others are the same; what an interruption kept is used."""
    assert recording("ppo")[1] == ["new ppo"]
    traced, recorded = recording("ppo", "sac")
    assert (recorded, traced.same) == (["new sac", "old sac"], ["ppo"])
    assert [training.name for training in traced.traced] == ["sac"]
    assert (set(traced.old), set(traced.new)) == ({"sac"}, {"ppo", "sac"})
    assert recording("ppo", "sac")[1] == []


def test_what_time_cuts_short_gets_half_of_the_time_that_is_left(tmp_path, monkeypatch):
    """What was recorded of the new version is compared before more of it is recorded."""
    calls = []
    now = time.time()

    def recorded(trainings, runtime, folder, lines=False, workers=None):
        seconds = child_processes.find_end_time() - now
        calls.extend((runtime.label, training.name, round(seconds)) for training in trainings)
        # one a time
        is_late = [label for label, *_ in calls[-2:]] == ["new", "new"]
        return {} if is_late else {training.name: small_traces.trace() for training in trainings}

    monkeypatch.setattr(runtimes_module, "load_or_record_traces", recorded)
    trainings = [Training("sb3", name, {}) for name in ("ppo", "sac")]
    with (
        Runtimes(BOTH, (tmp_path, tmp_path), 1) as runtimes,
        child_processes.limit_stage(now + 1000),
    ):
        old, new = runtimes.record_new_then_chosen_old(trainings, {}, list)
    assert calls == [
        ("new", "ppo", 500), ("new", "sac", 500), ("old", "ppo", 1000), ("new", "sac", 500),
        ("old", "sac", 1000),
    ]  # fmt: skip
    assert old.keys() == new.keys() == {"ppo", "sac"}


def test_a_long_training_holds_no_other_one_up(tmp_path):
    """Whichever process is free records the next training."""
    names = ("ppo", "sac", "td3", "dqn")
    others = threading.Barrier(2)
    ended = []

    def work(trainings, runtime):
        [training] = trainings
        if training.name == "ppo":
            others.wait(timeout=30)
        ended.append(training.name)
        if training.name == "dqn":
            others.wait(timeout=30)
        return {training.name: runtime.label}

    with Runtimes(BOTH, (tmp_path, tmp_path), 2) as runtimes:
        trainings = [Training("sb3", name, {}) for name in names]
        assert runtimes.call_for_trainings_on_version("new", trainings, work) == dict.fromkeys(
            names, "new"
        )
    assert ended[:3] == ["sac", "td3", "dqn"]
