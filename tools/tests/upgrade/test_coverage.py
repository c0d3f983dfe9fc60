"""How the trainings went through the functions that differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.model.code import ADDED, CODE_CHANGED, REMOVED, WORDING, ChangedPiece, Function
from rlregress.model.differences import (
    DIFFERS,
    FUNCTION,
    IN_PART,
    NEVER,
    NEW_FAILS,
    NOT_COMPARED,
    ONE_WAY,
    OUTSIDE,
    SAME,
    Entry,
)
from rlregress.model.recorded_traces import Trace
from rlregress.model.upgrade_result import Culprits
from rlregress.upgrade.differences import changed_functions, outside_training
from rlregress.upgrade.differences.inventory import Inventory, OtherFile
from rlregress.upgrade.evidence.coverage import measure_execution_of_pieces
from rlregress.upgrade.verdict import entries
from tools.tests.small_files import write_versions
from tools.tests.upgrade import small_traces

FILE = "package/agent.py"


def function(name="Agent.train", how=CODE_CHANGED, old=(10, 20), new=(110, 120)):
    """A function that differs, with its lines on either version."""
    before, after = (
        Function(name=name, first=first, last=last, code=code)
        for (first, last), code in ((old, "old"), (new, "new"))
    )
    before, after = None if how == ADDED else before, None if how == REMOVED else after
    return ChangedPiece(file=FILE, name=name, how=how, old=before, new=after, paths=(None, None))


def version_trace(*executed, branches=(), activity=()):
    """A trace of one version: functions, [line, held, failed, text], [line, operation, seen]."""
    header = {
        "failure": "",
        "functions": {FILE: list(executed)} if executed else {},
        "branches": {FILE: [list(row) for row in branches]},
        "lines": {FILE: [[*range(10, 21), *range(110, 121)]] * 2},
        "activity": [
            [FILE, line, "train", name, list(outcomes)] for line, name, outcomes in activity
        ],
    }
    return Trace(header=header, events=())


def traced(name, new, old=None, verdict="equal"):
    """A training; the old version did as the new version where nothing else is said."""
    return small_traces.traced(name, old or new, new, verdict)


def reached(functions, trainings, probed=None, folders=()):
    """How trainings went through functions."""
    ran = {t.name: t.old for t in trainings}, {t.name: t.new for t in trainings}
    return measure_execution_of_pieces(functions, ran, probed or {}, folders)


def only(*trainings, piece=None, probed=()):
    """How they went through one function."""
    piece = piece or function()
    (execution,) = reached([piece], trainings, {piece.key: probed} if probed else {})
    return execution


def state(*trainings, piece=None, probed=(), patterns=()):
    """The state of the entry of one function."""
    execution = only(*trainings, piece=piece, probed=probed)
    checks = entries.map_checks_to_states(entries.make_training_entries(trainings, (), ()), {})
    (entry,) = entries.make_code_entries([execution], checks, (), patterns)
    return entry.state


def test_what_executes_a_function_is_named():
    """Probes prove nothing: the numbers that they observe need not depend on it.

    A training without open branches has gone both ways; algorithms are those of the class.
    """
    training = traced("sac", version_trace("Agent.other"))
    assert state(training) == NEVER
    assert only(training, probed=("x [library]",)).details == ("x [library]",)
    assert state(training, probed=("x [library]",)) == NOT_COMPARED
    executed = {"sac": "Agent.train", "td3": "Agent.other", "sac gsde": "Agent.train"}
    trainings = [traced(name, version_trace(function)) for name, function in executed.items()]
    execution = only(*trainings, probed=("x [library]",))
    assert state(*trainings, probed=("x [library]",)) == SAME
    assert execution.trainings == ("sac", "sac gsde")
    assert execution.algorithms == ("sac", "td3")
    executed = {"sac gsde": "Agent.step", "td3": "Other.train"}
    trainings = [traced(name, version_trace(function)) for name, function in executed.items()]
    assert only(*trainings).algorithms == ("sac",)
    assert only(*trainings, piece=function("train")).algorithms == ("sac", "td3")


def always_true(line=115):
    """A training whose condition always held."""
    return version_trace("Agent.train", branches=[(line, True, False, "x > 0")])


def never_true(line=115):
    """A training whose condition never held."""
    return version_trace("Agent.train", branches=[(line, False, True, "x > 0")])


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (always_true(), "`x > 0` was never false"),
        (never_true(), "`x > 0` was never true"),
        (version_trace("Agent.train", activity=[(115, "where", ["true"])]), "where: never false"),
        (
            version_trace("Agent.train", activity=[(115, "clamp", ["inside"])]),
            "clamp: never below and never above",
        ),
    ],
)
def test_what_went_one_way_only_is_said(trace, message):
    """A branch, a mask and a clamp are named with what never happened."""
    execution = only(traced("sac", trace))
    assert state(traced("sac", trace)) == ONE_WAY
    assert [(way.line, way.summary) for way in execution.one_way] == [(115, message)]


def test_two_trainings_go_both_ways_together():
    """In either order; so does a clamp that binds below in one and above in another."""
    for first, second in ((always_true(), never_true()), (never_true(), always_true())):
        assert state(traced("sac", first), traced("td3", second)) == SAME
    assert state(traced("sac", always_true()), traced("td3", always_true())) == ONE_WAY
    two_places = only(traced("sac", always_true(115)), traced("td3", never_true(116)))
    assert [way.line for way in two_places.one_way] == [115, 116]
    below = version_trace("Agent.train", activity=[(115, "clamp", ["below"])])
    above = version_trace("Agent.train", activity=[(115, "clamp", ["above", "inside"])])
    assert state(traced("sac", below), traced("td3", above)) == SAME
    (way,) = only(traced("sac", below)).one_way
    assert way.summary == "clamp: never inside and never above"


@pytest.mark.parametrize(("line", "expected"), [(109, SAME), (110, ONE_WAY), (120, ONE_WAY),
                                             (121, SAME)])  # fmt: skip
def test_only_branches_within_the_function_count(line, expected):
    """Its first and its last line belong to it."""
    assert state(traced("sac", always_true(line))) == expected


@pytest.mark.parametrize(
    ("how", "old", "new", "expected"),
    [
        # what the old version left open in code that has changed is not the question
        (CODE_CHANGED, always_true(), version_trace("Agent.train"), SAME),
        (REMOVED, always_true(15), version_trace("Agent.other"), ONE_WAY),
        (REMOVED, version_trace("Agent.other"), always_true(), NEVER),
        (ADDED, version_trace("Agent.other"), always_true(), ONE_WAY),
    ],
)
def test_branches_are_those_of_the_version_that_has_the_function(how, old, new, expected):
    """Those of the new version, and of the old one, at its lines, where the function is removed."""
    assert state(traced("sac", new, old=old), piece=function(how=how)) == expected


@pytest.mark.parametrize("name", ["<module>", "<class> Agent"])
def test_what_runs_at_import_is_reached_with_its_file(name):
    """Any function of the file is enough; its branches are those of functions."""
    piece = function(name, new=(1, 999))
    both = traced("sac", always_true()), traced("td3", version_trace())
    assert (state(*both, piece=piece), only(*both, piece=piece).trainings) == (SAME, ("sac",))
    assert state(traced("td3", version_trace()), piece=piece) == NEVER


def imported(*files):
    """A trace that imports files and executes no function of them."""
    return Trace(header={"failure": "", "imported": list(files)}, events=())


def test_what_runs_at_import_is_executed_by_an_import():
    """Branches of it are not measured; lines of a function that never ran are named."""
    plain = traced("sac", imported(FILE))
    assert state(plain, piece=function("<module>")) == SAME
    own = Function(name="<module>", first=1, last=1, code="If(test=")
    assert state(plain, piece=replace(function("<module>"), old=own, new=own)) == ONE_WAY
    assert state(traced("sac", imported("package/other.py")), piece=function("<module>")) == NEVER
    trace = version_trace("Agent.train")
    trace.header["lines"] = {FILE: [[111, 112], [111, 112, 113, 114, 130]]}
    (way,) = only(traced("sac", trace)).one_way
    assert (way.line, way.summary) == (113, "lines 113-114 never ran")


@pytest.mark.parametrize("code", ["IfExp(test", "BoolOp(op", "Try(body", "comprehension(target"])
def test_conditions_that_are_not_measured_are_never_all_branches(code):
    """Expressions, error handlers and comprehensions have branches that no line tells."""
    own = Function(name="Agent.train", first=110, last=120, code=code)
    piece = replace(function(), new=own)
    assert state(traced("sac", version_trace("Agent.train")), piece=piece) == ONE_WAY


def package_of(folder, old, new):
    """The pieces that differ between two versions of a package of one module, and its folder."""
    folders = write_versions(folder, {"agent.py": old}, {"agent.py": new})
    return changed_functions.find_changed_pieces(*folders), folders[1]


def states_of(folder, old, new, ran, hit, lines, **header):
    """State and reason of each entry, where one equal training ran a function, and hit lines."""
    pieces, folders = package_of(folder, old, new)
    header |= {"failure": "", "functions": {FILE: [ran]}, "lines": {FILE: [hit, lines]}}
    compared = traced("sac", Trace(header=header, events=()))
    checks = entries.map_checks_to_states(entries.make_training_entries([compared], (), ()), {})
    executions = reached(pieces, [compared], folders=folders)
    return {e.name.partition(" ")[2]: (e.state, e.reason)
            for e in entries.make_code_entries(executions, checks, (), ())}  # fmt: skip


TRAIN = (
    "class Agent:\n  def train(self):\n    if self:\n      pass\n      self.x = {}\n    return {}\n"
)


@pytest.mark.parametrize(
    ("new", "hit", "expected"),
    [
        ((2, 0), [3, 4, 5, 6], SAME),
        ((2, 0), [3, 4, 5], ONE_WAY),
        ((2, 0), [3, 6], NEVER),
        ((2, 1), [3, 6], IN_PART),
        ((2, 1), [3, 4, 5, 6], SAME),
    ],
)
def test_a_function_of_which_a_changed_line_never_ran_was_executed_in_part_at_most(
    tmp_path, new, hit, expected
):
    """In part where another change of it ran; that the function itself ran is not enough."""
    versions = TRAIN.format(1, 0), TRAIN.format(*new)
    states = states_of(tmp_path, *versions, "Agent.train", hit, [3, 4, 5, 6])
    assert states["Agent.train"][0] == expected


CHECKED = "def f(x):\n  y = {}\n{}  return y\n"


@pytest.mark.parametrize(
    ("old", "new", "hit", "expected"),
    [
        ("", "  if y < 0:\n    raise ValueError(y)\n", [2, 3, 5], ONE_WAY),
        ("", "  if y < 0:\n    text = str(y)\n    raise ValueError(text)\n", [2, 3, 6], ONE_WAY),
        ("", "  try:\n    y()\n  except KeyError as e:\n    raise ValueError from e\n",
         [2, 3, 4, 7], ONE_WAY),
        ("  if y < 0:\n    raise ValueError\n", "  if y < 0:\n    raise TypeError\n",
         [2, 3, 5], ONE_WAY),
        # the old version goes on there
        ("  if y < 0:\n    y = 0\n", "  if y < 0:\n    raise ValueError\n", [2, 3, 5], IN_PART),
        ("", "  if y < 0:\n    y = 0\n", [2, 3, 5], IN_PART),
        # nothing of the change ran
        ("", "  if y < 0:\n    raise ValueError(y)\n", [5], NEVER),
    ],
)  # fmt: skip
def test_a_check_that_only_raises_is_a_branch_that_was_taken_one_way(
    tmp_path, old, new, hit, expected
):
    """An error that nothing met is no change that did not run, unless the old code does more."""
    lines = [line for line, _ in enumerate(CHECKED.format(2, new).splitlines()[1:], start=2)]
    versions = CHECKED.format(1, old), CHECKED.format(2, new)
    states = states_of(tmp_path, *versions, "f", hit, lines)
    assert states["f"][0] == expected


def test_a_module_of_which_one_name_is_used_was_executed_in_part(tmp_path):
    """The reason names the other one; the piece counts by the share of its changes that ran."""
    text = "A = {0}\nB = {0}\ndef f():\n  return A\ndef g():\n  return B\n"
    header = {"functions": {FILE: ["f"]}, "imported": [FILE], "lines": {FILE: [[4], [4, 6]]}}
    versions = text.format(1), text.format(2)
    states = states_of(tmp_path, *versions, "f", [4], [4, 6], imported=[FILE])
    assert states["<module>"] == (IN_PART, "of what changed in it, nothing that ran uses B")
    pieces, folders = package_of(tmp_path / "again", *versions)
    training = traced("sac", Trace(header={"failure": "", **header}, events=()))
    assert [piece.share for piece in reached(pieces, [training], folders=folders)] == [0.5]


def failing(piece, culprit=False):
    """The entry of a piece that a training of the new version executes before it fails."""
    execution = only(traced("sac", version_trace("Agent.train"), verdict="diverged"), piece=piece)
    checks = {"sac": (NEW_FAILS, Culprits(alone=piece) if culprit else None)}
    [entry] = entries.make_code_entries([execution], checks, (), ())
    return entry


def test_an_error_of_the_new_version_is_that_of_its_culprit_alone():
    """Other code, files and packages that ran before it are not compared, with this reason."""
    piece = function("Agent.train")
    assert failing(piece, culprit=True).state == NEW_FAILS
    beside = failing(piece)
    assert beside.state == NOT_COMPARED
    assert beside.reason == "executed only by trainings that end in an error on the new version"
    pair = Inventory(
        versions={"gymnasium": ("1", "2")}, files=(OtherFile(file="p/a.so", how="changed"),)
    )
    checks = {"sac": (NEW_FAILS, None)}
    listed_entries = [
        *entries.make_other_file_entries(pair, checks, {"sac": ["p/a.so"]}),
        *entries.make_package_entries(pair, checks, {"sac": ["gymnasium"]}),
    ]
    assert [(entry.state, entry.by) for entry in listed_entries] == [(NOT_COMPARED, ("sac",))] * 2


def test_the_only_change_below_a_detail_that_differs_differs():
    """Trainings need not show it; with two changes below the detail neither is known to differ."""
    first, second = function("Agent.train"), function("Agent.step")
    checks = {"x [library]": (DIFFERS, None), "sac": (SAME, None)}

    def list_states(pieces, trained=()):
        executions = reached(pieces, trained, {piece.key: ["x [library]"] for piece in pieces})
        listed = entries.make_code_entries(executions, checks, (), ())
        return [(entry.state, entry.by) for entry in listed]

    trained = [traced("sac", version_trace("Agent.train"))]
    assert list_states([first]) == [(DIFFERS, ("x [library]",))] == list_states([first], trained)
    assert {state_ for state_, _ in list_states([first, second])} == {NOT_COMPARED}


def test_a_part_of_which_no_line_tells_whether_it_was_evaluated_was_not_executed(tmp_path):
    """The second operand of a condition that stops at the first, for one."""
    versions = (f"def f(x):\n  return x and {number}\n" for number in (1, 2))
    state, reason = states_of(tmp_path, *versions, "f", [2], [2])["f"]
    assert state == NEVER
    assert reason == "it ran; whether the part that changed was evaluated is not measured"


MODULE_OF = "SHARE = {}\nHALF = SHARE / 2\ndef f():\n  return {}\ndef g():\n  return 0\n"


@pytest.mark.parametrize(
    ("use", "ran", "expected"),
    [
        ("SHARE", "f", SAME), ("SHARE", "g", NEVER), ("HALF", "g", NEVER), ("HALF", "f", SAME),
        ("0", "g", SAME),
    ],
)  # fmt: skip
def test_a_constant_is_executed_where_what_uses_it_is(tmp_path, use, ran, expected):
    """An import of its module alone does not read its value."""
    versions = MODULE_OF.format(1.0, use), MODULE_OF.format(0.5, use)
    states = states_of(tmp_path, *versions, ran, [4, 6], [4, 6], imported=[FILE])
    assert states["<module>"][0] == expected


@pytest.mark.parametrize(
    "line",
    ["torch.manual_seed(0)", "os.environ['X'] = '1'", "torch.backends.cudnn.benchmark = True",
     "if X:\n  gc.disable()", "del os.name"],
)  # fmt: skip
@pytest.mark.parametrize("gone", [False, True])
def test_what_an_import_changes_elsewhere_is_not_called_the_same(tmp_path, line, gone):
    """All recordings begin after it, and seed anew."""
    base = "import gc, os, torch\ndef f():\n  return os, torch\n"
    old, new = (base + line + "\n", base) if gone else (base, base + line + "\n")
    state, reason = states_of(tmp_path, old, new, "f", [3], [3], imported=[FILE])["<module>"]
    assert state == NEVER
    assert reason == "imported; what it changes outside of its file is not compared"


def test_private_modules_and_functions_that_nothing_names_are_gone_without_effect(tmp_path):
    """A method counts, as a base class of another package may call it, and what Python calls."""
    old = "def _f():\n  pass\nclass A(B):\n  def _g(self):\n    pass\ndef __getattr__(n):\n  pass\n"
    pieces, folders = package_of(tmp_path, old, "class A(B):\n  pass\n")
    gone = entries.find_pieces_never_named(pieces, folders)
    assert gone == {"package/agent.py _f"}


OUTSIDE_TRAINING = (outside_training.OutsideTrainingPattern("package/*.py *.train", "text"),)


def test_little_is_outside_of_training():
    """Only unexecuted pieces are, at most a twentieth of the changed ones, each with a reason."""
    names = [f"package/agent.py f{n}" for n in range(20)]
    patterns = (outside_training.OutsideTrainingPattern("*.py f0", "text"),)
    explain = outside_training.explain_outside_training
    assert explain(names, (), patterns) == {"package/agent.py f0": "text"}
    assert explain(names, ("package/agent.py f0",), patterns) == {}
    assert explain(names[:19], (), patterns) == {}
    assert state(traced("sac", version_trace()), patterns=OUTSIDE_TRAINING) != OUTSIDE
    assert state(traced("sac", version_trace("Agent.train")), patterns=OUTSIDE_TRAINING) == SAME
    assert all(row.reason for row in outside_training.load_outside_training_patterns())


@pytest.mark.parametrize("how", [ADDED, WORDING])
def test_what_can_have_no_effect_does_not_make_others_few(how):
    """However many messages and new functions there are, a real change is not hidden by them."""
    changed = only(traced("sac", version_trace()))
    executions = [changed, *(replace(changed, function=function(f"f{n}", how)) for n in range(40))]
    listed_entries = entries.make_code_entries(executions, {}, (), OUTSIDE_TRAINING)
    assert [e.state for e in listed_entries if e.name.endswith("Agent.train")] == [NEVER]


def test_a_stray_script_belongs_to_its_distribution():
    """A script that a wheel installs beside its packages is no package of its own."""
    script = Entry(kind=FUNCTION, name="bench.py f", file="bench.py", package="bench")
    (entry,) = entries.add_distribution_names([script], {"bench.py": "torchrl"})
    assert entry.package == "torchrl"
