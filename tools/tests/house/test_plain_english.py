"""Pages and messages are plain English: short sentences, and none of the phrases to avoid."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from . import page_contents
from .page_contents import PAGES

#: words of a sentence on a page: on average, and at most
AVERAGE, LONGEST = 18, 32
DATA: dict[str, Any] = tomllib.loads((Path(__file__).parent / "phrases.toml").read_text("utf-8"))
_PHRASES = [*DATA["phrases"], *DATA["page_phrases"]]
#: an end of a sentence: not the dot of an initial ("A. Zeller") or of "et al."
_END = re.compile(r"(?<![ (][A-Z]\.)(?<! al\.)(?<=[.!?])[)\"']*\s+(?=[(\"']?[A-Z0-9])")
#: a piece of code counts as one word
_CODE = "Code"


def phrases_in(text: str, phrases: Sequence[str]) -> list[str]:
    """Return the phrases that a text holds as whole words, in any case."""
    words = text.lower()
    # an expression is slow, and most texts hold no phrase at all
    candidates = [phrase for phrase in phrases if phrase.lower() in words]
    return [
        phrase for phrase in candidates if re.search(rf"\b{re.escape(phrase.lower())}\b", words)
    ]


def strings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the string literals of a module that are no docstrings, with their lines."""
    nodes = [*ast.walk(ast.parse(text))]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.lineno, node.value


def phrases_of_module(text: str) -> list[str]:
    """Return the phrases to avoid in the strings of a module, with their lines."""
    return [
        f"{line} {phrase!r}"
        for line, words in strings(text)
        for phrase in phrases_in(words, DATA["phrases"])
    ]


def texts(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, parent and words of every text of a page; code and quotations are left out."""
    around: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.nesting:
            around = [*around, token.type] if token.nesting > 0 else around[:-1]
        elif token.type == "inline" and "blockquote_open" not in around:
            pieces = {"code_inline": _CODE, "softbreak": " "}
            words = (pieces.get(c.type, c.content) for c in token.children or ())
            yield (token.map or [0])[0] + 1, around[-1], "".join(words)


def lengths(text: str) -> list[tuple[int, int, str]]:
    """Words, line and text of every sentence: not of tables and headings.

    An item of a list is a paragraph, which ends a sentence.
    """
    return [
        (words, line, sentence)
        for line, parent, paragraph in texts(text)
        if parent == "paragraph_open"
        for sentence in _END.split(paragraph)
        if (words := len(re.findall(r"\S*\w\S*", sentence)))
    ]


def faults(text: str) -> list[str]:
    """Why a page is no plain English; empty: it is."""
    sentences = lengths(text)
    average = sum(words for words, _, _ in sentences) / max(len(sentences), 1)
    problems = [f"{average:.1f} words a sentence"] if average > AVERAGE else []
    problems += [
        f"{line}: {words} words: {text}" for words, line, text in sentences if words > LONGEST
    ]
    return problems + [
        f"{line}: {phrase!r} in: {words}"
        for line, _, words in texts(text)
        for phrase in phrases_in(words, _PHRASES)
    ]


def test_pages_are_plain_english():
    """At most 18 words a sentence on average, none above 32, no phrase to avoid."""
    found = {page: faults(page.read_text("utf-8")) for page in PAGES}
    assert {page: problems for page, problems in found.items() if problems} == {}
    phrase = DATA["page_phrases"][0]
    assert faults(f"{'word ' * 32}end.\n\n{'Short. ' * 9}") == [f"1: 33 words: {'word ' * 32}end."]
    assert faults(f"{'word ' * 18}end.\n") == ["19.0 words a sentence"]
    assert faults(f"It {phrase}.") == [f"1: {phrase!r} in: It {phrase}."]
    assert faults(f"| a |\n|---|\n| {phrase} |\n") == [f"3: {phrase!r} in: {phrase}"]


def test_the_library_has_no_phrase_to_avoid():
    """No string that a user may read holds one; docstrings are not read by users."""
    paths = [
        path
        for package in ("rlregress", "rlregress_studies", "rlregress_power")
        for path in sorted((page_contents.ROOT / "tools" / package).rglob("*.py"))
        if "tests" not in path.parts
    ]
    assert len(paths) > 100
    problems = {path: phrases_of_module(path.read_text("utf-8")) for path in paths}
    assert {path: phrases for path, phrases in problems.items() if phrases} == {}
    phrase = DATA["phrases"][0]
    assert phrases_of_module(f"x = {phrase!r}") == [f"1 {phrase!r}"]
    assert phrases_of_module(f'"""{phrase}"""') == []
