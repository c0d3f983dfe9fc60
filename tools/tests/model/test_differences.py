"""The verdict is a fold over the list of entries: what no list may ever come to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlregress.model import differences as model
from rlregress.model.code import (
    ADDED,
    CODE_CHANGED,
    REMOVED,
    SAME_VALUES,
    WORDING,
    ChangedPiece,
    Function,
)
from rlregress.model.differences import Entry, judge_entries_of_upgrade
from rlregress.model.upgrade_result import Branch, PieceExecution, RepeatedCalls
from rlregress.report.html import upgrade_card, upgrade_page
from rlregress.upgrade.verdict import entries

#: what a training can come to, half of them to the same; without a result it was never executed.
RESULTS = (*model.DIFFERENT, *[model.SAME] * 8, model.NOT_COMPARED, model.CANNOT, model.NEVER)
NAMES = ("ppo", "sac", "td3", "sac gsde")


def piece(name, package="framework", how=CODE_CHANGED):
    """Return a piece of code that differs."""
    own = Function(name=name, first=1, last=9, code="code", whole="code")
    return ChangedPiece(
        file=f"{package}/agent.py", name=name, how=how, old=own, new=own, paths=(None, None)
    )


@st.composite
def lists(draw):
    """Trainings with their results, and pieces of code with the trainings that executed them.

    The third of a piece is whether a branch went one way only, or the share of its changes that
    ran.
    """
    trainings = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(RESULTS)))
    pieces = []
    for n in range(draw(st.integers(0, 5))):
        package = draw(st.sampled_from(["framework", "contrib"]))
        how = draw(st.sampled_from([CODE_CHANGED, CODE_CHANGED, ADDED, REMOVED, WORDING]))
        by = draw(st.sets(st.sampled_from(sorted(trainings)))) if trainings else set()
        # of what one version alone has, all is a change: none of it is missed
        missed = [0.5, 0.0] if how == CODE_CHANGED else []
        ways = draw(st.sampled_from([False, False, True, *missed]))
        pieces.append((piece(f"f{n}", package, how), by, ways))
    return trainings, pieces


def list_entries(trainings, pieces):
    """Return the entries of a list, as the gate assembles them."""
    checks = [Entry(kind=model.TRAINING, name=name, state=s) for name, s in trainings.items()]
    branches = (Branch(file="", line=1, function="", summary="never"),)
    executions = [
        PieceExecution(
            function=function, trainings=tuple(sorted(by)), details=(),
            one_way=branches if one_way else (),
            missed="" if isinstance(one_way, bool) else "it ran, and not all that changed in it",
            share=1.0 if isinstance(one_way, bool) else one_way,
        )
        for function, by, one_way in pieces
    ]  # fmt: skip
    evidence = entries.map_checks_to_states(checks, {})
    return [*checks, *entries.make_code_entries(executions, evidence, (), ())]


def better(first, second):
    """Return whether a verdict is better than another."""
    return model.ORDER.index(first.verdict) > model.ORDER.index(second.verdict)


@settings(max_examples=50)
@given(lists(), st.data())
def test_losing_evidence_of_sameness_never_improves_a_verdict(drawn_case, data):
    """A training whose equal result is lost leaves the verdict as it was, or worse."""
    trainings, pieces = drawn_case
    same = sorted(name for name, state in trainings.items() if state == model.SAME)
    if not same:
        return
    gone = data.draw(st.sampled_from(same))
    before = judge_entries_of_upgrade(list_entries(trainings, pieces))
    after = judge_entries_of_upgrade(list_entries({**trainings, gone: model.NEVER}, pieces))
    assert not better(after, before)
    assert after.exit_code or not before.exit_code


@settings(max_examples=50)
@given(lists(), st.data())
def test_not_noticing_that_a_piece_was_executed_never_improves_a_verdict(drawn_case, data):
    """A piece of code that an equal training executed unnoticed counts as never executed."""
    trainings, pieces = drawn_case
    places = [
        (n, name) for n, (_, by, _) in enumerate(pieces) for name in sorted(by)
        if trainings[name] == model.SAME
    ]  # fmt: skip
    if not places:
        return
    number, gone = data.draw(st.sampled_from(places))
    function, by, one_way = pieces[number]
    fewer = [*pieces[:number], (function, by - {gone}, one_way), *pieces[number + 1 :]]
    before, after = (
        judge_entries_of_upgrade(list_entries(trainings, listed)) for listed in (pieces, fewer)
    )
    assert not better(after, before)


@settings(max_examples=50)
@given(lists())
def test_unchanged_requires_that_every_entry_was_executed_with_the_same_results(drawn_case):
    """One entry that differs, or that nothing executed and compared, and it is another verdict."""
    entries = list_entries(*drawn_case)
    judgement = judge_entries_of_upgrade(entries)
    same = all(item.state in (*model.EXECUTED_SAME, *model.WITHOUT_EFFECT) for item in entries)
    assert (judgement.verdict == model.UNCHANGED) == same
    assert judgement.headline.startswith(model.UNCHANGED) == same
    assert sum(judgement.states.values()) == len(entries)


@settings(max_examples=50)
@given(lists())
def test_a_piece_is_the_same_only_by_a_training_that_executed_it(drawn_case):
    """A piece is the same only by a training with the same results."""
    trainings, pieces = drawn_case
    by_name = {item.name: item for item in list_entries(trainings, pieces)}
    for function, by, one_way in pieces:
        is_complete, states = isinstance(one_way, bool), {trainings[name] for name in by}
        same = is_complete and states & set(model.EXECUTED_SAME)
        differs = is_complete and states & set(model.DIFFERENT) and model.NEW_FAILS not in states
        state = by_name[f"{function.file} {function.name}"].state
        assert state not in model.EXECUTED_SAME or (same and not differs)
        assert not differs or function.how == WORDING or state in model.DIFFERENT


def entry(state, kind=model.FUNCTION, **fields):
    """Return an entry in a state."""
    by = () if state in model.UNCHECKED else ("sac",)
    return Entry(kind=kind, name="framework/agent.py Agent.step", package="framework", state=state,
                 by=by, **fields)  # fmt: skip


VERDICTS = {
    "nothing differs": ([], model.UNCHANGED, 0),
    "executed with the same results": ([model.SAME], model.UNCHANGED, 0),
    "some branches one way only": ([model.ONE_WAY], model.UNCHANGED, 0),
    "without effect": ([model.NO_EFFECT], model.UNCHANGED, 0),
    "outside of training": ([model.OUTSIDE], model.UNCHANGED, 0),
    "nothing of a package was executed": ([model.NEVER], model.COULD_NOT_JUDGE, 2),
    "half was executed": ([model.NEVER, model.SAME], model.PARTLY, 0),
    "a third was executed": ([model.NEVER, model.NEVER, model.SAME], model.PARTLY, 2),
    "executed, but not compared": ([model.NOT_COMPARED, model.SAME], model.PARTLY, 0),
    "cannot run here": ([model.CANNOT, model.SAME], model.PARTLY, 0),
    "executed in part": ([model.IN_PART], model.PARTLY, 0),
    "in part beside a difference": ([model.IN_PART, model.DIFFERS], model.CHANGED, 3),
    "rounding": ([model.CLOSE], model.ROUNDED, 0),
    "the old version failed": ([model.OLD_FAILED], model.REPAIRED, 0),
    "a difference": ([model.DIFFERS, model.SAME], model.CHANGED, 3),
    "a difference in logs": ([model.LOGS, model.SAME], model.CHANGED, 3),
    "the new version fails": ([model.NEW_FAILS, model.DIFFERS], model.NEW_FAILS, 1),
}


def test_a_list_comes_to_the_worst_of_its_entries():
    """Coverage can be moved; a package that nothing executed cannot be judged."""
    for case, (states, *expected) in VERDICTS.items():
        judgement = judge_entries_of_upgrade([entry(state) for state in states])
        assert [judgement.verdict, judgement.exit_code] == expected, case
    entries = [entry(s) for s in (model.NEVER, model.NEVER, model.SAME, model.NO_EFFECT)]
    for share, code in ((0.0, 0), (0.33, 0), (0.34, 2)):
        assert judge_entries_of_upgrade(entries, min_coverage=share).exit_code == code
    assert judge_entries_of_upgrade(entries).coverage == model.Coverage(checked=1, all=3, ran=1)
    text = "Not enough for exit code 0: 33% of the changed pieces were executed and compared, less"
    assert text in judge_entries_of_upgrade(entries).headline
    assert text not in judge_entries_of_upgrade(entries, min_coverage=0.0).headline
    entries = [entry(model.SAME), Entry(kind=model.FUNCTION, name="x", package="contrib")]
    judgement = judge_entries_of_upgrade(entries, min_coverage=0.0)
    assert (judgement.verdict, judgement.exit_code) == (model.COULD_NOT_JUDGE, 2)
    assert "Packages of which no change was compared: contrib" in judgement.headline


@pytest.mark.parametrize(
    ("fail_on", "codes"),
    [(model.COULD_NOT_JUDGE, [0, 0, 3, 1]), (model.PARTLY, [0, 3, 3, 1]),
     (model.ROUNDED, [3, 3, 3, 1]), (model.REGRESSED, [0, 0, 0, 0]),
     (model.NEW_FAILS, [0, 0, 0, 1])],
)  # fmt: skip
def test_the_threshold_of_failing_can_be_moved(fail_on, codes):
    """A verdict fails from the named one on; the verdict itself stays."""
    entries = [[model.CLOSE], [model.NEVER, model.SAME], [model.DIFFERS], [model.NEW_FAILS]]
    judgements = [
        judge_entries_of_upgrade([entry(s) for s in states], fail_on=fail_on) for states in entries
    ]
    assert [judgement.exit_code for judgement in judgements] == codes
    verdicts = [model.ROUNDED, model.PARTLY, model.CHANGED, model.NEW_FAILS]
    assert [judgement.verdict for judgement in judgements] == verdicts


@pytest.mark.parametrize("kind", [model.TRAINING, model.SCRIPT])
def test_where_no_training_was_compared_nothing_can_be_judged(kind):
    """One compared training is enough to judge."""
    further = entry(model.SAME)
    for state in model.UNCHECKED:
        uncompared = entry(state, kind)
        judgement = judge_entries_of_upgrade([further, uncompared, entry(model.NO_EFFECT, kind)])
        assert (judgement.verdict, judgement.exit_code) == (model.COULD_NOT_JUDGE, 2)
        judgement = judge_entries_of_upgrade([further, uncompared, entry(model.SAME, kind)])
        assert judgement.verdict == model.PARTLY
        assert judge_entries_of_upgrade([entry(model.DIFFERS), uncompared]).verdict == model.CHANGED


def test_a_headline_counts_executed_pieces_and_names_the_others():
    """One that was executed in part counts by its share."""
    entries = [
        entry(model.SAME),
        Entry(kind=model.FUNCTION, name="framework/a.py A.f", package="framework"),
        Entry(kind=model.PUBLIC, name="framework.logger.read_csv", state=model.NO_EFFECT),
    ]
    assert judge_entries_of_upgrade(entries).headline == (
        "partly checked: No difference found in what ran: 1 of 2 changed pieces ran. "
        "Never executed: A.f."
    )
    removed_name = Entry(kind=model.PUBLIC, name="framework.logger.read_csv", state=model.DIFFERS)
    summary = "no longer installed: pandas (an extra now: extra)"
    pandas = Entry(kind=model.REQUIREMENT, name="pandas", state=model.DIFFERS, summary=summary)
    below = Entry(kind=model.PACKAGE, name="dateutil", state=model.DIFFERS)
    assert judge_entries_of_upgrade([*entries, below, removed_name, pandas]).headline == (
        "changed: Removed or incompatible: logger.read_csv. No longer installed: pandas, dateutil. "
        "1 of 2 changed pieces ran. Never executed: A.f."
    )
    for share, code in ((0.4, 2), (0.5, 0)):
        judgement = judge_entries_of_upgrade([entry(model.IN_PART, share=share)])
        assert (judgement.verdict, judgement.exit_code) == (model.PARTLY, code)
        coverage = model.Coverage(checked=0, all=1, in_part=1, partly=share, ran=1)
        assert judgement.coverage == coverage
        assert judgement.share == "1 of 1 changed pieces ran, 1 in part"
        text = f"No difference found in what ran: {judgement.share}. Ran in part: Agent.step."
        assert judgement.headline.startswith(f"partly checked: {text}")


RAN = {
    "by a probe": (model.NOT_COMPARED, ("x [library]",), "", True),
    "its change did not": (model.NEVER, ("sac",), "it ran, and nothing that changed in it", True),
    "imported": (model.NEVER, ("sac",), f"{model.IMPORTED}; nothing that ran uses X", False),
    "by nothing": (model.NEVER, (), "", False),
    "elsewhere": (model.CANNOT, (), "it may run in a process", False),
}


@pytest.mark.parametrize("case", RAN)
def test_an_executed_piece_is_never_reported_as_unexecuted(case):
    """If nothing was compared, the first sentence still separates executed from other pieces."""
    state, by, reason, ran = RAN[case]
    item = Entry(kind=model.FUNCTION, name="f.py f", package="f", state=state, by=by, reason=reason)
    judgement = judge_entries_of_upgrade([item])
    first = "1 of 1 changed pieces ran, 1 not compared." if ran else "None of 1 changed pieces ran."
    assert judgement.headline.startswith(f"could not judge: {first}")
    assert "nothing executed" not in judgement.headline


def test_a_headline_tells_an_imported_module_from_one_that_nothing_imports():
    """A module can be imported while nothing uses its change, and a function can run without it."""

    def function_entry(kind, name, *by, reason=""):
        file = f"framework/{name}.py"
        return Entry(kind=kind, name=f"{file} {name}", file=file, package="framework", by=by,
                     reason=reason)  # fmt: skip

    unused, in_part = "imported; nothing that ran uses pandas", "it ran, and not all that changed"
    entries = [
        entry(model.SAME),
        function_entry(model.FUNCTION, "write"),
        function_entry(model.MODULE, "monitor", "sac", reason=unused),
        function_entry(model.MODULE, "envs"),
        function_entry(model.FUNCTION, "step", "sac", reason=f"{in_part} in it: lines 3"),
    ]
    titles = {
        "Never executed": "write",
        "Imported, but nothing that ran uses what changed in it": "framework/monitor.py",
        "Imported by nothing that ran": "framework/envs.py",
        "Ran, but perhaps not where it differs": "step",
    }
    judgement = judge_entries_of_upgrade(entries, min_coverage=0.0)
    lists = ". ".join(f"{title}: {name}" for title, name in titles.items())
    assert judgement.headline.endswith(f"2 of 5 changed pieces ran, 1 not compared. {lists}.")
    assert judgement.states[model.NEVER] == 4
    for title, titled_entries in upgrade_page.group_entries_by_title(entries[1:]).items():
        assert [item.headline for item in titled_entries] == [titles.pop(title)]
    assert titles == {}


def test_the_headline_names_the_culprit_behind_the_trainings():
    """Trainings with the same numbers are told from those that differ."""
    training = Entry(kind=model.TRAINING, name="dqn", state=model.DIFFERS)
    culprit = Entry(kind=model.FUNCTION, name="f.py DQN._build", state=model.DIFFERS, by=("dqn",),
                    culprit=True)  # fmt: skip
    called = Entry(kind=model.CLASS, name="f.py <class> Actor", state=model.BEYOND,
                   reason="called directly")  # fmt: skip
    assert judge_entries_of_upgrade([called, training, culprit]).headline == (
        "changed: Differ: dqn. Culprit: DQN._build. Differ when called: Actor."
    )
    written = f"{model.WRITES_OTHERWISE}: model.zip, high: 10 -> 11"
    fields = {"kind": model.TRAINING, "state": model.DIFFERS}
    other = Entry(name="dqn", **fields)
    sac, td3 = (Entry(name=n, reason=written, like=like, **fields)
                for n, like in (("sac", ""), ("td3", "sac")))  # fmt: skip
    assert judge_entries_of_upgrade([other, sac, td3]).headline == (
        "changed: Differ: dqn. Train the same, and write otherwise: sac, td3."
    )
    assert upgrade_card._describe_differences_by_kind([sac, td3]) == [
        f"training sac and 1 like it: {written}"
    ]


@pytest.mark.parametrize("fields", [{"kind": "rumour"}, {"state": "fine"}])
def test_an_entry_is_of_a_known_kind_and_in_a_known_state(fields):
    """An unknown kind or state is an error, as no rule would count it."""
    with pytest.raises(ValueError, match="an entry of kind"):
        Entry(**{"kind": model.FUNCTION, "name": "x", **fields})


def test_accepted_entries_and_returns_decide():
    """An accepted entry is silent and stays; returns decide about a difference."""
    by_name = entry(model.DIFFERS, content="a -> b")
    (accepted,) = model.mark_accepted_entries([by_name], {by_name.key: "reviewed"})
    assert (accepted.accepted, accepted.affects_verdict) == ("reviewed", False)
    judgement = judge_entries_of_upgrade([accepted])
    assert (judgement.verdict, judgement.exit_code) == (model.AS_DOCUMENTED, 0)
    further = entry(model.DIFFERS, content="a -> c")
    assert model.mark_accepted_entries([further], {by_name.key: "reviewed"}) == (further,)
    for standing_verdict, verdict in (
        ("holds", "holds"), ("improved", "improved"), (model.DOCUMENTED, model.AS_DOCUMENTED),
        (model.VIOLATED, "regressed"), ("", model.CHANGED), ("not documented", model.CHANGED),
        ("unchanged", model.CHANGED),
    ):  # fmt: skip
        judgement = judge_entries_of_upgrade([entry(model.DIFFERS, standing=standing_verdict)])
        assert judgement.verdict == verdict


@pytest.mark.parametrize(
    ("calls", "state"),
    [
        (None, model.SAME),
        (RepeatedCalls(captured=2, same=40, touched=9), model.SAME),
        (RepeatedCalls(captured=2, same=40), model.IN_PART),
        (RepeatedCalls(why="a call takes longer than 6 s"), model.IN_PART),
        (RepeatedCalls(why=SAME_VALUES), model.SAME),
        (RepeatedCalls(captured=2, same=40, why=SAME_VALUES), model.IN_PART),
        (RepeatedCalls(captured=2, same=39, close=1, touched=1), model.CLOSE),
        (RepeatedCalls(captured=2, same=40, arguments="x 0", path="the result"), model.BEYOND),
    ],
)
def test_repeated_calls_that_change_no_input_are_no_evidence(calls, state):
    """A function is the same only if repeated calls changed what its differing lines read."""
    checks = [Entry(kind=model.TRAINING, name="sac", state=model.SAME)]
    execution = PieceExecution(function=piece("f", "framework"), trainings=("sac",), calls=calls)
    evidence = entries.map_checks_to_states(checks, {})
    (entry,) = entries.make_code_entries([execution], evidence, (), ())
    assert entry.state == state
    if calls is not None and calls.captured and not calls.arguments:
        assert f"{calls.touched or 'none'} of 40 changed" in entry.reason
    if state == model.IN_PART:
        judgement = judge_entries_of_upgrade([*checks, entry])
        assert judgement.verdict == model.PARTLY
        assert judgement.exit_code == (2 if calls.captured else 0)
