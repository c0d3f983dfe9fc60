"""``rank.html``: implementations by their runs, and which pairs differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rlregress.model.ranking_result import (
    GREATER,
    NOT_SEPARATED,
    SMALLER,
    UNDECIDED,
    Ranking,
    TaskRanking,
)
from rlregress.reporting import ranking_text, words
from rlregress.reporting.html import figures
from rlregress.reporting.html import page as pages
from rlregress.reporting.html.page import Badge, Card, Facts, Figure, Section, Step, Table

#: of a row against a column, in words beside the sign
_WORDS = {GREATER: "better", SMALLER: "worse", NOT_SEPARATED: "not separated"}


def title(ranking: Ranking) -> str:
    """What is ranked."""
    tasks = ", ".join(task.name for task in ranking.tasks)
    return f"Ranking: {tasks}"


def page(ranking: Ranking, facts: Facts) -> str:
    """The page of a ranking."""
    keys = _keys([task.name for task in ranking.tasks])
    sections = [
        _task(task, key, facts.command) for task, key in zip(ranking.tasks, keys, strict=True)
    ]
    sections.append(
        Section("rests-on", "What this rests on", "", [ranking_text.conclusions(ranking)])
    )
    return pages.page(facts, cards(ranking), sections)


def cards(ranking: Ranking) -> list[Card]:
    """The first screen: a card for each task."""
    return [_card(ranking, task) for task in ranking.tasks]


def _card(ranking: Ranking, task: TaskRanking) -> Card:
    counts = Counter(pair.decision for pair in task.decisions)
    separated = counts[GREATER] + counts[SMALLER]
    total = len(task.decisions)
    if counts[UNDECIDED]:
        badge = Badge(f"{counts[UNDECIDED]} of {total} pairs undecided", pages.UNSURE)
    else:
        tone = pages.OTHER if separated else pages.NOTHING
        badge = Badge(f"{separated} of {total} pairs separated", tone)
    best = task.standings[0]
    ties = [
        standing.implementation
        for standing in task.standings[1:]
        if task.decision(best.implementation, standing.implementation) != GREATER
    ]
    text = f"{best.implementation} has the largest mean, {words.number(best.mean)}"
    text += f", and is not separated from {', '.join(ties)}." if ties else ", beyond chance."
    failed = [f"{s.implementation}: {s.failed} runs failed" for s in task.standings if s.failed]
    waiting = [
        line for line in ranking_text.conclusions(ranking) if line.startswith("next look at")
    ]
    own = [line for line in waiting if line.startswith(f"next look at {task.name}:")]
    steps = [Step(f"{line[0].upper()}{line[1:]}.") for line in own]
    return Card(task.name, badge, text, [], failed, [], steps, "What failed")


def _keys(names: Sequence[str]) -> list[str]:
    """A name of its own within the page for each task: names may differ by their signs alone."""
    keys = [re.sub(r"\W+", "-", name.lower()) for name in names]
    return [f"{key}-{n}" if keys.count(key) > 1 else key for n, key in enumerate(keys, start=1)]


def _task(task: TaskRanking, key: str, command: str) -> Section:
    names = [standing.implementation for standing in task.standings]
    letters = [ranking_text.letter(number) for number in range(len(names))]
    rows = [
        [
            sign, standing.implementation, words.number(standing.mean), len(standing.returns),
            *(_decision(task, standing.implementation, name) for name in names),
        ]
        for sign, standing in zip(letters, task.standings, strict=True)
    ]  # fmt: skip
    text = f"returns of {len(names)} implementations on {task.name}"
    returns = {standing.implementation: standing.returns for standing in task.standings}
    drawn = figures.standings(returns, key, text)
    numbers = [
        [standing.implementation, words.number(value)]
        for standing in task.standings
        for value in standing.returns
    ]
    caption = "Each circle is one run; an upright line is a mean"
    figure = Figure(drawn, caption, Table(("implementation", "return"), numbers, 1), command)
    head = ("", "implementation", "mean", "runs", *letters)
    return Section(key, task.name, f"{ranking_text.LEGEND}.", [Table(head, rows), figure])


def _decision(task: TaskRanking, first: str, second: str) -> str:
    sign = ranking_text.symbol(task, first, second)
    if first == second:
        return sign
    return f"{sign} {_WORDS.get(task.decision(first, second), UNDECIDED)}"
