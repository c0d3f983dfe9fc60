"""Other code put into functions that are imported already."""

from __future__ import annotations

import gc
import importlib
import itertools
import sys
import types

import pytest

from rlregress.inside.swap import Misfit, swap

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
    """What was there before a test stays frozen: swaps look through the rest."""
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
    assert swap([change], [str(package)]) == []


def put(package, function, old, new, file="agent.py"):
    """Put code with a fragment replaced into a function of the package."""
    assert old in CODE
    exchange(package, CODE.replace(old, new, 1), [function], file)


def test_a_method_does_what_the_other_code_does(package):
    """Also of objects that are there already; other methods of that name stay."""
    namespace = module(package)
    agent = namespace.Agent()
    put(package, "Agent.fixed", "return x + by", "return x - by")
    assert (agent.fixed(1), namespace.Agent.fixed(1, by=5)) == (-2, -4)
    put(package, "Other.train", "return -x", "return -x - 1")
    assert (agent.train(1), namespace.Other().train(1)) == (20, -2)


def test_a_method_that_asks_its_class_for_the_next_one_is_swapped(package):
    """It refers to its class, as the code that is there does not; classes below see it, too."""
    first = module(package).Agent()
    text = CODE.replace("self._rate = 1", "super().__init__()\n        self._rate = 9")
    exchange(package, text, ["Agent.__init__"])
    agent = module(package).Agent
    derived = type("Derived", (agent,), {})
    assert (first._rate, agent()._rate, derived()._rate) == (1, 9, 9)


def test_what_only_the_other_code_imports_is_there(package):
    """Under the names that it uses; other names, and what cannot be imported, are left out."""
    imports = "import math as m, json\nfrom nowhere import lost\n"
    text = imports + CODE.replace("x + by", "m.pi + by if x < 1 else lost")
    exchange(package, text, ["Agent.fixed"])
    namespace_before = module(package)
    assert namespace_before.Agent.fixed(0, 1) == pytest.approx(4.1416, abs=1e-4)
    assert not {"json", "lost"} & set(vars(namespace_before))


def test_what_only_the_other_code_defines_is_there(package):
    """A function, what it uses in turn, and for a method that is put into its class, too."""
    text = (
        CODE.replace("by=3", "by=PARTS")
        .replace("x + by", "third(x) + by")
        .replace("class Other:\n", "class Other:\n    def new(self):\n        return third(30)\n\n")
    )
    addition = "\nPARTS = 3\nUNUSED = 1\n\n\ndef third(x):\n    return x / PARTS\n"
    exchange(package, text + addition, ["Agent.fixed", "Other.new"])
    namespace_before = module(package)
    assert (
        namespace_before.Agent.fixed(6, 1),
        namespace_before.Agent.fixed(6),
        namespace_before.Other().new(),
    ) == (3, 5, 10)
    assert not hasattr(namespace_before, "UNUSED")


def test_methods_that_only_the_other_code_has_are_there(package):
    """What a method calls of its own class, and what that calls in turn; nothing else of it."""
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
    """Where this side sets an attribute of that name, the method of the other is left out."""
    path = package / "agent.py"
    path.write_text(CODE.replace("self._rate = 1", "self._rate = 1\n        self.scale = 4"))
    scale = "class Agent:\n    @property\n    def scale(self):\n        return 100\n\n"
    text = CODE.replace("class Agent:\n", scale).replace("self.factor * x", "self.scale * x")
    exchange(package, text, ["Agent.train"])
    assert module(package).Agent().train(3) == 2 * 4 * 3


def test_a_property_of_this_side_does_not_hide_what_the_other_code_sets(package):
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


def test_a_method_that_is_decorated_otherwise_is_put_as_a_whole(package):
    """Decorators cannot be exchanged in what is there; objects that are there have it, too."""
    agent = module(package).Agent()
    put(package, "Agent.train", "    @twice\n    def train", "    def train")
    assert agent.train(3) == 30
    put(package, "Agent.fixed", "@staticmethod\n    def fixed(x", "@twice\n    def fixed(self, x")
    assert agent.fixed(1) == 2 * (1 + 3)


def test_a_property_without_its_setter_is_put_as_a_whole(package):
    """What the other code does not set cannot be set."""
    agent = module(package).Agent()
    setter = "    @rate.setter\n    def rate(self, value):\n        self._rate = value + 5\n"
    put(package, "Agent.rate", setter, "")
    assert agent.rate == 2
    with pytest.raises(AttributeError):
        agent.rate = 3


def test_what_both_define_stays_as_it_is(package):
    """Only the functions that are named are those of the other text."""
    text = CODE.replace("step = 1", "step = 7").replace("x + by", "counter(1)(x) - by")
    exchange(package, text, ["Agent.fixed"])
    assert module(package).Agent.fixed(6, 1) == 7


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
    """Of two of one name the first has moved to the lines of the second; a third is held apart."""
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
    """Functions that were made before go on with what they have taken."""
    namespace = module(package)
    counter = namespace.counter(100)
    put(package, "counter.following", "x + start + step", "x - start - step")
    assert counter(1) == -100
    # and those that are made later have it, too
    assert (namespace.counter(100)(1), namespace.counter(10)(1)) == (-100, -10)


