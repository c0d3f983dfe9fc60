"""How the trainings went through the functions that differ, and what would reach the others."""

from __future__ import annotations

import pytest

from rlregress.tracing.compare import Comparison
from rlregress.tracing.trace import Trace
from rlregress.upgrade import coverage
from rlregress.upgrade.callers import callers
from rlregress.upgrade.coverage import BOTH_WAYS, DIVERGED, ONE_WAY, PROBED, UNREACHED, reach
from rlregress.upgrade.functions import ADDED, CHANGED, REMOVED, Changed, Function
from rlregress.upgrade.traced import Traced

FILE = "package/agent.py"


def function(name="Agent.train", how=CHANGED, a=(10, 20), b=(110, 120)):
    """A function that differs, with its lines on either side."""
    one = None if how == ADDED else Function(name, *a, "a")
    other = None if how == REMOVED else Function(name, *b, "b")
    return Changed(FILE, name, how, one, other, (None, None))


def side(*entered, branches=(), activity=()):
    """A trace of one side: functions, [line, held, failed, text], [line, operation, seen]."""
    header = {
        "failure": "",
        "functions": {FILE: list(entered)} if entered else {},
        "branches": {FILE: [list(row) for row in branches]},
        "activity": [[FILE, line, "train", name, list(seen)] for line, name, seen in activity],
    }
    return Trace(header, ())


def traced(name, b, a=None, verdict="equal"):
    """A training; side A did as side B where nothing else is said."""
    return Traced(name, Comparison(verdict, 1, None), a or b, b, True, ())


def only(*trainings, of=None, probed=()):
    """How they went through one function."""
    of = of or function()
    (found,) = reach([of], trainings, {of.key: probed} if probed else {}, [])
    return found


def test_a_function_that_nothing_enters_is_never_reached():
    """What a training enters beside it does not count."""
    assert only(traced("sac", side("Agent.other"))).state == UNREACHED


def test_a_function_that_only_probes_enter_is_probed_only():
    """The probes that have entered it are named."""
    found = only(traced("sac", side("Agent.other")), probed=("x [library]",))
    assert (found.state, found.details) == (PROBED, ("x [library]",))


def test_a_function_that_trainings_enter_names_them():
    """A training without open branches has gone both ways, whatever was probed."""
    found = only(
        traced("sac", side("Agent.train")),
        traced("td3", side("Agent.other")),
        traced("sac gsde", side("Agent.train")),
        probed=("x [library]",),
    )
    assert (found.state, found.trainings) == (BOTH_WAYS, ("sac", "sac gsde"))
    assert found.algorithms == ("sac", "td3")


def test_a_function_of_a_training_that_parts_has_diverged():
    """One of its trainings is enough, and a training that does not enter it is none of them."""
    parted = traced("sac", side("Agent.train"), verdict="diverged")
    alike = traced("td3", side("Agent.train"))
    assert only(parted, alike).state == DIVERGED
    assert only(parted, alike).diverged == ("sac",)
    elsewhere = traced("sac", side("Agent.other"), verdict="diverged")
    assert only(elsewhere, alike).state == BOTH_WAYS


def held(line=115):
    """A training whose condition always held."""
    return side("Agent.train", branches=[(line, True, False, "x > 0")])


def failed(line=115):
    """A training whose condition never held."""
    return side("Agent.train", branches=[(line, False, True, "x > 0")])


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (held(), "`x > 0` was never false"),
        (failed(), "`x > 0` was never true"),
        (side("Agent.train", activity=[(115, "where", ["true"])]), "where: never false"),
        (
            side("Agent.train", activity=[(115, "clamp", ["inside"])]),
            "clamp: never below and never above",
        ),
    ],
)
def test_what_went_one_way_only_is_said(trace, said):
    """A branch, a mask and a clamp are named with what never happened."""
    found = only(traced("sac", trace))
    assert found.state == ONE_WAY
    assert [(way.line, way.said) for way in found.one_way] == [(115, said)]


def test_two_trainings_go_both_ways_together():
    """One takes the one way, another one the other, in either order."""
    for one, other in ((held(), failed()), (failed(), held())):
        assert only(traced("sac", one), traced("td3", other)).state == BOTH_WAYS
    assert only(traced("sac", held()), traced("td3", held())).state == ONE_WAY
    two_places = only(traced("sac", held(115)), traced("td3", failed(116)))
    assert [way.line for way in two_places.one_way] == [115, 116]


def test_what_operations_did_is_united_over_the_trainings():
    """A clamp that binds below in one training and above in another one binds both ways."""
    below = side("Agent.train", activity=[(115, "clamp", ["below"])])
    above = side("Agent.train", activity=[(115, "clamp", ["above", "inside"])])
    assert only(traced("sac", below), traced("td3", above)).state == BOTH_WAYS
    (way,) = only(traced("sac", below)).one_way
    assert way.said == "clamp: never inside and never above"


@pytest.mark.parametrize(("line", "state"), [(109, BOTH_WAYS), (110, ONE_WAY), (120, ONE_WAY),
                                             (121, BOTH_WAYS)])  # fmt: skip
