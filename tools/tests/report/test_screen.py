"""The last output of a command fits on one screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from rlregress.check.source_diff import diff_two_texts
from rlregress.cli import window
from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import Crash
from rlregress.model.upgrade_result import Culprits, RepeatedCalls, ScriptResult
from rlregress.report import screen, upgrade_text
from rlregress.report.html import upgrade_page
from rlregress.report.html.page import Badge, Card, Culprit, PageInfo, Step

from ..upgrade import test_result as upgrades

COMMAND = "rlregress upgrade a==1 installed --algorithm sac --scenario none --no-returns"
FACTS = PageInfo("a title", "today", 90.0, "a machine", COMMAND)
WIDTHS = (40, 80, 100)


def screens_of(result, widths=WIDTHS):
    """Yield each width and the lines of an upgrade's screen, as plain text."""
    cards = upgrade_page.make_cards_of_upgrade(result, FACTS)
    for width in widths:
        report, *script, verdict = upgrade_text.make_closing_lines_of_upgrade(
            result, Path("report"), width
        )
        steps = screen.format_next_steps(cards, width)
        closing = [(line, "") for line in (report, *steps, *script)]
        lines = screen.make_screen_lines(cards, [*closing, (verdict, result.verdict)], width)
        yield width, [line.plain for line in lines]


def assert_has_room(lines, width):
    """It fits into the window."""
    assert len(lines) <= screen.LINES
    assert max(map(cell_len, lines)) <= width


def hostile(name):
    """Entries of every kind and state, and a training, each called by a name."""
    entries = [
        Entry(kind=kind, name=f"{name} {number}", state=state, package=name, file=f"{name}.py",
              line=7, summary=name, reason=name, notes=(name,), by=(name,))
        for number, kind in enumerate(model.KINDS) for state in model.STATES
    ]  # fmt: skip
    function = upgrades.function(name, f"{name}.py")
    source = diff_two_texts(name, [f"    {name} = 1"] * 9, [f"    {name} = 2"] * 9, (1, 1))
    trained = upgrades.traced(name, "diverged")
    part = upgrades.of(
        *(replace(trained, name=f"{name} {number}") for number in range(20)),
        culprits={f"{name} {n}": Culprits(place=(function,), alone=function) for n in range(10)},
        hunks={function: source},
        executions=(replace(upgrades.reached(name), function=function,
                            calls=RepeatedCalls(arguments=name, path=name, old=name, new=name)),),
    )  # fmt: skip
    crash = Crash(label="new", error=f"E: {name}", at=name, by=name)
    script = ScriptResult(training=replace(upgrades.traced(name), crash=crash))
    parts = [replace(part, title=name)] * 6
    results = upgrades.upgrade(*parts, other_packages=entries, script=script)
    versions = {label: replace(getattr(results, label), text=name) for label in ("old", "new")}
    return replace(results, **versions)


