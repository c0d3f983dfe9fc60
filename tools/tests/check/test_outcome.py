"""From a session's evidence, which lacks nothing, to one verdict per framework and exit code."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest

from rlregress import evidence, suite
from rlregress.check import outcome
from rlregress.errors import UserError
from rlregress.model.check_result import CheckResult, FrameworkOutcome
from rlregress.model.verdict import COULD_NOT_JUDGE, FORMULAS_HOLD, REGRESSED
from rlregress.report import check_report, markdown_page, words
from rlregress.report.html import check_page
from rlregress.training import worker_launch

from ..processes import run_pytest


def entry(test: str, framework: str = "some", result: str = "passed", **changes) -> dict:
    """Return one entry of the evidence."""
    message = "it broke" if result == "failed" else ""
    fields = {"tier": "unit", "outcome": result, "seconds": 0.1, "message": message}
    return {"test": test, "framework": framework, **fields, **changes}


def cell(name: str, verdict: str) -> dict:
    """Return the entry of a judged cell."""
    verdict_fields = {
        "verdict": verdict, "reason": "because.", "scale": 100.0, "stored_mean": 100.0,
        "new_mean": 90.0, "effect_fraction": -0.1, "interval": [-30.0, 10.0], "stored_seeds": 10,
        "new_seeds": 5, "failed": 0, "adjusted_drop": 0.7, "adjusted_gain": 0.02, "look": 2,
        "looks": [5, 10, 20], "visible_fraction": 0.4, "alpha": 0.05,
    }  # fmt: skip
    return entry(f"t::test_returns[{name}]", verdict=verdict_fields, cell=name)


def group(name: str, verdict: str, *cells: str) -> dict:
    """Return the entry of a judged group."""
    fields = {"cells": list(cells), "visible_fraction": 0.3}
    verdict_fields = {**cell(name, verdict)["verdict"], **fields}
    return entry(f"t::test_group[{name}]", verdict=verdict_fields, group=name)


def result_of(outcomes: Sequence[FrameworkOutcome], **changes) -> CheckResult:
    """Return the result of a check with these outcomes, with some changes."""
    names = [framework_outcome.framework for framework_outcome in outcomes]
    nothing = {name: {} for name in names}
    fields = {
        "broken": (), "unjudged": (), "versions": nothing, "sources": nothing, "copies": nothing,
        "alpha": 0.05, "budget": "short", "seconds": 1.0, "exit_code": 0,
    }  # fmt: skip
    return CheckResult(outcomes=outcomes, **{**fields, **changes})


def judged(*entries: dict) -> tuple[str, int]:
    """Verdict of the only framework, and the exit code."""
    outcomes_found = outcome.build_framework_outcomes(list(entries))
    assert len(outcomes_found) == 1
    return outcomes_found[0].verdict, outcome.compute_exit_code(outcomes_found, list(entries))


def critic(name: str, verdict: str, result: str = "passed") -> dict:
    """Return the entry of a judged critic: errors of 1.1 and then 2.0."""
    verdict_fields = {
        **cell(name, verdict)["verdict"], "quantity": "critic", "scale": 1.0,
        "stored_mean": -math.log(1.1), "new_mean": -math.log(2.0),
        "effect_fraction": -math.log(2.0 / 1.1), "interval": [-math.log(2.0), -math.log(1.5)],
        "visible_fraction": math.log(1.2),
    }  # fmt: skip
    critic_entry = entry(f"t::test_critic[{name}]", verdict=verdict_fields, critic=f"{name} critic")
    return {**critic_entry, "outcome": result}


def test_a_line_of_a_verdict_has_its_evidence(snapshot):
    """A line has effect, interval, seeds, p-value and power; a session has its error rate once."""
    group_fields = {**critic("g", "holds")["verdict"], "cells": ["x critic", "y critic"]}
    entropy = {**cell("x", "moved")["verdict"], "quantity": "entropy", "looks": [5], "look": 1}
    band = {"verdict": "holds", "effect": -0.02, "new_seeds": 5, "adjusted_p": 1.0, "alpha": 0.025}
    unseen = {"visible_fraction": None}
    sessions = (
        {"x": cell("x", "holds")["verdict"], "y": cell("y", "improved")["verdict"]},
        {"x": cell("x", "regressed")["verdict"], "g": group("g", "holds", "x", "y")["verdict"]},
        {"x critic": critic("x", "regressed")["verdict"], "g critic": group_fields},
        {"x entropy": entropy, "y entropy": {**entropy, "failed": 5}},
        {"x": cell("x", "holds")["verdict"] | unseen, "x entropy": entropy | unseen},
        # published bands have half of the error
        {"b": {**band, "visible_drop": 1.25}},
        {},
    )
    lines = ["\n".join(words.format_verdicts(session)) for session in sessions]
    snapshot("verdict-lines.txt", "\n\n".join(lines))
    assert words.format_error_rate(0.001) == "0.1%"


def training(name: str, verdict: str) -> dict:
    """Return the entry of the judged training episodes of a cell."""
    fields = {**cell(name, verdict)["verdict"], "quantity": "training"}
    return entry(f"t::test_training_return[{name}]", verdict=fields, training=f"{name} training")


def cell_entry(verdict: str, **changes) -> dict:
    """Return the entry of cell x, with some changes of its verdict."""
    critic_entry = cell("x", verdict)
    return {**critic_entry, "verdict": {**critic_entry["verdict"], **changes}}


RED, HOLDS_Y = entry("a", result="failed"), cell("y", "holds")
UNSURE = cell_entry("inconclusive")
COVERED = [HOLDS_Y, group("g", "holds", "x", "y")]
VERDICTS = {
    "all that was judged holds": ([entry("a"), cell_entry("holds")], "holds", 0),
    "a failed test": ([RED, cell_entry("holds")], "regressed", 1),
    "a test in error": ([cell_entry("holds"), entry("a", result="error")], COULD_NOT_JUDGE, 2),
    "a drop that the group does not show": ([cell_entry("regressed"), *COVERED], "regressed", 1),
    "a gain": ([cell_entry("improved"), HOLDS_Y], "improved", 0),
    "no returns": ([entry("a")], "inconclusive", 3),
    "a cell that sees too little": ([UNSURE, HOLDS_Y], "inconclusive", 3),
    "covered by its group": ([UNSURE, *COVERED], "holds", 0),
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
    "by none": ([UNSURE, HOLDS_Y, group("g", "inconclusive", "x", "y")], "inconclusive", 3),
    "by that of its group": (
        [UNSURE, HOLDS_Y, group("g", "inconclusive", "x", "y"), training("g", "holds")],
        "holds", 0),
    # a critic neither spoils nor replaces a return
    "an unsure critic": ([cell_entry("holds"), critic("x", "inconclusive")], "holds", 0),
    "a critic beside an unsure cell": ([UNSURE, critic("x", "holds")], "inconclusive", 3),
    "a better critic": ([cell_entry("holds"), critic("x", "improved")], "improved", 0),
}  # fmt: skip


def test_evidence_comes_to_one_verdict():
    """Each list of entries has its verdict and its exit code."""
    for case, (entries, *expected) in VERDICTS.items():
        assert judged(*entries) == tuple(expected), case


@pytest.mark.parametrize(
    ("entries", "to_probe", "untested"),
    [([entry("a"), {**cell("x", "holds"), "tier": "performance"}], (), ("behavior",)),
     ([], {("sac.a", "library")}, ("unit", "behavior"))],
    ids=["no test of behaviour", "no test"],
)  # fmt: skip
def test_a_tier_without_a_passed_test_is_named(entries, to_probe, untested):
    """A framework that was selected has a verdict all the same: it has not been judged."""
    [result] = outcome.build_framework_outcomes(entries, set(), to_probe={"some": to_probe})
    assert (result.untested, result.verdict) == (untested, COULD_NOT_JUDGE)
    assert outcome.compute_exit_code([result], entries) == 2


def answer(detail: str, scope: str = "library", **changes) -> dict:
    """Return the entry of a test that probed a detail."""
    return entry(f"t::test[{detail}-{scope}]", detail=detail, scope=scope, found="half", **changes)


def asked_details(*entries: dict, trained: bool = False) -> FrameworkOutcome:
    """Return the outcome of a framework with two details, one of them in two scopes."""
    probes = {("sac.a", "library"), ("sac.b", "library"), ("sac.b", "script")}
    further = [entry("x", tier="behavior"), {**cell("x", "holds"), "tier": "performance"}]
    names = {"some"} if trained else set()
    [result] = outcome.build_framework_outcomes(
        [*entries, *further], names, to_probe={"some": probes}
    )
    return result


ALL_ANSWERS = (answer("sac.a"), answer("sac.b"), answer("sac.b", "script"))


@pytest.mark.parametrize(("trained", "verdict"), [(True, "holds"), (False, "formulas hold")])
def test_an_unchecked_detail_prevents_a_verdict(trained, verdict):
    """A framework with all answers holds; without one in one scope it could not be judged."""
    complete = asked_details(*ALL_ANSWERS, trained=trained)
    assert (complete.verdict, complete.details, complete.not_asked) == (verdict, 2, ())
    # also where its test was skipped
    skipped = entry("s", detail="sac.b", scope="script", result="skipped")
    for entries in (ALL_ANSWERS[:2], (*ALL_ANSWERS[:2], skipped)):
        part = asked_details(*entries, trained=trained)
        assert (part.verdict, part.not_asked) == (COULD_NOT_JUDGE, ("sac.b (script)",))
        assert outcome.compute_exit_code([part], []) == 2


def test_a_regression_stays_one_where_details_are_missing():
    """A known regression is reported, however few details were checked."""
    result = asked_details(answer("sac.a", result="failed"))
    assert (result.verdict, outcome.compute_exit_code([result], [])) == (REGRESSED, 1)
    assert result.not_asked == ("sac.b (library, script)",)


def test_a_critic_that_regressed_is_a_regression():
    """A critic alone regresses a framework, and the report says that no return fell."""
    entries = [cell("x", "holds"), critic("x", "regressed", result="failed")]
    assert judged(*entries) == ("regressed", 1)
    [result] = outcome.build_framework_outcomes(entries)
    assert result.critics_regressed_alone == ("x critic",)
    text = "The critic got worse, and no return fell: x critic.\n"
    page = check_page.make_page_of_check(result_of([result], exit_code=1))
    assert text in markdown_page.format_page_as_markdown(page)
    # beside a return that fell or a failed test, that is not said
    for further_cell in (cell("y", "regressed"), RED):
        assert (
            outcome.build_framework_outcomes([entries[1], further_cell])[0].critics_regressed_alone
            == ()
        )


PYTHON = "not loaded: it holds functions of Python 3.11, and this is 3.12 (2 releases, 1 to 2)"


def test_unjudged_quantities_and_unloaded_files_are_listed():
    """Those with one reason are one line."""
    old, none = "they are older", "it exposes none"
    entries = [cell("x", "holds") | {"not_judged": {"critic": old}}, cell("y", "holds")]
    [result] = outcome.build_framework_outcomes(entries)
    assert result.not_judged == {"x": {"critic": old}}
    assert words.describe_cells_judged_by_returns_only(result.not_judged) == [
        f"critic not judged of x: {old}"
    ]
    both = {"critic": old, "entropy": old}
    reasons = {"b": {**both, "kl": none}, "a": both}
    assert words.describe_cells_judged_by_returns_only(reasons) == [
        f"critic, entropy not judged of a, b: {old}", f"kl not judged of b: {none}"
    ]  # fmt: skip
    lines = words.describe_files_not_loaded(
        {"a": [PYTHON], "b": [PYTHON], "c": ["not loaded: x (1)"]}
    )
    assert lines == [
        f"not checked: old files a, b: {PYTHON}", "not checked: old files c: not loaded: x (1)"
    ]  # fmt: skip


def test_a_moved_diagnostic_is_reported_and_does_not_fail():
    """It is the verdict of the framework, with exit code 0."""
    entropy = {**cell("x", "moved")["verdict"], "quantity": "entropy", "looks": [5], "look": 1}
    entries = [cell("x", "holds") | {"diagnostics": {"x entropy": entropy}}]
    assert judged(*entries) == ("moved", 0)
    assert outcome.find_unjudged_names(["x", "x entropy"], entries) == []
    assert list(evidence.collect_verdicts(entries)) == ["x", "x entropy"]
    still = {"x entropy": {**entropy, "verdict": "inconclusive"}}
    assert judged(cell("x", "holds") | {"diagnostics": still}) == ("holds", 0)
    assert judged(*entries, cell("y", "improved")) == ("improved", 0)


def test_each_framework_has_its_own_verdict():
    """The worst sets the exit code; a failure of the suite and a cell without a verdict are 2."""
    entries = [cell("x", "holds")]
    missing = outcome.find_unjudged_names(["x", "y"], entries)
    assert missing == ["y"]
    assert (
        outcome.compute_exit_code(outcome.build_framework_outcomes(entries), entries, missing) == 2
    )
    entries += [entry("suite", framework="", result="failed")]
    assert outcome.compute_exit_code(outcome.build_framework_outcomes(entries), entries) == 2
    assert outcome.compute_exit_code([], []) == 2
    entries = [cell("x", "holds"), entry("b", framework="other", result="failed")]
    outcomes_found = outcome.build_framework_outcomes(entries)
    verdicts = [(result.framework, result.verdict) for result in outcomes_found]
    assert verdicts == [("other", REGRESSED), ("some", "holds")]
    assert outcome.compute_exit_code(outcomes_found, entries) == 1


@pytest.mark.parametrize(
    ("sac_result", "verdict"),
    [("passed", FORMULAS_HOLD), ("skipped", COULD_NOT_JUDGE), ("failed", REGRESSED)],
)
def test_old_files_that_could_not_be_loaded_are_listed_first(sac_result, verdict):
    """Unloaded files prevent the claim that files still load."""
    entries = [
        entry(f"t::files[{kind}]", result=result, old_files={"kind": kind, "found": [clause]})
        for kind, result, clause in (
            ("ppo model", "skipped", PYTHON), ("sac model", sac_result, "same (1)"))
    ]  # fmt: skip
    (framework_outcome,) = outcome.build_framework_outcomes(entries, trained=())
    assert framework_outcome.verdict == verdict
    (line,) = check_report.format_verdict_of_each_framework(result_of([framework_outcome]))
    assert "(not checked: old files ppo model" in line


def test_a_framework_that_was_not_trained_can_hold_in_its_formulas():
    """It has a verdict of its own, owes no returns, and does not spoil the others' exit code."""
    own = [entry("u", "bare@1"), entry("b", "bare@1", tier="behavior")]
    entries = [*own, cell("x", "holds")]
    outcomes_found = outcome.build_framework_outcomes(entries, {"some"})
    assert [(o.framework, o.verdict) for o in outcomes_found] == [
        ("bare@1", FORMULAS_HOLD), ("some", "holds")
    ]  # fmt: skip
    # another copy, called "bare", was trained
    for trained, untested in (("some", ()), ("bare", ()), ("bare@1", ("performance",))):
        [bare] = outcome.build_framework_outcomes(own, {trained}, {"bare@1": ()})
        assert bare.untested == untested
    assert outcome.compute_exit_code(outcomes_found, entries) == 0
    red = outcome.build_framework_outcomes([entry("u", "bare@1", result="failed")], {"some"})
    assert (red[0].verdict, outcome.compute_exit_code(red, entries)) == ("regressed", 1)


