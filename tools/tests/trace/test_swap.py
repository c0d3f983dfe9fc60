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


def put(package, function, old, new, file="agent.py"):
    """Put code with a fragment replaced into a function of the package."""
    assert old in CODE
    exchange(package, CODE.replace(old, new, 1), [function], file)


#: function, old and new text, a call of an object that is there already, and what comes of it.
SWAPS = {
    "a static method": (
        "Agent.fixed", "return x + by", "return x - by",
        lambda agent: (agent.fixed(1), type(agent).fixed(1, by=5)), (-2, -4)),
    "a method without its decorator": (
        "Agent.train", "    @twice\n    def train", "    def train",
        lambda agent: agent.train(3), 30),
    "a method with another decorator": (
        "Agent.fixed", "@staticmethod\n    def fixed(x", "@twice\n    def fixed(self, x",
        lambda agent: agent.fixed(1), 2 * (1 + 3)),
    "another default": ("Agent.fixed", "x, by=3", "x, by=5", lambda agent: agent.fixed(1), 6),
    "arguments that have come": (
        "Agent.fixed", "fixed(x, by=3):", "fixed(x, *, less=factor, by=3):",
        lambda agent: (agent.fixed(1), agent.fixed(1, by=4)), (4, 5)),
    "a method of that name of another class": (
        "Other.train", "return -x", "return -x - 1", lambda agent: agent.train(1), 20),
}  # fmt: skip


@pytest.mark.parametrize("case", SWAPS)
def test_a_method_does_what_the_other_code_does(package, case):
    """Also of objects that are there already; other methods of that name stay."""
    function, old, new, call, expected = SWAPS[case]
    agent = module(package).Agent()
    put(package, function, old, new)
    assert call(agent) == expected
    assert module(package).Other().train(1) == (-2 if function == "Other.train" else -1)


def test_a_method_that_asks_its_class_for_the_next_one_is_swapped(package):
    """It refers to its class, as the code that is there does not; classes below see it, too."""
    first = module(package).Agent()
    text = CODE.replace("self._rate = 1", "super().__init__()\n        self._rate = 9")
    exchange(package, text, ["Agent.__init__"])
    agent = module(package).Agent
    derived = type("Derived", (agent,), {})
    assert (first._rate, agent()._rate, derived()._rate) == (1, 9, 9)


def test_what_only_the_other_code_imports_is_there(package):
    """Under the names that it uses; unused names and failing imports are left out."""
    imports = "import math as m, json\nfrom nowhere import lost\n"
    text = imports + CODE.replace("x + by", "m.pi + by if x < 1 else lost")
    exchange(package, text, ["Agent.fixed"])
    namespace_before = module(package)
    assert namespace_before.Agent.fixed(0, 1) == pytest.approx(4.1416, abs=1e-4)
    assert not {"json", "lost"} & set(vars(namespace_before))


def test_what_only_the_other_code_defines_is_there(package):
    """A function, what it uses in turn, and for a method that is put into its class, too.

    What both define stays as it is.
    """
    text = (
        CODE.replace("by=3", "by=PARTS").replace("step = 1", "step = 7")
        .replace("x + by", "third(x) + by + counter(1)(0)")
        .replace("class Other:\n", "class Other:\n    def new(self):\n        return third(30)\n\n")
    )  # fmt: skip
    addition = "\nPARTS = 3\nUNUSED = 1\n\n\ndef third(x):\n    return x / PARTS\n"
    exchange(package, text + addition, ["Agent.fixed", "Other.new"])
    swapped = module(package)
    assert (swapped.Agent.fixed(6, 1), swapped.Agent.fixed(6), swapped.Other().new()) == (5, 7, 10)
    assert not hasattr(swapped, "UNUSED")


def test_methods_that_only_the_other_code_has_are_there(package):
    """The methods that it calls of its own class, with those that they call; no others."""
    methods = """class Agent:
    def _third(self, x):
        return self._parts() * x / 3

    @classmethod
    def _parts(cls):
        return PARTS

    def _unused(self):
        return 1

    def rate_of(self):
        return 1

"""
    text = CODE.replace("class Agent:\n", methods) + "\nPARTS = 6\n"
    text = text.replace("self.factor * x", "self._third(x) + self.rate")
    text = text.replace("self._rate + 1", "self._rate + 100")
    exchange(package, text, ["Agent.train"])
    kind = module(package).Agent
    assert kind().train(3) == 2 * (6 + 2)
    assert not hasattr(kind, "_unused")
    assert not hasattr(kind, "rate_of")


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


