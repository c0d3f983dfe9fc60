"""Trainings of both versions: their jobs, and the comparison of their traces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.inside import error_origin as errors
from rlregress.model.differences import MINUTES
from rlregress.model.explain import (
    RepeatedTrace,
    describe_other_activity,
    describe_seeded_generators,
    describe_unrepeatable_output,
)
from rlregress.model.recorded_traces import (
    VERSIONS,
    ComparedTraining,
    Comparison,
    Crash,
    Divergence,
    Trace,
    UncomparedTraining,
    describe_version_label,
)
from rlregress.trace import recording_processes, rounding
from rlregress.trace.child_processes import extract_last_message
from rlregress.trace.trace_comparison import INCIDENTAL, compare_traces, mark_unsteady_parts


@dataclass(frozen=True)
class Training:
    """A training that is traced on both versions: a built-in one, a scenario, or a script.

    Attributes:
        owner: full name of the framework, or "script".
        name: "<algorithm>", "<algorithm> <scenario>", or the name of the script's file.
        job: for the recorder; see ``inside.trace_worker``.
    """

    owner: str
    name: str
    job: Mapping[str, Any]

    def add_packages_to_note(self, packages: Sequence[str]) -> Training:
        """Return the training with further packages whose executed code the recorder notes."""
        return replace(self, job={**self.job, "moved": list(packages)}) if packages else self

    @property
    def key(self) -> str:
        """Return a digest of all inputs of the training besides the versions."""
        script = self.job.get("script")
        files = sorted(Path(script).parent.glob("*.py")) if script else []
        digest = hashlib.sha256(repr(sorted(self.job.items())).encode())
        for path in files:
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


def list_trainings(adapter: Adapter) -> list[Training]:
    """List all trainings of a framework: every algorithm, plain and through its scenarios."""
    return [make_built_in_training(adapter, title) for title in adapter.list_trace_trainings()]


def make_built_in_training(adapter: Adapter, title: str) -> Training:
    """Return the built-in training with a title."""
    owner = adapter.full_name
    return Training(owner, title, {"framework": owner, "seed": 0, "training": title})


def make_script_training(job: Mapping[str, Any], imports: Mapping[str, Sequence[str]]) -> Training:
    """Return the training of a script, which also traces the packages that differ."""
    return Training("script", Path(job["script"]).name, {**job, **imports})


def compare_recorded_training(
    training_name: str, old: Trace, new: Trace
) -> Comparison | UncomparedTraining:
    """Compare the traces of both versions.

    Raises:
        UserError: nothing was trained, or nothing of what differs was run.
    """
    missing = explain_not_comparable(training_name, old, new)
    if missing is not None:
        return missing
    for label, trace in (("old", old), ("new", new)):
        recording_processes.check_something_was_traced(trace, label)
    _require_script_imports_differences(old, new)
    return compare_traces_and_their_ends(old, new)


def compare_versions_with_their_repetitions(
    traces: tuple[Trace, Trace], repetitions: tuple[Trace, Trace]
) -> tuple[RepeatedTrace, RepeatedTrace]:
    """Compare each version's trace with its repetition, and mark parts that do not repeat.

    Recorded parts that differ between repetitions of one version are not compared.
    """
    steady = [mark_unsteady_parts(*both) for both in zip(traces, repetitions, strict=True)]
    old, new = (
        RepeatedTrace(
            trace=trace,
            with_itself=compare_traces_and_their_ends(trace, repetition),
            repetition=repetition,
        )
        for trace, repetition in zip(steady, repetitions, strict=True)
    )
    return old, new


def describe_compared_training(
    training_name: str,
    comparison: Comparison,
    old: Trace,
    new: Trace,
    repetitions: tuple[RepeatedTrace, RepeatedTrace] | None,
) -> ComparedTraining:
    """Describe a training on both versions, and whether its traces repeat themselves.

    If the traces of both versions are equal to the bit, they count as repetitions of each other:
    any uncontrolled randomness would have made them differ.

    Args:
        repetitions: the second recording of each version; None where their traces are equal.
    """
    if repetitions is not None:
        old, new = (repetition.trace for repetition in repetitions)
    notes = [*_describe_seeding(old, new), *describe_other_activity(new)]
    if repetitions is not None:
        if old.unrepeatable_output or new.unrepeatable_output:
            lines = describe_unrepeatable_output(old)
            notes += [*lines, *(x for x in describe_unrepeatable_output(new) if x not in lines)]
            if comparison.trains_the_same:
                comparison = compare_traces_and_their_ends(old, new)
        comparison = _add_names_of_differing_values(
            comparison, *(repetition.repetition for repetition in repetitions)
        )
        notes = [*_describe_autoreset(old, new), *_describe_errors(old, new), *notes]
        for label, repetition in zip(VERSIONS, repetitions, strict=True):
            notes += [f"{label}: {line}" for line in repetition.describe_uncontrolled_randomness()]
    return ComparedTraining(
        name=training_name,
        comparison=comparison,
        old=old,
        new=new,
        repeats=all(repetition.repeats for repetition in repetitions or ()),
        notes=tuple(notes),
        crash=find_crash(old, new),
    )


def report_training_not_in_time(training: Training, minutes: float) -> UncomparedTraining:
    """Report a training that was not recorded in time."""
    why = f"not compared: {MINUTES} {minutes:g} were over"
    return UncomparedTraining(
        name=training.name, reasons={"old": why, "new": why}, supported={"old": True, "new": True}
    )


def cut_trace_at_step(trace: Trace, steps: int) -> Trace:
    """Return a trace up to a step of an environment, without the networks at its end."""
    events, steps_left = [], steps
    for event in trace.events:
        if not steps_left or event.kind == "final":
            break
        events.append(event)
        steps_left -= event.kind == "step"
    return replace(trace, events=tuple(events))


def count_common_steps(old: Trace, new: Trace) -> int | None:
    """Return how many environment steps both traces have; None if no time limit ended either."""
    if not (old.header.get("stopped") or new.header.get("stopped")):
        return None
    return min(old.count_events_of_kind("step"), new.count_events_of_kind("step"))


def cut_training_at_step(training: Training, steps: int) -> Training:
    """Return the training, limited to a number of environment steps."""
    return replace(training, job={**training.job, "steps": steps, "cut": steps})


def request_names_of_differing_values(
    training: Training, comparison: Comparison | UncomparedTraining
) -> Training:
    """Return the training; its recorder then names all values of the first differing event."""
    first = comparison.first if isinstance(comparison, Comparison) else None
    events = [event.index for event in (first.old, first.new) if event is not None] if first else []
    return replace(training, job={**training.job, "named": events}) if events else training


def make_perturbed_copies(training: Training, event_index: int) -> list[Training]:
    """Make copies of a training, with one event's numbers changed by one unit in the last place."""
    return [
        replace(
            training,
            name=f"{training.name} copy {seed}",
            job={**training.job, "unit": [event_index, seed]},
        )
        for seed in range(rounding.COPIES)
    ]


