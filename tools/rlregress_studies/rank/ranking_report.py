"""A ranking in words, as the figure of the paper, and as ``rank.html``."""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from rlregress.model import tones
from rlregress.report import words
from rlregress.report.html import figures, svg
from rlregress.report.html import page as pages
from rlregress.report.html.page import Badge, Card, Figure, PageInfo, Section, Step, Table
from rlregress.report.words import format_error_rate
from rlregress_studies.rank.adastop import GREATER, NOT_SEPARATED, SMALLER, UNDECIDED
from rlregress_studies.rank.ranking_result import Ranking, TaskRanking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: decision of the row against the column -> symbol
SYMBOLS = {GREATER: ">", SMALLER: "<", NOT_SEPARATED: "~", UNDECIDED: "?"}
_COLOURS = {GREATER: "#b3cde3", SMALLER: "#fbb4ae", NOT_SEPARATED: "lightgray", UNDECIDED: "white"}

#: with more implementations the figure has no symbols, only colours
_MOST_SIGNS = 40
#: most characters of a name in a figure
_LONGEST = 40
#: meaning of the symbols
LEGEND = "row against column: > better, < worse, ~ not separated, ? undecided"
_SHARED = " (pairs that share an implementation: measured, not exact)"


def _shorten_name(name: str) -> str:
    """Shorten a name for a figure."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def convert_number_to_letters(number: int) -> str:
    """Return the letters of a number: A, B, ..., Z, AA, AB, ..."""
    before, last = divmod(number, 26)
    return (convert_number_to_letters(before - 1) if before else "") + chr(ord("A") + last)


def get_symbol_of_decision(task: TaskRanking, first: str, second: str) -> str:
    """Return the symbol for the decision about the first against the second."""
    return "." if first == second else SYMBOLS[task.get_decision(first, second)]


def describe_task(task: TaskRanking) -> list[str]:
    """Return the table of one task: rows by falling mean, each against each column."""
    names = [ranked.implementation for ranked in task.standings]
    letters = [convert_number_to_letters(number) for number in range(len(names))]
    width = max(len(name) for name in names)
    lines = [f"{task.name}: {len(names)} implementations"]
    lines.append(f"     {'':<{width}}       mean  runs " + "".join(f"{x:>3}" for x in letters))
    for sign, place in zip(letters, task.standings, strict=True):
        row = "".join(
            f"{get_symbol_of_decision(task, place.implementation, name):>3}" for name in names
        )
        failed = f"  {place.failed} failed" if place.failed else ""
        lines.append(
            f"  {sign:>2} {place.implementation:<{width}} {place.mean:>10.5g}  "
            f"{len(place.returns):>4} "
            f"{row}{failed}"
        )
    return lines


def describe_ranking(ranking: Ranking) -> list[str]:
    """Return every task, then the counts, the error rate and missing runs."""
    report_lines = [line for task in ranking.tasks for line in describe_task(task)]
    return [*report_lines, LEGEND, *list_conclusions(ranking)]


def list_conclusions(ranking: Ranking) -> list[str]:
    """Return the counts, the error rate and missing runs."""
    plan = ranking.plan
    conclusion_lines = []
    count_text = Counter(pair.decision for task in ranking.tasks for pair in task.decisions)
    separated = count_text[GREATER] + count_text[SMALLER]
    total = sum(count_text.values())
    conclusion_lines.append(
        f"{total} pairs in {len(ranking.tasks)} {'task' if len(ranking.tasks) == 1 else 'tasks'}: "
        f"{separated} separated, {count_text[NOT_SEPARATED]} not separated, "
        f"{count_text[UNDECIDED]} undecided; {ranking.looks} of {plan.looks} looks taken, each "
        f"with {plan.runs} new runs of each implementation"
    )
    shared = any(len(task.standings) > 2 for task in ranking.tasks)
    conclusion_lines.append(
        "If the returns of all implementations have one law, some pair is separated in "
        f"{'about' if shared else 'at most'} {format_error_rate(plan.alpha)} of such comparisons"
        f"{_SHARED if shared else ''}. 'Not separated' means that these runs show no difference, "
        "not that there is none."
    )
    for task in ranking.tasks:
        waiting = {
            name: (ranking.looks + 1) * plan.runs - ranked.available
            for ranked in task.standings
            for name in [ranked.implementation]
            if any(
                pair.decision == UNDECIDED and name in (pair.first, pair.second)
                for pair in task.decisions
            )
        }
        if needed := [f"{name} {count}" for name, count in waiting.items() if count > 0]:
            conclusion_lines.append(f"next look at {task.name}: more runs of {', '.join(needed)}")
    over = [
        ranked.implementation
        for task in ranking.tasks
        for ranked in task.standings
        if ranked.available - plan.runs * plan.looks >= plan.runs
        and any(
            pair.decision == NOT_SEPARATED and ranked.implementation in (pair.first, pair.second)
            for pair in task.decisions
        )
    ]
    if over:
        conclusion_lines.append(
            f"{', '.join(dict.fromkeys(over))}: runs beyond {plan.looks} x {plan.runs} were not "
            "used; a further look needs them of every implementation"
        )
    if ranking.alone:
        conclusion_lines.append(
            f"not ranked, because only one implementation has runs: {'; '.join(ranking.alone)}"
        )
    return conclusion_lines


def draw_ranking_figure(ranking: Ranking) -> str:
    """Draw the figure of the paper as SVG: decisions above, returns below.

    Mathieu et al. 2023, figure 2; one column for each task.
    """
    # the import takes most of a second, and commands without a figure do not need it
    import matplotlib

    # names may contain a dollar sign, and are not formulas
    with matplotlib.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        # the font may lack characters of a name; the tables show them
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        return _plot_ranking_figure(ranking)


def _plot_ranking_figure(ranking: Ranking) -> str:
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    kinds = list(_COLOURS)
    largest = max(len(task.standings) for task in ranking.tasks)
    signs = largest <= _MOST_SIGNS
    largest = min(largest, _MOST_SIGNS)
    size = (2.0 + 1.1 * largest) * len(ranking.tasks), 2.0 + 0.8 * largest
    page = Figure(figsize=size, layout="constrained")
    for column, task in enumerate(ranking.tasks):
        names = [ranked.implementation for ranked in task.standings]
        labels = list(map(_shorten_name, names))
        places = range(len(names))
        above = page.add_subplot(2, len(ranking.tasks), column + 1)
        cells = [
            [-1 if a == b else kinds.index(task.get_decision(a, b)) for b in names] for a in names
        ]
        above.imshow(
            cells,
            cmap=ListedColormap(["white", *_COLOURS.values()]),
            vmin=-1,
            vmax=len(kinds) - 1,
            aspect="auto",
        )
        for row, column_ in itertools.permutations(places, 2) if signs else ():
            text = get_symbol_of_decision(task, names[row], names[column_])
            above.text(column_, row, text, ha="center", va="center")
        above.set_title(_shorten_name(task.name), fontsize="small")
        above.set_yticks(places, labels, fontsize="small")
        above.set_xticks(
            places, [f"{len(ranked.returns)} runs" for ranked in task.standings], fontsize="x-small"
        )
        below = page.add_subplot(2, len(ranking.tasks), len(ranking.tasks) + column + 1)
        below.boxplot([ranked.returns for ranked in task.standings], showmeans=True)
        below.set_xticks([place + 1 for place in places], labels, fontsize="x-small", rotation=30)
        below.set_ylabel("return", fontsize="small")
    drawing = io.StringIO()
    page.savefig(drawing, format="svg", metadata={"Date": None})
    return drawing.getvalue()


#: decision of a row against a column -> words
_WORDS = {GREATER: "better", SMALLER: "worse", NOT_SEPARATED: "not separated"}


def format_ranking_title(ranking: Ranking) -> str:
    """Return the title: the ranked tasks."""
    tasks = ", ".join(task.name for task in ranking.tasks)
    return f"Ranking: {tasks}"


def make_ranking_page(ranking: Ranking, facts: PageInfo) -> str:
    """Return the page of a ranking."""
    keys = _make_unique_section_ids([task.name for task in ranking.tasks])
    sections = [
        _make_section_of_task(task, key, facts.command)
        for task, key in zip(ranking.tasks, keys, strict=True)
    ]
    sections.append(Section("rests-on", "What this rests on", "", [list_conclusions(ranking)]))
    return pages.Page(facts, make_cards_of_tasks(ranking), sections).render_html()


def make_cards_of_tasks(ranking: Ranking) -> list[Card]:
    """Return the first screen: a card for each task."""
    return [_make_card_of_task(ranking, task) for task in ranking.tasks]


def _make_card_of_task(ranking: Ranking, task: TaskRanking) -> Card:
    counts = Counter(pair.decision for pair in task.decisions)
    separated = counts[GREATER] + counts[SMALLER]
    total = len(task.decisions)
    if counts[UNDECIDED]:
        badge = Badge(f"{counts[UNDECIDED]} of {total} pairs undecided", tones.UNSURE)
    else:
        tone = tones.OTHER if separated else tones.NOTHING
        badge = Badge(f"{separated} of {total} pairs separated", tone)
    best = task.standings[0]
    ties = [
        ranked.implementation
        for ranked in task.standings[1:]
        if task.get_decision(best.implementation, ranked.implementation) != GREATER
    ]
    text = f"{best.implementation} has the largest mean, {words.format_return(best.mean)}"
    text += f", and is not separated from {', '.join(ties)}." if ties else ", beyond chance."
    failed = [f"{s.implementation}: {s.failed} runs failed" for s in task.standings if s.failed]
    waiting = [line for line in list_conclusions(ranking) if line.startswith("next look at")]
    own = [line for line in waiting if line.startswith(f"next look at {task.name}:")]
    steps = [Step(f"{line[0].upper()}{line[1:]}.") for line in own]
    return Card(task.name, badge, text, [], failed, [], steps, "What failed")


def _make_unique_section_ids(names: Sequence[str]) -> list[str]:
    """Return a unique key for each task: names may differ in punctuation only."""
    keys = [re.sub(r"\W+", "-", name.lower()) for name in names]
    return [f"{key}-{n}" if keys.count(key) > 1 else key for n, key in enumerate(keys, start=1)]


def _make_section_of_task(task: TaskRanking, key: str, command: str) -> Section:
    names = [ranked.implementation for ranked in task.standings]
    letters = [convert_number_to_letters(number) for number in range(len(names))]
    rows = [
        [
            sign, ranked.implementation, words.format_return(ranked.mean), len(ranked.returns),
            *(_describe_decision(task, ranked.implementation, name) for name in names),
        ]
        for sign, ranked in zip(letters, task.standings, strict=True)
    ]  # fmt: skip
    text = f"returns of {len(names)} implementations on {task.name}"
    returns = {ranked.implementation: ranked.returns for ranked in task.standings}
    drawing = _draw_returns(returns, key, text)
    numbers = [
        [ranked.implementation, words.format_return(value)]
        for ranked in task.standings
        for value in ranked.returns
    ]
    caption = "Each circle is one run; an upright line is a mean"
    figure = Figure(drawing, caption, Table(("implementation", "return"), numbers, 1), command)
    head = ("", "implementation", "mean", "runs", *letters)
    return Section(key, task.name, f"{LEGEND}.", [Table(head, rows), figure])


def _draw_returns(rows: Mapping[str, Sequence[float]], name: str, label: str) -> Markup:
    """Draw the returns of implementations, one line each, with their means."""
    widest = max(map(len, rows))
    left_margin = min(16.0 + 5.6 * widest, 170.0)
    height = 40.0 + 30.0 * len(rows)
    return svg.draw_svg(
        lambda axes: _plot_returns(axes, rows),
        name,
        label,
        height,
        (left_margin, 12, 36, 8),
    )


def _plot_returns(axes: Axes, rows: Mapping[str, Sequence[float]]) -> None:
    for row, values in enumerate(rows.values()):
        axes.plot(
            values,
            figures.spread_overlapping_points(len(values), -row),
            ls="",
            marker="o",
            markersize=5.5,
            markerfacecolor="none",
            color=svg.STORED,
            clip_on=False,
        )
        mean = float(np.mean(values))
        axes.plot([mean, mean], [-row - 0.4, -row + 0.4], color=svg.INK, lw=2.2)
    axes.set_yticks([-row for row in range(len(rows))], list(map(_shorten_name, rows)))
    axes.set_ylim(-len(rows) + 0.45, 0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("return")


def _describe_decision(task: TaskRanking, first: str, second: str) -> str:
    sign = get_symbol_of_decision(task, first, second)
    if first == second:
        return sign
    return f"{sign} {_WORDS.get(task.get_decision(first, second), UNDECIDED)}"
