"""Traces on a page: the first difference between two versions, and the events before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlregress.model import explain, tones
from rlregress.model.recorded_traces import ComparedTraining, compute_executed_share
from rlregress.model.upgrade_result import ChangedDetail, Culprits, select_details_of_culprits
from rlregress.report.html.page import Badge, Finding, Folded, Quoted, Table
from rlregress.report.words import join_first_names

VERSION_TITLES = ("the old version", "the new version")
#: most names of functions that only one version has
_NEW = 4
#: whether the functions that influence a training explain the whole difference
_EFFECT = {
    None: "with their old code this training changes",
    True: "with their old code the new version trains as the old one does",
    False: "with their old code this training changes, and still differs from the old version",
}


def make_table_of_traces(traced: Sequence[ComparedTraining]) -> Table:
    """Return one row for each training."""
    rows = [
        [
            _make_badge_of_training(training),
            training.name,
            training.comparison.compared,
            _format_executed_share(training),
        ]
        for training in traced
    ]
    return Table(("trace", "training", "events", "lines run"), rows, 2)


def _make_badge_of_training(traced: ComparedTraining) -> Badge:
    if not traced.repeats:
        return Badge(traced.verdict_in_words, tones.UNSURE)
    if traced.comparison.verdict == "diverged":
        return Badge(traced.verdict_in_words, tones.OTHER)
    return Badge(
        traced.verdict_in_words, tones.GOOD if traced.shows_same_training else tones.UNSURE
    )


def _format_executed_share(traced: ComparedTraining) -> str:
    executed = compute_executed_share(traced.new)
    return "not measured" if executed is None else f"{executed:.0%}"


def make_finding_of_trainings(
    trainings: Sequence[ComparedTraining],
    culprits: Culprits | None,
    details: Sequence[ChangedDetail],
    command: str,
) -> Finding:
    """Build the finding of trainings that differ in one way, or of one that is not repeatable.

    Args:
        trainings: the training, then others that diverge in the same way, of which only the names
            are shown.
    """
    traced = trainings[0]
    comparison = traced.comparison
    text = "\n".join(
        [*traced.notes, *explain.describe_trace_comparison(comparison, traced.old, traced.new)]
    )
    parts = [
        Quoted(text, "Both events with their values, what came before, and from where", open=True),
        Folded(
            _format_title_of_other_trainings(trainings),
            [[training.name for training in trainings[1:]]],
        ),
    ]
    first = comparison.first
    lines = [explain.describe_divergence(first)[0]] if first is not None else []
    lines += _describe_culprits(culprits, details)
    return Finding(traced.name, _make_badge_of_training(traced), lines, (), parts, command)


def _describe_culprits(culprits: Culprits | None, details: Sequence[ChangedDetail]) -> list[str]:
    """Describe the culprits that make a training diverge."""
    if culprits is None:
        return []
    sentences = []
    if culprits.alone is not None:
        sentences.append(
            f"culprit: {culprits.alone}: with its old code the new version trains "
            "as the old one does"
        )
    elif culprits.influencing:
        names = ", ".join(map(str, culprits.confirmed_functions))
        sentences.append(f"influenced by {names}: {_EFFECT[culprits.whole]}")
    elif culprits.together:
        names = ", ".join(map(str, culprits.together))
        effect = "; the new version then trains as the old one does" if culprits.whole else ""
        sentences.append(f"influenced by {names}, or by some of them, reverted together{effect}")
    elif culprits.likely_functions:
        sentences.append(
            f"first differs in changed code: {', '.join(map(str, culprits.likely_functions))}"
        )
    if culprits.new:
        names = join_first_names([*map(str, culprits.new)], _NEW)
        sentences.append(f"uses functions that only one version has: {names}")
    for detail in select_details_of_culprits(culprits, details):
        sentences.append(
            f"explained by {detail.id} [{detail.scope}]: {detail.variant_change_in_words}"
        )
    return sentences


def group_trainings_by_divergence(
    traced: Sequence[ComparedTraining],
    culprits_by_training: Mapping[str, Culprits],
    details: Sequence[ChangedDetail],
) -> list[list[ComparedTraining]]:
    """Return groups of trainings that diverge at the same line, in the same value, by one culprit.

    A training without a culprit, or that does not repeat itself, stands alone.
    """
    groups: dict[object, list[ComparedTraining]] = {}
    for training in traced:
        key: object = training.name
        first, explanation = (
            training.comparison.first,
            _describe_culprits(culprits_by_training.get(training.name), details),
        )
        if first is not None and explanation and training.repeats:
            places = tuple(
                (event.kind, event.place) if event is not None else None
                for event in (first.old, first.new)
            )
            key = (first.kind, first.part, places, tuple(explanation), tuple(training.notes))
        groups.setdefault(key, []).append(training)
    return list(groups.values())


def _format_title_of_other_trainings(traced: Sequence[ComparedTraining]) -> str:
    """Return the head of a list of the trainings after the first."""
    return f"{len(traced) - 1} more diverge at the same line, for the same reason"
