"""Known changes of real histories, judged by the reports of the gate, and their stored results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress import suite
from rlregress.errors import UserError
from rlregress.model.differences import NEVER, NEW_FAILS, NOT_COMPARED, OLD_FAILED, ONE_WAY
from rlregress.upgrade.differences.known_changes import Change, ReleasePair
from rlregress_power import release_histories
from rlregress_power.judged_releases import (
    CAUSE,
    FLAGGED,
    MISSED,
    NOT_JUDGED,
    UNREACHED,
    JudgedChange,
)

FILE = "package/sac.py"
TRAIN, OTHER_FUNCTION = f"{FILE} SAC.train", f"{FILE} SAC.other"


def change(**changed_fields):
    """Return a change of SAC's training."""
    fields = {
        "id": "x", "release": "2", "before": "1", "algorithms": ("sac",), "what": "w",
        "kind": "fix", "scope": "in", "source": "s", "functions": (TRAIN,), **changed_fields,
    }  # fmt: skip
    return Change(**fields)


def report(verdict="changed", details=(), defaults=(), traces=None, entries=()):
    """Return a report of one framework."""
    framework = {"details": list(details), "defaults": list(defaults), "traces": traces or {}}
    content = {"verdict": verdict, "headline": verdict, "entries": list(entries)}
    return {**content, "frameworks": {"x": framework}}


def detail(id="sac.scale", *functions):
    """Return a detail whose variant differs between the versions."""
    return {"id": id, "old": "half", "new": "none", "functions": list(functions)}


def default(owner="sac [library]", name="batch"):
    """Return a default that differs between the versions."""
    return {"owner": owner, "name": name, "old": "100", "new": "256"}


def trained(name="sac", verdict="diverged", **cause):
    """Return the traces of a training with both versions, and the cause of their divergence."""
    return {name: {"verdict": verdict, "cause": cause or None}}


def entry(state, name="SAC.train"):
    """Return an entry of the report on a function, with a state."""
    return {"name": f"{FILE} {name}", "state": state}


def seen(data, known_change):
    """Return the outcome of one change, and its reason."""
    (only,) = release_histories.make_judged_pair(
        ReleasePair("1", "2", (known_change,)), data, 1.0
    ).changes
    assert only.id == known_change.id
    return only.outcome, only.by


