"""From evidence to one verdict per framework and one exit code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from rlregress import evidence
from rlregress.gate import outcome
from rlregress.model.gate_result import FrameworkOutcome, GateResult
from rlregress.model.loaded_files import LoadedFile, StoredFile, by_release
from rlregress.model.verdict import COULD_NOT_JUDGE, FORMULAS_HOLD, REGRESSED
from rlregress.reporting import gate_report, markdown_page, words
from rlregress.reporting.html import gate_page
from rlregress.upgrade.return_gate import of_evidence


def entry(test: str, framework: str = "some", result: str = "passed", **changes) -> dict:
    """One entry of the evidence."""
    return {
        "test": test,
        "tier": "unit",
        "outcome": result,
        "seconds": 0.1,
        "message": "it broke" if result == "failed" else "",
        "framework": framework,
        **changes,
    }


def cell(name: str, verdict: str) -> dict:
    """The entry of a judged cell."""
    verdict_fields = {
        "verdict": verdict,
        "reason": "because.",
        "scale": 100.0,
        "stored_mean": 100.0,
        "new_mean": 90.0,
        "effect_fraction": -0.1,
        "interval": [-30.0, 10.0],
        "stored_seeds": 10,
        "new_seeds": 5,
        "failed": 0,
        "adjusted_drop": 0.7,
        "adjusted_gain": 0.02,
        "look": 2,
        "looks": [5, 10, 20],
        "visible_fraction": 0.4,
        "alpha": 0.05,
    }
    return entry(f"t::test_returns[{name}]", verdict=verdict_fields, cell=name)


def group(name: str, verdict: str, *cells: str) -> dict:
    """The entry of a judged group."""
    verdict_fields = {
        **cell(name, verdict)["verdict"],
        "cells": list(cells),
        "visible_fraction": 0.3,
    }
    return entry(f"t::test_group[{name}]", verdict=verdict_fields, group=name)


def result_of(outcomes: Sequence[FrameworkOutcome], **changes) -> GateResult:
    """The result of a gate that came to these outcomes, with what is different about it."""
    names = [framework_outcome.framework for framework_outcome in outcomes]
    nothing = {name: {} for name in names}
    fields = {
        "broken": (), "unjudged": (), "versions": nothing, "sources": nothing, "copies": nothing,
        "alpha": 0.05, "budget": "short", "seconds": 1.0, "exit_code": 0,
    }  # fmt: skip
    return GateResult(outcomes=outcomes, **{**fields, **changes})


def judged(*entries: dict) -> tuple[str, int]:
    """Verdict of the only framework, and the exit code."""
    outcomes_found = outcome.build_outcomes(list(entries))
    assert len(outcomes_found) == 1
    return outcomes_found[0].verdict, outcome.exit_code(outcomes_found, list(entries))


def critic(name: str, verdict: str, result: str = "passed") -> dict:
    """The entry of a judged critic: errors of 1.1 and then 2.0."""
    verdict_fields = {
        **cell(name, verdict)["verdict"], "quantity": "critic", "scale": 1.0,
        "stored_mean": -math.log(1.1), "new_mean": -math.log(2.0),
        "effect_fraction": -math.log(2.0 / 1.1), "interval": [-math.log(2.0), -math.log(1.5)],
        "visible_fraction": math.log(1.2),
    }  # fmt: skip
    critic_entry = entry(f"t::test_critic[{name}]", verdict=verdict_fields, critic=f"{name} critic")
    return {**critic_entry, "outcome": result}


def test_a_line_of_a_verdict_says_what_it_rests_on(snapshot):
    """Effect, interval, seeds, p-value, what would be detected; the error rate once a session.

    The p-value of an improvement is that of the gain, and critics are spoken of by their errors.
    """
    of_group = {**critic("g", "holds")["verdict"], "cells": ["x critic", "y critic"]}
    moved = {**cell("x", "moved")["verdict"], "quantity": "entropy", "looks": [5], "look": 1}
    band = {"verdict": "holds", "effect": -0.02, "new_seeds": 5, "adjusted_p": 1.0, "alpha": 0.025}
    unseen = {"visible_fraction": None}
    sessions = (
        {"x": cell("x", "holds")["verdict"], "y": cell("y", "improved")["verdict"]},
        {"x": cell("x", "regressed")["verdict"], "g": group("g", "holds", "x", "y")["verdict"]},
        {"x critic": critic("x", "regressed")["verdict"], "g critic": of_group},
        {"x entropy": moved, "y entropy": {**moved, "failed": 5}},
        {"x": cell("x", "holds")["verdict"] | unseen, "x entropy": moved | unseen},
        # published bands have half of the error
        {"b": {**band, "visible_drop": 1.25}},
        {},
    )
    lines = ["\n".join(words.lines(session)) for session in sessions]
    snapshot("verdict-lines.txt", "\n\n".join(lines))
    assert words.rate(0.001) == "0.1%"


def training(name: str, verdict: str) -> dict:
    """The entry of the judged training episodes of a cell."""
    framework_outcome = {**cell(name, verdict)["verdict"], "quantity": "training"}
    return entry(
        f"t::test_training_return[{name}]", verdict=framework_outcome, training=f"{name} training"
    )


def cell_entry(verdict: str, **changes) -> dict:
    """The entry of cell x, with what is different about its verdict."""
    critic_entry = cell("x", verdict)
    return {**critic_entry, "verdict": {**critic_entry["verdict"], **changes}}


RED, HOLDS_Y = entry("a", result="failed"), cell("y", "holds")
UNSURE = cell_entry("inconclusive")
COVERED = [HOLDS_Y, group("g", "holds", "x", "y")]
VERDICTS = {
    "all that was judged holds": ([entry("a"), cell_entry("holds")], "holds", 0),
    "a failed test": ([RED, cell_entry("holds")], "regressed", 1),
    "a test that could not be set "
    "up": ([cell_entry("holds"), entry("a", result="error")], "holds", 2),
    "a cell whose returns dropped": ([cell_entry("regressed"), HOLDS_Y], "regressed", 1),
    "a drop that the group does not show": ([cell_entry("regressed"), *COVERED], "regressed", 1),
    "a gain": ([cell_entry("improved"), HOLDS_Y], "improved", 0),
    "no returns": ([entry("a")], "inconclusive", 3),
    "a cell that sees too little": ([UNSURE, HOLDS_Y], "inconclusive", 3),
    "covered by its group": ([UNSURE, *COVERED], "holds", 0),
    "by another group": ([UNSURE, *COVERED, cell("z", "inconclusive")], "inconclusive", 3),
    "a loss by chance": (
        [cell_entry("inconclusive", effect_fraction=-0.45, p_drop=0.7), *COVERED], "holds", 0),
    # a loss of more than its group can see, or runs that failed, are not covered
    "a loss of most": (
        [cell_entry("inconclusive", effect_fraction=-0.9, p_drop=0.7), *COVERED],
        "inconclusive", 3),
    "a likely loss": (
        [cell_entry("inconclusive", effect_fraction=-0.45, p_drop=0.1), *COVERED],
        "inconclusive", 3),
    "a failed run": ([cell_entry("inconclusive", failed=1), *COVERED], "inconclusive", 3),
    # a training speaks for the evaluation of the same cell, or of its group
    "covered by its training": ([UNSURE, training("x", "holds")], "holds", 0),
    "by that of another": ([UNSURE, training("y", "holds")], "inconclusive", 3),
    "by one that is unsure": ([UNSURE, training("x", "inconclusive")], "inconclusive", 3),
    "by none": ([UNSURE, HOLDS_Y, group("g", "inconclusive", "x", "y")], "inconclusive", 3),
    "by that of its group": (
        [UNSURE, HOLDS_Y, group("g", "inconclusive", "x", "y"), training("g", "holds")],
        "holds", 0),
    "a training that fell": ([UNSURE, training("x", "regressed")], "regressed", 1),
    # a critic neither spoils nor replaces a return
    "an unsure critic": ([cell_entry("holds"), critic("x", "inconclusive")], "holds", 0),
    "a critic beside an unsure cell": ([UNSURE, critic("x", "holds")], "inconclusive", 3),
    "a critic alone": ([critic("x", "holds")], "inconclusive", 3),
    "a better critic": ([cell_entry("holds"), critic("x", "improved")], "improved", 0),
}  # fmt: skip


@pytest.mark.parametrize("case", VERDICTS)
def test_evidence_comes_to_one_verdict(case):
    """Each list of entries has its verdict and its exit code."""
    entries, verdict, code = VERDICTS[case]
    assert judged(*entries) == (verdict, code)


def test_a_tier_without_a_passed_test_is_named():
    """A framework of which no behaviour was tested has not been judged."""
    entries = [entry("a"), {**cell("x", "holds"), "tier": "performance"}]
    [framework_outcome] = outcome.build_outcomes(entries, to_probe={"some": ()})
    assert (framework_outcome.untested, framework_outcome.verdict) == (
        ("behavior",),
        "could not judge",
    )
    assert outcome.exit_code([framework_outcome], entries) == 2


def answer(detail: str, scope: str = "library", **changes) -> dict:
    """The entry of a test that asked a detail and got an answer."""
    return entry(f"t::test[{detail}-{scope}]", detail=detail, scope=scope, found="half", **changes)


def asked_details(*entries: dict, trained: bool = False) -> FrameworkOutcome:
    """The outcome of a framework of which two details are to be asked, one in two scopes."""
    probes = {("sac.a", "library"), ("sac.b", "library"), ("sac.b", "script")}
    further_entries = [
        {**entry("x"), "tier": "behavior"},
        {**cell("x", "holds"), "tier": "performance"},
    ]
    [framework_outcome] = outcome.build_outcomes(
        [*entries, *further_entries], {"some"} if trained else set(), to_probe={"some": probes}
    )
    return framework_outcome


EVERY_ANSWER = (answer("sac.a"), answer("sac.b"), answer("sac.b", "script"))


@pytest.mark.parametrize(("trained", "verdict"), [(True, "holds"), (False, "formulas hold")])
def test_nothing_holds_of_a_framework_that_was_not_asked_every_detail(trained, verdict):
    """With all answers it holds; without one of them, in one scope, it could not be judged."""
    complete = asked_details(*EVERY_ANSWER, trained=trained)
    assert (complete.verdict, complete.details, complete.not_asked) == (verdict, 2, ())
    part = asked_details(*EVERY_ANSWER[:2], trained=trained)
    assert (part.verdict, part.not_asked) == ("could not judge", ("sac.b (script)",))
    assert outcome.exit_code([part], []) == 2


def test_a_skipped_question_is_not_asked():
    """A test that was about a detail and got no answer leaves the detail open."""
    skipped = entry("s", detail="sac.b", scope="script", result="skipped")
    assert asked_details(*EVERY_ANSWER[:2], skipped).not_asked == ("sac.b (script)",)


def test_a_regression_stays_one_where_details_are_missing():
    """What is known to be wrong is said, however little was asked."""
    framework_outcome = asked_details(answer("sac.a", result="failed"))
    assert (framework_outcome.verdict, outcome.exit_code([framework_outcome], [])) == (
        "regressed",
        1,
    )
    assert framework_outcome.not_asked == ("sac.b (library, script)",)


def test_a_framework_of_which_no_test_ran_could_not_be_judged():
    """A framework that was selected and is in no entry has a verdict all the same."""
    [framework_outcome] = outcome.build_outcomes(
        [], set(), to_probe={"some": {("sac.a", "library")}}
    )
    assert (framework_outcome.verdict, framework_outcome.untested) == (
        "could not judge",
        ("unit", "behavior"),
    )


def test_a_critic_that_regressed_is_a_regression():
    """Whatever the returns say; that it is not the return is known."""
    entries = [cell("x", "holds"), critic("x", "regressed", result="failed")]
    assert judged(*entries) == ("regressed", 1)
    [framework_outcome] = outcome.build_outcomes(entries)
    assert framework_outcome.regressed_critics == ("x critic",)
    text = "What got worse is the critic; no return fell: x critic.\n"
    assert text in markdown_page.text(gate_page.page(result_of([framework_outcome], exit_code=1)))
    # beside a return that fell or a failed test, that is not said
    for further_cell in (cell("y", "regressed"), RED):
        assert outcome.build_outcomes([entries[1], further_cell])[0].regressed_critics == ()


def test_what_was_not_judged_is_said():
    """Cells and reason stand in one line, and in the outcome of the framework."""
    old, none = "they are older", "it exposes none"
    entries = [cell("x", "holds") | {"not_judged": {"critic": old}}, cell("y", "holds")]
    [framework_outcome] = outcome.build_outcomes(entries)
    assert framework_outcome.not_judged == {"x": {"critic": old}}
    assert words.not_judged(framework_outcome.not_judged) == [f"critic not judged of x: {old}"]
    reasons = {
        "b": {"critic": old, "entropy": old, "kl": none},
        "a": {"critic": old, "entropy": old},
    }
    assert words.not_judged(reasons) == [
        f"critic, entropy not judged of a, b: {old}", f"kl not judged of b: {none}"
    ]  # fmt: skip


def test_a_diagnostic_that_moved_is_said_and_does_not_block():
    """It is attached beside the return's verdict and is that of the framework, exit code 0."""
    moved = {**cell("x", "moved")["verdict"], "quantity": "entropy", "looks": [5], "look": 1}
    entries = [cell("x", "holds") | {"diagnostics": {"x entropy": moved}}]
    assert judged(*entries) == ("moved", 0)
    assert outcome.find_unjudged(["x", "x entropy"], entries) == []
    assert list(evidence.collect_verdicts(entries)) == ["x", "x entropy"]
    still = {"x entropy": {**moved, "verdict": "inconclusive"}}
    assert judged(cell("x", "holds") | {"diagnostics": still}) == ("holds", 0)
    assert judged(*entries, cell("y", "improved")) == ("improved", 0)


