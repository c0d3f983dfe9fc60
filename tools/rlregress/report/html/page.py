"""The elements of a page, and how they are rendered into one file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rlregress import __version__
from rlregress.model.code import Hunk, LinePair
from rlregress.model.tones import BAD, NOTHING, OF_VERDICT, SIGNS
from rlregress.report import words

#: most sentences of one list of a card; the others are counted
LISTED = 6


@dataclass(frozen=True)
class Badge:
    """A verdict in words, with the sign and the tone (good, bad, ...) in which a page shows it."""

    word: str
    tone: str = ""

    @property
    def effective_tone(self) -> str:
        """The given tone, or that of the verdict."""
        return self.tone or OF_VERDICT.get(self.word, NOTHING)

    @property
    def sign(self) -> str:
        return SIGNS[self.effective_tone]


@dataclass(frozen=True)
class Table:
    """Heads and rows; the last ``numbers`` columns are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    numbers: int = 0

    def __bool__(self) -> bool:
        return bool(self.rows)


@dataclass(frozen=True)
class Figure:
    """A drawing with its numbers.

    Attributes:
        command: reproduces the numbers; empty: the command of the page does.
    """

    drawn: Markup
    caption: str
    table: Table
    command: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading of the parts that follow it."""

    text: str


@dataclass(frozen=True)
class SourcePair:
    """Source of both versions, each under its name.

    Attributes:
        open: whether it is unfolded, because the code was executed.
    """

    hunk: Hunk
    names: tuple[str, str]
    open: bool = True

    def __bool__(self) -> bool:
        return bool(self.hunk.groups)

    @property
    def marked_lines(self) -> list[tuple[str, str]]:
        """The differing lines with their marks: old lines before new ones."""
        return [
            (mark, line[1])
            for mark, label in (("-", "old"), ("+", "new"))
            for row in self.hunk.differing_rows
            if (line := getattr(row, label)) is not None
        ]


@dataclass(frozen=True)
class CodeLines:
    """Lines of one source file, with their numbers.

    Attributes:
        link: address of the published file; empty: there is none.
    """

    place: str
    code: Sequence[tuple[int, str]]
    link: str = ""


@dataclass(frozen=True)
class Quoted:
    """Text of another program; with a title it can be folded."""

    text: str
    title: str = ""
    open: bool = False


@dataclass(frozen=True)
class Folded:
    """Tables and lists of sentences, hidden below their title until a reader opens them."""

    title: str
    parts: Sequence[object]

    def __bool__(self) -> bool:
        return any(self.parts)


@dataclass(frozen=True)
class Finding:
    """One finding of a report.

    Attributes:
        variants: label, name and formula in words of each variant.
        parts: source, figures, tables, quoted text.
        command: reproduces the finding.
    """

    title: str
    badge: Badge | None = None
    lines: Sequence[str] = ()
    variants: Sequence[tuple[str, str, str]] = ()
    parts: Sequence[object] = ()
    command: str = ""


@dataclass(frozen=True)
class Grid:
    """Findings side by side, and the legend of their figures."""

    findings: Sequence[Finding]
    legend: str = ""

    def __bool__(self) -> bool:
        return bool(self.findings)


@dataclass(frozen=True)
class Step:
    """A next step: words, and a command if there is one."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class Culprit:
    """A changed function with its effects.

    Attributes:
        title: the function, with file and line.
        effects: sentences on what differs because of it.
        source: the lines that differ; None: they are not recorded.
    """

    title: str
    effects: Sequence[str]
    source: SourcePair | None = None


@dataclass(frozen=True)
class Card:
    """The first screen of one framework or one upgrade.

    Attributes:
        not_judged: what has no verdict; shown before changes unless those are worse.
        changed: changes besides those of ``culprits``.
        matters: sentences on whether the changes matter.
        heading: title of the changes.
        share: how much was checked, in words; empty: everything.
        culprits: changed functions, each with its effects.
        wide: whether the card takes the whole width of the page.
    """

    title: str
    badge: Badge
    sentence: str
    not_judged: Sequence[str] = ()
    changed: Sequence[str] = ()
    matters: Sequence[str] = ()
    steps: Sequence[Step] = ()
    heading: str = "What changed"
    share: str = ""
    culprits: Sequence[Culprit] = ()
    wide: bool = False

    @property
    def shows_changes_first(self) -> bool:
        """Return whether to show changes first, as they are worse than the missing verdicts."""
        return self.badge.effective_tone == BAD


@dataclass(frozen=True)
class PageInfo:
    """Title, time, duration, machine and command of a report."""

    title: str
    started: str
    seconds: float
    machine: str
    command: str

    @property
    def duration(self) -> str:
        return words.format_duration(self.seconds)


@dataclass(frozen=True)
class Section:
    """A part of a page below the first screen.

    Attributes:
        id: id of the anchor.
        lead: one sentence on the content.
        parts: tables, figures, source, lists of sentences. Empty parts are left out, and headings
            without a part below them.
    """

    id: str
    title: str
    lead: str = ""
    parts: Sequence[object] = field(default_factory=list)

    @property
    def filled_parts(self) -> list[object]:
        """The parts that hold something, and the headings above them."""
        filled: list[object] = []
        for part in reversed([part for part in self.parts if part]):
            if not isinstance(part, Heading) or (filled and not isinstance(filled[-1], Heading)):
                filled.append(part)
        return filled[::-1]


@cache
def _make_template_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rlregress.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["kind"] = lambda part, name: type(part).__name__ == name
    environment.globals["listed"] = LISTED
    environment.filters["marked"] = mark_differences
    environment.filters["breakable"] = make_paths_breakable
    return environment


def make_paths_breakable(text: object) -> Markup:
    """Escape a text, and allow its paths to break between folders."""
    return escape(text).replace("/", Markup("/<wbr>"))


def mark_differences(lines: LinePair) -> tuple[Markup, Markup]:
    """Return both lines of a row with their differences marked."""
    old_text = lines.old[1] if lines.old is not None else ""
    new_text = lines.new[1] if lines.new is not None else ""
    if lines.is_same or lines.old is None or lines.new is None:
        return escape(old_text), escape(new_text)
    old, new = (re.findall(r"\d+\.\d+|\w+|\s+|.", text) for text in (old_text, new_text))
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    old_marked = _join_marked_pieces(
        (code == "equal", "".join(old[i:j]), "del") for code, i, j, _, _ in codes
    )
    new_marked = _join_marked_pieces(
        (code == "equal", "".join(new[i:j]), "ins") for code, _, _, i, j in codes
    )
    return old_marked, new_marked


def _join_marked_pieces(same_text_tag: Iterable[tuple[bool, str, str]]) -> Markup:
    return Markup("").join(
        escape(text) if same else Markup("<{0}>{1}</{0}>").format(tag, text)
        for same, text, tag in same_text_tag
        if text
    )


@dataclass(frozen=True)
class Page:
    """The findings of a command: cards of the first screen, and sections below.

    ``render_html`` renders the page, ``markdown_page.format_page_as_markdown`` the same as
    Markdown, and ``screen.make_screen_lines`` the cards for a terminal.
    """

    facts: PageInfo
    cards: Sequence[Card]
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    closing: str = ""

    @property
    def filled_sections(self) -> list[Section]:
        """The sections that have a part."""
        return [section for section in self.sections if section.filled_parts]

    def render_html(self) -> str:
        """Return the page as one file."""
        template = _make_template_environment().get_template("page.html")
        return template.render(page=self, rlregress=__version__)
