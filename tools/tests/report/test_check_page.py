"""The page of a gate, as a browser reads it: its first screen and its sections."""

from __future__ import annotations

import importlib.metadata
import json
import shutil

import pytest

from rlregress import frameworks
from rlregress.catalogue import requested_names
from rlregress.check import check_run
from rlregress.check.outcome import build_framework_outcomes
from rlregress.check_options import CheckOptions
from rlregress.model.check_result import CheckResult
from rlregress.report import check_report, markdown_page, words
from rlregress.report.html import check_page

from ..check.stored import with_returns_alone
from . import simulated
from .markup import Page

HOPPER = "sb3-ppo-Hopper-v4-short"
CRITIC_DETAIL = "sac.critic_loss.scale"
SAC = f"{frameworks.get_adapter('sb3').framework.modules[0]}/sac/sac.py"


def stands_alone(text: str) -> Page:
    """Return the page, if it is well formed, loads nothing and runs nothing."""
    page = Page(text)
    assert page.wrong == []
    assert page.loads() == []
    assert page.wrong_links() == []
    assert "default-src 'none'" in text
    assert "<script" not in text
    return page


def find_cell(page: Page, name: str) -> str:
    """Return the text of the card of a cell."""
    (text,) = [text for text in page.texts("article", "cell") if text.startswith(name)]
    return text


def failed(message: str, test: str = "tests_unit/test_a.py::test_a", **changes: str) -> dict:
    """Return the entry of a failed test of SB3."""
    return {
        "test": test, "tier": "unit", "outcome": "failed", "seconds": 0.1, "message": message,
        "framework": "sb3", **changes,
    }  # fmt: skip


def test_an_unchanged_check_lists_judged_and_unjudged_parts(night):
    """Unjudged returns come first, then the detectable drop; lines and rates are explained."""
    code, text, report = night()
    page = stands_alone(text)
    assert code == 0
    assert page.texts("h1") == ["Check: sb3 holds"]
    version = importlib.metadata.version("stable-baselines3")
    assert page.texts("h2")[0] == f"sb3 (stable-baselines3 {version})"
    (card,) = page.texts("article", "card")
    missing = "Returns of SAC, TD3: formulas and behaviour alone were judged."
    assert card.index("Not judged") < card.index(missing) < card.index("Nothing changed that")
    smallest = "The smallest drop that this check would have detected is"
    assert f"No drop of returns was detected. {smallest}" in card
    assert "Nothing: go on." in card
    markdown = (report / "summary.md").read_text()
    assert f"- {missing}\n" in markdown
    for sentence in words.LEGEND:
        assert f"- {sentence}" in markdown
        assert sentence.partition("'")[0] in text
    assert "Percentages are shares of the stored mean" in markdown
    assert "at most 5% of such checks" in page.texts("footer")[0]
    assert "of such checks" in markdown
    values = json.loads((report / "verdict.json").read_text())
    assert values["extent"]["sb3"] == {"returns": ["ppo"], "others": ["sac", "td3"]}
    for fact in (values["started"], values["machine"], values["command"]):
        assert fact in " ".join(page.texts("header"))
    assert "--cells" in values["command"]


def test_every_figure_has_its_numbers_as_a_table(night):
    """Each drawing has a table; that of returns has every run, stored and new."""
    _, text, report = night(figures=True)
    page = stands_alone(text)
    folded = page.texts("summary").count("Its numbers")
    assert len(page.texts("figure")) == len(page.texts("svg")) == folded > 4
    assert all(attributes.get("aria-label") for tag, attributes in page.tags if tag == "svg")
    tests = json.loads((report / "evidence.json").read_text())["tests"]
    new = [e["record"] for e in tests if e.get("cell") == HOPPER and "record" in e]
    stored = simulated.stored_cells()[HOPPER]
    cell = find_cell(page, HOPPER)
    for run_ in stored.runs:
        assert f"stored {run_.seed} {words.format_return(run_.final_return)}" in cell
    assert len(new) >= 5
    for record in new[:5]:
        assert f"new {record['seed']} {words.format_return(record['final_return'])}" in cell
    assert f"rlregress check --budget short --store {report.parent}/runs --cells {HOPPER}" in cell


