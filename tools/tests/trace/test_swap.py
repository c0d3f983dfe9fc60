"""Other code put into functions that are imported already."""

from __future__ import annotations

import gc
import importlib
import itertools
import sys
import types

import pytest

from rlregress.inside.swap import Misfit, replace_running_code

CODE = """
import functools


def twice(call):
    @functools.wraps(call)
    def wrapper(*given):
        return 2 * call(*given)
    return wrapper


def counter(start):
    step = 1

    def following(x):
        return x + start + step
    return following


class Agent:
    factor = 10

    def __init__(self):
        self._rate = 1

    @property
    def rate(self):
        return self._rate + 1

    @rate.setter
    def rate(self, value):
        self._rate = value + 5

    @twice
    def train(self, x):
        return self.factor * x

    @staticmethod
    def fixed(x, by=3):
        return x + by


class Other:
    def train(self, x):
        return -x
"""
NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _few_objects(monkeypatch):
    """Freeze objects of earlier tests: swaps look through all others."""
    gc.freeze()
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one module that is on the path; it is imported under a name of its own."""
    name = f"swapped_{next(NUMBERS)}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "agent.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for loaded in [importer for importer in sys.modules if importer.partition(".")[0] == name]:
        del sys.modules[loaded]


def module(package):
    """The imported module."""
    return importlib.import_module(f"{package.name}.agent")


def exchange(package, text, functions, file="agent.py"):
    """Put the code of a text into functions of the package."""
    change = {"file": f"{package.name}/{file}", "functions": functions, "text": text}
    assert replace_running_code([change], [str(package)]) == []


def put(package, function, *edits, file="agent.py"):
    """Put code with fragments replaced into a function of the package."""
    text = CODE
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    exchange(package, text, [function], file)


PROPERTY = CODE[CODE.index("    @property") : CODE.index("    @twice")]
SETTER = PROPERTY[PROPERTY.index("    @rate.setter") :]
#: function, edits, what comes of an object that is there already and of its module.
SWAPS = {
    "a method with another decorator": (
        "Agent.fixed", [("@staticmethod\n    def fixed(x", "@twice\n    def fixed(self, x")],
        lambda agent, module: agent.fixed(1), 2 * (1 + 3)),
    "arguments that have come": (
        "Agent.fixed", [("fixed(x, by=3):", "fixed(x, *, less=factor, by=3):")],
        lambda agent, module: (agent.fixed(1), agent.fixed(1, by=4)), (4, 5)),
    "a method of that name of another class": (
        "Other.train", [("return -x", "return -x - 1")],
        lambda agent, module: (agent.train(1), module.Other().train(1)), (20, -2)),
    # the code that is there does not refer to its class
    "a method that asks its class for the next one": (
        "Agent.__init__", [("self._rate = 1", "super().__init__()\n        self._rate = 9")],
        lambda agent, module: (agent._rate, type("Derived", (module.Agent,), {})()._rate), (1, 9)),
    "a property and its setter": (
        "Agent.rate", [("+ 1\n\n", "+ 2\n\n"), ("+ 5", "+ 6")],
        lambda agent, module: (agent.rate, setattr(agent, "rate", 1), agent.rate), (3, None, 9)),
    "a property without its setter": (
        "Agent.rate", [(SETTER, "")],
        lambda agent, module: (agent.rate, module.Agent.rate.fset), (2, None)),
    "a method that only the running version has": (
        "Other.train", [("def train(self, x):\n        return -x", "pass")],
        lambda agent, module: hasattr(module.Other(), "train"), False),
    "a property that only the running version has": (
        "Agent.rate", [(PROPERTY, "")], lambda agent, module: hasattr(agent, "rate"), False),
    "a property that only the other version has": (
        "Agent.slow", [(PROPERTY, PROPERTY + PROPERTY.replace("rate", "slow"))],
        lambda agent, module: (setattr(agent, "slow", 3), agent.slow), (None, 3 + 5 + 1)),
    "a static method that only the other version has": (
        "Agent.least", [(PROPERTY, "    @staticmethod\n    def least(x=-3):\n        return x\n")],
        lambda agent, module: agent.least(), -3),
    "a method that only the other version has, and what it uses": (
        "Other.new", [("class Other:\n", "PARTS = 3\n\n\ndef third(x):\n    return x / PARTS\n\n\n"
                       "class Other:\n    def new(self):\n        return third(30)\n\n")],
        lambda agent, module: module.Other().new(), 10),
    # what both define stays as it is, and what nothing uses is left out
    "a function with what only the other code defines": (
        "Agent.fixed", [("by=3", "by=PARTS"), ("step = 1", "step = 7"),
                        ("x + by", "third(x) + by + counter(1)(0)"),
                        ("class Other:", "PARTS = 3\nUNUSED = 1\n\n\n"
                         "def third(x):\n    return x / PARTS\n\n\nclass Other:")],
        lambda agent, module: (agent.fixed(6, 1), agent.fixed(6), hasattr(module, "UNUSED")),
        (5, 7, False)),
    "a function with what only the other code imports": (
        "Agent.fixed", [("import functools", "import functools, json\nimport math as m\n"
                         "from nowhere import lost"),
                        ("x + by", "m.ceil(x) + by if x < 1 else lost")],
        lambda agent, module: (agent.fixed(0.5, 1), {"json", "lost"} & set(vars(module))),
        (2, set())),
    # and those that these call, and no others
    "a method with methods of its class that only the other code has": (
        "Agent.train", [("self.factor * x", "self._third(x) + self.rate"),
                        ("self._rate + 1", "self._rate + 100"),
                        ("class Agent:\n", "PARTS = 6\n\n\nclass Agent:\n    def _third(self, x):\n"
                         "        return self._parts() * x / 3\n\n    @classmethod\n"
                         "    def _parts(cls):\n        return PARTS\n\n    def _unused(self):\n"
                         "        return 1\n\n")],
        lambda agent, module: (agent.train(3), hasattr(agent, "_unused")), (2 * (6 + 2), False)),
}  # fmt: skip


@pytest.mark.parametrize("case", SWAPS)
def test_a_method_does_what_the_other_code_does(package, case):
    """Also of objects that are there already."""
    function, edits, call, expected = SWAPS[case]
    agent = module(package).Agent()
    put(package, function, *edits)
    assert call(agent, module(package)) == expected


def test_a_method_does_not_take_the_place_of_what_objects_hold(package):
    """A method is left out if this version sets an attribute of its name."""
    path = package / "agent.py"
    path.write_text(CODE.replace("self._rate = 1", "self._rate = 1\n        self.scale = 4"))
    scale = "class Agent:\n    @property\n    def scale(self):\n        return 100\n\n"
    text = CODE.replace("class Agent:\n", scale).replace("self.factor * x", "self.scale * x")
    exchange(package, text, ["Agent.train"])
    assert module(package).Agent().train(3) == 2 * 4 * 3


def test_a_property_of_the_running_version_does_not_hide_an_attribute_of_the_other_code(package):
    """It goes; one that has a setter, or that the other code has, too, stays."""
    path = package / "agent.py"
    old = """class Agent:
    @property
    def start(self):
        return 1

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = 2 * value