@pytest.mark.parametrize(
    ("quantity", "what"),
    [("returns", "drop"), ("critic", "growth of the error"), ("entropy", "change")],
)
def test_what_cannot_be_seen_is_named_with_the_step_at_which_it_is_not(quantity, what):
    """In a gate and in an upgrade: what is rejected later may still be called so."""
    name = "x" if quantity == "returns" else f"x {quantity}"
    unseen = {"visible_fraction": None, "quantity": quantity}
    verdict_fields = {**critic("x", "regressed")["verdict"], **unseen}
    text = f"; at Holm's first step no {what} can be seen"
    assert words.line(name, verdict_fields).endswith(text)
    [line] = of_evidence(
        "some", [entry("t", verdict=verdict_fields, critic=name)], [], Path()
    ).lines
    assert line.endswith(text)


def test_a_failure_of_the_suite_itself_is_no_verdict():
    """A red test about no framework means that the suite could not judge, exit code 2."""
    entries = [cell("x", "holds"), entry("suite", framework="", result="failed")]
    outcomes_found = outcome.build_outcomes(entries)
    assert outcome.exit_code(outcomes_found, entries) == 2
    assert outcome.exit_code([], []) == 2


def test_a_verdict_that_is_missing_is_no_verdict():
    """A cell of the session that no test has judged makes the gate one that could not judge."""
    entries = [cell("x", "holds")]
    missing = outcome.find_unjudged(["x", "y"], entries)
    assert missing == ["y"]
    assert outcome.exit_code(outcome.build_outcomes(entries), entries, missing) == 2