def test_a_drop_is_reported_first_with_the_next_step(night, capsys):
    """Page and last printed lines have the drop and the command that confirms it."""
    code, text, _ = night({HOPPER: 0.5})
    page = stands_alone(text)
    assert code == 1
    (card,) = page.texts("article", "card")
    assert "regressed" in card
    assert f"{HOPPER}: regressed, the mean changed by -5" in card
    assert "Agents learn less: returns fell in" in card
    assert f"--cells {HOPPER} --first-seed 2000" in card
    ranks = ["✕?✓".index(sign) for sign in page.texts("tbody")[0] if sign in "✕?✓"]
    assert ranks == sorted(ranks)
    assert {0, 2} <= set(ranks)
    assert page.texts("article", "cell")[0].startswith(HOPPER)
    lines = capsys.readouterr().out.splitlines()
    report, following, verdict = (
        next(number for number, line in enumerate(lines) if line.startswith(beginning))
        for beginning in ("report:", "next: ", "verdict sb3: regressed")
    )
    assert report < following < verdict
    assert lines[following] == "next: Confirm with fresh seeds:"
    # as a shell reads it
    command = " ".join(lines[following + 1 : verdict]).replace(" \\ ", " ")
    assert command.startswith("rlregress check ")
    assert f"--cells {HOPPER} --first-seed 2000" in command


def test_an_inconclusive_night_says_how_many_seeds_would_decide(night, tmp_path, monkeypatch):
    """Returns that vary too much, and nothing beside them: the numbers of seeds stand in front."""
    cell = simulated.stored_cells()["sb3-sac-Pendulum-v1-short"].cell
    with_returns_alone([cell], tmp_path / "returns alone", monkeypatch)
    code, text, _ = night(cells=cell.id)
    (card,) = stands_alone(text).texts("article", "card")
    assert code == 3
    assert "inconclusive" in card
    assert "to detect a drop of 50%: about" in card
    assert "rlregress plan --must-detect 50% --framework sb3" in card


def test_a_check_that_could_not_judge_names_the_missing_parts(night, capsys):
    """Details of GAE that nobody asked, and a test that could not be set up."""
    broken = {**failed("a file is gone", "tests_unit/test_b.py::test_b"), "outcome": "error"}
    code, text, _ = night(without="gae.", further_entries=[broken])
    page = stands_alone(text)
    (card,) = page.texts("article", "card")
    assert code == 2
    assert "test_b ended in an error: a file is gone" in card
    ids = {id for id, _ in requested_names.list_details_to_probe(frameworks.get_adapter("sb3"))}
    message = f"{len([id for id in ids if id.startswith('gae.')])} of {len(ids)} details were not"
    assert f"{message} checked: gae." in card
    assert "hold" not in card
    assert "rlregress test tests_unit/test_details.py" in card
    # a line of the screen is wrapped, and cut where it is long
    printed = " ".join(capsys.readouterr().out.split())
    assert f"verdict sb3: could not judge ({message}" in printed


def test_a_detail_shows_both_variants_with_formulas_and_its_line(night):
    """The finding has documented and observed variant, the consequence, and the installed line."""
    message = f"{CRITIC_DETAIL}: none (documented: half, since 0.6.0)\n  observed: [8.5]"
    entry = failed(message, detail=CRITIC_DETAIL, scope="library", found="none")
    code, text, _ = night(further_entries=[entry])
    page = stands_alone(text)
    assert code == 1
    (finding,) = page.texts("article", "finding")
    half = "documented half 1/2 of the sum over networks of the mean squared error"
    none = "found the variant 'none' sum over networks of the mean squared error"
    assert page.texts("div", "variants") == [f"{half} {none}"]
    assert "critic_loss = 0.5 * sum(F.mse_loss(" in finding
    version = importlib.metadata.version("stable-baselines3")
    address = f"https://github.com/DLR-RM/stable-baselines3/blob/v{version}/{SAC}#L"
    links = [link for link in page.attributes("href") if link.startswith(address)]
    decides = int(links[0].removeprefix(address))
    assert links[1:] == [f"{address}{decides + line}" for line in range(-3, 4)]
    assert "observed: [8.5]" in finding
    assert f"rlregress test tests_unit --detail {CRITIC_DETAIL} --framework sb3" in finding
    assert "The critics' gradients differ by a constant factor" in page.texts("article", "card")[0]