def test_several_functions_are_swapped_at_once(package):
    """Also where one comes to stand in the lines of another; what does not fit is named."""
    agent = module(package).Agent()
    lines = CODE.index("    def train(self, x):\n        return -x")
    text = CODE[:lines] + "\n" * 7 + CODE[lines:].replace("return -x", "return -x - 1")
    text = text.replace("return x + by", "return x - by")
    names = ["Agent.fixed", "Other.train", "Agent.gone"]
    change = {"file": f"{package.name}/agent.py", "functions": names, "text": text}
    misfits = swap([change], [str(package)])
    assert (agent.fixed(1), module(package).Other().train(1)) == (-2, -2)
    (misfit,) = misfits
    assert misfit[1:] == ["Agent.gone", f"there is no Agent.gone in {change['file']}"]


MISFITS = {
    "other variables": (
        "counter.following", "x + start + step", "x + start", "refers to other variables"),
    "a function that is not there": ("Agent.gone", "-x", "x", "there is no Agent.gone"),
    "one that the other text lacks": (
        "counter", "def counter", "def other", "there is no counter"),
    "another decorator": (
        "counter", "def counter", "@functools.cache\ndef counter", "is decorated otherwise"),
    "other arguments inside a function": (
        "counter.following", "following(x):", "following(x, y=1):", "takes other arguments"),
    "defaults that cannot be had": (
        "Agent.fixed", "x, by=3", "x, by=gone", "the defaults of Agent.fixed .*'gone' is not"),
    "one inside a method": (
        "Agent.__init__.gone", "self._rate = 1", "def gone(): pass", "Agent.__init__ is no class"),
    "a method whose decorator is not there": (
        "Agent.new", "    @staticmethod\n", "    @gone\n    def new(self): 1\n    @property\n",
        "Agent.new of .* as a whole: .*'gone' is not defined"),
    "no Python": ("Agent.fixed", "def fixed", "def (", "syntax"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISFITS)
def test_what_cannot_stand_in_its_place_is_a_misfit(package, case):
    """It says why, and what is there stays."""
    function, old, new, text = MISFITS[case]
    namespace = module(package)
    counter = namespace.counter(100)
    with pytest.raises(Misfit, match=text):
        put(package, function, old, new)
    assert (counter(1), namespace.Agent.fixed(1), namespace.Agent().rate) == (102, 4, 2)


def test_the_defaults_are_those_of_the_other_code(package):
    """Also where arguments have come or gone, of objects that are there already."""
    agent = module(package).Agent()
    put(package, "Agent.fixed", "x, by=3", "x, by=5")
    assert agent.fixed(1) == 6
    put(package, "Agent.fixed", "fixed(x, by=3):", "fixed(x, *, less=factor, by=3):")
    assert (agent.fixed(1), agent.fixed(1, by=4)) == (4, 5)


def test_a_method_of_this_side_alone_is_taken_away(package):
    """What it has hidden stands there again, also for objects that are there already."""
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


def test_a_method_of_the_other_side_alone_is_put_into_its_class(package):
    """With decorators, defaults, setters, and what ``super()`` asks for."""
    namespace = module(package)
    agent = namespace.Agent()
    for name in ("Agent.slow", "Agent.least", "Agent.__repr__"):
        put(package, name, "    @staticmethod\n", NEW + "    @staticmethod\n")
    agent.slow = 5
    assert (agent.slow, agent.least(), repr(agent)) == (0.5, -3, "<swapp")


def test_a_function_that_is_gone_is_a_misfit(package):
    """Nothing in memory runs it."""
    del module(package).Other
    gc.collect()
    with pytest.raises(Misfit, match="Other.train of .* is not in memory"):
        put(package, "Other.train", "-x", "x")


def test_a_file_that_is_not_there_is_a_misfit(package):
    """Below no root, and below no folder of that name."""
    with pytest.raises(Misfit, match="there is no .*gone.py"):
        put(package, "Agent.fixed", "-x", "x", file="gone.py")


def test_a_copy_beside_another_package_is_not_taken_for_it(package, tmp_path):
    """Only the root of its own name is looked in, whatever lies beside the others."""
    agent = module(package).Agent()
    addition = tmp_path / "elsewhere"
    (addition / package.name).mkdir(parents=True)
    (addition / package.name / "agent.py").write_text("# another copy\n")
    (addition / "torch").mkdir()
    text = CODE.replace("return x + by", "return x - by")
    change = {"file": f"{package.name}/agent.py", "functions": ["Agent.fixed"], "text": text}
    assert swap([change], [str(addition / "torch"), str(package)]) == []
    assert agent.fixed(1) == -2


def test_a_file_that_cannot_be_imported_is_a_misfit(package):
    """What it says is passed on."""
    (package / "agent.py").write_text("import nothing_of_this_name\n" + CODE)
    with pytest.raises(Misfit, match="cannot be imported: No module named 'nothing_of_this_name'"):
        put(package, "Agent.fixed", "-x", "x")
