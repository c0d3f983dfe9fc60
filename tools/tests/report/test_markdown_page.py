"""A page as Markdown: the same cards and sections, without figures."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from rlregress.check.source_diff import diff_two_texts
from rlregress.report import harmless, markdown_page
from rlregress.report.html.page import (
    Badge,
    Card,
    CodeLines,
    Facts,
    Figure,
    Finding,
    Folded,
    Grid,
    Heading,
    Page,
    Quoted,
    Section,
    SourcePair,
    Step,
    Table,
)

FACTS = Facts("a title", "today", 1.0, "a machine", "a command")
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


def test_a_figure_is_left_to_the_page():
    """The numbers of a figure are not in the Markdown."""
    assert "drawn" not in text_of(["x"], Figure(Markup("drawn"), "c", Table(("n",), [["1"]])))


def test_a_card_is_whole_in_the_markdown():
    """Every sentence of the first screen is there, with its steps and their commands."""
    lists = (["not judged"], ["changed"], ["it matters"], [Step("Do this:", "a command --x")])
    text = text_of(cards=(Card("the card", Badge("regressed"), "a sentence", *lists),))
    assert text.index("## the card: regressed") < text.index("- changed") < text.index("- not jud")
    for words in ("a sentence", "- it matters", "- Do this: `a command --x`"):
        assert words in text


def test_hidden_sentences_of_a_card_are_counted():
    """Page and Markdown have the first sentences of a list, and the number of the others."""
    card = Card("title", Badge("changed"), "", [f"piece {n}" for n in range(20)])
    page = Page(FACTS, [card], [])
    for text, tail in (
        (page.render_html(), "and 14 more"),
        (markdown_page.format_page_as_markdown(page), "and 14 more, on"),
    ):
        assert ("piece 5" in text, "piece 6" in text, tail in text) == (True, False, True)


def test_a_section_or_heading_without_content_is_left_out():
    """Neither an empty list or table nor the heading above it is shown."""
    parts = (Heading("empty"), [], Table(("head",), []), Folded("a fold", [[]]))
    assert "a section" not in text_of(*parts)
    text = text_of(*parts, Heading("full"), ["an item"], Heading("last"))
    assert ("empty" in text, "full" in text, "last" in text, "head" in text) == (0, 1, 0, 0)


def test_names_with_underscores_are_no_bold_text():
    """A path such as p/__init__.py stays as it is written."""
    assert "- `p/__init__.py` changed" in text_of(["p/__init__.py changed"])


def test_hidden_items_of_a_fold_are_counted():
    """A list that the page folds away has its first items and the number of the others."""
    text = text_of(Folded("a fold", [[f"item {n}" for n in range(20)]]))
    assert ("- item 11\n" in text, "- item 12\n" in text) == (True, False)
    assert "and 8 more, on the page" in text