def test_each_framework_has_its_own_verdict():
    """What is said of one framework does not touch another; the worst one sets the exit code."""
    entries = [cell("x", "holds"), entry("b", framework="other", result="failed")]
    outcomes_found = outcome.build_outcomes(entries)
    assert [(o.framework, o.verdict) for o in outcomes_found] == [
        ("other", "regressed"),
        ("some", "holds"),
    ]
    assert outcome.exit_code(outcomes_found, entries) == 1


OF_PYTHON = "not loaded: it holds functions of Python 3.11, and this is 3.12 (2 releases, 1 to 2)"


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ("skipped passed", FORMULAS_HOLD),
        ("skipped skipped", COULD_NOT_JUDGE),
        ("skipped failed", REGRESSED),
    ],
)
def test_old_files_that_could_not_be_loaded_are_listed_first(results, verdict):
    """And where none of any kind could be, the verdict is not that files still load."""
    entries = [
        entry(f"t::files[{kind}]", result=result, old_files={"kind": kind, "found": [clause]})
        for kind, result, clause in zip(
            ("ppo model", "sac model"), results.split(), (OF_PYTHON, "same (1)"), strict=True
        )
    ]
    (framework_outcome,) = outcome.build_outcomes(entries, trained=())
    assert framework_outcome.verdict == verdict
    result = result_of([framework_outcome])
    lines = [line for line in markdown_page.text(gate_page.page(result)).splitlines() if line]
    assert lines[1] == f"## some: {verdict}"
    (line,) = [line for line in lines if line.startswith("- not checked: old files ppo model")]
    assert OF_PYTHON in line
    (line,) = gate_report.verdict_lines(result)
    assert "(not checked: old files ppo model" in line


