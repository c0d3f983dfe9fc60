"""A page on which tier of the suite detects generated faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rlregress.model.fault_results import GAP, KINDS, TIERS, DrawnFaults, FaultExplanation, Outcome
from rlregress.report import tables

_OPERATORS = (
    "dropped statement", "constant", "swapped argument", "comparison", "operand", "operator",
    "condition", "sign", "bound",
)  # fmt: skip
_NOT_RUN, _RUN = "not detected, on a line that nothing runs", "not detected, although run"


def make_power_page(
    results: Sequence[DrawnFaults], explained: Mapping[tuple[str, str], FaultExplanation]
) -> str:
    """Return the page on generated faults as Markdown."""
    parts = [
        _HEAD.strip(),
        "",
        *_make_table_of_shares(results, explained),
        "",
        *_make_table_by_operator(results),
    ]
    for draw in results:
        parts += ["", *_describe_undetected_faults(draw, explained)]
    return "\n".join(parts) + "\n"


_HEAD = """
# What the suite would miss

Faults were drawn at random, injected one at a time, and counted: detected or not. This page is the
output of `rlregress selftest faults --tiers --show`.

**The faults.** `rlregress selftest faults --tiers` draws single-line faults from everything that
the operators of mutation testing can change in a framework's functions
([files](../baselines/faults/generated.toml)). The operators: a dropped statement, a constant,
swapped arguments, a comparison, an operand, an operator, a condition, a sign, a bound. Nobody
picked or left out a fault.

**The tiers.** Each fault is put into a copy of the framework. Four tiers are tried in this order:

- **unit**: the probes of the details, as `tests_unit` asserts them;
- **trace**: the trainings and scenarios that an upgrade records;
- **calls**, for faults that neither detects: direct calls of the function, with and without the
  fault;
- **behavior**, for the rest: the files of `tests_behavior` that run the line.

A fault is detected if a detail is no longer as documented, a trace diverges, a call differs, a test
fails, or the framework ends in an error. Returns are not checked. `none` in the column of direct
calls means that the draw is older than they are.

**Which draw measures the tests.** Some tests were written after somebody had read what a draw
missed. Such a draw flatters them. The last draw of a framework, made after the last change of the
tests, measures them. `--missed` tries later tests on faults that no tier detected at first. The
last column adds what these detect: it shows only whether the gaps were closed.