def test_a_property_without_its_setter_is_put_as_a_whole(package):
    """It cannot be set any more."""
    agent = module(package).Agent()
    setter = "    @rate.setter\n    def rate(self, value):\n        self._rate = value + 5\n"
    put(package, "Agent.rate", setter, "")
    assert agent.rate == 2
    with pytest.raises(AttributeError):
        agent.rate = 3


def test_a_function_that_is_held_elsewhere_is_swapped(package):
    """Whoever has imported it before has it too."""
    from_before = module(package).twice
    bound = module(package).Agent().fixed
    put(package, "Agent.fixed", "return x + by", "return x * by")
    put(package, "twice.wrapper", "2 * call", "3 * call")
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
        put(package, "Agent.fixed", "return x + by", "return x - by")
    finally:
        gc.unfreeze()
    assert agent.fixed(1) == -2


def test_a_property_and_its_setter_are_swapped_together(package):
    """They are one function of one name."""
    agent = module(package).Agent()
    put(package, "Agent.rate", "+ 1\n\n    @rate.setter", "+ 2\n\n    @rate.setter")
    assert agent.rate == 3
    agent.rate = 1
    assert agent.rate == 8
    put(package, "Agent.rate", "= value + 5", "= value + 6")
    agent.rate = 1
    # the getter is that of the last text again
    assert agent.rate == 8


def test_a_closure_is_swapped_with_its_own_variables(package):
    """Closures made before keep their variables."""
    namespace = module(package)
    counter = namespace.counter(100)
    put(package, "counter.following", "x + start + step", "x - start - step")
    assert counter(1) == -100
    # and those that are made later have it, too
    assert (namespace.counter(100)(1), namespace.counter(10)(1)) == (-100, -10)


def test_several_functions_are_swapped_at_once(package):
    """Also where one takes the lines of another; a misfit is named."""
    agent = module(package).Agent()
    lines = CODE.index("    def train(self, x):\n        return -x")
    text = CODE[:lines] + "\n" * 7 + CODE[lines:].replace("return -x", "return -x - 1")
    text = text.replace("return x + by", "return x - by")
    names = ["Agent.fixed", "Other.train", "Agent.gone"]
    change = {"file": f"{package.name}/agent.py", "functions": names, "text": text}
    misfits = replace_running_code([change], [str(package)])
    assert (agent.fixed(1), module(package).Other().train(1)) == (-2, -2)
    (misfit,) = misfits
    assert misfit[1:] == ["Agent.gone", f"there is no Agent.gone in {change['file']}"]


MISFITS = {
    "other variables": (
        "counter.following", "x + start + step", "x + start", "uses other variables"),
    "a function that is not there": ("Agent.gone", "-x", "x", "there is no Agent.gone"),
    "one that the other text lacks": (
        "counter", "def counter", "def other", "there is no counter"),
    "another decorator": (
        "counter", "def counter", "@functools.cache\ndef counter", "has other decorators"),
    "other arguments inside a function": (
        "counter.following", "following(x):", "following(x, y=1):", "takes other arguments"),
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
        put(package, function, old, new)
    assert (counter(1), namespace.Agent.fixed(1), namespace.Agent().rate) == (102, 4, 2)


def test_a_method_that_only_the_running_version_has_is_removed(package):
    """The method that it hid is back, also for existing objects."""
    namespace = module(package)
    derived = type("Derived", (namespace.Other,), {"__module__": namespace.__name__})
    namespace.Derived = derived
    agent, derived_agent = namespace.Agent(), derived()
    put(
        package,
        "Other.train",
        "class Other:\n    def train(self, x):\n        return -x\n",
        "class Other:\n    pass\n",
    )
    assert not hasattr(derived_agent, "train")
    put(package, "Agent.rate", CODE[CODE.index("    @property") : CODE.index("    @twice")], "")
    assert not hasattr(agent, "rate")


NEW = """
    @property
    def slow(self):
        return self._slow

    @slow.setter
    def slow(self, value):
        self._slow = value / self.factor

    @staticmethod
    def least(x=-3):
        return x

    def __repr__(self):
        return super().__repr__()[:6]

"""


def test_a_method_that_only_the_other_version_has_is_put_into_its_class(package):
    """With decorators, defaults, setters, and what ``super()`` asks for."""
    namespace = module(package)
    agent = namespace.Agent()
    for name in ("Agent.slow", "Agent.least", "Agent.__repr__"):
        put(package, name, "    @staticmethod\n", NEW + "    @staticmethod\n")
    agent.slow = 5
    assert (agent.slow, agent.least(), repr(agent)) == (0.5, -3, "<swapp")


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
        put(package, "Other.train", "-x", "x", file)


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