def test_only_branches_within_the_function_count(line, state):
    """Its first and its last line belong to it."""
    assert only(traced("sac", held(line))).state == state


def test_branches_are_those_of_side_b():
    """What side A left open in code that has changed is not the question."""
    assert only(traced("sac", side("Agent.train"), a=held())).state == BOTH_WAYS


def test_a_removed_function_is_looked_up_on_side_a():
    """Side B does not have it; its branches are those of side A, at side A's lines."""
    gone = function(how=REMOVED)
    found = only(traced("sac", side("Agent.other"), a=held(15)), of=gone)
    assert (found.state, found.trainings) == (ONE_WAY, ("sac",))
    assert only(traced("sac", held(), a=side("Agent.other")), of=gone).state == UNREACHED


def test_an_added_function_is_looked_up_on_side_b():
    """That side A does not enter it says nothing."""
    new = function(how=ADDED)
    assert only(traced("sac", held(), a=side("Agent.other")), of=new).state == ONE_WAY


@pytest.mark.parametrize("name", ["<module>", "<class> Agent"])
def test_what_runs_at_import_is_reached_with_its_file(name):
    """Any function of the file is enough; its branches are those of functions."""
    of = function(name, b=(1, 999))
    found = only(traced("sac", held()), traced("td3", side()), of=of)
    assert (found.state, found.trainings) == (BOTH_WAYS, ("sac",))
    assert only(traced("td3", side()), of=of).state == UNREACHED


def test_the_algorithms_are_those_that_use_the_class():
    """Another class of the file is none of theirs; a function without a class is of all."""
    trainings = traced("sac gsde", side("Agent.step")), traced("td3", side("Other.train"))
    assert only(*trainings).algorithms == ("sac",)
    assert only(*trainings, of=function("train")).algorithms == ("sac", "td3")


def test_what_a_reader_wants_first_comes_first():
    """Functions that nothing reached, then probed ones, then those that parted, and so on."""
    every = [function(name) for name in ("f", "g", "h", "i", "j")]
    trainings = [
        traced("sac", side("f")),
        traced("td3", side("g", branches=[(115, True, False, "x")]), verdict="diverged"),
        traced("ppo", side("j", branches=[(115, True, False, "x")])),
    ]
    found = reach(every, trainings, {(FILE, "i"): ["x"]}, [])
    assert [(each.function.name, each.state) for each in found] == [
        ("h", UNREACHED), ("i", PROBED), ("g", DIVERGED), ("f", ONE_WAY), ("j", ONE_WAY)
    ]  # fmt: skip


def test_functions_that_train_nothing_are_told_apart():
    """By the patterns of the adapter, of file and name."""
    one, other = function("Agent.train"), function("Agent.save")
    within, beside = coverage.of_the_algorithms([one, other], ["package/*.py *.save"])
    assert (within, beside) == ([one], [other])
    assert coverage.of_the_algorithms([one, other], []) == ([one, other], [])


CODE = """
class Agent:
    def __init__(self, fast):
        self.fast = fast

    def train(self, x):
        if self.fast and x > 0:
            if x > 9:
                return self.scaled(x)
        else:
            return self.shifted(x)
        return self.scaled(x)

    def scaled(self, x):
        return self.scaled(x - 1)

    def shifted(self, x):
        return x

    def idle(self):
        return 1

    def alone(self):
        return self.alone()


def made():
    return Agent(True)


TABLE = made()
"""


@pytest.fixture
def package(tmp_path):
    """A folder with a package of one module."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "agent.py").write_text(CODE)
    return str(folder)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "Agent.scaled",
            [
                "called by Agent.train (package/agent.py) if `self.fast and x > 0` and `x > 9`",
                "called by Agent.train (package/agent.py)",
            ],
        ),
        (
            "Agent.shifted",
            ["called by Agent.train (package/agent.py) if not `self.fast and x > 0`"],
        ),
        ("Agent.__init__", ["called by made (package/agent.py)"]),
        ("made", ["called by the module (package/agent.py)"]),
        ("Agent.idle", []),
        ("Agent.alone", []),
        ("Agent.__len__", []),
        ("<class> Agent", []),
    ],
)
def test_what_calls_a_function_is_said_with_its_conditions(package, name, said):
    """A class is called by its name; a function that calls itself does not reach itself."""
    assert callers(function(name), [package]) == said


def test_callers_are_named_of_functions_that_nothing_enters(package):
    """What a training enters needs no hint, and what is gone has no callers on side B."""
    of = function("Agent.shifted")
    hint = "called by Agent.train (package/agent.py) if not `self.fast and x > 0`"
    for trainings, hints in (((), (hint,)), ((traced("sac", side("Agent.shifted")),), ())):
        (found,) = reach([of], trainings, {}, [package])
        assert found.hints == hints
    (gone,) = reach([function("Agent.shifted", REMOVED)], [], {}, [package])
    assert gone.hints == ()
