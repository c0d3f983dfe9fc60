"""Which changed functions move a training: where it parts, and what putting them back does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.inside.events import RAISED
from rlregress.model.code import ADDED, CHANGED, REMOVED, Changed, Function
from rlregress.model.recorded_traces import Part, Place
from rlregress.model.upgrade_result import Cause
from rlregress.tracing.trace_comparison import compare
from rlregress.tracing.trace_reader import failed
from rlregress.upgrade import culprit_search, delta_debugging
from rlregress.upgrade.compared_trainings import Training
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import FILE, divergence, loss, traced


def function(name, first=10, last=20, how=CHANGED, file=FILE, path=None):
    """A function that differs; on the new version it stands a hundred lines below."""
    old = Function(name=name, first=first, last=last, code="old")
    new = Function(name=name, first=first + 100, last=last + 100, code="new")
    old, new = None if how == ADDED else old, None if how == REMOVED else new
    return Changed(file=file, name=name, how=how, old=old, new=new, paths=(path, path))


TRAIN, LOSS, STEP = function("train"), function("loss", 30, 40), function("step", 50, 60)


def trace(value, *executed, count=1):
    """A trace of so many losses, the last of which has a value."""
    values = [1.0] * (count - 1) + [value]
    return small_traces.trace(*(loss(value=v) for v in values), functions={FILE: list(executed)})


def parted(name, b_line, *callers, executed=(), count=1, a_line=0):
    """A training whose traces part at a line of the new version."""
    old, new = trace(2.0, *executed, count=count), trace(4.0, *executed, count=count)
    return traced(name, old, new, first=divergence(loss(a_line), loss(b_line, *callers)))


def test_the_function_at_the_place_is_found():
    """On either side at its own lines; what did not change is none."""
    first = divergence(loss(15), loss(115))
    assert delta_debugging.find_functions_at(first, [LOSS, TRAIN]) == (TRAIN,)
    only_old = divergence(loss(15), None)
    only_new = divergence(None, loss(135))
    assert delta_debugging.find_functions_at(only_old, [LOSS, TRAIN]) == (TRAIN,)
    assert delta_debugging.find_functions_at(only_new, [LOSS, TRAIN]) == (LOSS,)
    assert delta_debugging.find_functions_at(divergence(loss(0), loss(125)), [LOSS, TRAIN]) == ()


def coded(name, code, how=CHANGED, file=FILE, path=None):
    """A function that differs, with what it does on the new version."""
    new = Function(name=name, first=1, last=2, code=code)
    old = replace(new, code="") if how == CHANGED else None
    return Changed(file=file, name=name, how=how, old=old, new=new, paths=(path, path))


@pytest.mark.parametrize(
    "imported",
    [
        "from package.torch.utils import mean_of", "from .torch.utils import mean_of",
        "from package.torch import utils", "from package.torch import *",
        "import package.torch.utils",
        "from package.torch import mean_of",
    ],
)  # fmt: skip
def test_functions_of_one_side_stand_with_what_calls_them(tmp_path, imported):
    """Such a function cannot be reverted: the one that calls it tells, through any others.

    Of functions of one name it is that of a module that the caller's file imports.
    """
    path = tmp_path / "agent.py"
    path.write_text(f"{imported}\nfrom package import logger\n")
    caller = coded("Agent.train", "Attribute(value=Name(id='self'), attr='_masked')", path=path)
    masked = coded("Agent._masked", "Name(id='mean_of')", ADDED, path=path)
    mean = coded("mean_of", "", ADDED, "package/torch/utils.py")
    of_jax = coded("mean_of", "", ADDED, "package/jax/utils.py")
    # nobody calls these: a method of another file, and one that Python calls
    other, silent = coded("Else._masked", "", ADDED, "package/b.py"), coded("A.__len__", "", ADDED)
    functions = [caller, of_jax, other, mean, masked, silent, TRAIN]
    assert culprit_search.add_one_sided_functions(Cause(alone=caller), functions).new == (
        masked,
        mean,
    )
    assert culprit_search.add_one_sided_functions(Cause(alone=TRAIN), functions).new == ()
    assert (
        culprit_search.add_one_sided_functions(
            Cause(place=(caller,), still=(caller,)), functions
        ).new
        == ()
    )


def words(text):
    """A part that is words."""
    return Part(digest=text, norm=None, values=(), text=text)


def answers(*raised, **values):
    """A trace of what a training shows itself; words are errors, raised in lines of the file."""
    above = tuple(Place(file=FILE, line=line, function="train") for line in raised)
    events = []
    for n, (name, value) in enumerate(values.items()):
        error = value if isinstance(value, str) else ""
        part = replace(words(str(value)), types=RAISED if error else "float")
        events.append(replace(
            loss(0, file="", function=""), index=n, kind="output", name=f"part.{name}",
            parts={"value": part}, callers=above, error=error,
        ))  # fmt: skip
    return small_traces.trace(*events, functions={FILE: ["train"]})


def test_what_is_refused_with_a_function_put_back_says_nothing_of_it():
    """It fails where neither side does; what one side refuses, too, is an answer as any other."""
    one = traced("x", answers(loss=1.0), answers(loss=2.0))
    came = delta_debugging._judge_trial(one, (TRAIN,), answers(loss="refused: TypeError"))
    why = "part.loss is refused: TypeError, as on neither version"
    assert (came.outcome, came.why) == ("failed", why)
    refusing = replace(one, old=answers(loss="refused: TypeError"))
    assert (
        delta_debugging._judge_trial(refusing, (TRAIN,), answers(loss="refused: TypeError")).outcome
        == "as old"
    )


def test_what_one_side_alone_refuses_is_placed_where_it_is_raised():
    """In the nearest function that differs, by the lines of that side; not what both refuse."""
    fine, error = {"loss": 1.0}, {"loss": "refused: TypeError"}

    def place(old, new):
        return delta_debugging._find_place(traced("x", old, new), [STEP, TRAIN])

    assert place(answers(**fine), answers(5, 115, 155, **error)) == (TRAIN,)
    assert place(answers(5, 15, 55, **error), answers(**fine)) == (TRAIN,)
    assert place(answers(15, **error), answers(115, **error)) == ()
    assert place(answers(15, **fine), answers(115, **fine)) == ()


@pytest.mark.parametrize("line", [110, 120])
def test_the_first_and_the_last_line_belong_to_a_function(line):
    """The line before and the one after do not."""
    first = divergence(None, loss(line))
    outside = divergence(None, loss(line + (1 if line == 120 else -1)))
    assert delta_debugging.find_functions_at(first, [TRAIN]) == (TRAIN,)
    assert delta_debugging.find_functions_at(outside, [TRAIN]) == ()


def test_callers_of_the_place_are_found_after_it():
    """The nearest first, and each once."""
    first = divergence(loss(0), loss(135, 155, 115, 136))
    assert delta_debugging.find_functions_at(first, [TRAIN, STEP, LOSS]) == (LOSS, STEP, TRAIN)


def test_of_nested_functions_the_innermost_is_found():
    """Lines of an inner function are also those of the outer one."""
    outer, inner = function("train", 10, 40), function("train.inner", 20, 25)
    within = divergence(None, loss(122))
    beside = divergence(None, loss(130))
    assert delta_debugging.find_functions_at(within, [outer, inner]) == (inner,)
    assert delta_debugging.find_functions_at(beside, [outer, inner]) == (outer,)


def test_places_outside_of_the_file_are_not_matched():
    """The same line of another file, and an event that stands nowhere."""
    other = divergence(None, loss(115, file="package/other.py"))
    nowhere = divergence(None, loss(0, file=""))
    assert delta_debugging.find_functions_at(other, [TRAIN]) == ()
    assert delta_debugging.find_functions_at(nowhere, [function("f", -100, 0)]) == ()
    assert delta_debugging.find_functions_at(None, [TRAIN]) == ()


class Recorder:
    """Records a training with functions reverted: its value by what is reverted, and what fails.

    Args:
        effects: names of functions that act -> how much the old version's code of them adds to the
            new version's 4.
        together: names that act only when all of them are reverted, by -2.
        failing: a set of names that cannot be reverted without one another.
        needing: names that cannot be reverted without another one, which can.
        misfits: names that cannot be reverted at all.
    """

    def __init__(self, effects=(), together=(), failing=(), misfits=(), needing=()):
        self._effects, self._together = dict(effects), set(together)
        self._failing, self._misfits = set(failing), set(misfits)
        self._needing = dict(needing)
        self.groups = []

    def __call__(self, jobs):
        return {job.name: self._one(job) for job in jobs}

    def _one(self, job):
        names = {name for change in job.job["swap"] for name in change["functions"]}
        self.groups.append((job.name.partition(" trial ")[0], sorted(names)))
        misfits = [[FILE, name, "other variables"] for name in sorted(names & self._misfits)]
        names -= self._misfits
        lacking = any(self._needing[name] not in names for name in names & set(self._needing))
        if lacking or (names & self._failing and not self._failing <= names):
            return failed("Traceback\nAttributeError: no such thing")
        value = 4.0 + sum(self._effects.get(name, 0.0) for name in names)
        value -= 2.0 if self._together and self._together <= names else 0.0
        return small_traces.trace(*trace(value).events, functions={FILE: []}, misfits=misfits)


NAMES = tuple(f"f{n}" for n in range(16))
NEAR, FAR = NAMES[:8], NAMES[8:]


@pytest.fixture
def functions(tmp_path):
    """Sixteen functions that differ, and the file of the old version."""
    path = tmp_path / "agent.py"
    path.write_text("# a\n")
    return [function(name, 10 * n + 1, 10 * n + 5, path=path) for n, name in enumerate(NAMES)]


def looked(recorder, functions, *parted_, limit=culprit_search.LIMIT):
    """What makes trainings part, by name."""
    trainings = {one.name: Training("sb3", one.name, {"seed": 3}) for one in parted_}
    return culprit_search.find_causes(parted_, trainings, functions, recorder, limit)


def sac(executed=NAMES, line=900):
    """A training that parts at no changed function: 2 on the old version, 4 on the new version."""
    one = parted("sac", line, executed=executed)
    assert compare(one.old, one.new).verdict == "diverged"
    return one


def names(functions):
    """Their names, in order."""
    return [changed_function.name for changed_function in functions]


def test_a_function_that_brings_the_old_version_back_is_the_only_one(functions):
    """The nearest are reverted one by one, the others by halves; what is not needed is left."""
    recorder = Recorder({"f5": -2.0})
    assert looked(recorder, functions, sac())["sac"].alone == functions[5]
    tried = [group for _, group in recorder.groups]
    assert tried == [*([name] for name in NEAR), sorted(FAR)]
    recorder = Recorder({"f13": -2.0})
    found = looked(recorder, functions, sac())["sac"]
    assert (found.alone, found.moving) == (functions[13], ())
    assert set(names(found.still)) <= set(NEAR)
    assert [group for _, group in recorder.groups][9:] == [
        ["f10", "f11", "f8", "f9"], ["f12", "f13", "f14", "f15"],
        ["f12", "f13"], ["f14", "f15"], ["f12"], ["f13"],
    ]  # fmt: skip


def test_functions_that_move_it_elsewhere_are_several(functions):
    """Each changes the training by itself, and neither brings the old version back."""
    found = looked(Recorder({"f1": -1.0, "f14": -1.0}), functions, sac())["sac"]
    assert (found.alone, names(found.moving)) == (None, ["f1", "f14"])
    assert names(found.functions) == ["f1", "f14"]


def test_where_nothing_moves_it_all_are_still(functions):
    """What makes it part cannot be reverted: all of them together do nothing, either."""
    recorder = Recorder()
    found = looked(recorder, functions, sac())["sac"]
    assert names(found.still) == list(NAMES)
    assert found.functions == ()
    assert [group for _, group in recorder.groups][-1] == sorted(NAMES)


def test_functions_that_act_only_together_are_named_together(functions):
    """No half of them does anything."""
    for pair in (("f3", "f4"), ("f3", "f12"), ("f9", "f12")):
        found = looked(Recorder(together=set(pair)), functions, sac())["sac"]
        assert set(names(found.together)) >= set(pair)
        assert (found.alone, found.moving) == (None, ())
        assert set(names(found.still)).isdisjoint(pair)


def test_a_function_of_the_place_that_does_nothing_is_not_named(functions):
    """The traces part in it, and it is another that moves them."""
    one = parted("sac", 132, executed=NAMES)
    found = looked(Recorder({"f7": -1.0}), functions, one)["sac"]
    assert names(found.place) == ["f3"]
    assert names(found.functions) == ["f7"]


def test_the_functions_of_the_place_come_first(functions):
    """Then those of its file, of its folder, of its package, and of others."""
    files = ["other/x.py", "package/deep/x.py", "package/x.py", FILE]
    far = [
        replace(of, file=file, name=f"g{n}")
        for n, (file, of) in enumerate(zip(files, functions, strict=False))
    ]
    one = parted("sac", 172, executed=NAMES)
    others = {file: [each.name] for file, each in zip(files, far, strict=True)}
    header = {**one.new.header, "functions": {**others, FILE: ["g3", "f15"]}}
    place = divergence(None, loss(252))
    one = traced("sac", one.old, replace(one.new, header=header), first=place)
    recorder = Recorder()
    looked(recorder, [*far, functions[15]], one)
    tried = [name for _, (name, *more) in recorder.groups if not more]
    assert tried[0] == "f15"
    assert [name for name in tried if name in ("g0", "g1", "g2", "g3")] == ["g3", "g1", "g2", "g0"]


def test_what_fails_is_split_until_it_is_alone(functions):
    """Functions that need one another are no reason not to look at the others."""
    recorder = Recorder({"f9": -2.0}, failing={"f12", "f15"})
    found = looked(recorder, functions, sac())["sac"]
    assert found.alone == functions[9]
    alone = looked(Recorder({"f10": -1.0}, failing={"f8", "gone"}), functions, sac())["sac"]
    assert names(alone.moving) == ["f10"]
    assert [(each.name, why) for each, why in alone.failed] == [
        ("f8", "AttributeError: no such thing")
    ]


def test_what_does_not_fit_is_left_out_with_its_reason(functions):
    """The others of its group are looked at."""
    found = looked(Recorder({"f2": -2.0}, misfits={"f2", "f3"}), functions, sac())["sac"]
    assert [(each.name, why) for each, why in found.failed] == [
        ("f2", "other variables"),
        ("f3", "other variables"),
    ]
    assert names(found.still) == [name for name in NAMES if name not in ("f2", "f3")]


def test_a_function_of_the_place_that_cannot_be_put_back_is_named(functions):
    """It is not shown to do nothing."""
    one = parted("sac", 122, executed=NAMES)
    found = looked(Recorder(misfits={"f2"}), functions, one)["sac"]
    assert names(found.functions) == ["f2"]


def test_only_what_can_be_put_back_is_tried():
    """What one side lacks, and what runs at import, cannot be."""
    kinds = [
        function("new", how=ADDED), function("gone", how=REMOVED), function("<module>"),
        function("<class> Agent"),
    ]  # fmt: skip
    recorder = Recorder()
    one = sac(executed=("new", "gone", "<module>", "<class> Agent"))
    assert looked(recorder, kinds, one) == {"sac": Cause()}
    assert recorder.groups == []


def test_only_what_a_training_enters_is_tried(functions):
    """On either side."""
    recorder = Recorder({"f1": -2.0})
    looked(recorder, functions, sac(executed=("f1", "f2")))
    assert recorder.groups == [("sac", ["f1"]), ("sac", ["f2"])]


def test_later_trainings_begin_with_what_moves_earlier_ones(functions):
    """Trainings part at no changed function: the one after the first wave needs one recording."""
    several = [
        parted(f"t{n}", 900, executed=NAMES, count=n + 1) for n in range(culprit_search.WAVE + 1)
    ]
    recorder = Counting({"f5": -2.0}, several)
    found = looked(recorder, functions, *several)
    assert {cause.alone for cause in found.values()} == {functions[5]}
    last = f"t{culprit_search.WAVE}"
    assert [group for name, group in recorder.groups if name == last] == [["f5"]]


def test_a_later_training_that_parts_where_an_earlier_one_does_begins_there(functions):
    """One recording shows that it is the same."""
    several = [
        parted(f"t{n}", 152 if n in (0, culprit_search.WAVE) else 900, executed=NAMES, count=n + 1)
        for n in range(culprit_search.WAVE + 1)
    ]
    recorder = Counting({"f5": -2.0}, several)
    found = looked(recorder, functions, *several)
    assert names(found[f"t{culprit_search.WAVE}"].functions) == ["f5"]
    assert [group for name, group in recorder.groups if name == f"t{culprit_search.WAVE}"] == [
        ["f5"]
    ]


def known(**found):
    """What earlier searches found."""
    return delta_debugging.EarlierCauses.collect([Cause(**found)])


def turns(looking, recorder):
    """What a search asks for, to its end, and its cause."""
    requested, groups = next(looking), []
    while True:
        groups += [names(group) for group in requested]
        jobs = {
            group: delta_debugging.make_trial(Training("sb3", "sac", {}), group, n)
            for n, group in enumerate(requested)
        }
        traces = recorder(jobs.values())
        try:
            requested = looking.send({group: traces[job.name] for group, job in jobs.items()})
        except StopIteration as ended:
            return groups, ended.value


def test_what_fails_or_does_nothing_elsewhere_costs_a_later_search_little(functions):
    """One recording for all that does nothing, and none for what fails, but where it parts."""
    near, failing, still = functions[3], functions[4:6], functions[6:12]
    why = tuple((function, "KeyError: 'seed'") for function in [near, *failing])
    earlier = known(failed=why, still=tuple(still))
    one = parted("sac", 132, executed=NAMES[3:14])
    recorder = Recorder({"f13": -2.0}, failing={"f4", "gone"})
    groups, cause = turns(delta_debugging.search(one, functions, earlier), recorder)
    assert groups == [["f3"], ["f12"], ["f13"], names(still)]
    assert cause.alone == functions[13]
    assert cause.failed == why[1:], "as an earlier search says"


def test_what_does_nothing_elsewhere_is_found_where_it_acts(functions):
    """It is in a group, which is split."""
    earlier = known(still=tuple(functions[:8]))
    recorder = Recorder({"f6": -2.0})
    groups, cause = turns(delta_debugging.search(sac(NAMES[:8]), functions, earlier), recorder)
    assert cause.alone == functions[6]
    assert groups[0] == list(NAMES[:8])


def test_what_fails_in_one_training_and_does_something_in_another_is_tried(functions):
    """Then it can be reverted; so can what does nothing in another one."""
    failed_, why = functions[2], "KeyError: 'seed'"
    every = [Cause(failed=((failed_, why),)), Cause(failed=((functions[3], why),))]
    acts, does_nothing = Cause(moving=(failed_,)), Cause(still=(functions[3],))
    earlier = delta_debugging.EarlierCauses.collect([*every, acts, does_nothing])
    assert earlier == delta_debugging.EarlierCauses(
        frozenset({failed_}), frozenset({functions[3]}), {}
    )


def test_trainings_that_execute_what_nothing_has_reverted_are_searched_first(functions):
    """With recordings for few, the last and longest one is searched before its likes."""
    likes = [parted(f"t{n}", 900, executed=("f1",), count=n + 1) for n in range(6)]
    longest = parted("longest", 900, executed=("f1", "f9"), count=20)
    recorder = Counting({"f1": -1.0, "f9": -1.0}, [*likes, longest])
    found = looked(recorder, functions, *likes, longest, limit=0.3 * 8)
    assert names(found["longest"].moving) == ["f1", "f9"]
    assert names(found["t5"].open) == ["f1"]


def test_the_search_goes_on_where_what_moves_others_is_not_all(functions):
    """A later training parts at f5, and with f5 reverted at f9."""
    several = [
        parted(f"t{n}", 152 if n in (0, culprit_search.WAVE) else 900, executed=NAMES, count=n + 1)
        for n in range(culprit_search.WAVE + 1)
    ]
    last = several[-1].name
    recorder = Counting({"f5": -2.0}, several, {last: {"f5": -1.0, "f9": -1.0}})
    found = looked(recorder, functions, *several)
    assert (found["t0"].alone, found["t0"].whole) == (functions[5], True)
    assert (names(found[last].moving), found[last].whole) == (["f5", "f9"], True)
    groups = [group for name, group in recorder.groups if name == last]
    # all that is tried is tried with it
    assert groups[0] == ["f5"]
    assert all("f5" in group for group in groups)


def test_several_that_move_it_are_shown_to_be_all_or_not(functions):
    """With all of them reverted the new version does what the old one does, or more is left."""
    recorder = Recorder({"f1": -1.0, "f14": -1.0})
    assert looked(recorder, functions, sac())["sac"].whole
    assert recorder.groups[-1] == ("sac", ["f1", "f14"])
    assert not looked(Recorder({"f1": -1.0, "f14": -0.5}), functions, sac())["sac"].whole


def test_what_fails_by_itself_is_put_back_with_its_like(functions):
    """Two functions that need one another are the cause together."""
    recorder = Recorder({"f2": -2.0}, failing={"f2", "f11"})
    found = looked(recorder, functions, sac())["sac"]
    assert (names(found.together), found.whole, found.failed) == (["f2", "f11"], True, ())


def test_what_fails_by_itself_is_put_back_with_what_does_nothing_by_itself(functions, tmp_path):
    """Of all that is entered, in several files, what is not needed is left."""
    other = function("g", file="package/other.py", path=tmp_path / "agent.py")
    one = sac()
    for side in (one.old, one.new):
        side.header["functions"][other.file] = [other.name]
    recorder = Recorder({"f2": -2.0}, needing={"f2": "g"})
    found = looked(recorder, [*functions, other], one)["sac"]
    assert (names(found.together), found.whole, found.failed) == (["f2", "g"], True, ())
    assert not {"f2", "g"} & set(names(found.still))


def test_too_many_that_need_each_other_name_none(functions):
    """All of a file but one, which is in the way of none: six are no cause of their own."""
    needing = {f"f{n}": f"f{n + 1}" for n in range(5)}
    found = looked(Recorder({"f0": -2.0}, needing=needing), functions, sac())["sac"]
    assert (found.functions, set(names(found.failed[n][0] for n in range(5)))) == ((), set(needing))


class Counting(Recorder):
    """Of trainings with different numbers of losses, and effects by training in place of these."""

    def __init__(self, effects, several, others=()):
        super().__init__(effects)
        self._every, self._others = dict(effects), dict(others)
        self._counts = {one.name: len(one.new.events) for one in several}

    def _one(self, job):
        name = job.name.partition(" trial ")[0]
        self._effects = self._others.get(name, self._every)
        found = super()._one(job)
        value = found.events[-1].parts["loss"].values[0]
        return replace(found, events=trace(value, count=self._counts[name]).events)


def test_recordings_are_limited_and_what_is_left_is_said(functions):
    """However much has changed."""
    recorder = Recorder({"f8": -1.0, "f15": -1.0})
    found = looked(recorder, functions, sac(), limit=3.65)["sac"]
    assert len(recorder.groups) == 12
    assert len(found.open) > 0
    assert set(found.open).isdisjoint(found.still)


def test_methods_of_one_side_are_put_back_and_functions_are_not(functions):
    """A method may hide another one; a function comes and goes with what calls it."""
    method = replace(functions[3], how=ADDED, old=None, within=True)
    alone = replace(functions[4], how=ADDED, old=None)
    elsewhere = replace(method, name="f5", paths=(None, functions[5].paths[1]))
    given = [*functions[:3], method, alone, elsewhere]
    recorder = Recorder({"f3": -2.0})
    assert looked(recorder, given, sac())["sac"].alone == method
    assert {name for _, group in recorder.groups for name in group} == {"f0", "f1", "f2", "f3"}


def test_short_trainings_count_as_a_part_of_a_recording(functions):
    """As many recordings as cost the same: of a hundred events three for one of a thousand."""
    found = sac()
    events = found.new.events * (2000 // len(found.new.events))
    assert culprit_search._cost(found) == 0.3
    assert culprit_search._cost(replace(found, new=replace(found.new, events=events[:500]))) == 0.5
    assert culprit_search._cost(replace(found, new=replace(found.new, events=events))) == 1.0


def test_what_is_put_back_is_side_as_code(tmp_path):
    """The job is that of the training, with the text of the old file, once for each file.

    The text is read in the coding that the file declares.
    """
    text = "# coding: latin-1, as in é\n"
    (tmp_path / "a").write_text(text, encoding="latin-1")
    changed = tuple(replace(of, paths=(tmp_path / "a", tmp_path / "b")) for of in (TRAIN, LOSS))
    job = delta_debugging.make_trial(Training("sb3", "sac", {"seed": 3}), changed, 7)
    assert (job.owner, job.name) == ("sb3", "sac trial 7")
    assert job.job == {
        "seed": 3,
        "swap": [{"file": FILE, "functions": ["train", "loss"], "text": text}],
    }


def test_a_function_that_has_moved_is_found_in_its_file_of_either_side():
    """The old version's event stands in the old file."""
    was = "package/old.py"
    moved = replace(TRAIN, was=was)
    first = divergence(loss(15, file=was), None)
    assert delta_debugging.find_functions_at(first, [moved]) == (moved,)
    elsewhere = divergence(loss(15), None)
    assert delta_debugging.find_functions_at(elsewhere, [moved]) == ()


@pytest.mark.parametrize("movers", [("f3",), ("f2", "f9", "f14"), FAR[::2]], ids=len)
def test_what_is_expected_of_a_search_follows_it(functions, monkeypatch, movers):
    """The first turn is right within a factor of 1.6; later ones tell two fifths at least."""
    told = []
    monkeypatch.setattr(culprit_search.progress, "expect_left", told.append)
    before = []
    several = [parted(f"t{n}", 900, executed=NAMES, count=n + 1) for n in range(5)]
    recorder = Recorder({name: -0.1 * (n + 1) for n, name in enumerate(movers)})

    def record(jobs):
        before.append(len(recorder.groups))
        return recorder(jobs)

    looked(record, functions, *several)
    left = [len(recorder.groups) - done for done in before]
    assert len(told) == len(left) > 1
    assert left[0] / 1.6 <= told[0] <= 1.6 * left[0]
    assert [pair for pair in zip(left, told, strict=True) if pair[1] < 0.4 * pair[0]] == []
