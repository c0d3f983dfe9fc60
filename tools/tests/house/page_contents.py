"""What the pages for readers show: commands, other blocks, links and headings."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rlregress import suite

ROOT = suite.find_suite_root()
#: every page that a reader opens
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: how a block is said to be the output of a command, or a part of it
_OUTPUT = re.compile(r"<!-- output of (.+?) -->")
_STARTS = r"(?:rlregress|pytest|make|python)"
_BEFORE = r"(?:.*&& |.*\b(?:run|entry): |- |\$ )?"
_COMMAND = re.compile(rf"^\s*(?!#){_BEFORE}(?:[A-Z_]+=\S+ )*(?:\S*/)?({_STARTS} +(?![=:])\S.*)$")
_HEADING_SAYS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Attributes:
        page: the page, from the top of the project.
        line: the line that it begins with, from 1.
        kind: the language that it names; empty: none.
        output_of: the command whose output it is; empty: it does not say so.
    """

    page: str
    line: int
    kind: str
    text: str
    output_of: str


@dataclass(frozen=True)
class Command:
    """A command line that a page shows, without comment and redirection.

    Attributes:
        in_text: it stands in a sentence, which may name a command without what it takes.
    """

    page: str
    line: int
    text: str
    in_text: bool

    def words(self) -> list[str]:
        """Its words, as a shell splits them; optional parts of a usage line are given."""
        return [word for word in shlex.split(self.text) if word != "..."]


def _tokens(page: Path) -> tuple[Token, ...]:
    return _parsed(page.read_text("utf-8"))


@cache
def _parsed(text: str) -> tuple[Token, ...]:
    return tuple(MarkdownIt("commonmark").enable("table").parse(text))


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, indented and fenced."""
    output_of = ""
    for token in _tokens(page):
        if token.type == "html_block":
            text = _OUTPUT.search(token.content)
            output_of = text[1] if text else ""
        elif token.type in ("code_block", "fence"):
            assert token.map is not None
            line = token.map[0] + 1 + (token.type == "fence")
            yield Block(_named(page), line, token.info.strip(), token.content, output_of)
            output_of = ""
        elif token.type == "paragraph_open":
            output_of = ""


def _bare(line: str) -> str:
    """A line without its comment, redirection and brackets around what is optional."""
    line = re.split(r"(?:^|\s)#\s", line)[0]
    line = re.split(r"\s+(?:\d?>>?|\|)\s+", line)[0]
    return line.replace("[", "").replace("]", "").strip()


def commands(page: Path) -> Iterator[Command]:
    """The command lines in the blocks of a page, and those in its text."""
    for block in blocks(page):
        if block.output_of or block.kind not in ("", "sh", "yaml"):
            continue
        # a line that goes on is one command
        text, line = "", block.line
        for number, part in enumerate(block.text.splitlines()):
            line = line if text else block.line + number
            text = f"{text}{part}"
            if text.endswith("\\"):
                text = text[:-1]
                continue
            if match := _COMMAND.match(text):
                yield Command(block.page, line, _bare(match[1]), False)
            text = ""
    for token in _tokens(page):
        for child in token.children or ():
            if child.type == "code_inline" and re.match(r"(?:rlregress|pytest) \S", child.content):
                assert token.map is not None
                yield Command(_named(page), token.map[0] + 1, _bare(child.content), True)


def slugs(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    observed: Counter[str] = Counter()
    anchors = set()
    for heading, inline in zip(_tokens(page), _tokens(page)[1:], strict=False):
        if heading.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or ())
        slug = _HEADING_SAYS.sub("", text.lower()).replace(" ", "-")
        anchors.add(f"{slug}-{observed[slug]}" if observed[slug] else slug)
        observed[slug] += 1
    return anchors


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Line and target of every link and picture of a page."""
    for token in _tokens(page):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                yield (token.map or [0])[0] + 1, str(target)


def dead_links(page: Path) -> list[str]:
    """Links within the project whose file or heading is not there."""
    problems = []
    for line, target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = page.parent / name if name else page
        if not place.exists():
            problems.append(f"{_named(page)}:{line} {target}: there is no such file")
        elif anchor and anchor not in slugs(place):
            problems.append(f"{_named(page)}:{line} {target}: there is no such heading")
    return problems