#: the report, the change, and the outcome with its reason
JUDGED = {
    "named by its detail": (
        report(details=[detail()]), change(details=("sac.scale",)),
        (CAUSE, "sac.scale: half -> none")),
    "named by a detail whose probe enters its function and no other that differs": (
        report(details=[detail("y", TRAIN)]), change(), (CAUSE, "y: half -> none")),
    "named by its default": (
        report(defaults=[default()]), change(defaults=("sac batch",)),
        (CAUSE, "sac [library] batch: 100 -> 256")),
    "named by a parameter of a class whose constructor it names": (
        report(defaults=[default("package.sac.SAC", "x")]),
        change(functions=(TRAIN, f"{FILE} SAC.__init__")),
        (CAUSE, "package.sac.SAC x: 100 -> 256")),
    "named by a parameter of a function that it names": (
        report(defaults=[default("package.train", "x")]),
        change(functions=("package/__init__.py train",)), (CAUSE, "package.train x: 100 -> 256")),
    "named by the only function that moves a training": (
        report(traces=trained("td3 gsde", alone=TRAIN)), change(), (CAUSE, f"td3 gsde: {TRAIN}")),
    "named by a function that is defined within it": (
        report(traces=trained(alone=f"{TRAIN}.halved")), change(), (CAUSE, f"sac: {TRAIN}.halved")),
    "named by one of several that move it": (
        report(traces=trained(alone=None, moving=[OTHER_FUNCTION, TRAIN])), change(),
        (CAUSE, f"sac: {TRAIN}")),
    "named by the function where the traces part": (
        report(traces=trained(alone=None, place=[TRAIN], still=[OTHER_FUNCTION])), change(),
        (CAUSE, f"sac: {TRAIN}")),
    # nothing that differs belongs to it
    "another detail": (
        report(details=[detail("y", OTHER_FUNCTION)]), change(details=("sac.scale",)),
        (MISSED, "")),
    "a default of another algorithm": (
        report(defaults=[default("td3 [library]")]), change(defaults=("sac batch",)),
        (MISSED, "")),
    "a default of another function": (
        report(defaults=[default("package.sac.SAC.learn", "x")]), change(), (MISSED, "")),
    "another function": (
        report(traces=trained(verdict="equal", alone=OTHER_FUNCTION)), change(), (MISSED, "")),
    "a function whose name begins alike": (
        report(traces=trained(verdict="equal", alone=f"{TRAIN}er")), change(), (MISSED, "")),
    "a function that was shown to do nothing": (
        report(traces=trained(verdict="equal", place=[TRAIN], still=[TRAIN])), change(),
        (MISSED, "")),
    "no cause": (report(traces=trained(verdict="equal")), change(), (MISSED, "")),
    # a training of one of its algorithms diverges, and the verdict is a change
    "a training": (report(traces=trained()), change(), (FLAGGED, "")),
    "a scenario of one of several algorithms": (
        report(traces=trained("sac gsde")), change(algorithms=("td3", "sac")), (FLAGGED, "")),
    "any training": (report(traces=trained("td3")), change(algorithms=("all",)), (FLAGGED, "")),
    "a detail of several functions": (
        report(details=[detail("y", OTHER_FUNCTION, TRAIN)]), change(), (FLAGGED, "")),
    "a training beside a function that does nothing": (
        report(traces=trained(place=[TRAIN], still=[TRAIN])), change(), (FLAGGED, "")),
    "a training of another algorithm": (report(traces=trained("td3")), change(), (MISSED, "")),
    "a training under a verdict that is no change": (
        report("unchanged", traces=trained()), change(), (MISSED, "")),
    # only what is among the functions that an acquittal does not cover is not executed
    **{f"a function that is {state}": (
           report("partly checked", entries=[entry(state)]), change(), outcome)
       for state, outcome in ((NEVER, (UNREACHED, TRAIN)), (NOT_COMPARED, (UNREACHED, TRAIN)),
                              (ONE_WAY, (MISSED, "")))},
    "another function that is never executed": (
        report("partly checked", entries=[entry(NEVER, "SAC.other")]), change(), (MISSED, "")),
    # a training that one of the two versions cannot do
    **{f"a function whose training {state}": (
           report("repaired", entries=[entry(state)]), change(), (CAUSE, f"{state}: {TRAIN}"))
       for state in (NEW_FAILS, OLD_FAILED)},
    "another function whose training fails": (
        report("repaired", entries=[entry(NEW_FAILS, OTHER_FUNCTION)]), change(), (MISSED, "")),
    # the surest of what is said of a change counts
    "a training, and a function that is never executed": (
        report(traces=trained(), entries=[entry(NEVER)]), change(), (FLAGGED, "")),
    "a cause that is never executed elsewhere": (
        report(traces=trained(alone=TRAIN), entries=[entry(NEVER)]), change(),
        (CAUSE, f"sac: {TRAIN}")),
    # without a verdict nothing is missed
    "no verdict": (report("could not judge"), change(), (NOT_JUDGED, "")),
    "no framework": (
        {"verdict": "unchanged", "headline": "no framework"}, change(), (NOT_JUDGED, "")),
}  # fmt: skip


@pytest.mark.parametrize("case", JUDGED)
def test_a_change_is_judged_by_what_the_report_says_of_it(case):
    """The reason names the detail, the default, the training or the function that names it."""
    data, known_change, outcome = JUDGED[case]
    assert seen(data, known_change) == outcome


def test_changes_out_of_scope_are_not_counted():
    """A pair without changes in scope is healthy; a red verdict on it is a false alarm.

    Only verdicts that say that something changed are red.
    """
    out = change(id="out", scope="out", why_out="a message")
    healthy = release_histories.make_judged_pair(ReleasePair("1", "2", (out,)), report(), 1.26)
    assert (healthy.changes, healthy.has_no_known_changes, healthy.would_stop_upgrade) == (
        (),
        True,
        True,
    )
    assert (healthy.before, healthy.release, healthy.seconds) == ("1", "2", 1.3)
    pair = ReleasePair("1", "2", (out, change()))
    sick = release_histories.make_judged_pair(pair, report("unchanged"), 1.0)
    assert [row.id for row in sick.changes] == ["x"]
    assert (sick.has_no_known_changes, sick.would_stop_upgrade) == (False, False)
    red = ("changed", "regressed", "inconclusive")
    green = ("unchanged", "unchanged as far as asked", "holds", "improved", "could not judge",
             "changed as documented")  # fmt: skip
    verdicts = {v: replace(healthy, verdict=v).would_stop_upgrade for v in (*red, *green)}
    assert verdicts == dict.fromkeys(red, True) | dict.fromkeys(green, False)


