"""``determinism.html``: what each source of chance alone does to a training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rlregress.model.chance_spread import Spread
from rlregress.reporting import determinism_text
from rlregress.reporting.determinism_text import Found
from rlregress.reporting.html import figures
from rlregress.reporting.html import page as pages
from rlregress.reporting.html.page import (
    Badge,
    Card,
    Cells,
    CellView,
    Facts,
    Figure,
    Folded,
    Section,
    Step,
    Table,
)

_QUANTITIES = (
    ("score", "score_mean", "score_deviation"),
    ("mean maximum Q", "value_mean", "value_deviation"),
)


def page(
    found: Found,
    drawn: Mapping[str, Mapping[str, str]],
    absent: Mapping[str, str],
    wrong: Mapping[str, Sequence[str]],
    facts: Facts,
) -> str:
    """The page of a study of chance.

    Args:
        drawn: framework -> source -> who draws it, and what cannot be controlled.
        absent: framework -> why it was not checked.
        wrong: framework -> what is not as it has to be.
    """
    sections = [
        Section(
            "table", "After the last step", "", [Table(*determinism_text.cells(found), numbers=4)]
        ),
        *(_figures(name, groups) for name, groups in found.items()),
        Section(
            "sources",
            "Who draws what",
            "",
            [Folded(n, [list(_source_lines(s))]) for n, s in drawn.items()],
        ),
    ]
    notes = [f"{name} was not checked: {why}" for name, why in absent.items()]
    return pages.page(facts, cards(found, wrong), sections, notes)


def cards(found: Found, wrong: Mapping[str, Sequence[str]]) -> list[Card]:
    """The first screen: a card for each framework."""
    return [_card(name, groups, wrong.get(name, ())) for name, groups in found.items()]


def _source_lines(sources: Mapping[str, str]) -> Sequence[str]:
    return [f"{source}: {words}" for source, words in sources.items()]


def _card(name: str, groups: Mapping[str, Spread], wrong: Sequence[str]) -> Card:
    badge = Badge("not as it has to be", pages.BAD) if wrong else Badge("deterministic", pages.GOOD)
    lines = [
        f"{group} varied: {determinism_text.weights(spread)}." for group, spread in groups.items()
    ]
    held = [line for line in lines if line.startswith(determinism_text.HELD)]
    others = [line for line in lines if line not in held]
    held = [line.replace(f"{determinism_text.HELD} varied", "everything held") for line in held]
    sentence = (
        "Something moves that is held, or does not move when it is varied."
        if wrong
        else "With everything held the weights are the same to the bit; each source alone moves "
        "them, where it draws anything."
    )
    step = "Find what draws without a seed." if wrong else "Nothing: go on."
    return Card(name, badge, sentence, [], [*wrong, *held, *others], [], [Step(step)], "Weights")


def _figures(name: str, groups: Mapping[str, Spread]) -> Section:
    views = []
    spans = {mean: _span(groups.values(), mean, of) for _, mean, of in _QUANTITIES}
    for group, spread in groups.items():
        drawn = [
            _figure(f"{name} {group}", quantity, spread, mean, of, spans[mean])
            for quantity, mean, of in _QUANTITIES
        ]
        views.append(
            CellView(group, Badge(f"{spread.runs} runs"), [determinism_text.weights(spread)], drawn)
        )
    key = re.sub(r"\W+", "-", name.lower())
    lead = "Lines are means over runs, areas one standard deviation around them."
    return Section(key, name, lead, [Cells(views)])


def _span(groups: Iterable[Spread], mean: str, of: str) -> tuple[float, float]:
    """What all groups lie within, with a deviation on either side."""
    ends = [
        m + sign * d
        for group in groups
        for m, d in zip(getattr(group, mean), getattr(group, of), strict=True)
        for sign in (-1, 1)
    ]
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _figure(
    name: str, quantity: str, spread: Spread, mean: str, of: str, span: tuple[float, float]
) -> Figure:
    steps, means, around = spread.steps, getattr(spread, mean), getattr(spread, of)
    drawn = figures.level_shifts(
        steps, means, around, span, quantity, re.sub(r"\W+", "-", f"{name} {quantity}"),
        f"{quantity} of {name} over environment steps",
    )  # fmt: skip
    rows = [[s, f"{m:.4g}", f"{d:.3g}"] for s, m, d in zip(steps, means, around, strict=True)]
    head = ("environment steps", "mean", "deviation")
    return Figure(drawn, quantity, Table(head, rows, 3))
