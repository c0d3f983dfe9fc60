"""A verdict in five lines, for a chat or a mail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rlregress.reporting.html.page import Card, Facts, Step, with_rest

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
    """What to do next, in words, with the command."""
    return [f"{step.text} {step.command}".strip() for step in first_steps(cards, most)]


def first_steps(cards: Sequence[Card], most: int = 1) -> list[Step]:
    """What to do next, the first steps of each card; once if it is the same."""
    return list(dict.fromkeys(step for card in cards for step in card.steps[:most]))


def _of(cards: Sequence[Card], several: bool, name: str) -> str:
    """The first sentence of each card, the worst first, and how many more there are."""
    sentences: list[str] = []
    for card in cards:
        given, left_out = with_rest(getattr(card, name))
        if name == "changed":
            given = [culprit.title for culprit in card.culprits] + given
        if given:
            more = len(given) - 1 + left_out
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