def test_what_was_loaded_of_a_kind_is_told_after_what_was_not():
    """One kind of several releases, and kinds that could not be loaded for the same reason."""
    files = [
        StoredFile(name="x", release="2", skipped="why"),
        StoredFile(name="x", release="1", file=LoadedFile(name="x", compared=1)),
    ]
    assert by_release(files) == by_release(files[::-1]) == ["not loaded: why (2)", "same (1)"]
    lines = words.not_loaded({"a": [OF_PYTHON], "b": [OF_PYTHON], "c": ["not loaded: x (1)"]})
    assert lines == [
        f"not checked: old files a, b: {OF_PYTHON}", "not checked: old files c: not loaded: x (1)"
    ]  # fmt: skip


def test_a_framework_that_was_not_trained_can_hold_in_its_formulas():
    """It has a verdict of its own, owes no returns, and does not spoil the others' exit code."""
    own = [entry("u", "bare@1"), {**entry("b", "bare@1"), "tier": "behavior"}]
    entries = [*own, cell("x", "holds")]
    outcomes_found = outcome.build_outcomes(entries, {"some"})
    assert [(o.framework, o.verdict) for o in outcomes_found] == [
        ("bare@1", FORMULAS_HOLD), ("some", "holds")
    ]  # fmt: skip
    untested = {
        name: outcome.build_outcomes(own, {name}, {"bare@1": ()})[0].untested
        for name in ("bare", "bare@1")
    }
    # another copy, called "bare", was trained
    assert untested == {"bare": (), "bare@1": ("performance",)}
    assert outcome.exit_code(outcomes_found, entries) == 0
    red = outcome.build_outcomes([entry("u", "bare@1", result="failed")], {"some"})
    assert (red[0].verdict, outcome.exit_code(red, entries)) == ("regressed", 1)