"""
    path.write_text(CODE.replace("class Agent:\n", old))
    text = CODE.replace("self._rate = 1", "self.start = self.rate = self.size = 4")
    exchange(package, text, ["Agent.__init__"])
    agent = module(package).Agent()
    assert (agent.start, agent.rate, agent.size) == (4, 4 + 5 + 1, 2 * 4)


def test_a_function_that_is_held_elsewhere_is_swapped(package):
    """Whoever has imported it before has it too."""
    from_before = module(package).twice
    bound = module(package).Agent().fixed
    put(package, "Agent.fixed", ("return x + by", "return x * by"))
    put(package, "twice.wrapper", ("2 * call", "3 * call"))
    assert bound(4) == 12
    assert from_before(bound)(4) == 36
    assert module(package).Agent().train(1) == 30


def test_a_function_that_comes_to_lie_where_another_one_stands_is_swapped_once(package):
    """The first of two of one name has moved to the lines of the second; a third is held apart."""
    lines = CODE.splitlines()
    first, second = (n for n, line in enumerate(lines) if line == "    def train(self, x):")
    above = "\n" * (second - first + 1)  # the decorator's line is the function's first
    text = CODE.replace("class Agent:", f"{above}class Agent:")
    for old, new in (("self.factor * x", "7 * x"), ("-x", "-2 * x"), ("x + by", "x * by")):
        text = text.replace(f"return {old}", f"return {new}")
    agent = module(package)
    apart = types.FunctionType(agent.Agent.fixed.__code__, {}, None, (3,))
    del agent.Agent.fixed
    gc.collect()
    names = ["Agent.train", "Other.train", "Agent.fixed"]
    exchange(package, text, names)
    assert agent.Agent().train(1) == 14
    assert agent.Other().train(1) == -2
    assert apart(4) == 12


def test_functions_that_were_frozen_are_swapped(package, monkeypatch):
    """Before trainings fork, all that is there is taken out of the collector's sight."""
    monkeypatch.undo()
    monkeypatch.syspath_prepend(str(package.parent))
    agent = module(package).Agent()
    gc.freeze()
    try:
        put(package, "Agent.fixed", ("return x + by", "return x - by"))
    finally:
        gc.unfreeze()
    assert agent.fixed(1) == -2