NAMES = {
    "short": "x",
    "a long word": "x" * 5000,
    "many words": "word " * 100,
    "letters of two columns": "訓練" * 200,
    "what a terminal obeys": "\x1b[2J\x07\n" * 50,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_has_forty_lines_and_the_width_of_the_window(name):
    """Any names and any number of entries fit."""
    for width, lines in screens_of(hostile(NAMES[name])):
        assert_has_room(lines, width)
        assert not any("\x1b" in line for line in lines)


def test_every_kind_of_result_has_room():
    """The verdict is the last line; in a narrow window, the last lines."""
    results = [result for result, *_ in upgrades.REPORTS.values()]
    results += [upgrades.upgrade(framework) for framework, *_ in upgrades.CASES.values()]
    for result in results:
        for width, lines in screens_of(result):
            assert_has_room(lines, width)
            verdict = f"verdict {result.old.text} -> {result.new.text}: {result.verdict}"
            last = lines[-1] if width > 40 else " ".join(map(str.strip, lines[-2:]))
            assert verdict in last


def test_a_culprit_stands_with_its_lines_and_all_that_it_explains():
    """One that explains more than a screen is named."""
    function = upgrades.function()
    old, new = (f"    loss = {factor} * sum(x)" for factor in ("0.5", "1.0"))
    source = diff_two_texts("SAC.train", [old], [new], (276, 276))
    culprits = Culprits(place=(function,), alone=function)
    names = [f"sac scenario{number}" for number in range(40)]
    framework = upgrades.of(
        *(upgrades.traced(name, "diverged") for name in (*names, "ppo")),
        culprits=dict.fromkeys(names, culprits), hunks={function: source},
        changed=[upgrades.SCALE], executions=(upgrades.reached(*names),),
    )  # fmt: skip
    ((_, lines),) = screens_of(upgrades.upgrade(framework), [80])
    text = "\n".join(lines)
    changed = text.partition("What changed\n")[2].partition("Not judged")[0].split("And also\n")
    assert changed[0].count("SAC.train") == 1
    explained = " ".join(changed[0].split())
    assert explained.startswith(
        f"SAC.train, {upgrades.FILE}:276 - loss = 0.5 * sum(x) + loss = 1.0 * sum(x) "
        "sac scenario0, sac scenario1, sac scenario2 and 37 more diverged"
    )
    assert "sac.critic_loss.scale [library]: half" in explained
    assert changed[1].strip() == "- 1 training in what differs: ppo"
    effects = [f"detail number {number} has another answer" for number in range(60)]
    card = Card("title", Badge("changed"), "", culprits=[Culprit("PPO.train, ppo.py:7", effects)])
    lines = [line.plain.strip() for line in screen.make_screen_lines([card], [("the end", "")], 80)]
    start = lines.index("PPO.train, ppo.py:7")
    culprit = lines[start : start + screen._CULPRIT]
    assert culprit[1:-1] == effects[: len(culprit) - 2]
    assert culprit[-1] == f"and {60 - (len(culprit) - 2)} more lines, on the page"


def test_hidden_lines_are_counted():
    """More verdicts than lines leave the last; a framework that holds has only its verdict."""
    texts = [f"sentence {number}" for number in range(60)]
    card = Card("title", Badge("changed"), "", texts, texts, texts)
    lines = [line.plain for line in screen.make_screen_lines([card], [("the end", "")], 80)]
    assert len(lines) == screen.LINES
    room = {"What changed": 60, "Not judged": 60, "Does it matter": 60}
    for line in lines:
        if line.strip() in room:
            title = line.strip()
        elif line.startswith("    - "):
            room[title] -= 1
        elif line.startswith("    and "):
            assert int(line.split()[1]) == room[title]
            room[title] = 0
    assert set(room.values()) == {0}
    card = Card("title", Badge("regressed"), "Worse.", [], ["a detail"])
    closing = [(f"verdict copy{number}: regressed", "regressed") for number in range(60)]
    lines = [line.plain for line in screen.make_screen_lines([card], closing, 80)]
    assert lines == [text for text, _ in closing[-screen.LINES :]]
    holding = Card("sb3", Badge("holds"), "Fine.", ["Returns of SAC."], ["kl: inconclusive"])
    fallen = Card("skrl", Badge("regressed"), "Worse.", [], ["a detail"])
    lines = screen.make_screen_lines([fallen, holding], [("verdict sb3: holds", "")])
    assert [line.plain for line in lines] == [
        "skrl", "  regressed: Worse.", "  What changed", "    - a detail", "", "verdict sb3: holds",
    ]  # fmt: skip


def test_a_command_that_has_no_room_can_be_copied():
    """Its lines end as a shell wants them, and a word in quotes stays whole."""
    command = "rlregress upgrade 'a b' installed --algorithm sac --scenario 'one two three'"
    steps = [Step("Trace it:", command)]
    lines = screen.format_next_steps([Card("", Badge("changed"), "", steps=steps)], 40)
    assert lines[0] == "next: Trace it:"
    assert max(map(len, lines)) <= 40
    assert all(line.endswith(" \\") for line in lines[1:-1])
    assert " ".join(line.removesuffix(" \\") for line in lines[1:]) == command
    assert screen.format_next_steps([Card("", Badge("changed"), "", steps=steps)], 100) == [
        f"next: Trace it: {command}"
    ]


@pytest.mark.parametrize(("forced", "no_colour"), [(False, ""), (True, ""), (True, "1")])
def test_colours_are_for_terminals_that_have_them(monkeypatch, forced, no_colour):
    """A file, and whoever sets NO_COLOR, gets text without any escape sequence."""
    monkeypatch.setenv("TERM", "xterm")
    for name, value in (("FORCE_COLOR", "1" if forced else ""), ("NO_COLOR", no_colour)):
        monkeypatch.setenv(name, value)
    printed: list[str] = []
    card = Card("sb3", Badge("regressed"), "Worse.")
    lines = screen.make_screen_lines([card], [("verdict sb3: regressed", "regressed")])
    window.print_screen(lines, printed.append)
    assert any("\x1b[31m" in line for line in printed) == (forced and not no_colour)
    assert any("\x1b" in line for line in printed) == (forced and not no_colour)
