"""A page as Markdown, without figures; the runs of a cell are described beside its verdict."""

from __future__ import annotations

import math

import pytest
from markupsafe import Markup

from rlregress.check.source_diff import diff_two_texts
from rlregress.model.cells import CellRuns, ReportedRun
from rlregress.report import descriptive_text, harmless, markdown_page
from rlregress.report.html.page import (
    Badge,
    Card,
    CodeLines,
    Figure,
    Finding,
    Folded,
    Grid,
    Heading,
    Page,
    PageInfo,
    Quoted,
    Section,
    SourcePair,
    Step,
    Table,
)

FACTS = PageInfo("a title", "today", 1.0, "a machine", "a command")
SOURCE = SourcePair(diff_two_texts("p.f", ["old line"], ["new line"], (1, 1)), ("old", "new"))
#: a part of a page -> what its Markdown holds
PARTS = {
    "a table": (Table(("head",), [["cell"], [Badge("holds")]]), ["| head |", "| cell |", "holds"]),
    "a list": (["an item"], ["- an item"]),
    "source": (SOURCE, ["`p.f`", "- old line", "+ new line"]),
    "lines of a file": (CodeLines("f.py:3", [(3, "x = 1")]), ["`f.py:3`", "3 x = 1"]),
    "quoted text": (Quoted("it says", "a head"), ["a head", "it says"]),
    "what is folded away": (Folded("a fold", [["an item"]]), ["**a fold**", "- an item"]),
    "a finding": (
        Finding("found", Badge("changed"), ["a line"], [("old", "half", "why")], [["x"]], "again"),
        ["### found: changed", "- a line", "- old: half: why", "- x", "`again`"]),
    "findings in a grid": (
        Grid([Finding("c", Badge("holds"), ["a line"])]), ["### c: holds", "- a line"]),
}  # fmt: skip


def text_of(*parts: object, cards: tuple[Card, ...] = ()) -> str:
    """Return the Markdown of a page with one section, as a file holds it."""
    page = Page(FACTS, cards, [Section("id", "a section", "a lead", parts)])
    return harmless.escape_markdown(markdown_page.format_page_as_markdown(page))


@pytest.mark.parametrize("name", PARTS)
def test_each_kind_of_part_is_in_the_markdown(name):
    """No kind of part that a page shows is dropped without a word."""
    part, expected = PARTS[name]
    text = text_of(part)
    assert [words for words in expected if words not in text] == []


def test_a_card_is_whole_in_the_markdown():
    """Figures are left to the page; hidden sentences are counted."""
    assert "drawn" not in text_of(["x"], Figure(Markup("drawn"), "c", Table(("n",), [["1"]])))
    lists = (["not judged"], ["changed"], ["it matters"], [Step("Do this:", "a command --x")])
    text = text_of(cards=(Card("the card", Badge("regressed"), "a sentence", *lists),))
    assert text.index("## the card: regressed") < text.index("- changed") < text.index("- not jud")
    for words in ("a sentence", "- it matters", "- Do this: `a command --x`"):
        assert words in text
    card = Card("title", Badge("changed"), "", [f"piece {n}" for n in range(20)])
    page = Page(FACTS, [card], [])
    for text, tail in (
        (page.render_html(), "and 14 more"),
        (markdown_page.format_page_as_markdown(page), "and 14 more, on"),
    ):
        assert ("piece 5" in text, "piece 6" in text, tail in text) == (True, False, True)


def test_a_section_without_content_is_left_out():
    """Names with underscores are no bold text; hidden items of a fold are counted."""
    parts = (Heading("empty"), [], Table(("head",), []), Folded("a fold", [[]]))
    assert "a section" not in text_of(*parts)
    text = text_of(*parts, Heading("full"), ["an item"], Heading("last"))
    assert ("empty" in text, "full" in text, "last" in text, "head" in text) == (0, 1, 0, 0)
    assert "- `p/__init__.py` changed" in text_of(["p/__init__.py changed"])
    text = text_of(Folded("a fold", [[f"item {n}" for n in range(20)]]))
    assert ("- item 11\n" in text, "- item 12\n" in text) == (True, False)
    assert "and 8 more, on the page" in text


CELL = "sb3-ppo-Hopper-v4-short"
VERDICT = {"stored_mean": 200.0, "new_seeds": 3, "scale": 200.0}


def runs(*returns: float, first: int = 1000) -> tuple[ReportedRun, ...]:
    """Return runs with these returns, which their training episodes double; nan: it failed."""
    return tuple(
        ReportedRun(seed=seed, numbers={"returns": value, "training": 2 * value})
        for seed, value in enumerate(returns, start=first)
    )


STORED = runs(190, 200, 210, first=0)


def test_the_range_is_that_of_the_runs_that_were_judged():
    """Bands and unknown runs have none; without a later number there is no mean of all."""
    cell_runs = CellRuns(stored=STORED, new=runs(180, 195, 205, 900))
    text, later = descriptive_text.describe_distribution(CELL, VERDICT, cell_runs)
    assert text == ("descriptive: stored runs between 190 and 210, new runs between 180 and 205")
    assert later == (
        "not judged here: 1 later run, trained for other verdicts on this cell; the mean of all 4 "
        "is 370 (+85%)"
    )
    training, _ = descriptive_text.describe_distribution(f"{CELL} training", VERDICT, cell_runs)
    assert training.endswith("stored runs between 380 and 420, new runs between 360 and 410")
    new = [ReportedRun(seed=seed, numbers={"critic": -1.0}) for seed in range(2)]
    critic = {"stored_mean": 0.0, "new_seeds": 1, "scale": 1.0}
    cell_runs = CellRuns(stored=(), new=new)
    (later,) = descriptive_text.describe_distribution(f"{CELL} critic", critic, cell_runs)
    assert later.endswith("on this cell; of all 2 the error is x2.72")
    cell_runs = CellRuns(stored=STORED, new=runs(180, 195, 205, math.nan, 200))
    _, later = descriptive_text.describe_distribution(CELL, VERDICT, cell_runs)
    assert later == "not judged here: 2 later runs, trained for other verdicts on this cell"
    band = {"adjusted_p": 1.0, "effect": 3.0, "new_seeds": 5}
    runs_of_cell = CellRuns(stored=STORED, new=runs(1, 2, 3))
    assert descriptive_text.describe_distribution(CELL, band, runs_of_cell) == []
    fields = {**VERDICT, "improvement": 0.5, "stored_middle": 200.0, "new_middle": 201.0}
    (line,) = descriptive_text.describe_distribution(CELL, fields, None)
    assert line.startswith("descriptive: interquartile mean 200 -> 201; a new run is better")


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        ((180, math.nan, 205), "new runs between 180 and 205 (1 failed, each counts as the worst"),
        ((math.nan,) * 3, "no new run with a return (3 failed, each counts as the worst"),
    ],
)
def test_failed_runs_are_reported_beside_the_range(returns, message):
    """They count as the worst return in the mean, which so may lie outside of the range."""
    cell_runs = CellRuns(stored=STORED, new=runs(*returns))
    (line,) = descriptive_text.describe_distribution(CELL, VERDICT, cell_runs)
    assert f"stored runs between 190 and 210, {message} return of the environment)" in line