def _add_names_of_differing_values(comparison: Comparison, old: Trace, new: Trace) -> Comparison:
    first = comparison.first
    if first is None or first.old is None or first.new is None:
        return comparison
    events = [
        replace(event, named=repetition.events[event.index].named)
        if event.index < len(repetition.events)
        and repetition.events[event.index].digests == event.digests
        else event
        for event, repetition in ((first.old, old), (first.new, new))
    ]
    return replace(comparison, first=replace(first, old=events[0], new=events[1]))


def compare_traces_and_their_ends(old: Trace, new: Trace) -> Comparison:
    """Compare traces and their ends: a trace that continues where the other one ends differs."""
    comparison = compare_traces(old, new)
    first = comparison.first.old if comparison.first is not None else None
    diverged = comparison.verdict == "diverged" and first is not None and first.kind != "final"
    if diverged or do_both_end_alike(old, new):
        return comparison
    old_events, new_events = (
        [e for e in trace.events if e.kind not in ("final", *INCIDENTAL)] for trace in (old, new)
    )
    last = min(len(old_events), len(new_events))
    ends = [next(iter(events[last:]), None) for events in (old_events, new_events)]
    before = tuple(old_events[max(0, last - 3) : last])
    return replace(
        comparison,
        verdict="diverged",
        first=Divergence(kind="order", part="", old=ends[0], new=ends[1], before=before),
    )


def do_both_end_alike(old: Trace, new: Trace) -> bool:
    """Return whether both traces end without an error, or both in errors of the same type."""
    return _get_error_type(old) == _get_error_type(new)


def _get_error_type(trace: Trace) -> str:
    if not trace.failure:
        return ""
    return trace.error.get("type") or extract_last_message(trace.failure).partition(":")[0]


def has_failed_in_tested_code(trace: Trace) -> bool:
    """Return whether an error of the code under test, or of the script, ended the training."""
    return bool(trace.failure) and trace.error.get("origin") == errors.TRACED


def note_end_without_recorder(trace: Trace, plain: Trace) -> Trace:
    """Add to a failed trace how its training ended without recorder; empty: in the same way."""
    ends = extract_last_message(plain.failure) if plain.failure else "the training ends well"
    return replace(
        trace, header={**trace.header, "plain": "" if do_both_end_alike(trace, plain) else ends}
    )


def _fails_without_recorder(trace: Trace) -> bool:
    """Return whether a training fails by its own error without a recorder, too."""
    return has_failed_in_tested_code(trace) and not trace.header.get("plain")


def _is_completed(trace: Trace) -> bool:
    return not trace.failure and not trace.header.get("not_offered")


