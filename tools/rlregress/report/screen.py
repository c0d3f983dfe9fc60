"""A report on one screen of a terminal: few lines, and none longer than the window."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from rlregress.model import tones
from rlregress.model.verdict import FORMULAS_HOLD, HOLDS
from rlregress.report import harmless, short_summary, terminal_tables
from rlregress.report.html.page import Badge, Card, Culprit

#: lines of a screen
LINES = 40
#: most columns, also in a wider window: longer lines are hard to read
WIDEST = 100
#: most steps of each card
STEPS = 3
#: most lines of one sentence, and of a culprit with its effects
_SENTENCE, _CULPRIT = 5, 12
_COLOURS = {
    tones.GOOD: "green", tones.BAD: "red", tones.UNSURE: "yellow", tones.OTHER: "cyan",
    tones.NOTHING: "",
}  # fmt: skip
#: lists of a card, by importance.
_LISTS = (("And also", "changed"), ("Not judged", "not_judged"), ("Does it matter", "matters"))


@dataclass(frozen=True)
class _SentenceList:
    """Sentences of a card under one title, each as its lines."""

    title: str
    items: Sequence[Sequence[Text]]
    left_out: int

    def make_lines_of_first_items(self, max_items: int) -> list[Text]:
        """Return the first items, and how many more there are."""
        hidden = len(self.items) - max_items + self.left_out
        item_lines = [line for item in self.items[:max_items] for line in item]
        ending = [Text(f"    and {hidden} more, on the page")] if hidden else []
        return [Text(f"  {self.title}"), *item_lines, *ending]


def make_screen_lines(
    cards: Sequence[Card], closing: Sequence[tuple[str, str]], width: int = WIDEST
) -> list[Text]:
    """Return the lines of a screen: the first line of each card, then as much as fits.

    Items that do not fit are counted. A card with ``holds`` has only a verdict, in ``closing``.

    Args:
        closing: the last sentences: path of the report, next steps and verdict. Each has the
            verdict that colours it, or "".
        width: columns of the window.
    """
    visible = [card for card in cards if card.badge.word not in (HOLDS, FORMULAS_HOLD)]
    last: list[Text] = []
    for most in (_SENTENCE, 3, 2):
        if not last or len(last) > LINES // 2:
            last = [Text("")]
            for text, word in closing:
                last += _wrap_sentence(
                    text, width, 0, 4, _COLOURS[Badge(word).effective_tone], most
                )
    heads = [_make_head_lines(card, width) for card in visible]
    while heads and sum(map(len, heads)) > LINES - len(last):
        heads.pop()
    lists = [_make_lists_of_card(card, width) for card in visible[: len(heads)]]
    room = LINES - len(last) - sum(map(len, heads))
    counts = _count_fitting_items([own for card_lists in lists for own in card_lists], room)
    body: list[Text] = []
    for head, card_lists in zip(heads, lists, strict=True):
        body += head
        for own in card_lists:
            body += (
                own.make_lines_of_first_items(count) if (count := next(counts)) is not None else []
            )
    return [*body, *last][-LINES:]


def format_next_steps(cards: Sequence[Card], width: int) -> list[str]:
    """Return the next steps; long commands are continued in shell syntax."""
    lines: list[str] = []
    for step in short_summary.list_first_steps(cards, STEPS):
        step_line = f"next: {step.text} {step.command}".strip()
        if not step.command or len(step_line) <= width:
            lines.append(step_line)
            continue
        lines += [f"next: {step.text}", ""]
        # a word in quotes may hold spaces
        for word in re.findall(r"(?:'[^']*'|\S)+", step.command):
            if lines[-1] and len(f"{lines[-1]} {word} \\") > width:
                lines[-1] += " \\"
                lines.append("")
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _count_fitting_items(lists: Sequence[_SentenceList], max_lines: int) -> Iterator[int | None]:
    """Yield the number of items of each list that fit: each list gets one before any gets two.

    None: there is no room for its title.
    """
    shown = list(lists)
    while shown and sum(len(own.make_lines_of_first_items(0)) for own in shown) > max_lines:
        shown.pop()
    counts = [0] * len(shown)
    longest = max((len(own.items) for own in shown), default=0)
    for number in range(longest):
        for place, own in enumerate(shown):
            tried = [*counts]
            tried[place] = number + 1
            used = sum(
                len(o.make_lines_of_first_items(n)) for o, n in zip(shown, tried, strict=True)
            )
            if counts[place] == number < len(own.items) and used <= max_lines:
                counts = tried
    return iter([*counts, *[None] * (len(lists) - len(shown))])


def _make_head_lines(card: Card, width: int) -> list[Text]:
    verdict = ": ".join(filter(None, (card.badge.word, card.sentence)))
    twice = card.share in card.sentence
    share = [] if twice else _wrap_sentence(card.share, width, 2)
    colour = _COLOURS[card.badge.effective_tone]
    return [
        *_wrap_sentence(card.title, width),
        *_wrap_sentence(verdict, width, 2, 4, colour),
        *share,
    ]


def _make_lists_of_card(card: Card, width: int) -> list[_SentenceList]:
    culprits = [_make_culprit_lines(culprit, width) for culprit in card.culprits]
    all_lists = [_SentenceList(card.heading, culprits, 0)]
    for title, name in _LISTS:
        texts = getattr(card, name)
        items = [_wrap_sentence(f"- {text}", width, 4, 6) for text in texts[:LINES]]
        heading = card.heading if name == "changed" and not culprits else title
        all_lists.append(_SentenceList(heading, items, len(texts) - len(items)))
    return [own for own in all_lists if own.items]


def _make_culprit_lines(culprit: Culprit, width: int) -> list[Text]:
    culprit_lines = _wrap_sentence(culprit.title, width, 4, 6)
    if source := culprit.source:
        for mark, line in source.marked_lines:
            style = "red" if mark == "-" else "green"
            culprit_lines += _wrap_sentence(f"{mark} {line.strip()}", width, 8, 10, style)
        if source.hunk.left_out:
            culprit_lines.append(Text(f"        and {source.hunk.left_out} more rows"))
    culprit_lines += [line for text in culprit.effects for line in _wrap_sentence(text, width, 6)]
    if len(culprit_lines) > _CULPRIT:
        hidden = len(culprit_lines) - _CULPRIT + 1
        culprit_lines[_CULPRIT - 1 :] = [Text(f"      and {hidden} more lines, on the page")]
    return culprit_lines


def _wrap_sentence(
    text: str,
    width: int,
    indent: int = 0,
    hanging: int | None = None,
    style: str = "",
    max_lines: int = _SENTENCE,
) -> list[Text]:
    """Wrap a sentence; of more than ``max_lines``, the last one says how many are left out.

    Args:
        indent: of the first line; ``hanging``: of the others, by default the same.
    """
    after = indent if hanging is None else hanging
    # escaped before lines are broken, because escapes are longer
    safe = harmless.escape_into_one_line(text)
    # the indent of further lines does not matter for a sentence of one line
    room = max(width - (indent if cell_len(safe) <= width - indent else after), 1)
    text = terminal_tables.break_long_words(safe, room)
    wrapped = Text(text, style=style).wrap(Console(width=width, file=StringIO()), room)
    shown = list(wrapped) if len(wrapped) <= max_lines else list(wrapped)[: max_lines - 1]
    if len(shown) < len(wrapped):
        shown.append(Text(f"and {len(wrapped) - len(shown)} more lines, on the page"))
    for number, line in enumerate(shown):
        line.rstrip()
        line.pad_left(after if number else indent)
    return shown