def test_one_of_several_functions_that_does_not_fit_is_named(package):
    """The others are swapped."""
    agent = module(package).Agent()
    text = CODE.replace("return x + by", "return x - by")
    change = {"file": f"{package.name}/agent.py", "functions": ["Agent.fixed", "Agent.gone"],
              "text": text}  # fmt: skip
    (misfit,) = replace_running_code([change], [str(package)])
    assert agent.fixed(1) == -2
    assert misfit[1:] == ["Agent.gone", f"there is no Agent.gone in {change['file']}"]


MISFITS = {
    "other variables": (
        "counter.following", "x + start + step", "x + start", "that differ by version"),
    "a function that is not there": ("Agent.gone", "-x", "x", "there is no Agent.gone"),
    "another decorator": (
        "counter", "def counter", "@functools.cache\ndef counter", "has different decorators"),
    "other arguments inside a function": (
        "counter.following", "following(x):", "following(x, y=1):", "takes different arguments"),
    "defaults that cannot be computed": (
        "Agent.fixed", "x, by=3", "x, by=gone", "the defaults of Agent.fixed .*'gone' is not"),
    "one inside a method": (
        "Agent.__init__.gone", "self._rate = 1", "def gone(): pass", "Agent.__init__ is no class"),
    "a method whose decorator is not there": (
        "Agent.new", "    @staticmethod\n", "    @gone\n    def new(self): 1\n    @property\n",
        "Agent.new of .* cannot be replaced: .*'gone' is not defined"),
    "no Python": ("Agent.fixed", "def fixed", "def (", "syntax"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISFITS)
def test_what_cannot_stand_in_its_place_is_a_misfit(package, case):
    """The reason is named, and the code in memory stays."""
    function, old, new, text = MISFITS[case]
    namespace = module(package)
    counter = namespace.counter(100)
    with pytest.raises(Misfit, match=text):
        put(package, function, (old, new))
    assert (counter(1), namespace.Agent.fixed(1), namespace.Agent().rate) == (102, 4, 2)


@pytest.mark.parametrize(
    ("file", "start", "message"),
    [
        ("agent.py", "", "Other.train of .* is not in memory"),
        # below no root, and below no folder of that name
        ("gone.py", "", "there is no .*gone.py"),
        ("agent.py", "import nothing_of_this_name\n",
         "cannot be imported: No module named 'nothing_of_this_name'"),
    ],
    ids=["a function that is gone", "no such file", "a file that cannot be imported"],
)  # fmt: skip
def test_what_is_not_in_memory_is_a_misfit(package, file, start, message):
    """It says why."""
    (package / "agent.py").write_text(start + CODE)
    if not start:
        del module(package).Other
    gc.collect()
    with pytest.raises(Misfit, match=message):
        put(package, "Other.train", ("-x", "x"), file=file)


def test_a_copy_beside_another_package_is_not_taken_for_it(package, tmp_path):
    """Only the root of its own name is looked in, whatever lies beside the others."""
    agent = module(package).Agent()
    addition = tmp_path / "elsewhere"
    (addition / package.name).mkdir(parents=True)
    (addition / package.name / "agent.py").write_text("# another copy\n")
    (addition / "torch").mkdir()
    text = CODE.replace("return x + by", "return x - by")
    change = {"file": f"{package.name}/agent.py", "functions": ["Agent.fixed"], "text": text}
    assert replace_running_code([change], [str(addition / "torch"), str(package)]) == []
    assert agent.fixed(1) == -2
