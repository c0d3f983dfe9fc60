"""Faults drawn at random from a framework's code, and the page of what detects them."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import replace

import pytest

from rlregress import frameworks, source, suite
from rlregress.errors import UserError
from rlregress.faults import fault_tables, mutation
from rlregress.model.fault_results import (
    BEHAVIOR,
    CALLS,
    DETAILS,
    EQUIVALENT,
    GAP,
    TIERS,
    TRACE,
    UNIT,
    DrawnFaults,
    FaultExplanation,
    Outcome,
)
from rlregress.upgrade.versions import state
from rlregress_power import generated_faults, power_page, probe_server, tier_power
from rlregress_power.instruments import INSTRUMENTS


def faults_of(name, count, draw):
    """Return random faults of a framework, and the number of possible places."""
    return generated_faults.draw_mutants_of_framework(frameworks.get_adapter(name), count, draw)


def test_a_lot_is_drawn_from_all_files_and_can_be_drawn_again():
    """The same seed draws the same faults, and another seed others, from more than ten files."""
    first, places = faults_of("sb3", 40, 0)
    assert first == faults_of("sb3", 40, 0)[0]
    assert first != faults_of("sb3", 40, 1)[0]
    assert len(first) == 40 < places
    assert len({outcome.file for outcome in first}) > 10
    assert len({outcome.operator for outcome in first}) > 5


def test_the_seeder_makes_the_drawn_fault_and_no_other():
    """The injected file is that of the drawn fault, also for lines that occur twice."""
    adapter = frameworks.get_adapter("sb3")
    for number, fault in enumerate(faults_of("sb3", 40, 2)[0]):
        sound = adapter.code.find_installed_path(fault.file).read_text(encoding="utf-8")
        assert inject(
            generated_faults.make_injectable_fault(fault, "sb3", sound, str(number)), sound
        ) == (fault.text)
    text = "def f(x):\n    x += 1\n    x += 1\n    return x\n"
    (edit,) = [
        edit
        for _, edit in mutation.list_edits_of_file(text)
        if (edit.line, edit.operator) == (3, "constant")
    ]
    mutant = mutation.build_mutant("m.py", "f", edit, text)
    assert mutant is not None
    fault = generated_faults.make_injectable_fault(mutant, "sb3", text, "f")
    assert (fault.occurrence, inject(fault, text)) == (2, mutant.text)
    assert inject(replace(fault, occurrence=1), text) != mutant.text


def inject(fault, text):
    """Return the text with a fault."""
    return source.replace_one_occurrence(text, fault.old, fault.new, fault.occurrence)


def test_files_that_are_not_there_are_refused(monkeypatch):
    """A framework without named files, and a pattern that matches no file, are errors."""
    text = "names no files of cleanrl .* known: contrib, rsl_rl, sb3, skrl, torchrl; name some"
    with pytest.raises(UserError, match=text):
        generated_faults.load_file_patterns("cleanrl")
    monkeypatch.setattr(
        generated_faults, "load_file_patterns", lambda name: ("stable_baselines3/gone/*.py",)
    )
    with pytest.raises(UserError, match=r"'stable_baselines3/gone/\*.py' names no file"):
        faults_of("sb3", 1, 0)


def test_a_process_that_a_fault_keeps_busy_is_ended_and_told(capfd, monkeypatch):
    """A child that ends without a result was ended by its fault: that is no error of the suite."""
    monkeypatch.setattr(probe_server, "PATIENCE", {signal.SIGXCPU: 1, signal.SIGALRM: 300})
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # whatever handles it here would let the child go on as a second pytest
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        probe_server._limit_time()
        while True:
            pass
    os.close(writing)
    running = {child: (reading, "never ends")}
    probe_server._print_next_answer(running)
    values = json.loads(capfd.readouterr().out)
    assert values["name"] == "never ends"
    assert values["changed"][""][""] == "the process ended by SIGXCPU after 1 s"
    assert running == {}


def outcome(line, message, run=True, operator="sign"):
    """Return a fault of one line with the results of the tiers."""
    place = {"file": "m.py", "function": "f", "line": line, "old": "x", "new": "-x"}
    return Outcome(**place, operator=operator, said=message, run=run)


SEEN = outcome(1, {UNIT: "sac.critic_loss.scale", TRACE: ""})
BY_TEST = outcome(2, {UNIT: "", TRACE: "", BEHAVIOR: "tests_behavior/test_counts.py::test_it"})
UNSEEN = outcome(3, {UNIT: "", TRACE: "", BEHAVIOR: ""})
NOT_RUN = outcome(4, {UNIT: "", TRACE: "", BEHAVIOR: ""}, run=False, operator="bound")
DRAW = DrawnFaults(framework="sb3", versions={"stable-baselines3": "9.9.9"}, of=40, draw=0,
              faults=(SEEN, BY_TEST, UNSEEN, NOT_RUN), date="2026-11-24")  # fmt: skip


def explain(monkeypatch, *rows):
    """Let only these faults of one framework have explanations."""
    explanations = {
        ("sb3", fault.name): FaultExplanation(framework="sb3", fault=fault.name, kind=kind, why=why)
        for fault, kind, why in rows
    }
    monkeypatch.setattr(generated_faults, "load_explanations", lambda: explanations)
    return explanations


def test_only_what_is_explained_as_no_fault_is_left_out(monkeypatch):
    """A gap and an unexplained fault count as misses; an equivalent one does not."""
    explain(monkeypatch)
    assert tier_power.count_detected_faults(DRAW) == (2, 4)
    explain(monkeypatch, (UNSEEN, EQUIVALENT, "x is 0"), (NOT_RUN, GAP, "no test has two rows"))
    assert tier_power.count_detected_faults(DRAW) == (2, 3)
    # what a tier has seen was no equivalent one, whatever somebody wrote
    explain(monkeypatch, (SEEN, EQUIVALENT, "wrong"))
    assert tier_power.count_detected_faults(DRAW) == (2, 4)
    assert not tier_power.detects_enough([DRAW])
    assert tier_power.detects_enough([replace(DRAW, faults=(SEEN, BY_TEST))])


def test_the_page_names_what_nothing_sees(monkeypatch):
    """The page has shares by tier, counts by operator, each miss explained, and draws summed."""
    explanations = explain(monkeypatch, (UNSEEN, EQUIVALENT, "x is 0"))
    page = power_page.make_power_page([DRAW], explanations)
    assert "| 1 of 4 (25%) | none | 1 of 3 (33%) | 2 of 4 (50%) |" in page
    assert "| 2 of 3 (67%) |" in page
    assert "| sign | 3 | 1 | 0 | 0 | 1 | 1 | 0 |" in page
    assert "- `m.py:3` `f` (sign): `x` -> `-x`. **Equivalent**: x is 0" in page
    assert "nothing runs: 1\n\n- `m.py:4` `f` (bound)" in page
    second_draw = replace(DRAW, draw=1, faults=(SEEN, UNSEEN))
    page = power_page.make_power_page([DRAW, second_draw], explanations)
    assert "| all |  |  | 6 |  | 2 of 6 (33%) | 0 of 6 (0%) |" in page
    assert "| sign | 5 | 2 | 0 | 0 | 1 | 2 | 0 |" in page


def answering(monkeypatch, folder, answers):
    """Let tiers return ``answers[tier](number)``; return the list of their calls."""
    requested = []

    def query(tier):
        def answered(adapter, faults, workers, say):
            requested.append((tier, len(faults)))
            return [(number, answers[tier](number), True) for number in faults]

        return answered

    monkeypatch.setattr(generated_faults, "_locate_faults", lambda: folder)
    files = ("stable_baselines3/common/noise.py",)
    monkeypatch.setattr(generated_faults, "load_file_patterns", lambda name: files)
    names = {
        UNIT: "_run_probes",
        TRACE: "_run_traces",
        CALLS: "_called",
        BEHAVIOR: "_run_behavior_tests",
    }
    for tier, name in names.items():
        monkeypatch.setattr(tier_power, name, query(tier))
    return requested


def test_what_other_tests_said_is_asked_again(monkeypatch, tmp_path):
    """Stored results hold only for the tests that gave them."""
    adapter = frameworks.get_adapter("sb3")
    answers = {**dict.fromkeys(TIERS, lambda _: ""), BEHAVIOR: lambda _: "a test"}
    requested = answering(monkeypatch, tmp_path, answers)

    def judge():
        requested.clear()
        tier_power.draw_faults_and_run_tiers(adapter, 3, 0, 1, lambda message: None)
        return list(requested)

    by_tier = [(tier, 3) for tier in TIERS]
    assert judge() == by_tier
    assert judge() == [(tier, 0) for tier in TIERS]
    monkeypatch.setattr(state, "digest_own_code_and_tests", lambda: "other tests")
    assert judge() == by_tier
    (draw_result,) = generated_faults.load_results_of_all_draws()
    assert (draw_result.draw, draw_result.tests) == (0, "other tests")


def test_what_no_tier_saw_is_asked_again_of_later_tests(monkeypatch, tmp_path):
    """Only faults that count are probed again; the first results and their share stay."""
    adapter = frameworks.get_adapter("sb3")
    first = {tier: lambda number: "a detail" * (number == 0) for tier in TIERS}
    requested = answering(monkeypatch, tmp_path, first)
    explain(monkeypatch)
    result = tier_power.draw_faults_and_run_tiers(adapter, 4, 0, 1, lambda message: None)
    unseen = [fault for fault in result.faults if not fault.detected_by]
    assert len(unseen) == 3
    explain(monkeypatch, (unseen[0], EQUIVALENT, "x is 0"))
    assert tier_power.count_detected_faults(result) == (1, 3)
    later = {**first, TRACE: lambda number: "a training" * (number == 1)}
    requested = answering(monkeypatch, tmp_path, later)
    (second_draw,) = tier_power.repeat_undetected_faults(adapter, 1, lambda message: None)
    assert requested == [(UNIT, 2), (TRACE, 2), (CALLS, 0), (BEHAVIOR, 0)]
    assert [fault.said for fault in second_draw.faults] == [fault.said for fault in result.faults]
    assert generated_faults.load_results_of_all_draws() == [second_draw]
    # the first of the two was seen by probes as number 0, the second by traces as number 1
    assert [fault.detected_later_by for fault in second_draw.faults if fault.again] == [UNIT, TRACE]
    assert tier_power.count_detected_faults(second_draw) == (3, 3)
    page = power_page.make_power_page([second_draw], generated_faults.load_explanations())
    assert "| 1 of 3 (33%) | 3 of 3 (100%) |" in page
    assert f"Detected on {second_draw.asked_again} by {TRACE}." in page


def test_the_table_of_the_documentation_has_the_last_draw_of_each_framework():
    """Rows of docs/power.md are printed by the command, one for the last draw of each framework."""
    text = (suite.find_suite_root() / "docs" / "power.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| \w+ [\d.]+ \| \d+ \|", line)]
    results = generated_faults.load_results_of_all_draws()
    printed = power_page.make_power_page(results, generated_faults.load_explanations()).splitlines()
    last = {}
    for draw_result in results:
        last[draw_result.framework] = max(draw_result.draw, last.get(draw_result.framework, 0))
    assert [row for row in rows if row not in printed] == []
    assert {(row.split()[1], int(row.split()[4])) for row in rows} == set(last.items())


INSTALLED = sorted(
    {x.name for x in frameworks.list_installed_adapters() if x.framework.expectations is None}
)


@pytest.mark.nightly
@pytest.mark.parametrize("name", INSTALLED)
def test_each_fault_moves_its_details_to_the_variant_that_it_is(name):
    """All of a framework's faults that fit the installed version, and no other details."""
    faults = fault_tables.select_faults(DETAILS, [name], [])
    results = list(INSTRUMENTS[DETAILS].run(faults, 2, print))
    assert INSTRUMENTS[DETAILS].detects_enough(results), [
        (result.fault.name, result.by, result.trouble)
        for result in results
        if result.fits and not result.detected
    ]