def find_crash(old: Trace, new: Trace) -> Crash | None:
    """Find the error of the tested code that ends a training on one version only."""
    for label, trace, opposite in (("old", old, new), ("new", new, old)):
        if _fails_without_recorder(trace) and _is_completed(opposite):
            values = {key: trace.error.get(key, "") for key in ("error", "at", "by")}
            return Crash(label=label, **values)
    return None


def _describe_autoreset(old: Trace, new: Trace) -> list[str]:
    """Describe the change of gymnasium's automatic resets, if it lies between the versions.

    Source: the notes on release 1.0.0 of gymnasium.
    """
    versions = [str(trace.header.get("versions", {}).get("gymnasium", "")) for trace in (old, new)]
    vector = any(
        event.name.startswith("VectorEnv.") for trace in (old, new) for event in trace.events
    )
    before = [version.startswith("0.") for version in versions]
    if not vector or not all(versions) or before[0] == before[1]:
        return []
    return [
        f"gymnasium {versions[0]} -> {versions[1]}: before 1.0 a vector environment begins the "
        "next episode in the step that ends one, from 1.0 on in the step after it (autoreset mode)"
    ]


def _describe_errors(old: Trace, new: Trace) -> list[str]:
    return [
        f"{describe_version_label(label)} breaks off with an error: "
        f"{extract_last_message(trace.failure)}"
        for label, trace in (("old", old), ("new", new))
        if trace.failure
    ]


def explain_not_comparable(training_name: str, old: Trace, new: Trace) -> UncomparedTraining | None:
    """Explain why the two traces of a training cannot be compared; None if they can.

    A training that ends in an error of the code under test can be compared, unless both versions
    end in the same error: nothing is known of the code after it. An error before any step of the
    training leaves nothing to compare with a version that trains.
    """
    failed = [trace for trace in (old, new) if _fails_without_recorder(trace)]
    completed = [trace for trace in (old, new) if _is_completed(trace)]
    if len(failed) == 2 and not do_both_end_alike(old, new):
        return None
    if len(failed) == len(completed) == 1 and failed[0].has_begun:
        return None
    reasons, supported = {}, {}
    for label, trace in (("old", old), ("new", new)):
        missing = str(trace.header.get("not_offered", ""))
        supported[label] = not missing
        if missing:
            reasons[label] = f"not offered there: {missing}"
        elif trace.failure:
            ends = trace.header.get("plain")
            without_recorder = f"; without recording: {ends}" if ends else ""
            reasons[label] = (
                f"{_describe_origin_of_failure(trace)}: {extract_last_message(trace.failure)}"
                f"{without_recorder}"
            )
    return (
        UncomparedTraining(
            name=training_name, reasons=reasons, supported=supported, crash=find_crash(old, new)
        )
        if reasons
        else None
    )


def report_training_of_neither_version(name: str, reason: str) -> UncomparedTraining:
    """Report a training that neither version has."""
    reasons = dict.fromkeys(VERSIONS, f"not offered there: {reason}")
    return UncomparedTraining(name=name, reasons=reasons, supported=dict.fromkeys(VERSIONS, False))


def _describe_origin_of_failure(trace: Trace) -> str:
    """Say whether the recorder, the adapter's training or the tested code caused the error."""
    error_origin = trace.error.get("origin")
    if error_origin == errors.RECORDER or (
        error_origin == errors.TRACED and trace.header.get("plain")
    ):
        return "this suite's recorder failed"
    if error_origin == errors.SUITE and not trace.header.get("job", {}).get("script"):
        return "the adapter's training does not fit that version"
    return "it ended in an error"


def _describe_seeding(old: Trace, new: Trace) -> list[str]:
    """Describe the generators that the tracer seeded in the old or the new version."""
    old_lines, new_lines = describe_seeded_generators(old), describe_seeded_generators(new)
    if old_lines == new_lines:
        return old_lines
    return [*(f"old: {line}" for line in old_lines), *(f"new: {line}" for line in new_lines)]


def _require_script_imports_differences(old: Trace, new: Trace) -> None:
    """Raise UserError if a script imported nothing that differs."""
    imported = {}
    for label, trace in (("old", old), ("new", new)):
        imported[label] = modules = trace.header.get("modules", {})
        if modules and not any(modules.values()) and not trace.failure:
            raise UserError(
                f"the script imported no changed package on {describe_version_label(label)} "
                f"({', '.join(sorted(modules))}); expected a script that uses one"
            )
    for name in sorted(set(imported["old"]) & set(imported["new"])):
        file = imported["old"][name]
        if file and file == imported["new"][name]:
            raise UserError(
                f"both versions imported '{name}' from {file}, so that nothing differed; expected "
                "each to find its own: move the script out of that folder, or take it off the path"
            )
