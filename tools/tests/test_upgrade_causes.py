"""Which changed functions move a training: where it parts, and what putting them back does."""

from __future__ import annotations

import pytest

from rlregress.tracing.compare import Comparison, Divergence, compare
from rlregress.tracing.trace import Event, Part, Place, Trace, failed
from rlregress.upgrade import causes
from rlregress.upgrade.causes import Cause, Trial
from rlregress.upgrade.functions import ADDED, CHANGED, REMOVED, Changed, Function
from rlregress.upgrade.traced import Traced, Training

FILE = "package/agent.py"


def function(name, first=10, last=20, how=CHANGED, file=FILE, path=None):
    """A function that differs; on side B it stands a hundred lines below."""
    one = None if how == ADDED else Function(name, first, last, "a")
    other = None if how == REMOVED else Function(name, first + 100, last + 100, "b")
    return Changed(file, name, how, one, other, (path, path))


TRAIN, LOSS, STEP = function("train"), function("loss", 30, 40), function("step", 50, 60)


def event(line, *callers, file=FILE, value=1.0):
    """An event at a line, called from others."""
    above = tuple(Place(FILE, each, "f") for each in callers)
    parts = {"loss": Part(str(value), value, (value,))}
    return Event(0, "backward", "loss", file, line, "f", parts, above)


def trace(value, *entered, count=1):
    """A trace of so many losses, the last of which has a value."""
    values = [1.0] * (count - 1) + [value]
    events = tuple(event(1, value=each) for each in values)
    return Trace({"failure": "", "functions": {FILE: list(entered)}}, events)


def parted(name, b_line, *callers, entered=(), count=1, a_line=0):
    """A training whose traces part at a line of side B."""
    a, b = trace(2.0, *entered, count=count), trace(4.0, *entered, count=count)
    first = Divergence("loss", "loss", event(a_line), event(b_line, *callers), ())
    return Traced(name, Comparison("diverged", 0, first), a, b, True, ())


def test_the_function_at_the_place_is_found():
    """On either side at its own lines; what did not change is none."""
    first = Divergence("loss", "loss", event(15), event(115), ())
    assert causes.at(first, [LOSS, TRAIN]) == (TRAIN,)
    only_a = Divergence("loss", "loss", event(15), None, ())
    only_b = Divergence("loss", "loss", None, event(135), ())
    assert causes.at(only_a, [LOSS, TRAIN]) == (TRAIN,)
    assert causes.at(only_b, [LOSS, TRAIN]) == (LOSS,)
    assert causes.at(Divergence("loss", "loss", event(0), event(125), ()), [LOSS, TRAIN]) == ()


@pytest.mark.parametrize("line", [110, 120])
def test_the_first_and_the_last_line_belong_to_a_function(line):
    """The line before and the one after do not."""
    first = Divergence("loss", "loss", None, event(line), ())
    outside = Divergence("loss", "loss", None, event(line + (1 if line == 120 else -1)), ())
    assert causes.at(first, [TRAIN]) == (TRAIN,)
    assert causes.at(outside, [TRAIN]) == ()


def test_callers_of_the_place_are_found_after_it():
    """The nearest first, and each once."""
    first = Divergence("loss", "loss", event(0), event(135, 155, 115, 136), ())
    assert causes.at(first, [TRAIN, STEP, LOSS]) == (LOSS, STEP, TRAIN)


def test_of_nested_functions_the_innermost_is_found():
    """Lines of an inner function are also those of the outer one."""
    outer, inner = function("train", 10, 40), function("train.inner", 20, 25)
    within = Divergence("loss", "loss", None, event(122), ())
    beside = Divergence("loss", "loss", None, event(130), ())
    assert causes.at(within, [outer, inner]) == (inner,)
    assert causes.at(beside, [outer, inner]) == (outer,)


def test_places_outside_of_the_file_are_not_matched():
    """The same line of another file, and an event that stands nowhere."""
    other = Divergence("loss", "loss", None, event(115, file="package/other.py"), ())
    nowhere = Divergence("loss", "loss", None, event(0, file=""), ())
    assert causes.at(other, [TRAIN]) == ()
    assert causes.at(nowhere, [function("f", -100, 0)]) == ()
    assert causes.at(None, [TRAIN]) == ()


def words(found):
    """Trials as "<training> <function>"."""
    return [f"{trial.training} {trial.function.name}" for trial in found]


def test_the_nearest_functions_are_tried_first():
    """Those at the place, then the others that the training enters, then other trainings."""
    sac = parted("sac", 135, entered=("train", "loss"))
    td3 = parted("td3", 155, entered=("step",), count=2)
    found = causes.trials([td3, sac], [TRAIN, LOSS, STEP])
    assert words(found) == ["sac loss", "sac train", "td3 step"]