**Why a fault was not detected.** *Equivalent*: no run can tell it from the original. *Logging
only*: it changes what is printed or logged. *Out of scope*: it is not about training or
evaluation. *Gap*: the suite should have detected it. Gaps count as misses, and so do
faults without an explanation.
"""


def _find_explanation(
    draw: DrawnFaults, fault: Outcome, explained: Mapping[tuple[str, str], FaultExplanation]
) -> FaultExplanation | None:
    return explained.get((draw.framework, fault.name)) if not fault.detected_by else None


def _make_table_of_shares(
    results: Sequence[DrawnFaults], explained: Mapping[tuple[str, str], FaultExplanation]
) -> Iterable[str]:
    head = [
        "framework", "draw", "date", "drawn", "of", "unit", "trace", "detected by either",
        "direct calls, of the rest", "behavior, of the rest", "detected by any", *KINDS[:-1],
        "detected of those that count", "with what is detected since",
    ]  # fmt: skip
    rows = []
    for draw in results:
        version = next(iter(draw.versions.values()), "")
        named = [f"{draw.framework} {version}".strip(), str(draw.draw), draw.date]
        rows.append([*named, *_make_row_of_shares(str(draw.of), [draw], explained)])
    if len(results) > 1:
        rows.append(["all", "", "", *_make_row_of_shares("", results, explained)])
    return [
        *tables.format_markdown_head(*head, numeric=len(head) - 1),
        *(tables.format_markdown_row(*row) for row in rows),
    ]


def _make_row_of_shares(
    places: str,
    results: Sequence[DrawnFaults],
    explained: Mapping[tuple[str, str], FaultExplanation],
) -> list[str]:
    faults = [fault for draw in results for fault in draw.faults]
    whys = [_find_explanation(draw, fault, explained) for draw in results for fault in draw.faults]
    kinds = Counter(why.kind for why in whys if why is not None)
    detected = sum(bool(fault.detected_by) for fault in faults)
    since = sum(bool(fault.detected_later_by) for fault in faults)
    counts_text = len(faults) - sum(kinds[kind] for kind in KINDS if kind != GAP)
    either = [fault for fault in faults if fault.detected_by in TIERS[:2]]
    return [
        str(len(faults)), places, *(_format_detected_share(faults, tier) for tier in TIERS[:2]),
        _format_share(len(either), len(faults)),
        *(_format_detected_share(faults, tier) for tier in TIERS[2:]),
        _format_share(detected, len(faults)),
        *(str(kinds[kind]) for kind in KINDS if kind != GAP), _format_share(detected, counts_text),
        _format_share(detected + since, counts_text)
        if any(draw.asked_again for draw in results)
        else "not checked",
    ]  # fmt: skip


def _format_detected_share(faults: Sequence[Outcome], tier: str) -> str:
    """Describe how many faults a tier detects, of those that it ran on."""
    tried = [fault for fault in faults if tier in fault.said]
    return _format_share(sum(bool(fault.said[tier]) for fault in tried), len(tried))


def _format_share(part: int, total: int) -> str:
    return f"{part} of {total} ({part / total:.0%})" if total else "none"


def _make_table_by_operator(results: Sequence[DrawnFaults]) -> Iterable[str]:
    faults = [fault for draw in results for fault in draw.faults]
    names = [name for name in _OPERATORS if any(fault.operator == name for fault in faults)]
    names += sorted({fault.operator for fault in faults} - set(names))
    rows = []
    for name in names:
        draw = [fault for fault in faults if fault.operator == name]
        first = Counter(fault.detected_by for fault in draw)
        rows.append([
            name, str(len(draw)), *(str(first[tier]) for tier in TIERS),
            str(sum(not fault.detected_by and fault.run for fault in draw)),
            str(sum(not fault.detected_by and not fault.run for fault in draw)),
        ])  # fmt: skip
    head = ["operator", "faults", *(f"first detected by {tier}" for tier in TIERS), _RUN, _NOT_RUN]
    return [
        *tables.format_markdown_head(*head, numeric=len(head) - 1),
        *(tables.format_markdown_row(*row) for row in rows),
    ]


def _describe_undetected_faults(
    draw: DrawnFaults, explained: Mapping[tuple[str, str], FaultExplanation]
) -> Iterable[str]:
    yield f"## Not detected: {draw.framework}, draw {draw.draw}"
    for title, run in ((_RUN, True), (_NOT_RUN, False)):
        undetected = [fault for fault in draw.faults if not fault.detected_by and fault.run == run]
        yield from ("", f"### {title.capitalize()}: {len(undetected)}", "")
        for missed in undetected:
            why = _find_explanation(draw, missed, explained)
            text = f" **{why.kind.capitalize()}**: {why.why}" if why is not None else ""
            text += (
                f" Detected on {draw.asked_again} by {missed.detected_later_by}."
                if missed.detected_later_by
                else ""
            )
            yield (
                f"- `{missed.file}:{missed.line}` `{missed.function}` ({missed.operator}): "
                f"`{missed.old}` -> `{missed.new}`.{text}"
            )


def summarise_power(results: Sequence[DrawnFaults]) -> str:
    """Return a summary in one line."""
    faults = [fault for draw in results for fault in draw.faults]
    detected = sum(bool(fault.detected_by) for fault in faults)
    text = f"{', '.join(TIERS[:-1])} or {TIERS[-1]}"
    return f"of the generated faults {_format_share(detected, len(faults))} are detected by {text}"
