"""A verdict in five lines, for a chat or a mail."""

from __future__ import annotations

from collections.abc import Sequence

from rlregress.reporting.html.page import Card, Facts, Step

#: characters of one line, beyond which sentences are counted and not printed.
_MOST = 280


def lines(facts: Facts, cards: Sequence[Card], report: str, own: Sequence[str] = ()) -> list[str]:
    """Verdict, what was not judged, what changed, what to do, and where more stands.

    Args:
        report: where the page is.
        own: what became of the user's own script or file, one line each.
    """
    several = len(cards) > 1
    return [
        facts.title,
        *own,
        _line("Not judged", _of(cards, several, "not_judged")),
        _line("What changed", _of(cards, several, "changed")),
        _line("Next", steps(cards)),
        f"{facts.started}, {facts.duration}, {facts.machine}: {report}",
    ]


def steps(cards: Sequence[Card], most: int = 1) -> list[str]:
    """What to do next, in words, with the command."""
    return [f"{step.text} {step.command}".strip() for step in first_steps(cards, most)]


def first_steps(cards: Sequence[Card], most: int = 1) -> list[Step]:
    """What to do next, the first steps of each card; once if it is the same."""
    return list(dict.fromkeys(step for card in cards for step in card.steps[:most]))


def _of(cards: Sequence[Card], several: bool, name: str) -> list[str]:
    """The first sentence of each card, the worst first, and how many more there are."""
    sentences: list[str] = []
    for card in cards:
        given = list(getattr(card, name))
        if name == "changed":
            given = [culprit.title for culprit in card.culprits] + given
        if given:
            rest = f" (and {len(given) - 1} more)" if given[1:] else ""
            title = f"{card.title.partition(' (')[0]}: " if several else ""
            sentences.append(f"{title}{given[0].rstrip('.')}{rest}")
    return sentences


def _line(title: str, sentences: Sequence[str]) -> str:
    """As many whole sentences as have room, one at least, and how many more there are."""
    texts = [" ".join(text.split()).rstrip(".") for text in sentences]
    for room in range(len(texts), 0, -1):
        rest = [f"and {len(texts) - room} more"] if room < len(texts) else []
        line = f"{title}: {'; '.join([*texts[:room], *rest])}."
        if len(line) <= _MOST or room == 1:
            return line
    return f"{title}: nothing."
