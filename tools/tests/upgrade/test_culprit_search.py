"""The changed functions that move a training: where it diverges, and what reverting them does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from rlregress.inside.events import RAISED
from rlregress.model.code import ADDED, CODE_CHANGED, REMOVED, ChangedPiece, Function
from rlregress.model.recorded_traces import Place
from rlregress.model.upgrade_result import Culprits
from rlregress.trace.trace_reader import make_failed_trace
from rlregress.upgrade.both_versions import BothVersions
from rlregress.upgrade.culprits import culprit_search, delta_debugging, diverging_groups
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.recordings import RecordedTrainings
from rlregress.upgrade.upgrade_options import Options
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import FILE, divergence, event, loss, part, traced


def function(name, first=10, last=20, how=CODE_CHANGED, file=FILE, path=None, code="new"):
    """A function that differs; on the new version it stands a hundred lines below."""
    old = Function(name=name, first=first, last=last, code="old")
    new = Function(name=name, first=first + 100, last=last + 100, code=code)
    old, new = None if how == ADDED else old, None if how == REMOVED else new
    return ChangedPiece(file=file, name=name, how=how, old=old, new=new, paths=(path, path))


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


@pytest.mark.parametrize(
    "imported",
    [
        "from .torch.utils import mean_of", "from package.torch import utils",
        "from package.torch import *", "import package.torch.utils",
    ],
)  # fmt: skip
def test_functions_of_one_version_stand_with_their_callers(tmp_path, imported):
    """Such a function cannot be reverted: the one that calls it tells, through any others.

    Of functions of one name it is that of a module that the caller's file imports.
    """
    path = tmp_path / "agent.py"
    path.write_text(f"{imported}\nfrom package import logger\n")
    caller = function("Agent.train", path=path, code="Attribute(attr='_masked')")
    masked = function("Agent._masked", how=ADDED, path=path, code="Name(id='mean_of')")
    mean = function("mean_of", how=ADDED, file="package/torch/utils.py")
    # nobody calls these: of another module, a method of another file, and one that Python calls
    uncalled = [function("mean_of", how=ADDED, file="package/jax/utils.py"),
                function("Else._masked", how=ADDED, file="package/b.py"),
                function("A.__len__", how=ADDED)]  # fmt: skip
    functions = [caller, *uncalled, mean, masked, TRAIN]
    for reverted, expected in (
        (Culprits(alone=caller), (masked, mean)), (Culprits(alone=TRAIN), ()),
        (Culprits(place=(caller,), without_influence=(caller,)), ()),
    ):  # fmt: skip
        reverted = culprit_search.add_one_sided_callees(reverted, functions)
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


def test_errors_of_trials_and_versions():
    """One of a trial alone proves nothing; one of a version is placed where it is raised."""
    training = traced("x", trace_answers(loss=1.0), trace_answers(loss=2.0))
    refused = trace_answers(loss="refused: TypeError")
    came = delta_debugging._judge_reverted_training(training, (TRAIN,), refused)
    why = "part.loss fails only with functions reverted, refused: TypeError"
    assert (came.outcome, came.why) == ("failed", why)
    training = replace(training, old=refused)
    assert delta_debugging._judge_reverted_training(training, (TRAIN,), refused).outcome == "as old"
    fine, error = {"loss": 1.0}, {"loss": "refused: TypeError"}

    def place(old, new):
        return delta_debugging._find_functions_at_divergence_or_error(
            traced("x", old, new), [STEP, TRAIN]
        )

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
        trainings: those that have more than one loss.
        by_training: name of a training -> its own effects.
    """

    def __init__(self, effects=(), trainings=(), by_training=(), together=(), failing=(),
                 misfits=(), needing=()):  # fmt: skip
        self._effects, self._together = dict(effects), set(together)
        self._counts = {training.name: len(training.new.events) for training in trainings}
        self._by_training = dict(by_training)
        self._failing, self._misfits = set(failing), set(misfits)
        self._needing = dict(needing)
        self.groups = []

    def __call__(self, jobs):
        return {job.name: self._record(job) for job in jobs}

    def _record(self, job):
        training = job.name.partition(" trial ")[0]
        names = {name for change in job.job["swap"] for name in change["functions"]}
        self.groups.append((training, sorted(names)))
        misfits = [[FILE, name, "other variables"] for name in sorted(names & self._misfits)]
        names -= self._misfits
        lacking = any(self._needing[name] not in names for name in names & set(self._needing))
        if lacking or (names & self._failing and not self._failing <= names):
            return make_failed_trace("Traceback\nAttributeError: no such thing")
        effects = self._by_training.get(training, self._effects)
        value = 4.0 + sum(effects.get(name, 0.0) for name in names)
        value -= 2.0 if self._together and self._together <= names else 0.0
        losses = trace(value, count=self._counts.get(training, 1)).events
        return small_traces.trace(*losses, functions={FILE: []}, misfits=misfits)


