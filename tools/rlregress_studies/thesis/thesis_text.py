"""The answers to the thesis' three questions, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rlregress.report.words import format_count, format_error_rate, format_return
from rlregress_studies.rank import ranking_report
from rlregress_studies.thesis.thesis_answers import (
    ALPHA,
    BETTER,
    OPEN,
    OPPOSITE,
    OWN,
    SAME,
    SIMILAR,
    WORSE,
    Order,
    Reproduction,
    StoredAnswer,
    StoredCell,
    Study,
)


def _format_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return columns of equal width; text is left-aligned, numbers are right-aligned."""
    cells = [list(map(str, header)), *(list(map(str, row)) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return [
        "  "
        + "  ".join(
            f"{text:>{width}}" if text[:1].isdigit() else f"{text:<{width}}"
            for text, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def _describe_failed_runs(name: str, count: int) -> str:
    """Describe the failed runs of one name."""
    runs = format_count(count, "run")
    return f"  {runs} of {name} failed and counted as the worst return of the environment"


def _describe_reproduction(rows: Sequence[Reproduction]) -> list[str]:
    count_text = [
        (name, Counter(row.interval for row in rows if row.framework == name),
         Counter(row.verdict for row in rows if row.framework == name))
        for name in sorted({row.framework for row in rows})
    ]  # fmt: skip
    lines = _format_table(
        ("", "by intervals: worse", SIMILAR, BETTER, "after Holm: worse", "not rejected", BETTER),
        [
            (name, *(interval[word] for word in (WORSE, SIMILAR, BETTER)),
             *(holm[word] for word in (WORSE, SIMILAR, BETTER)))
            for name, interval, holm in count_text
        ],
    )  # fmt: skip
    for row in rows:
        if row.verdict != SIMILAR:
            lines.append(
                f"  {row.verdict}: {row.framework} {row.algorithm} on {row.environment}, "
                f"{format_return(row.mean)} against {format_return(row.original)}, adjusted p "
                f"{format_return(row.difference.adjusted_p)}"
            )
    lines += [
        _describe_failed_runs(f"{row.framework} {row.algorithm} on {row.environment}", row.failed)
        for row in rows
        if row.failed
    ]
    untested = sum(not row.difference.is_tested for row in rows)
    if untested:
        lines.append(f"  {untested} of {len(rows)} without spread on one side: no test is possible")
    return lines


def _describe_reproduction_of_papers(study: Study) -> list[str]:
    lines = ["1. Do implementations reach what the papers of the algorithms printed?"]
    lines += _describe_reproduction(study.reproduction)
    lines.append(
        f"  No numbers are known of the papers of {', '.join(study.without_originals)}: that part "
        "of the thesis' counts cannot be computed again. The known ones are the best evaluation "
        "of 1 million steps in older environments, against the last one of 3 million: a difference "
        "is not yet a fault."
    )
    if study.stored_reproduction:
        lines += ["  stored runs:", *_describe_reproduction(study.stored_reproduction)]
    else:
        lines.append(
            "  stored runs: none of 1 million steps or more under the original hyperparameters, "
            "and shorter ones say nothing about the papers"
        )
    return lines


def _describe_pairs_of_frameworks(study: Study) -> list[str]:
    rows, count_text = study.frameworks, []
    for algorithm in [*sorted({row.algorithm for row in rows}), "all"]:
        own = [row.difference for row in rows if algorithm in (row.algorithm, "all")]
        outside = [any(order.outside) for order in own], [all(order.outside) for order in own]
        p = [(order.welch, order.p, order.adjusted_welch, order.adjusted_p) for order in own]
        below = [sum(value < ALPHA for value in column) for column in zip(*p, strict=True)]
        count_text.append((algorithm, len(own), *map(sum, outside), *below))
    lines = _format_table(
        ("", "pairs", "mean outside an interval", "outside both", "Welch", "pooled t",
         "Welch, Holm", "pooled t, Holm"),
        count_text,
    )  # fmt: skip
    first = sum(row.difference.outside[0] for row in rows)
    second = sum(row.difference.outside[1] for row in rows)
    lines.append(
        f"  Whether a mean lies outside of an interval depends on the interval taken: {first} by "
        f"that of the first framework (by name), {second} by that of the second."
    )
    for row in rows:
        if sign := row.difference.get_sign(ALPHA):
            higher, lower = (row.first, row.second)[::sign]
            lines.append(
                f"  {higher} above {lower}: {row.algorithm} on {row.environment}, hyperparameters "
                f"{row.hyperparameters}, by {format_return(abs(row.difference.effect))}; adjusted "
                "p "
                f"{format_return(row.difference.adjusted_p)} pooled, "
                f"{format_return(row.difference.adjusted_welch)} by Welch"
            )
    tested = sum(row.difference.is_tested for row in rows)
    lines.append(
        f"  What cannot be concluded: if returns were normal, {study.seeds} seeds against "
        f"{study.seeds} detect a difference of {study.visible:.1f} standard deviations with 80 % "
        f"power among {tested} pairs. Without that assumption nothing can be rejected with fewer "
        f"than {study.needed} seeds a side. Pairs that are not rejected are not equal."
    )
    return lines


def _describe_ranking_of_stored_runs(answer: StoredAnswer) -> list[str]:
    if answer.ranking is None:
        return [f"  stored runs: {answer.reason}"]
    reason_text = f" ({answer.reason})" if answer.reason else ""
    return [
        f"  stored runs{reason_text}:",
        *(f"    {line}" for line in ranking_report.describe_ranking(answer.ranking)),
    ]


def _describe_orders(orders: Sequence[Order]) -> list[str]:
    rows = []
    for set_name in [*sorted({order.hyperparameters for order in orders} - {OWN}), OWN]:
        own = [order for order in orders if order.hyperparameters == set_name]
        pairs = Counter(sentence for order in own for sentence in order.pairs.values())
        title = "each its own" if set_name == OWN else set_name
        rows.append(
            (
                title,
                len(own),
                sum(order.agrees for order in own),
                pairs[SAME],
                pairs[OPPOSITE],
                pairs[OPEN],
            )
        )
    lines = _format_table(
        ("hyperparameters", "environments", "means in one order", "pairs: same", OPPOSITE, OPEN),
        rows,
    )
    lines.append(
        "  A pair of algorithms is 'same' if every framework separates it, and all in one "
        "direction. It is 'opposite' if two frameworks contradict each other, after Holm. If the "
        "means are in another order and the pair is open, chance explains it."
    )
    for order_ in orders:
        lines += [
            f"  {sentence}: {pair[0]} and {pair[1]} on {order_.environment}, hyperparameters "
            f"{order_.hyperparameters}"
            for pair, sentence in order_.pairs.items()
            if sentence != OPEN
        ]
    return lines


def _describe_stored_cells(cells: Sequence[StoredCell], published: int) -> list[str]:
    rows, too_few = [], []
    for cell in cells:
        count = len(cell.returns)
        mean, printed = sum(cell.returns) / count, f"{cell.band.mean:g} +- {cell.band.half:g}"
        if cell.verdict is None:
            too_few.append(cell.cell)
            continue
        detects, scale = cell.verdict.visible_drop, abs(cell.band.mean)
        share = f" ({detects / scale:.0%})" if detects and scale else ""
        rows.append(
            (cell.cell, count, format_return(mean), printed, cell.verdict.verdict,
             format_return(cell.verdict.adjusted_p), format_return(detects) + share)
        )  # fmt: skip
    lines = [
        f"  {len(rows)} of {published} printed cells have two stored runs or more of the same "
        "budget; the others were not checked"
    ]
    if rows:
        header = ("", "runs", "mean", "printed", "verdict", "adjusted p", "would detect a drop of")
        lines += _format_table(header, rows)
    lines += [_describe_failed_runs(cell_.cell, cell_.failed) for cell_ in cells if cell_.failed]
    lines += [f"  one stored run, which is too few: {name}" for name in too_few]
    return lines


def describe_study(study: Study) -> list[str]:
    """Return the lines of the answers to all questions."""
    report_lines = [
        *_describe_reproduction_of_papers(study),
        "",
        "2. Do frameworks agree under one set of hyperparameters?",
    ]
    report_lines += [
        *_describe_pairs_of_frameworks(study),
        *_describe_ranking_of_stored_runs(study.stored_frameworks),
        "",
    ]
    report_lines.append("3. Is the ranking of algorithms the same in every framework?")
    report_lines += _describe_orders(study.orders)
    report_lines.append(
        f"  {study.tested_order} pairs within a framework were tested as one family."
    )
    report_lines += _describe_ranking_of_stored_runs(study.stored_order)
    for place, pairs in study.stored_pairs.items():
        report_lines += [
            f"    {sentence}: {pair[0]} and {pair[1]} on {place}"
            for pair, sentence in pairs.items()
        ]
    report_lines += ["", "4. Do stored runs return what the thesis printed of their cells?"]
    report_lines += _describe_stored_cells(study.stored_cells, study.published_cells)
    report_lines.append("")
    report_lines.append(
        f"Each question is one family: if nothing differed, it would show a difference with "
        f"probability {format_error_rate(ALPHA)} at most."
    )
    return report_lines
