"""The changed functions that move a training: where it diverges, and what reverting them does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.inside.events import RAISED
from rlregress.model.code import ADDED, CODE_CHANGED, REMOVED, Changed, Function
from rlregress.model.recorded_traces import Place
from rlregress.model.upgrade_result import Culprits
from rlregress.trace.trace_comparison import compare_traces
from rlregress.trace.trace_reader import make_failed_trace
from rlregress.upgrade.culprits import culprit_search, delta_debugging
from rlregress.upgrade.evidence.compared_trainings import Training
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import FILE, divergence, event, loss, part, traced


def function(name, first=10, last=20, how=CODE_CHANGED, file=FILE, path=None):
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


OUTER, INNER = function("train", 10, 40), function("train.inner", 20, 25)
RELOCATED = replace(TRAIN, was="package/old.py")


@pytest.mark.parametrize(
    ("old", "new", "functions", "expected"),
    [
        # each version has its own lines
        (loss(15), loss(115), [LOSS, TRAIN], (TRAIN,)),
        (loss(15), None, [LOSS, TRAIN], (TRAIN,)),
        (None, loss(135), [LOSS, TRAIN], (LOSS,)),
        # the first and the last line of a function belong to it
        (None, loss(110), [TRAIN], (TRAIN,)), (None, loss(109), [TRAIN], ()),
        (None, loss(120), [TRAIN], (TRAIN,)), (None, loss(121), [TRAIN], ()),
        # what has not changed, another file, and an event without a place
        (loss(0), loss(125), [LOSS, TRAIN], ()),
        (None, loss(115, file="package/other.py"), [TRAIN], ()),
        (None, loss(0, file=""), [function("f", -100, 0)], ()),
        # callers follow, the nearest first and each once
        (loss(0), loss(135, 155, 115, 136), [TRAIN, STEP, LOSS], (LOSS, STEP, TRAIN)),
        # lines of an inner function are also those of the outer one
        (None, loss(122), [OUTER, INNER], (INNER,)), (None, loss(130), [OUTER, INNER], (OUTER,)),
        # a function that has moved has a file in each version
        (loss(15, file="package/old.py"), None, [RELOCATED], (RELOCATED,)),
        (loss(15), None, [RELOCATED], ()),
    ],
)  # fmt: skip
def test_the_changed_functions_at_the_first_difference_are_found(old, new, functions, expected):
    """By the lines of either version, then by those of the callers."""
    assert delta_debugging.find_functions_at_divergence(divergence(old, new), functions) == expected
    assert delta_debugging.find_functions_at_divergence(None, functions) == ()


def coded(name, code, how=CODE_CHANGED, file=FILE, path=None):
    """Return a function that differs, with the code of the new version."""
    new = Function(name=name, first=1, last=2, code=code)
    old = replace(new, code="") if how == CODE_CHANGED else None
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
def test_functions_of_one_version_stand_with_their_callers(tmp_path, imported):
    """Such a function cannot be reverted: the one that calls it tells, through any others.

    Of functions of one name it is that of a module that the caller's file imports.
    """
    path = tmp_path / "agent.py"
    path.write_text(f"{imported}\nfrom package import logger\n")
    caller = coded("Agent.train", "Attribute(value=Name(id='self'), attr='_masked')", path=path)
    masked = coded("Agent._masked", "Name(id='mean_of')", ADDED, path=path)
    mean = coded("mean_of", "", ADDED, "package/torch/utils.py")
    # nobody calls these: of another module, a method of another file, and one that Python calls
    uncalled = [coded("mean_of", "", ADDED, "package/jax/utils.py"),
                coded("Else._masked", "", ADDED, "package/b.py"),
                coded("A.__len__", "", ADDED)]  # fmt: skip
    functions = [caller, *uncalled, mean, masked, TRAIN]
    for reverted, expected in (
        (Culprits(alone=caller), (masked, mean)), (Culprits(alone=TRAIN), ()),
        (Culprits(place=(caller,), without_influence=(caller,)), ()),
    ):  # fmt: skip
        reverted = culprit_search.add_one_sided_functions(reverted, functions)
        assert reverted.new == expected


def trace_answers(*raised, **values):
    """Return a trace of a training's outputs; texts are errors, raised in these lines."""
    above = tuple(Place(file=FILE, line=line, function="train") for line in raised)
    events = []
    for n, (name, value) in enumerate(values.items()):
        error = value if isinstance(value, str) else ""
        answer = part(str(value), types=RAISED if error else "float")
        events.append(event("output", f"part.{name}", index=n, parts={"value": answer},
                            callers=above, error=error))  # fmt: skip
    return small_traces.trace(*events, functions={FILE: ["train"]})