NAMES = tuple(f"f{n}" for n in range(16))
NEAR, FAR = NAMES[:8], NAMES[8:]


@pytest.fixture
def functions(tmp_path):
    """Sixteen functions that differ, and the file of the old version."""
    path = tmp_path / "agent.py"
    path.write_text("# a\n")
    return [function(name, 10 * n + 1, 10 * n + 5, path=path) for n, name in enumerate(NAMES)]


def find_culprits(recorder, functions, *trainings, limit=culprit_search.LIMIT):
    """Return the culprits of trainings that diverge, by name."""
    by_name = {training.name: Training("sb3", training.name, {}) for training in trainings}
    return culprit_search.search_culprits(trainings, by_name, functions, recorder, limit)


def sac(executed=NAMES, line=900):
    """A training that parts at no changed function: 2 on the old version, 4 on the new version."""
    return parted("sac", line, executed=executed)


def find_culprits_of_sac(recorder, functions, line=900, limit=culprit_search.LIMIT):
    """Return the culprits of one training."""
    return find_culprits(recorder, functions, sac(line=line), limit=limit)["sac"]


def names(functions):
    """Their names, in order."""
    return [changed_function.name for changed_function in functions]


ERROR = "AttributeError: no such thing"
WITHOUT = {"alone": [], "influencing": [], "together": [], "failed": {}, "whole": [None]}
#: what moves a training -> what is found of the sixteen functions
FOUND = {
    "one of the nearest": (Recorder({"f5": -2.0}), {"alone": ["f5"], "whole": [True]}),
    "one of the others": (Recorder({"f13": -2.0}), {"alone": ["f13"], "whole": [True]}),
    "what cannot be reverted": (Recorder(), {"without_influence": [*NAMES]}),
    "two that act only together": (
        Recorder(together={"f3", "f12"}), {"together": [*NAMES], "whole": [True]}),
    "two of the others that act only together": (
        Recorder(together={"f9", "f12"}), {"together": [*FAR], "whole": [True]}),
    "two that are all": (
        Recorder({"f1": -1.0, "f14": -1.0}), {"influencing": ["f1", "f14"], "whole": [True]}),
    "two that are not all": (
        Recorder({"f1": -1.0, "f14": -0.5}), {"influencing": ["f1", "f14"], "whole": [False]}),
    "one beside others that fail apart": (
        Recorder({"f9": -2.0}, failing={"f12", "f15"}), {"alone": ["f9"], "whole": [True]}),
    "one beside another that fails": (
        Recorder({"f10": -1.0}, failing={"f8", "gone"}),
        {"influencing": ["f10"], "whole": [False], "failed": {"f8": ERROR}}),
    "one that does not fit": (
        Recorder({"f2": -2.0}, misfits={"f2", "f3"}),
        {"failed": dict.fromkeys(["f2", "f3"], "other variables"),
         "without_influence": [*NAMES[:2], *NAMES[4:]]}),
    "one that fails without its like": (
        Recorder({"f2": -2.0}, failing={"f2", "f11"}),
        {"together": ["f2", "f11"], "whole": [True]}),
    # six are no culprit by themselves
    "one that fails without five others": (
        Recorder({"f0": -2.0}, needing={f"f{n}": f"f{n + 1}" for n in range(5)}),
        {"failed": dict.fromkeys(NAMES[:5], ERROR)}),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_what_moves_a_training_is_found(functions, case):
    """What does nothing when it is reverted is named apart, and so is what cannot be reverted."""
    recorder, expected = FOUND[case]
    culprits = find_culprits_of_sac(recorder, functions)
    found = {
        "alone": names([culprits.alone] if culprits.alone else []), "whole": [culprits.whole],
        "influencing": names(culprits.influencing), "together": names(culprits.together),
        "failed": {function.name: why for function, why in culprits.failed},
        "without_influence": names(culprits.without_influence),
    }  # fmt: skip
    assert found == {"without_influence": found["without_influence"], **WITHOUT, **expected}
    named = {*found["alone"], *found["influencing"], *found["together"], *found["failed"]}
    assert named.isdisjoint(found["without_influence"])


def test_the_nearest_are_reverted_one_by_one_and_the_others_by_halves(functions):
    """In the end all together, where none of them does anything."""
    recorder = Recorder({"f13": -2.0})
    find_culprits_of_sac(recorder, functions)
    assert [group for _, group in recorder.groups] == [
        *([name] for name in NEAR), sorted(FAR), ["f10", "f11", "f8", "f9"],
        ["f12", "f13", "f14", "f15"], ["f12", "f13"], ["f14", "f15"], ["f12"], ["f13"],
    ]  # fmt: skip
    recorder = Recorder()
    find_culprits_of_sac(recorder, functions)
    assert recorder.groups[-1][1] == sorted(NAMES)


def test_a_function_of_the_place_is_named_unless_it_does_nothing(functions):
    """One that cannot be put back is not shown to do nothing."""
    culprits = find_culprits_of_sac(Recorder({"f7": -1.0}), functions, line=132)
    assert names(culprits.place) == ["f3"]
    assert names(culprits.likely_functions) == ["f7"]
    culprits = find_culprits_of_sac(Recorder(misfits={"f2"}), functions, line=122)
    assert names(culprits.likely_functions) == ["f2"]


def test_the_functions_of_the_place_come_first(functions):
    """Then those of its file, of its folder, of its package, and of others."""
    files = ["other/x.py", "package/deep/x.py", "package/x.py", FILE]
    far = [replace(f, file=file, name=f"g{n}")
           for n, (file, f) in enumerate(zip(files, functions, strict=False))]  # fmt: skip
    training = sac(executed=("g3", "f15"), line=252)
    for file, changed_function in zip(files[:3], far, strict=False):
        training.new.header["functions"][file] = [changed_function.name]
    recorder = Recorder()
    find_culprits(recorder, [*far, functions[15]], training)
    tried = [name for _, (name, *further) in recorder.groups if not further]
    assert tried[:5] == ["f15", "g3", "g1", "g2", "g0"]


def test_only_what_a_training_enters_and_can_be_reverted_is_tried(functions):
    """Functions of one version come and go with their callers; a method may hide another one."""
    method = replace(functions[3], how=ADDED, old=None, within=True)
    fixed = [
        replace(functions[4], how=ADDED, old=None), replace(functions[5], how=REMOVED, new=None),
        replace(functions[6], name="<module>"), replace(functions[7], name="<class> Agent"),
        # its file is new
        replace(method, name="f8", paths=(None, method.paths[1])),
    ]  # fmt: skip
    training = sac(executed=(*NAMES[:9], "<module>", "<class> Agent"))
    recorder = Recorder({"f3": -2.0})
    candidates = [*functions[:2], method, *fixed, functions[9]]
    assert find_culprits(recorder, candidates, training)["sac"].alone == method
    assert [group for _, group in recorder.groups] == [["f0"], ["f1"], ["f3"]]
    assert find_culprits(recorder, fixed, training) == {"sac": Culprits()}


def more_than_a_wave(line=900):
    """Return the trainings of a wave and one more; the first and the last diverge in a line."""
    last = culprit_search.WAVE
    lines = [line, *[900] * (last - 1), line]
    return [parted(f"t{n}", lines[n], executed=NAMES, count=n + 1) for n in range(last + 1)]


@pytest.mark.parametrize("line", [900, 152], ids=["nowhere", "at the culprit"])
def test_later_trainings_begin_with_what_moves_earlier_ones(functions, line):
    """The one after the first wave needs one recording, also where it diverges at the culprit."""
    trainings = more_than_a_wave(line)
    recorder = Recorder({"f5": -2.0}, trainings)
    culprits_by_training = find_culprits(recorder, functions, *trainings)
    assert {culprits.alone for culprits in culprits_by_training.values()} == {functions[5]}
    last = f"t{culprit_search.WAVE}"
    assert [group for name, group in recorder.groups if name == last] == [["f5"]]


def test_what_fails_or_does_nothing_elsewhere_costs_a_later_search_little(functions):
    """All that does nothing is reverted at once, and split where it acts; what fails is not tried.

    But where the traces part, everything is tried by itself.
    """
    trainings = more_than_a_wave(132)
    first, last = trainings[0].name, trainings[-1].name
    recorder = Recorder({}, trainings, {last: {"f6": -2.0}}, failing={"f4", "gone"})
    culprits = find_culprits(recorder, functions, *trainings)
    tried = [group for name, group in recorder.groups if name == last]
    assert tried[:2] == [["f3"], sorted({*NAMES} - {"f3", "f4"})]
    assert culprits[last].alone == functions[6]
    assert culprits[last].failed == culprits[first].failed != ()


def test_what_fails_in_one_training_and_does_something_in_another_is_tried(functions):
    """Then it can be reverted; so can a function without an effect in another one."""
    failed_, why = functions[2], "KeyError: 'seed'"
    failures = [Culprits(failed=((failed_, why),)), Culprits(failed=((functions[3], why),))]
    acts = Culprits(influencing=(failed_,))
    does_nothing = Culprits(without_influence=(functions[3],))
    earlier = delta_debugging.join_culprits([*failures, acts, does_nothing])
    assert earlier == Culprits(influencing=(failed_,), without_influence=(functions[3],))


def test_trainings_that_execute_what_nothing_has_reverted_are_searched_first(functions):
    """With recordings for few, the last and longest one is searched before its likes."""
    likes = [parted(f"t{n}", 900, executed=("f1",), count=n + 1) for n in range(6)]
    longest = parted("longest", 900, executed=("f1", "f9"), count=20)
    recorder = Recorder({"f1": -1.0, "f9": -1.0}, [*likes, longest])
    culprits_by_training = find_culprits(recorder, functions, *likes, longest, limit=0.3 * 8)
    assert names(culprits_by_training["longest"].influencing) == ["f1", "f9"]
    assert names(culprits_by_training["t5"].open) == ["f1"]


def test_the_search_goes_on_where_what_moves_others_is_not_all(functions):
    """A later training parts at f5, and with f5 reverted at f9."""
    trainings = more_than_a_wave(152)
    last = trainings[-1].name
    recorder = Recorder({"f5": -2.0}, trainings, {last: {"f5": -1.0, "f9": -1.0}})
    culprits_by_training = find_culprits(recorder, functions, *trainings)
    assert culprits_by_training["t0"].alone == functions[5]
    assert names(culprits_by_training[last].influencing) == ["f5", "f9"]
    assert all(culprits.whole for culprits in culprits_by_training.values())
    # all that is tried is tried with it
    groups = [group for name, group in recorder.groups if name == last]
    assert (groups[0], all("f5" in group for group in groups)) == (["f5"], True)


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


def test_the_shortest_of_those_that_diverge_likewise_stands_for_them():
    """Only changed functions that they execute tell them apart, and where they diverge."""
    trainings = [
        parted("long", 0, executed=("train", "polyak"), count=9),
        parted("short", 0, executed=("train",), count=3),
        parted("more", 0, executed=("train", "step"), count=2),
        parted("elsewhere", 0, executed=("train",), count=5),
    ]

    def change(name, **fields):
        comparisons[name] = replace(comparisons[name], first=replace(real, **fields))

    comparisons = {training.name: training.comparison for training in trainings}
    real, elsewhere, small = (
        divergence(loss(function=function), loss(function=function, value=value))
        for function, value in (("f", 2.0), ("act", 2.0), ("g", 1.0000001))
    )
    for name in ("long", "short", "more"):
        change(name)
    change("elsewhere", old=elsewhere.old, new=elsewhere.new)
    traces = {t.name: t.old for t in trainings}, {t.name: t.new for t in trainings}
    changed = {(FILE, "train"), (FILE, "step")}
    choose = partial(diverging_groups.choose_representatives, comparisons, traces, changed)
    expected = {"long": "short", "short": "short", "more": "more", "elsewhere": "elsewhere"}
    assert choose({}) == expected
    # where nothing else differs, the function is the cause, wherever it first shows
    alone = dict.fromkeys(("long", "short", "elsewhere"), (FILE, "train"))
    assert choose(alone) == expected | {"elsewhere": "short"}
    # an event of a generated training stands for a whole one
    for side in traces:
        side["short"].header["generated"] = True
    assert choose(alone) == expected | dict.fromkeys(alone, "elsewhere")
    # what may be rounding represents nothing that is not, and nothing if all of it may be
    change("elsewhere", old=small.old, new=small.new)
    assert choose(alone) == expected | dict.fromkeys(alone, "long")
    for name in ("long", "short"):
        change(name, old=replace(small.old, function=name), new=small.new)
    assert choose(alone) == {name: name for name in comparisons}
    # times in a log differ whatever the function does
    change("short")
    change("long", kind="logs")
    assert choose(alone) == expected | {"long": "long", "elsewhere": "short"}


class TwoTrainings:
    """Records two trainings that begin to differ alike; rounding grows only in "rounds"."""

    def record(self, size):
        """Return a trace with a small difference in a loss, and a large one in the next."""
        events = [loss(), loss(value=1.0 + size), loss(value=1.0 + 5e6 * size)]
        events = [*events, event("optimizer", parts={"x": part(1.0)})]
        events = [replace(happened, index=number) for number, happened in enumerate(events)]
        return small_traces.trace(*events, functions={FILE: ["train"]})

    def record_on_both_versions(self, trainings, **_):
        """Return the traces of both versions."""
        return tuple({t.name: self.record(size) for t in trainings} for size in (0.0, 1e-7))

    def record_without_storing(self, _, trainings):
        """Return copies of the old version with rounding."""
        return {
            t.name: self.record(1e-7 if t.name.startswith("rounds") else 1e-15) for t in trainings
        }


def test_rounding_in_one_training_is_no_excuse_for_another():
    """Both begin to differ alike; the first is close, and does not represent the second."""
    trainings = [Training("sb3", name, {"framework": "sb3"}) for name in ("rounds", "turns")]
    old, new = TwoTrainings().record_on_both_versions(trainings)
    recorded = RecordedTrainings(
        versions=BothVersions(TwoTrainings(), Inventory(), Options()), trainings=trainings,
        differing=[TRAIN], old=old, new=new,
        sole_differences=dict.fromkeys(("rounds", "turns"), TRAIN.key),
    )  # fmt: skip
    recorded.compare(trainings)
    verdicts = {t.name: t.comparison.verdict for t in recorded.traced}
    assert verdicts == {"rounds": "close", "turns": "diverged"}
    assert recorded.stand_ins == {}


def test_files_with_the_same_other_content_are_one_group_and_times_are_none():
    """Whatever the files are called; what differs each time is recorded again each time."""
    contents = {"a": (".limit", "1", "2"), "b": (".x['limit']", "1", "2"), "c": (".at", "3", "4"),
                "d": (".at", "5", "6")}  # fmt: skip
    comparisons, traces = {}, ({}, {})
    for name, (path, *digests) in contents.items():
        events = [
            event("file", f"{name}.pkl", parts={f"value{path}": part(digest)}) for digest in digests
        ]
        first = replace(divergence(*events), kind="files", part=f"value{path}")
        comparisons[name] = traced(name, None, None, first=first).comparison
        for side, written in zip(traces, events, strict=True):
            side[name] = small_traces.trace(written)
    assert diverging_groups.choose_representatives(comparisons, traces, (), {}) == {
        "a": "a", "b": "a", "c": "c", "d": "d",
    }  # fmt: skip


def test_minutes_go_to_plain_trainings_and_to_each_changed_function_first():
    """A note names the training that was searched in place of another."""
    first = {"ppo": "train", "ppo gsde": "train", "sac wide": "sample", "sac": "sample",
             "td3 x": "f"}  # fmt: skip
    ordered = diverging_groups.order_trainings_to_spread_functions(
        {name: (FILE, function) for name, function in first.items()}
    )
    assert ordered == ["ppo", "sac", "td3 x", "ppo gsde", "sac wide"]
    trainings = [parted("long", 0), parted("short", 0)]
    representatives = {"long": "short", "short": "short"}
    noted, same = diverging_groups.name_representatives(trainings, representatives)
    assert "as short" in noted.notes[0]
    assert noted.representative == "short"
    assert same == trainings[1]