def test_a_framework_that_cannot_be_imported_says_so_once(night):
    """Details without an answer are not called changed; one reason stands once, with how many."""
    reason = "could not be probed: RuntimeError: built for another torch"
    unasked = [
        failed(f"{id}: {reason} (documented: x, since 1.0)", f"tests_unit/test_a.py::test_{k}",
               detail=id, scope="library", found=reason)
        for k, id in enumerate((CRITIC_DETAIL, "sac.actor_loss", "gae.truncation"))
    ]  # fmt: skip
    behaviour = [
        failed("RuntimeError: built for another torch", f"tests_behavior/test_b.py::test_{k}")
        for k in range(6)
    ]
    code, text, report = night(further_entries=[*unasked, *behaviour])
    page = stands_alone(text)
    assert code == 1
    (card,) = page.texts("article", "card")
    named = f"{CRITIC_DETAIL}, sac.actor_loss, gae.truncation could not be probed: "
    assert card.index("What changed") < card.index("Not judged") < card.index(named)
    assert "documented: half" not in card
    assert f"See why it gives no answer: rlregress test tests_unit --detail {CRITIC_DETAIL}" in card
    details, tests = page.texts("article", "finding")
    assert "2 more for the same reason sb3: sac.actor_loss [library]" in details
    assert "5 more failed in the same way tests_behavior/test_b.py::test_1" in tests
    markdown = (report / "summary.md").read_text()
    # in brief; on the card, of details and of tests; below, in a finding of each
    assert markdown.count("built for another torch") == 6
    assert "**2 more for the same reason**\n\n- sb3: sac.actor_loss [library]\n" in markdown
    assert "**5 more failed in the same way**\n\n- tests_behavior/test_b.py::test_1\n" in markdown


def test_messages_of_tests_are_never_markup(night):
    """A failed run has its last words."""
    evil = "<script>alert('x')</script><img src=http://evil/x> & \"quoted\""
    _, text, _ = night(further_entries=[failed(evil, f"tests_unit/test_a.py::test_a[{evil}]")])
    page = stands_alone(text)
    assert " ".join(evil.split()) in page.texts("pre")[0]
    assert any(evil in title for title in page.texts("h3"))
    assert "<img" not in text
    entries = simulated.new_records(HOPPER, simulated.stored_cells()[HOPPER], 0.0, 1)
    text = "Traceback\n  File a\nValueError: no such thing"
    crash = {**entries[0], "seed": 1999, "status": "failed", "failure": text, "final_return": None}
    entry = {**failed("", outcome="passed"), "cell": HOPPER, "record": crash}
    _, text, _ = night(further_entries=[entry])
    cell = find_cell(stands_alone(text), HOPPER)
    assert "Seed 1999 failed: ValueError: no such thing" in cell