def test_an_error_of_a_trial_alone_proves_nothing():
    """A trial that fails where neither version does proves nothing; a shared error is an answer."""
    training = traced("x", trace_answers(loss=1.0), trace_answers(loss=2.0))
    refused = trace_answers(loss="refused: TypeError")
    came = delta_debugging._judge_reverted_training(training, (TRAIN,), refused)
    why = "part.loss fails only with functions reverted, refused: TypeError"
    assert (came.outcome, came.why) == ("failed", why)
    training = replace(training, old=refused)
    assert delta_debugging._judge_reverted_training(training, (TRAIN,), refused).outcome == "as old"


def test_an_error_of_one_version_alone_is_placed_where_it_is_raised():
    """In the nearest function that differs, by the lines of that version; not what both refuse."""
    fine, error = {"loss": 1.0}, {"loss": "refused: TypeError"}

    def place(old, new):
        return delta_debugging._find_functions_near_divergence(traced("x", old, new), [STEP, TRAIN])

    assert place(trace_answers(**fine), trace_answers(5, 115, 155, **error)) == (TRAIN,)
    assert place(trace_answers(5, 15, 55, **error), trace_answers(**fine)) == (TRAIN,)
    assert place(trace_answers(15, **error), trace_answers(115, **error)) == ()
    assert place(trace_answers(15, **fine), trace_answers(115, **fine)) == ()