HISTORY = """\
releases = ["1.0", "1.1", "1.2", "1.3"]

[[change]]
id = "x-1.1-halved"
release = "1.1"
before = "1.0"
algorithms = ["sac"]
what = "The loss is halved"
kind = "fix"
scope = "in"
source = "changelog 1.1"
functions = ["package/sac.py SAC.train"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of histories with that of one framework with four releases."""
    histories_folder = tmp_path / "histories"
    histories_folder.mkdir()
    (histories_folder / "x.toml").write_text(HISTORY)
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    return histories_folder


class Judge:
    """Judges every pair the same, and records which pairs it was called with."""

    def __init__(self, data):
        self._data = data
        self.asked = []

    def __call__(self, pair):
        """Return the report, or raise the error."""
        self.asked.append(pair.release)
        if isinstance(self._data, Exception):
            raise self._data
        return self._data


def test_results_are_kept_and_read_again(folder):
    """Pairs are judged newest first and stored one by one; the file has the oldest first."""
    assert release_histories.load_judged_pairs("x") == ()
    judge = Judge(report(traces=trained(alone=TRAIN)))
    running = release_histories.judge_pairs("x", judge)
    first = next(running)
    assert first.release == "1.3"
    assert release_histories.load_judged_pairs("x") == (first,)
    remaining = list(running)
    assert judge.asked == ["1.3", "1.2", "1.1"]
    assert release_histories.load_judged_pairs("x") == (remaining[1], remaining[0], first)
    judged_change = JudgedChange(id="x-1.1-halved", outcome=CAUSE, by=f"sac: {TRAIN}")
    assert remaining[1].changes == (judged_change,)


def test_what_has_a_result_is_not_judged_again(folder):
    """A pair with a result is judged again only if its release is named, and then alone."""
    list(release_histories.judge_pairs("x", Judge(report("unchanged")), only=["1.2"]))
    second_judge = Judge(report())
    pairs = list(release_histories.judge_pairs("x", second_judge))
    assert [row.release for row in pairs] == ["1.3", "1.1"]
    verdicts = [row.verdict for row in release_histories.load_judged_pairs("x")]
    assert verdicts == ["changed", "unchanged", "changed"]
    named = Judge(report("holds"))
    list(release_histories.judge_pairs("x", named, only=["1.2"]))
    assert named.asked == ["1.2"]
    assert [row.verdict for row in release_histories.load_judged_pairs("x")] == [
        "changed",
        "holds",
        "changed",
    ]


def test_what_scenarios_alone_name_is_added(folder):
    """A cause that was not named before is added; the verdict of the whole gate stays."""

    def judge_again(data):
        (pair,) = release_histories.judge_pairs("x", Judge(data), only=["1.1"], further=True)
        return pair

    (full_pair,) = release_histories.judge_pairs("x", Judge(report(traces=trained())), only=["1.1"])
    assert full_pair.changes == (JudgedChange(id="x-1.1-halved", outcome=FLAGGED),)
    assert judge_again(report("unchanged")) == full_pair
    added = judge_again(report("regressed", traces=trained("sac gsde", alone=TRAIN)))
    later = JudgedChange(id="x-1.1-halved", outcome=CAUSE, by=f"sac gsde: {TRAIN}", later=True)
    assert added == replace(full_pair, changes=(later,))
    assert judge_again(report(traces=trained("sac n-step", alone=TRAIN))) == added
    assert release_histories.load_judged_pairs("x") == (added,)
    list(release_histories.judge_pairs("x", Judge(report()), only=["1.2"]))
    assert release_histories.locate_judged_pairs("x").read_text().count('"later"') == 1


@pytest.mark.parametrize("release", ["1.4", "1.0", ""])
def test_a_release_that_is_not_published_is_one_sentence(folder, release):
    """An unknown release, and the first one, which has none before it, are errors."""
    judge = Judge(report())
    with pytest.raises(UserError, match=f"'{release}' is not a release of x.*known: 1.1, 1.2, 1.3"):
        list(release_histories.judge_pairs("x", judge, only=["1.1", release]))
    assert judge.asked == []


def test_a_pair_that_cannot_be_judged_does_not_end_the_others(folder):
    """The headline of such a pair is the error."""
    pairs = list(release_histories.judge_pairs("x", Judge(UserError("no such wheel"))))
    assert [row.verdict for row in pairs] == ["could not judge"] * 3
    assert pairs[0].headline == "could not judge: no such wheel"
    assert [row.outcome for row in pairs[2].changes] == [NOT_JUDGED]
