"""The first screen of an upgrade: its verdict, each culprit with its lines, other counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rlregress.model import differences as model
from rlregress.model import explain
from rlregress.model.code import ChangedPiece
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import ComparedTraining
from rlregress.model.upgrade_result import (
    Culprits,
    FrameworkResult,
    ScriptResult,
    Upgrade,
    map_entries_to_explaining_functions,
)
from rlregress.report.html import traces_page
from rlregress.report.html.page import Badge, Card, Culprit, SourcePair, Step
from rlregress.report.words import format_count, join_first_names, select_first_clauses

#: most entries of one kind
_LISTED = 4
#: most rows of source of one culprit
_ROWS = 3
#: most characters of a reason; the page below has all of it
_LONGEST = 160
#: kinds of unchecked entries, those that may matter most first
_KINDS = (
    model.SCRIPT, model.TRAINING, model.RETURNS, model.FUNCTION, model.SAVED, model.DETAIL,
    model.DEFAULT, model.ENVIRONMENT, model.CLASS, model.PUBLIC, model.REQUIREMENT, model.PACKAGE,
    model.MODULE, model.FILE, model.WARNING,
)  # fmt: skip
#: kind -> common words for entries that differ; entries of other kinds have a line each
_JOINED = {
    model.PUBLIC: "{} gone or incompatible",
    model.WARNING: "{} new",
    model.PACKAGE: "{} no longer installed",
}
_STATES = {
    model.DIFFERS: "{} in what differs",
    model.BEYOND: "{} different on arguments that no training gave",
    model.LOGS: "{} different in logs only",
    model.CLOSE: "{} different by rounding only",
    model.OLD_FAILED: "{} repaired",
}


def make_card_of_upgrade(result: Upgrade, steps: Sequence[Step]) -> Card:
    """Return the card of the whole upgrade."""
    changes = _list_culprit_changes(result)
    explained = {key for change in changes for key in change.explained_entry_keys}
    unexplained = [
        e for e in result.entries if e.affects_verdict and (e.framework, e.name) not in explained
    ]
    return Card(
        "The upgrade",
        Badge(result.verdict),
        result.judgement.first_reason,
        # a sentence of ``cut`` stands for all entries for which there was no time
        [
            *result.cut,
            *_describe_unchecked_entries(
                [e for e in result.entries if e.affects_verdict and not e.was_out_of_time]
            ),
        ],
        [*_describe_differences_by_kind(unexplained), *_describe_accepted_entries(result.entries)],
        steps=steps,
        share=result.judgement.share,
        culprits=[change.make_culprit() for change in changes],
        wide=True,
    )


# -- culprits --------------------------------------------------------------------------------------


@dataclass
class _Change:
    """A changed function with its effects.

    Attributes:
        result: the framework or script of the function.
        names: names of the entries that the change explains -> other functions that may.
    """

    function: ChangedPiece
    result: FrameworkResult | ScriptResult
    names: dict[str, Sequence[ChangedPiece]] = field(default_factory=dict)

    @property
    def explained_entry_keys(self) -> Iterator[tuple[str, str]]:
        """Framework and name of the entries that the change explains, and of its own entry."""
        framework = self.result.name if isinstance(self.result, FrameworkResult) else ""
        return ((framework, name) for name in (*self.names, self.function.entry_name))

    @property
    def differing_trainings(self) -> list[ComparedTraining]:
        """Trainings that differ by this change; empty: it is the culprit of none."""
        return [training for training in self.result.traced if training.name in self.names]

    def make_culprit(self) -> Culprit:
        """Return the change in the form in which a card shows it."""
        function, hunk = self.function, self.result.hunks.get(self.function)
        line = (hunk and hunk.first_changed_line) or int(function.place.rpartition(":")[2])
        source = None
        if hunk is not None and hunk.differing_rows:
            source = SourcePair(hunk.select_differing_rows(_ROWS), traces_page.VERSION_TITLES)
        effects = [*self._describe_trainings(), *self._describe_effects_on_details_and_calls()]
        return Culprit(f"{function.name}, {function.file}:{line}", effects, source)

    def _describe_effects_on_details_and_calls(self) -> Iterator[str]:
        """Describe its effects on details and in direct calls."""
        for detail in (
            self.result.details.changed if isinstance(self.result, FrameworkResult) else ()
        ):
            if (name := f"{detail.id} [{detail.scope}]") in self.names:
                # no old code was tried in a probe: any change that it runs may be the reason
                others = join_first_names([other.name for other in self.names[name]], 3)
                also = f"; its probe runs more that changed: {others}" if others else ""
                yield f"{name}: {detail.variant_change_in_words}{also}"
        for own in self.result.executions:
            if own.function == self.function and own.calls is not None and own.calls.arguments:
                yield select_first_clauses(str(own.calls), _LONGEST)

    def _describe_trainings(self) -> Iterator[str]:
        groups: dict[tuple[str, str], list[ComparedTraining]] = {}
        for traced in self.differing_trainings:
            how = _describe_evidence(self.result.culprits[traced.name])
            groups.setdefault((how, _describe_how_training_differs(traced)), []).append(traced)
        for (how, differs), group in groups.items():
            names = join_first_names([traced.name for traced in group], 3)
            first = group[0].comparison.first
            meaning = explain.describe_divergence(first)[0].partition(": ")[2] if first else ""
            meaning += (
                f": {where}"
                if first and (where := explain.describe_divergence_of_written_output(first))
                else ""
            )
            because = f" ({meaning})" if meaning else ""
            yield f"{names} {differs}{because}; {how}"


def _describe_evidence(culprits: Culprits) -> str:
    """Describe the evidence that the first function of a culprit is the culprit."""
    if culprits.alone is not None:
        return "with its old code, the new version trains as the old one does"
    if culprits.confirmed_functions:
        return "with its old code, the training changes"
    return "the first difference is in it"


def _describe_how_training_differs(traced: ComparedTraining) -> str:
    return (
        "differs by rounding only"
        if traced.verdict_in_words == "close"
        else traced.verdict_in_words
    )


def _list_culprit_changes(result: Upgrade) -> list[_Change]:
    """Return the changed functions that explain differences; those of most trainings first."""
    changes: list[_Change] = []
    for part in result.parts:
        own: dict[ChangedPiece, _Change] = {}
        for name, (function, *others) in map_entries_to_explaining_functions(part).items():
            own.setdefault(function, _Change(function, part)).names[name] = others
        changes += own.values()
    return sorted(changes, key=lambda change: -len(change.differing_trainings))


# -- everything else -------------------------------------------------------------------------------


def _describe_differences_by_kind(entries: Iterable[Entry]) -> list[str]:
    """Describe differences without a culprit, the worst first, one line per kind."""
    own = [entry for entry in entries if entry.state in model.DIFFERENT]
    own.sort(key=lambda entry: model.ORDER.index(entry.verdict))
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in own:
        groups.setdefault((_name_kind_of_entry(entry), entry.state), []).append(entry)
    return [
        line
        for (kind, state), group in groups.items()
        for line in _describe_entries_of_kind(kind, state, group)
    ]


def _name_kind_of_entry(entry: Entry) -> str:
    """Return the kind of an entry. A requirement that is no longer installed is a package."""
    gone = entry.kind == model.REQUIREMENT and model.is_requirement_gone(entry)
    return model.PACKAGE if gone else entry.kind


def _describe_entries_of_kind(kind: str, state: str, entries: Sequence[Entry]) -> list[str]:
    template = _JOINED.get(kind) or (
        _STATES.get(state) if kind in (*model.CODE, model.TRAINING, model.SCRIPT) else None
    )
    names = list(dict.fromkeys(entry.headline for entry in entries))
    if template is not None and not (state == model.DIFFERS and entries[0].reason):
        text = template.format(format_count(len(names), kind).replace("bodys", "bodies"))
        return [f"{text}: {join_first_names(names, _LISTED)}"]
    own = [entry for entry in entries if entry.like not in names]
    alike = Counter(entry.like for entry in entries if entry.like in names)
    lines = [_describe_entry_with_reason(entry, alike[entry.headline]) for entry in own[:_LISTED]]
    hidden = sum(1 + alike[entry.headline] for entry in own[_LISTED:])
    return lines + ([f"{hidden} more of kind {kind}"] if hidden else [])


def _describe_entry_with_reason(entry: Entry, further_count: int = 0) -> str:
    """Describe an entry and the reason of its state.

    Args:
        further_count: number of further entries that differ in the same way.
    """
    summary = entry.summary if entry.summary != "changed" else ""
    fails = entry.state if entry.state == model.NEW_FAILS else ""
    standing = f"({entry.standing})" if entry.standing else ""
    text = " ".join(filter(None, (summary, standing)))
    why = select_first_clauses(entry.reason, _LONGEST)
    name = _name_entry(entry) + (f" and {further_count} like it" if further_count else "")
    return ": ".join(filter(None, (name, fails, text, why)))


def _name_entry(entry: Entry) -> str:
    place = f", {entry.file}:{entry.line}" if entry.kind in model.CODE and entry.line else ""
    return f"{entry.kind} {entry.headline}{place}"


def _describe_accepted_entries(entries: Iterable[Entry]) -> list[str]:
    names = [entry.headline for entry in entries if entry.accepted]
    return [f"{len(names)} accepted: {join_first_names(names, _LISTED)}"] if names else []


def _describe_unchecked_entries(entries: Iterable[Entry]) -> list[str]:
    """Describe entries that nothing executed and compared, the most important first."""
    own = [entry for entry in entries if entry.state in model.INCOMPLETE]
    # code that ran in part is more likely to be used than code that never ran
    own.sort(key=lambda entry: (_KINDS.index(entry.kind), not entry.by))
    return [_describe_unchecked_entry(entry) for entry in own]


def _describe_unchecked_entry(entry: Entry) -> str:
    line = _describe_entry_with_reason(entry)
    if line != _name_entry(entry):
        return line
    note = entry.notes[0].partition(" (")[0] if entry.notes else ""
    return "; ".join(filter(None, (f"{line}: {entry.state}", note)))