def test_of_trainings_that_part_at_one_place_the_shortest_is_tried():
    """The other ones are spared."""
    long = parted("long", 135, entered=("loss",), count=9)
    short = parted("short", 135, entered=("loss",), count=2)
    assert words(causes.trials([long, short], [LOSS])) == ["short loss"]


def test_trainings_that_part_at_no_changed_function_are_all_tried():
    """Nothing says that they have one cause; six functions each."""
    many = [function(f"f{n}", n + 1, n + 1) for n in range(9)]
    entered = tuple(each.name for each in many)
    one, other = (parted(name, 900, entered=entered) for name in ("one", "other"))
    found = words(causes.trials([one, other], many))
    assert found[:12] == [f"{name} f{n}" for name in ("one", "other") for n in range(6)]
    # and the rest of the functions once
    assert found[12:] == ["one f6", "one f7", "one f8"]


def test_every_function_that_a_parted_training_enters_has_its_turn():
    """Also one that only a training enters whose place was tried in another one."""
    short = parted("short", 135, entered=("loss",))
    long = parted("long", 135, entered=("loss", "train"), count=2)
    assert words(causes.trials([short, long], [TRAIN, LOSS, STEP])) == ["short loss", "long train"]


def test_only_what_can_be_put_back_is_tried():
    """What one side lacks, and what runs at import, cannot be."""
    names = [
        function("new", how=ADDED), function("gone", how=REMOVED), function("<module>"),
        function("<class> Agent"),
    ]  # fmt: skip
    one = parted("sac", 115, entered=("new", "gone", "<module>", "<class> Agent"))
    assert causes.trials([one], names) == []


def test_recordings_are_limited():
    """However much has changed."""
    many = [function(f"f{n}", n + 1, n + 1) for n in range(200)]
    found = causes.trials([parted("sac", 900, entered=tuple(f.name for f in many))], many)
    assert len(found) == 60
    assert len(set(found)) == 60


def test_what_is_put_back_is_side_as_code(tmp_path):
    """The job is that of the training, with the text of side A's file."""
    for label in "ab":
        (tmp_path / label).write_text(f"# {label}\n")
    of = Changed(FILE, "train", CHANGED, TRAIN.a, TRAIN.b, (tmp_path / "a", tmp_path / "b"))
    made = causes.job(Training("sb3", "sac", {"seed": 3}), Trial(of, "sac"), 7)
    assert (made.owner, made.name) == ("sb3", "sac trial 7")
    assert made.job == {
        "seed": 3,
        "swap": {"file": FILE, "function": "train", "text": "# a\n"},
    }


def cause(tried, place=115, functions=(TRAIN, LOSS, STEP)):
    """What makes a training part (2 on side A, 4 on side B), by what came of the trials."""
    found = {Trial(of, "sac"): came for of, came in tried.items()}
    one = parted("sac", place)
    assert compare(one.a, one.b).verdict == "diverged"
    return causes.causes([one], found, functions)["sac"]


def test_a_function_that_brings_side_a_back_is_the_only_one():
    """Its trace is that of side A."""
    assert cause({TRAIN: trace(2.0)}) == Cause((TRAIN,), alone=TRAIN)


def test_a_function_that_moves_the_training_elsewhere_is_one_of_several():
    """Its trace is that of neither side."""
    assert cause({TRAIN: trace(3.0)}) == Cause((TRAIN,), moving=(TRAIN,))


def test_a_function_that_leaves_side_b_as_it_is_does_nothing():
    """Also if the traces part in it: it is not named."""
    found = cause({TRAIN: trace(4.0), LOSS: trace(3.0)})
    assert found == Cause((TRAIN,), moving=(LOSS,), still=(TRAIN,))
    assert found.functions == (LOSS,)


def test_a_function_that_cannot_be_put_back_is_named_for_its_place():
    """It is not shown to do nothing, and what hindered it is kept."""
    found = cause({TRAIN: failed("Traceback\nMisfit: train refers to other variables")})
    assert found.failed == ((TRAIN, "Misfit: train refers to other variables"),)
    assert (found.alone, found.moving, found.still) == (None, (), ())
    assert found.functions == (TRAIN,)


def test_the_surest_function_is_named_first():
    """The only one, then those that move the training, then those of the place."""
    found = cause({LOSS: trace(3.0), STEP: trace(2.0)})
    assert found.functions == (STEP, LOSS, TRAIN)


def test_trials_of_other_trainings_do_not_count():
    """Each training has its own causes."""
    found = causes.causes(
        [parted("sac", 115), parted("td3", 155)], {Trial(STEP, "td3"): trace(2.0)}, [TRAIN, STEP]
    )
    assert found == {"sac": Cause((TRAIN,)), "td3": Cause((STEP,), alone=STEP)}
