"""``rlregress study determinism``: the table, the figure of the paper, ``determinism.html``."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rlregress.model import tones
from rlregress.reporting import tables
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
from rlregress.studies.determinism.chance import HELD, Spread

#: framework's title -> group -> what its source of chance causes
Found = Mapping[str, Mapping[str, Spread]]

_HEAD = (
    "framework", "varied", "runs", "weights", "score", "deviation", "mean maximum Q", "deviation",
)  # fmt: skip


def weights(found: Spread) -> str:
    """Whether the trainings of a group end with the same weights, and from when on they differ."""
    if found.parted is None:
        return "identical"
    return f"{found.distinct} different, from step {found.parted} on"


def cells(found: Found) -> tuple[tuple[str, ...], list[list[str]]]:
    """Heads, and a row for each framework and group, of the last checkpoint."""
    return _HEAD, [
        [
            framework, "nothing" if group == HELD else group, str(spread.runs), weights(spread),
            f"{spread.score_mean[-1]:.3g}", f"{spread.score_deviation[-1]:.3g}",
            f"{spread.value_mean[-1]:.4g}", f"{spread.value_deviation[-1]:.3g}",
        ]
        for framework, groups in found.items()
        for group, spread in groups.items()
    ]  # fmt: skip


def table(found: Found) -> list[str]:
    """The same in Markdown."""
    head, rows = cells(found)
    return [*tables.head(*head), *(tables.row(*row) for row in rows)]


def sources(by_framework: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Who draws what, and what the framework does not let one control."""
    for framework, drawn in by_framework.items():
        for source, words in drawn.items():
            yield f"- {framework}, {source}: {words}"


def figure(framework: str, groups: Mapping[str, Spread]) -> str:
    """Figure 1 of the paper as SVG: a column for each group, score above and maximum Q below.

    The line is the mean of the trainings, the area one population standard deviation around it.
    """
    from matplotlib.figure import Figure

    page = Figure(figsize=(2.6 * len(groups), 4.6), layout="constrained")
    cells = page.subplots(2, len(groups), squeeze=False, sharex=True, sharey="row")
    for column, (group, spread) in enumerate(groups.items()):
        rows = (
            ("score", spread.score_mean, spread.score_deviation, "#1b3a5c"),
            ("mean maximum Q", spread.value_mean, spread.value_deviation, "#b03a2e"),
        )
        for row, (name, mean, deviation, color) in enumerate(rows):
            cell = cells[row][column]
            low = [m - d for m, d in zip(mean, deviation, strict=True)]
            high = [m + d for m, d in zip(mean, deviation, strict=True)]
            cell.fill_between(spread.steps, low, high, color=color, alpha=0.25, linewidth=0)
            cell.plot(spread.steps, mean, color=color)
            if column == 0:
                cell.set_ylabel(name, fontsize="small")
        cells[0][column].set_title(group, fontsize="small")
        cells[1][column].set_xlabel("environment steps", fontsize="small")
    page.suptitle(framework, fontsize="medium")
    drawn = io.StringIO()
    page.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def as_plain(
    plan: Mapping[str, Any],
    found: Found,
    drawn: Mapping[str, Mapping[str, str]],
    absent: Mapping[str, str],
    wrong: list[str],
) -> dict[str, Any]:
    """As plain data: the plan, what was found, who was not checked and why."""
    return {
        "plan": dict(plan),
        "frameworks": {
            framework: {
                "sources": dict(drawn[framework]),
                "groups": {group: vars(spread) for group, spread in groups.items()},
            }
            for framework, groups in found.items()
        },
        "not_asked": dict(absent),
        "wrong": wrong,
    }


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
        Section("table", "After the last step", "", [Table(*cells(found), numbers=4)]),
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
    badge = Badge("not as it has to be", tones.BAD) if wrong else Badge("deterministic", tones.GOOD)
    lines = [f"{group} varied: {weights(spread)}." for group, spread in groups.items()]
    held = [line for line in lines if line.startswith(HELD)]
    others = [line for line in lines if line not in held]
    held = [line.replace(f"{HELD} varied", "everything held") for line in held]
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
        views.append(CellView(group, Badge(f"{spread.runs} runs"), [weights(spread)], drawn))
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