CONFTEST = 'pytest_plugins = ["rlregress.pytest_plugin"]\n'


def session(folder, text: str, *options: str) -> list[dict]:
    """Run pytest on files with this text and one that is no Python; the entries of its evidence."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(text)
    (folder / "test_other.py").write_text("def (\n")
    paths = f"{worker_launch.make_worker_environment()['PYTHONPATH']}:{suite.find_suite_root()}"
    options = ("--continue-on-collection-errors", "--evidence", "evidence.json", *options)
    words = ("-q", "--rootdir", folder, *options)
    run_pytest(*words, code=None, cwd=folder, variables={"PYTHONPATH": paths})
    return json.loads((folder / "evidence.json").read_text())["tests"]


@pytest.mark.usefixtures("warm_python")
def test_errors_and_failures_are_evidence(tmp_path):
    """Failures are assertions and the framework's errors; a verdict has the name of its subject."""
    verdict = cell("any", "holds")["verdict"]
    entries = session(
        tmp_path,
        "from rlregress.errors import UserError\n"
        "def test_user():\n    raise UserError('the store is gone; bring it back')\n"
        "def test_assertion():\n    assert 1 == 2\n"
        "def test_suite(framework):\n    framework.train.train_all()\n"
        "def test_framework(framework):\n"
        "    from stable_baselines3.common.torch_layers import create_mlp\n"
        "    create_mlp(-1, 1, [])\n"
        f"VERDICT = {verdict!r}\n"
        "def test_cell(judged_cell, evidence):\n    evidence(verdict=VERDICT)\n"
        "def test_group(judged_group, evidence):\n    evidence(verdict=VERDICT)\n",
        "--budget=short", "--cells=sb3-ppo-Hopper-v4-short,sb3-ppo-Reacher-v4-short",
        "--framework=sb3",
    )  # fmt: skip
    by_name = {entry["test"].partition("::")[2]: entry for entry in entries}
    # what the suite's own code raised says nothing of the framework
    assert by_name["test_suite[sb3]"]["outcome"] == "error"
    assert by_name["test_framework[sb3]"]["outcome"] == "failed"
    assert by_name["test_user"]["outcome"] == "error"
    assert by_name["test_user"]["message"] == "the store is gone; bring it back"
    assert by_name["test_assertion"]["outcome"] == "failed"
    assert by_name["test_assertion"]["message"].startswith("assert 1 == 2")
    [broken] = [entry for entry in entries if "test_other" in entry["test"]]
    assert broken["outcome"] == "error"
    assert outcome.find_broken_tests([broken])
    kinds = {kind: {entry.get(kind) for entry in entries} for kind in ("cell", "group")}
    assert "sb3-ppo-Reacher-v4-short" in kinds["cell"]
    assert {"sb3-ppo", None} <= kinds["group"]
    assert {*kinds["cell"], *kinds["group"]} - {None} == evidence.collect_verdicts(entries).keys()


@pytest.mark.parametrize(
    ("reason", "owner"),
    [({"throughput": {"algorithm": "ppo"}}, "framework"), ({"not_judged": {"x": "y"}}, "cell")],
)
def test_evidence_without_its_subject_is_refused(tmp_path, reason, owner):
    """A missing subject is one sentence when the evidence is read."""
    path = tmp_path / "evidence.json"
    entry = {"test": "t", "tier": "unit", "outcome": "passed", "seconds": 1.0, "message": ""}
    evidence.write_evidence(path, [{**entry, **reason, owner: "sb3"}])
    read = evidence.read_evidence_file(path)
    assert evidence.collect_throughput(read) or evidence.collect_unjudged_quantities(read)
    for lacking in ({}, {"framework": "", "cell": None}):
        evidence.write_evidence(path, [{**entry, **reason, **lacking}])
        with pytest.raises(UserError, match=f"'t' has '{next(iter(reason))}' and no '{owner}'"):
            evidence.read_evidence_file(path)