class Recorder:
    """Records a training with functions reverted; its value and failures follow from their names.

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
        return {job.name: self._record(job) for job in jobs}

    def _record(self, job):
        names = {name for change in job.job["swap"] for name in change["functions"]}
        self.groups.append((job.name.partition(" trial ")[0], sorted(names)))
        misfits = [[FILE, name, "other variables"] for name in sorted(names & self._misfits)]
        names -= self._misfits
        lacking = any(self._needing[name] not in names for name in names & set(self._needing))
        if lacking or (names & self._failing and not self._failing <= names):
            return make_failed_trace("Traceback\nAttributeError: no such thing")
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


def find_culprits(recorder, functions, *trainings_, limit=culprit_search.LIMIT):
    """Return the culprits of trainings that diverge, by name."""
    trainings = {
        training.name: Training("sb3", training.name, {"seed": 3}) for training in trainings_
    }
    return culprit_search.search_culprits(trainings_, trainings, functions, recorder, limit)


def sac(executed=NAMES, line=900):
    """A training that parts at no changed function: 2 on the old version, 4 on the new version."""
    training = parted("sac", line, executed=executed)
    assert compare_traces(training.old, training.new).verdict == "diverged"
    return training


def names(functions):
    """Their names, in order."""
    return [changed_function.name for changed_function in functions]


def test_a_function_that_brings_the_old_version_back_is_the_only_one(functions):
    """The nearest are reverted one by one, the others by halves; the rest stays as it is."""
    recorder = Recorder({"f5": -2.0})
    assert find_culprits(recorder, functions, sac())["sac"].alone == functions[5]
    tried = [group for _, group in recorder.groups]
    assert tried == [*([name] for name in NEAR), sorted(FAR)]
    recorder = Recorder({"f13": -2.0})
    culprits = find_culprits(recorder, functions, sac())["sac"]
    assert (culprits.alone, culprits.influencing) == (functions[13], ())
    assert set(names(culprits.without_influence)) <= set(NEAR)
    assert [group for _, group in recorder.groups][9:] == [
        ["f10", "f11", "f8", "f9"], ["f12", "f13", "f14", "f15"],
        ["f12", "f13"], ["f14", "f15"], ["f12"], ["f13"],
    ]  # fmt: skip


def test_where_nothing_moves_it_all_are_still(functions):
    """Its culprits cannot be reverted: all functions together do nothing, either."""
    recorder = Recorder()
    culprits = find_culprits(recorder, functions, sac())["sac"]
    assert names(culprits.without_influence) == list(NAMES)
    assert culprits.functions == ()
    assert [group for _, group in recorder.groups][-1] == sorted(NAMES)


def test_functions_that_act_only_together_are_named_together(functions):
    """No half of them does anything."""
    for pair in (("f3", "f4"), ("f3", "f12"), ("f9", "f12")):
        culprits = find_culprits(Recorder(together=set(pair)), functions, sac())["sac"]
        assert set(names(culprits.together)) >= set(pair)
        assert (culprits.alone, culprits.influencing) == (None, ())
        assert set(names(culprits.without_influence)).isdisjoint(pair)


def test_a_function_of_the_place_that_does_nothing_is_not_named(functions):
    """The traces part in it, and it is another that moves them."""
    training = parted("sac", 132, executed=NAMES)
    culprits = find_culprits(Recorder({"f7": -1.0}), functions, training)["sac"]
    assert names(culprits.place) == ["f3"]
    assert names(culprits.functions) == ["f7"]


def test_the_functions_of_the_place_come_first(functions):
    """Then those of its file, of its folder, of its package, and of others."""
    files = ["other/x.py", "package/deep/x.py", "package/x.py", FILE]
    far = [
        replace(function, file=file, name=f"g{n}")
        for n, (file, function) in enumerate(zip(files, functions, strict=False))
    ]
    training = parted("sac", 172, executed=NAMES)
    executed = {file: [function.name] for file, function in zip(files, far, strict=True)}
    header = {**training.new.header, "functions": {**executed, FILE: ["g3", "f15"]}}
    place = divergence(None, loss(252))
    training = traced("sac", training.old, replace(training.new, header=header), first=place)
    recorder = Recorder()
    find_culprits(recorder, [*far, functions[15]], training)
    tried = [name for _, (name, *further) in recorder.groups if not further]
    assert tried[0] == "f15"
    assert [name for name in tried if name in ("g0", "g1", "g2", "g3")] == ["g3", "g1", "g2", "g0"]


def test_what_fails_is_split_until_it_is_alone(functions):
    """Functions that need one another are no reason not to look at the others."""
    recorder = Recorder({"f9": -2.0}, failing={"f12", "f15"})
    culprits = find_culprits(recorder, functions, sac())["sac"]
    assert culprits.alone == functions[9]
    alone = find_culprits(Recorder({"f10": -1.0}, failing={"f8", "gone"}), functions, sac())["sac"]
    assert names(alone.influencing) == ["f10"]
    ((failing, why),) = alone.failed
    assert (failing.name, why) == ("f8", "AttributeError: no such thing")


def test_what_does_not_fit_is_left_out_with_its_reason(functions):
    """The others of its group are looked at."""
    culprits = find_culprits(Recorder({"f2": -2.0}, misfits={"f2", "f3"}), functions, sac())["sac"]
    reasons = {function.name: why for function, why in culprits.failed}
    assert reasons == dict.fromkeys(["f2", "f3"], "other variables")
    assert names(culprits.without_influence) == [name for name in NAMES if name not in ("f2", "f3")]


def test_a_function_of_the_place_that_cannot_be_put_back_is_named(functions):
    """It is not shown to do nothing."""
    training = parted("sac", 122, executed=NAMES)
    culprits = find_culprits(Recorder(misfits={"f2"}), functions, training)["sac"]
    assert names(culprits.functions) == ["f2"]


def test_only_what_can_be_put_back_is_tried():
    """Functions of one version only and code that runs at import cannot be reverted."""
    kinds = [
        function("new", how=ADDED), function("gone", how=REMOVED), function("<module>"),
        function("<class> Agent"),
    ]  # fmt: skip
    recorder = Recorder()
    training = sac(executed=("new", "gone", "<module>", "<class> Agent"))
    assert find_culprits(recorder, kinds, training) == {"sac": Culprits()}
    assert recorder.groups == []


def test_only_what_a_training_enters_is_tried(functions):
    """On either version."""
    recorder = Recorder({"f1": -2.0})
    find_culprits(recorder, functions, sac(executed=("f1", "f2")))
    assert recorder.groups == [("sac", ["f1"]), ("sac", ["f2"])]


def more_than_a_wave(line=900):
    """Return the trainings of a wave and one more; the first and the last diverge in a line."""
    ends = (0, culprit_search.WAVE)
    return [
        parted(f"t{n}", line if n in ends else 900, executed=NAMES, count=n + 1)
        for n in range(culprit_search.WAVE + 1)
    ]


@pytest.mark.parametrize("line", [900, 152], ids=["nowhere", "at the culprit"])
def test_later_trainings_begin_with_what_moves_earlier_ones(functions, line):
    """The one after the first wave needs one recording, also where it diverges at the culprit."""
    trainings = more_than_a_wave(line)
    recorder = Counting({"f5": -2.0}, trainings)
    culprits_by_training = find_culprits(recorder, functions, *trainings)
    assert {culprits.alone for culprits in culprits_by_training.values()} == {functions[5]}
    last = f"t{culprit_search.WAVE}"
    assert [group for name, group in recorder.groups if name == last] == [["f5"]]


def turns(looking, recorder):
    """Return the groups that a search tries, to its end, and its culprits."""
    requested, groups = next(looking), []
    while True:
        groups += [names(group) for group in requested]
        jobs = {
            group: delta_debugging.make_training_with_reverted_functions(
                Training("sb3", "sac", {}), group, n
            )
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
    earlier = delta_debugging.EarlierCulprits.collect_from_culprits(
        [Culprits(failed=why, without_influence=tuple(still))]
    )
    training = parted("sac", 132, executed=NAMES[3:14])
    recorder = Recorder({"f13": -2.0}, failing={"f4", "gone"})
    groups, culprits = turns(
        delta_debugging.search_culprits_of_training(training, functions, earlier), recorder
    )
    assert groups == [["f3"], ["f12"], ["f13"], names(still)]
    assert culprits.alone == functions[13]
    assert culprits.failed == why[1:], "as an earlier search says"


def test_what_does_nothing_elsewhere_is_found_where_it_acts(functions):
    """It is in a group, which is split."""
    earlier = delta_debugging.EarlierCulprits.collect_from_culprits(
        [Culprits(without_influence=tuple(functions[:8]))]
    )
    recorder = Recorder({"f6": -2.0})
    groups, culprits = turns(
        delta_debugging.search_culprits_of_training(sac(NAMES[:8]), functions, earlier), recorder
    )
    assert culprits.alone == functions[6]
    assert groups[0] == list(NAMES[:8])


def test_what_fails_in_one_training_and_does_something_in_another_is_tried(functions):
    """Then it can be reverted; so can a function without an effect in another one."""
    failed_, why = functions[2], "KeyError: 'seed'"
    failures = [Culprits(failed=((failed_, why),)), Culprits(failed=((functions[3], why),))]
    acts, does_nothing = (
        Culprits(influencing=(failed_,)),
        Culprits(without_influence=(functions[3],)),
    )
    earlier = delta_debugging.EarlierCulprits.collect_from_culprits([*failures, acts, does_nothing])
    assert earlier == delta_debugging.EarlierCulprits(
        frozenset({failed_}), frozenset({functions[3]}), {}
    )


def test_trainings_that_execute_what_nothing_has_reverted_are_searched_first(functions):
    """With recordings for few, the last and longest one is searched before its likes."""
    likes = [parted(f"t{n}", 900, executed=("f1",), count=n + 1) for n in range(6)]
    longest = parted("longest", 900, executed=("f1", "f9"), count=20)
    recorder = Counting({"f1": -1.0, "f9": -1.0}, [*likes, longest])
    culprits_by_training = find_culprits(recorder, functions, *likes, longest, limit=0.3 * 8)
    assert names(culprits_by_training["longest"].influencing) == ["f1", "f9"]
    assert names(culprits_by_training["t5"].open) == ["f1"]


def test_the_search_goes_on_where_what_moves_others_is_not_all(functions):
    """A later training parts at f5, and with f5 reverted at f9."""
    trainings = more_than_a_wave(152)
    last = trainings[-1].name
    recorder = Counting({"f5": -2.0}, trainings, {last: {"f5": -1.0, "f9": -1.0}})
    culprits_by_training = find_culprits(recorder, functions, *trainings)
    assert (culprits_by_training["t0"].alone, culprits_by_training["t0"].whole) == (
        functions[5],
        True,
    )
    assert (names(culprits_by_training[last].influencing), culprits_by_training[last].whole) == (
        ["f5", "f9"],
        True,
    )
    # all that is tried is tried with it
    groups = [group for name, group in recorder.groups if name == last]
    assert (groups[0], all("f5" in group for group in groups)) == (["f5"], True)


def test_several_that_move_it_are_shown_to_be_all_or_not(functions):
    """Reverting all of them restores the old behaviour, or more culprits are left."""
    recorder = Recorder({"f1": -1.0, "f14": -1.0})
    culprits = find_culprits(recorder, functions, sac())["sac"]
    assert (culprits.alone, names(culprits.influencing), culprits.whole) == (
        None,
        ["f1", "f14"],
        True,
    )
    assert names(culprits.functions) == ["f1", "f14"]
    assert recorder.groups[-1] == ("sac", ["f1", "f14"])
    assert not find_culprits(Recorder({"f1": -1.0, "f14": -0.5}), functions, sac())["sac"].whole


def test_what_fails_by_itself_is_put_back_with_its_like(functions):
    """Two functions that need one another are the culprits together."""
    recorder = Recorder({"f2": -2.0}, failing={"f2", "f11"})
    culprits = find_culprits(recorder, functions, sac())["sac"]
    assert (names(culprits.together), culprits.whole, culprits.failed) == (["f2", "f11"], True, ())


def test_what_fails_by_itself_is_put_back_with_what_does_nothing_by_itself(functions, tmp_path):
    """Functions of all files are tried, and those that are not needed are left out."""
    needed = function("g", file="package/other.py", path=tmp_path / "agent.py")
    training = sac()
    for trace in (training.old, training.new):
        trace.header["functions"][needed.file] = [needed.name]
    recorder = Recorder({"f2": -2.0}, needing={"f2": "g"})
    culprits = find_culprits(recorder, [*functions, needed], training)["sac"]
    assert (names(culprits.together), culprits.whole, culprits.failed) == (["f2", "g"], True, ())
    assert not {"f2", "g"} & set(names(culprits.without_influence))


def test_too_many_that_need_each_other_name_none(functions):
    """All of a file but one, which is in the way of none: six are no culprit by themselves."""
    needing = {f"f{n}": f"f{n + 1}" for n in range(5)}
    culprits = find_culprits(Recorder({"f0": -2.0}, needing=needing), functions, sac())["sac"]
    assert (culprits.functions, set(names(culprits.failed[n][0] for n in range(5)))) == (
        (),
        set(needing),
    )


class Counting(Recorder):
    """Records trainings with different numbers of losses, and effects by training."""

    def __init__(self, effects, trainings, by_training=()):
        super().__init__(effects)
        self._default, self._by_training = dict(effects), dict(by_training)
        self._counts = {training.name: len(training.new.events) for training in trainings}

    def _record(self, job):
        name = job.name.partition(" trial ")[0]
        self._effects = self._by_training.get(name, self._default)
        trace_ = super()._record(job)
        value = trace_.events[-1].parts["loss"].values[0]
        return replace(trace_, events=trace(value, count=self._counts[name]).events)


def test_recordings_are_limited_and_what_is_left_is_said(functions):
    """However much has changed."""
    recorder = Recorder({"f8": -1.0, "f15": -1.0})
    culprits = find_culprits(recorder, functions, sac(), limit=3.65)["sac"]
    assert len(recorder.groups) == 12
    assert len(culprits.open) > 0
    assert set(culprits.open).isdisjoint(culprits.without_influence)


def test_methods_of_one_version_are_reverted_and_functions_are_not(functions):
    """A method may hide another one; a function comes and goes with what calls it."""
    method = replace(functions[3], how=ADDED, old=None, within=True)
    alone = replace(functions[4], how=ADDED, old=None)
    elsewhere = replace(method, name="f5", paths=(None, functions[5].paths[1]))
    candidates = [*functions[:3], method, alone, elsewhere]
    recorder = Recorder({"f3": -2.0})
    assert find_culprits(recorder, candidates, sac())["sac"].alone == method
    assert {name for _, group in recorder.groups for name in group} == {"f0", "f1", "f2", "f3"}


def test_short_trainings_count_as_a_part_of_a_recording(functions):
    """As many recordings as cost the same: of a hundred events three for one of a thousand."""
    training = sac()
    events = training.new.events * (2000 // len(training.new.events))
    assert culprit_search._estimate_relative_cost(training) == 0.3
    for count, cost in ((500, 0.5), (2000, 1.0)):
        long = replace(training, new=replace(training.new, events=events[:count]))
        assert culprit_search._estimate_relative_cost(long) == cost


def test_reverted_functions_are_named_as_code(tmp_path):
    """The job is that of the training, with the text of the old file, once for each file.

    The text is read in the coding that the file declares.
    """
    text = "# coding: latin-1, as in é\n"
    (tmp_path / "a").write_text(text, encoding="latin-1")
    changed = tuple(
        replace(function, paths=(tmp_path / "a", tmp_path / "b")) for function in (TRAIN, LOSS)
    )
    job = delta_debugging.make_training_with_reverted_functions(
        Training("sb3", "sac", {"seed": 3}), changed, 7
    )
    assert (job.owner, job.name) == ("sb3", "sac trial 7")
    assert job.job == {
        "seed": 3,
        "swap": [{"file": FILE, "functions": ["train", "loss"], "text": text}],
    }
