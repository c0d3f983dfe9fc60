"""A verdict in five lines, for a chat or a mail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rlregress.reporting.html.page import Card, Facts

#: how a card ends that does not show everything
_REST = re.compile(r"and (\d+) more, below")
#: characters of one line, beyond which it ends in an ellipsis
_MOST = 280


def lines(facts: Facts, cards: Sequence[Card], report: str) -> list[str]:
    """Verdict, what was not judged, what changed, what to do, and where more stands.

    Args:
        report: where the page is.
    """
    several = len(cards) > 1
    return [
        _short(facts.title),
        _short(f"Not judged: {_of(cards, several, 'not_judged') or 'nothing.'}"),
        _short(f"What changed: {_of(cards, several, 'changed') or 'nothing.'}"),
        _short(f"Next: {'; '.join(steps(cards)) or 'nothing.'}"),
        _short(f"{facts.started}, {facts.duration}, {facts.machine}: {report}"),
    ]


def steps(cards: Sequence[Card], most: int = 1) -> list[str]:
    """What to do next, the first steps of each card; once if it is the same."""
    text = (f"{step.text} {step.command}".strip() for card in cards for step in card.steps[:most])
    return list(dict.fromkeys(text))


def _of(cards: Sequence[Card], several: bool, name: str) -> str:
    """The first sentence of each card, the worst first, and how many more there are."""
    sentences: list[str] = []
    for card in cards:
        given: Sequence[str] = getattr(card, name)
        if given:
            # the last item of a card may itself count the rest
            rest_ = _REST.fullmatch(given[-1])
            more = len(given) - 1 + (int(rest_[1]) - 1 if rest_ else 0)
            rest = f" (and {more} more)" if more else ""
            title = f"{card.title.partition(' (')[0]}: " if several else ""
            sentences.append(f"{title}{given[0].rstrip('.')}{rest}")
    return _joined(sentences)


def _joined(texts: Iterable[str]) -> str:
    text = "; ".join(texts)
    return f"{text}." if text else ""


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _MOST else f"{one_line[: _MOST - 1]}…"