def test_a_report_is_written_whole_or_not_at_all(night, monkeypatch):
    """An interrupted gate leaves the earlier report; a whole one replaces all of its files."""
    _, _, report = night()
    before = {path.name: path.read_bytes() for path in report.iterdir()}
    written = {"report.html", "summary.md", "verdict.json", "gate.sarif"}
    assert {*written, "evidence.json", "junit.xml"} == set(before)

    def ends(options):
        options.evidence.write_text("half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(check_run, "run_session_and_throughput", ends)
    options = CheckOptions(report=report, cells=HOPPER, frameworks="sb3")
    with pytest.raises(KeyboardInterrupt), check_run.replace_report_folder(options) as new:
        check_run.run_and_judge_check(new, lambda line: None)
    assert {path.name: path.read_bytes() for path in report.iterdir()} == before
    # nor is a file dropped that nobody listed
    unlisted = pytest.raises(ValueError, match="verdicts.csv")
    with unlisted, check_run.replace_report_folder(options) as new:
        (new.report / "verdicts.csv").write_text("")
    assert {path.name: path.read_bytes() for path in report.iterdir()} == before
    (report / "throughput.json").write_text("of another gate")
    (report / "upgrade.json").write_text("of an upgrade")
    night()
    assert not (report / "throughput.json").exists()
    assert (report / "upgrade.json").read_text() == "of an upgrade"


def test_five_lines_say_it_to_a_chat(night, capsys):
    """The lines are verdict, unjudged parts, changes, next step, and address of the page."""
    test = failed("it broke", f"tests_unit/test_a.py::test_{'a' * 99}")
    code, _, report = night({HOPPER: 0.5}, without="gae.", further_entries=[test], in_brief=True)
    lines = capsys.readouterr().out.splitlines()[-5:]
    assert code == 1
    assert lines[0] == "Check: sb3 regressed"
    returns = "Returns of SAC, TD3: formulas and behaviour alone were judged"
    assert lines[1].startswith(f"Not judged: {returns}")
    assert lines[2].startswith("What changed: test_aaa")
    assert f"--cells {HOPPER} --first-seed 2000" in lines[3]
    assert lines[4].endswith(str(report / "report.html"))
    assert max(map(len, lines)) <= 280


def test_a_broken_suite_is_listed_first():
    """With the framework that it left unjudged."""
    entries = simulated.detail_entries("no detail", "sb3")
    broken = [{**failed("a file is gone"), "outcome": "error", "framework": ""}]
    cards = check_page.make_cards_of_check(result_of(entries, broken=broken))
    assert [card.badge.word for card in cards] == ["could not judge", "formulas hold"]
    error = {**failed("TypeError: no such argument"), "outcome": "error", "framework": "sb3"}
    entries = [*simulated.detail_entries("no detail", "sb3"), error]
    (card,) = check_page.make_cards_of_check(result_of(entries, broken=[error]))
    assert card.badge.word == "could not judge"
    assert [line for line in card.not_judged if "ended in an error: TypeError: no such" in line]
    assert not card.changed


def test_a_budget_that_is_not_judged_is_the_reason_why_nothing_is_decided():
    """No error rate is given where no returns were judged."""
    result = result_of(simulated.detail_entries("no detail", "sb3"), trained={"sb3"})
    (card,) = check_page.make_cards_of_check(result)
    assert card.badge.word == "inconclusive"
    first, *further = check_report.UNJUDGED_BUDGET
    assert card.sentence == f"{first.upper()}{''.join(further)}."
    (step,) = card.steps
    assert step.command == "rlregress check --budget short --framework sb3"
    page = check_page.make_page_of_check(result)
    assert "no returns are judged" in markdown_page.format_page_as_markdown(page)
    result = result_of(simulated.detail_entries("no detail", "sb3"))
    made = check_page.make_page_of_check(result)
    page = stands_alone(made.render_html())
    assert "formulas hold" in page.texts("article", "card")[0]
    assert page.texts("footer") == [""]
    assert "of such checks" not in markdown_page.format_page_as_markdown(made)


def test_earlier_nightly_runs_are_listed(night):
    """Date and verdict of each, the latest first; a damaged report, and another budget, are not."""
    _, text, report = night()
    assert "Earlier nightly runs" not in text
    night_record = json.loads((report / "verdict.json").read_text())["night"]
    for name, started, budget, verdict in (
        ("first", "2026-01-01T01:00:00Z", night_record["budget"], "regressed"),
        ("second", "2026-01-02T01:00:00Z", night_record["budget"], "improved"),
        ("full", "2026-01-03T01:00:00Z", "full", "holds"),
        ("unknown", "2026-01-03T02:00:00Z", night_record["budget"], "a verdict that is none"),
    ):
        values = {**night_record, "started": started, "budget": budget}
        values["frameworks"]["sb3"]["verdict"] = verdict
        shutil.copytree(report, report.parent / name)
        (report.parent / name / "verdict.json").write_text(json.dumps({"night": values}))
    (report.parent / "damaged").mkdir()
    (report.parent / "damaged" / "verdict.json").write_text("{")
    _, text, _ = night()
    sections = stands_alone(text).texts("section")
    (section,) = [section for section in sections if "Earlier nightly" in section]
    rows = [night_record["started"][:10], "✓ holds", "2026-01-02 01:00", "≠ improved",
            "2026-01-01 01:00", "✕ regressed"]  # fmt: skip
    assert [section.index(row) for row in rows] == sorted(section.index(row) for row in rows)
    assert "2026-01-03" not in section


def result_of(entries, broken=(), trained=(), **fields) -> CheckResult:
    """Return a gate of SB3 with no verdict on a training."""
    outcomes = build_framework_outcomes(entries, trained=trained)
    none = {outcome.framework: {} for outcome in outcomes}
    return CheckResult(
        outcomes=outcomes, broken=broken, unjudged=[], versions=none, sources={}, copies=none,
        alpha=0.05, budget="short", seconds=1.0, exit_code=0, **fields,
    )  # fmt: skip
