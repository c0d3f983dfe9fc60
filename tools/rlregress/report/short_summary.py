"""A verdict in five lines, for a chat or a mail."""

from __future__ import annotations

from collections.abc import Sequence

from rlregress.report.html.page import Card, PageInfo, Step

#: most characters of one line; sentences that do not fit are counted
_MOST = 280


def make_summary_lines(
    facts: PageInfo, cards: Sequence[Card], report: str, sentences: Sequence[str] = ()
) -> list[str]:
    """Return verdict, unjudged parts, changes, next steps, and the path of the report.

    Args:
        report: path of the page.
        sentences: results of the user's own script and file, one line each.
    """
    return [
        facts.title,
        *sentences,
        _join_fitting_sentences("Not judged", _list_first_sentences(cards, "not_judged")),
        _join_fitting_sentences("What changed", _list_first_sentences(cards, "changed")),
        _join_fitting_sentences("Next", format_first_steps(cards)),
        f"{facts.started}, {facts.duration}, {facts.machine}: {report}",
    ]


def format_first_steps(cards: Sequence[Card], max_steps: int = 1) -> list[str]:
    """Return the next steps in words, with commands."""
    return [f"{step.text} {step.command}".strip() for step in list_first_steps(cards, max_steps)]


def list_first_steps(cards: Sequence[Card], max_steps: int = 1) -> list[Step]:
    """Return the first steps of each card; identical ones once."""
    return list(dict.fromkeys(step for card in cards for step in card.steps[:max_steps]))


def _list_first_sentences(cards: Sequence[Card], list_name: str) -> list[str]:
    """Return each card's first sentence and how many more it has, the worst card first."""
    sentences: list[str] = []
    for card in cards:
        card_sentences = list(getattr(card, list_name))
        if list_name == "changed":
            card_sentences = [culprit.title for culprit in card.culprits] + card_sentences
        if card_sentences:
            ending = f" (and {len(card_sentences) - 1} more)" if card_sentences[1:] else ""
            title = f"{card.title.partition(' (')[0]}: " if len(cards) > 1 else ""
            sentences.append(f"{title}{card_sentences[0].rstrip('.')}{ending}")
    return sentences


def _join_fitting_sentences(title: str, sentences: Sequence[str]) -> str:
    """Return as many whole sentences as fit, at least one, and the number of others."""
    texts = [" ".join(text.split()).rstrip(".") for text in sentences]
    for room in range(len(texts), 0, -1):
        ending = [f"and {len(texts) - room} more"] if room < len(texts) else []
        line = f"{title}: {'; '.join([*texts[:room], *ending])}."
        if len(line) <= _MOST or room == 1:
            return line
    return f"{title}: nothing."
