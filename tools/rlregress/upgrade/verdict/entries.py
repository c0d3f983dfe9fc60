"""Entries of an upgrade, from differences and results. The verdict is computed from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from rlregress.model import differences as model
from rlregress.model import explain
from rlregress.model.code import ADDED, BODY, MODULE, REMOVED, SAME_VALUES, WORDING, ChangedPiece
from rlregress.model.differences import Entry
from rlregress.model.loaded_files import LoadedFile
from rlregress.model.recorded_traces import ComparedTraining, Crash, UncomparedTraining
from rlregress.model.upgrade_result import (
    ChangedDefault,
    Culprits,
    DetailResults,
    PhysicsComparison,
    PieceExecution,
)
from rlregress.model.verdict import COULD_NOT_JUDGE, HOLDS
from rlregress.source import name_module_of_file
from rlregress.upgrade.differences import changed_functions, outside_training
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.differences.public_names import PublicChange
from rlregress.upgrade.differences.requirements import RequirementChange
from rlregress.upgrade.versions import distribution_metadata

#: name of a training, a script or a detail -> its state, and the culprits of its difference.
Checks = Mapping[str, tuple[str, Culprits | None]]

# -- trainings, details, environments: what was planned to be compared -----------------------------


def make_training_entries(
    traced: Iterable[ComparedTraining],
    uncompared: Iterable[UncomparedTraining],
    unchanged: Iterable[str],
    kind: str = model.TRAINING,
) -> list[Entry]:
    """Return an entry for each training: compared, not compared, or without changed code."""
    return [
        *(make_compared_training_entry(training, kind) for training in traced),
        *(make_uncompared_training_entry(training, kind) for training in uncompared),
        *(
            Entry(
                kind=model.TRAINING,
                name=name,
                state=model.ONE_WAY,
                reason="it executes nothing that differs",
            )
            for name in unchanged
        ),
    ]


def make_compared_training_entry(
    traced: ComparedTraining, entry_kind: str = model.TRAINING
) -> Entry:
    """Return the entry of a training that ran on both versions."""
    state, reason = _judge_training_state(traced)
    first, diverging = traced.comparison.first, []
    if first is not None:
        if first.differing_types and first.new is not None and not reason:
            place = f"{first.new.place} in {first.new.function}"
            reason = f"{model.OTHER_TYPES}: {first.differing_types}, {place}"
        # by how much, too: another divergence may begin at the same place
        places = [str(event.place) for event in (first.old, first.new) if event]
        diverging = [first.kind, first.part, f"{first.relative_difference:.1g}", *places]
    return Entry(
        kind=entry_kind,
        name=traced.name,
        state=state,
        reason=reason,
        like=traced.representative,
        content=" ".join([state, reason, *diverging]),
    )


def _judge_training_state(traced: ComparedTraining) -> tuple[str, str]:
    if traced.crash is not None:
        return _judge_crash_state(traced.crash)
    if not traced.repeats:
        return model.NOT_COMPARED, "the training does not repeat itself, see its notes"
    # branches are reported with each piece of code, not here
    if traced.comparison.differs_in_logs_only:
        return model.LOGS, ""
    if traced.uncompared_output and traced.comparison.verdict != "diverged":
        return model.NOT_COMPARED, f"not compared: {'; '.join(traced.uncompared_output)}"
    if traced.comparison.trains_the_same and traced.comparison.first is not None:
        written = explain.describe_divergence_of_written_output(traced.comparison.first)
        return model.DIFFERS, f"{model.WRITES_OTHERWISE}: {written}"
    if traced.comparison.not_compared:
        return model.IN_PART, explain.describe_uncompared_ending(traced.comparison)
    states = {"equal": model.ONE_WAY, "close": model.CLOSE}
    return states.get(traced.comparison.verdict, model.DIFFERS), ""


def _judge_crash_state(crash: Crash) -> tuple[str, str]:
    return model.NEW_FAILS if crash.label == "new" else model.OLD_FAILED, str(crash)


def make_uncompared_training_entry(
    training: UncomparedTraining, entry_kind: str = model.TRAINING
) -> Entry:
    """Return the entry of a training that could not be compared."""
    sentence = "; ".join(dict.fromkeys(training.reasons.values()))
    where = " and the ".join(f"{label} version" for label in training.reasons)
    state, reason = model.NEVER, f"on the {where}: {sentence}"
    if training.crash is not None:
        state, reason = _judge_crash_state(training.crash)
    elif training.supported.get("old") and not training.supported.get("new"):
        state, reason = model.DIFFERS, f"the new version no longer offers it: {sentence}"
    elif not training.supported.get("old"):
        new = training.supported.get("new")
        state, reason = model.NO_EFFECT, "new" if new else "neither version offers it"
    return Entry(
        kind=entry_kind,
        name=training.name,
        state=state,
        reason=reason,
        content=f"{state} {reason}",
    )


def make_untraced_steps_entry(script: str, steps: int) -> Entry:
    """Return an entry for the rest of a script that was compared up to ``steps``."""
    return Entry(
        kind=model.SCRIPT,
        name=f"{script} after {steps} environment steps",
        reason=f"{model.MINUTES} were over; --steps records fewer",
    )


def make_one_sided_training_entries(one_sided: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the entries of trainings that only one version has: name -> "old" or "new"."""
    for name, label in one_sided.items():
        yield Entry(
            kind=model.TRAINING,
            name=name,
            state=model.NO_EFFECT if label == "new" else model.CANNOT,
            reason=f"there is a built-in training of it for the {label} version only",
        )


#: the reason why a package whose version differs has no effect on a framework.
_UNRELATED = "it neither requires a framework, or what one stands on, nor is required by one"


def make_untested_package_entries(
    pinned: Iterable[str], unrelated: Collection[str]
) -> tuple[Entry, ...]:
    """Return the entries of packages in an upgrade that changes no supported framework."""
    return tuple(
        Entry(kind=model.PACKAGE, name=name, state=model.NO_EFFECT, reason=_UNRELATED)
        if name in unrelated
        else Entry(kind=model.PACKAGE, name=name, reason="nothing here runs it")
        for name in sorted(pinned)
    )


def make_detail_entries(
    details: DetailResults, states: Mapping[tuple[str, str], str]
) -> Iterator[Entry]:
    """Yield the entries of details that changed or could not be probed on both versions."""
    for d in details.changed:
        yield Entry(
            kind=model.DETAIL, name=f"{d.id} [{d.scope}]", summary=d.variant_change_in_words,
            state=model.DIFFERS, content=d.variant_change,
            standing=states.get((d.id, d.scope), ""),
        )  # fmt: skip
    for unprobed in details.not_probed:
        yield Entry(
            kind=model.DETAIL, name=f"{unprobed.id} [{unprobed.scope}]", state=model.CANNOT,
            reason=f"{unprobed.label}: {unprobed.text}", content=unprobed.text,
        )  # fmt: skip


def make_default_entries(
    defaults: Iterable[ChangedDefault], unread_names: Iterable[str]
) -> Iterator[Entry]:
    """Yield the entries of defaults that changed, and of those that could not be read."""
    for default in defaults:
        change = f"{default.old} -> {default.new}"
        yield Entry(
            kind=model.DEFAULT, name=f"{default.owner} {default.name}", summary=change,
            state=model.DIFFERS, content=change,
        )  # fmt: skip
    for sentence in unread_names:
        yield Entry(
            kind=model.DEFAULT, name=sentence.partition(":")[0], state=model.CANNOT,
            reason=sentence, content=sentence,
        )  # fmt: skip


def make_environment_entries(comparisons: Iterable[PhysicsComparison]) -> Iterator[Entry]:
    """Yield the entries of environments that were played on both versions."""
    for comparison in comparisons:
        state, reason = model.SAME, ""
        if comparison.missing:
            state, reason = model.CANNOT, f"{comparison.missing}: {comparison.note}"
        elif comparison.differs:
            state, reason = model.DIFFERS, comparison.difference_in_words
        elif comparison.note:
            state, reason = model.NO_EFFECT, comparison.note
        yield Entry(
            kind=model.ENVIRONMENT, name=comparison.environment, state=state, reason=reason,
            content=reason,
        )  # fmt: skip


#: the step in which an error comes -> what the version fails to do with a file.
_DOES_NOT = {
    "write": "does not write it", "load": "does not load its own", "start": "gives no answers",
    "use": "loads its own, and then fails",
}  # fmt: skip


def make_saved_file_entries(files: Iterable[LoadedFile]) -> Iterator[Entry]:
    """Yield the entries of kinds of files that one version wrote and the other loaded."""
    trusts = "loaded with TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1, which its own version needs"
    for file in files:
        state, reason = _judge_saved_file_state(file)
        gaps = ", ".join(dict.fromkeys(path.partition("[")[0] for path in file.unstable))
        notes = (
            f"not compared, as it does not repeat itself: {gaps}" if gaps else "",
            file.played,
            trusts if file.trusted else "",
        )
        yield Entry(
            kind=model.SAVED, name=file.name, summary=f"({file.way})" if file.way else "",
            state=state, reason=reason, notes=tuple(filter(None, notes)),
            content=f"{state} {reason}",
        )  # fmt: skip


def _judge_saved_file_state(file: LoadedFile) -> tuple[str, str]:
    if file.unsupported:
        return model.NO_EFFECT, f"the old version does not offer it: {file.unsupported}"
    if file.own_error is not None:
        if file.fails_to_load_alike:
            return model.NO_EFFECT, f"neither version loads it: {file.own_error}"
        when = file.own_error.when
        reason = f"the old version {_DOES_NOT.get(when, when)}: {file.own_error}"
        loads = when in ("load", "use") and file.error is None
        return model.OLD_FAILED if loads else model.CANNOT, reason
    if file.error is not None:
        why = model.OLD_FILES
        if file.error.when == "use":
            before = f"{file.first_difference_text}; " if file.differing else ""
            why = f"{before}the new version loads it, and then fails"
        return model.DIFFERS, f"{why}: {file.error}"
    if file.differing:
        return model.CLOSE if file.rounding else model.DIFFERS, file.first_difference_text
    if not file.compared:
        return model.NOT_COMPARED, "nothing of it repeats itself"
    return model.SAME, f"{file.compared} items are those that the old version loads"


# -- code ------------------------------------------------------------------------------------------


def map_checks_to_states(
    checks: Iterable[Entry], culprits_by_training: Mapping[str, Culprits]
) -> Checks:
    """Return name of a training, a script or a detail -> its state and its culprits."""
    return {
        check.name: (check.state, culprits_by_training.get(check.name))
        for check in checks
        if check.kind in (model.TRAINING, model.SCRIPT, model.DETAIL)
    }


def make_code_entries(
    executions: Sequence[PieceExecution],
    checks: Checks,
    unnamed_functions: Collection[str],
    reviewed: Sequence[outside_training.OutsideTrainingPattern],
) -> Iterator[Entry]:
    """Yield the entries of pieces of code, with the state that their trainings prove.

    Args:
        checks: see ``map_checks_to_states``.
        unnamed_functions: functions that are gone and that no code of the new version names.
        reviewed: the reviewed list of code outside of training.
    """
    executed_names = {
        execution.function.entry_name for execution in executions if execution.trainings
    }
    # pieces without effect would lower the share of pieces outside training, which is limited
    counted = (x.function for x in executions if x.function.how not in (WORDING, ADDED))
    names = [function.entry_name for function in counted]
    reasons = outside_training.explain_outside_training(
        [name for name in names if name not in unnamed_functions], executed_names, reviewed
    )
    # if the probe of a differing detail executes one change only, that change is the reason
    below: dict[str, list[ChangedPiece]] = {}
    for execution in executions:
        for name in execution.details if execution.function.can_change_results else ():
            if name in checks and checks[name][0] == model.DIFFERS:
                below.setdefault(name, []).append(execution.function)
    for execution in executions:
        entry = _make_piece_entry(execution, checks, unnamed_functions, reasons)
        own = tuple(name for name, functions in below.items() if functions == [execution.function])
        if own and entry.state in (*model.INCOMPLETE, *model.EXECUTED_SAME):
            note = "no other change is executed by the probe of a detail that differs"
            entry = replace(
                entry, state=model.DIFFERS, by=own, reason="", share=1.0, notes=(note, *entry.notes)
            )
        yield entry


def mark_pieces_listed_as_public_names(
    entries: Iterable[Entry], public: Iterable[PublicChange]
) -> list[Entry]:
    """Return the entries; gone pieces have no effect if gone public names list them already."""
    gone = [change for change in public if change.kind in ("gone", "moved")]

    def is_listed_as_public_name(entry: Entry) -> bool:
        module = name_module_of_file(entry.file)
        return (
            entry.summary == REMOVED
            and entry.state == model.NEVER
            and any(
                # a module that is gone is one name
                f"{module}.".startswith(f"{change.name}.")
                or (entry.file == change.file and change.name.endswith(f".{entry.headline}"))
                for change in gone
            )
        )

    reason = "gone, and listed as a public name"
    return [
        replace(entry, state=model.NO_EFFECT, reason=reason, notes=())
        if is_listed_as_public_name(entry)
        else entry
        for entry in entries
    ]


def add_distribution_names(
    entries: Iterable[Entry], distributions: Mapping[str, str]
) -> list[Entry]:
    """Return the entries, each with the distribution that its package or stray script belongs to.

    Args:
        distributions: see ``Inventory``.
    """
    return [
        replace(entry, package=distributions.get(entry.file.partition("/")[0], entry.package))
        for entry in entries
    ]


def _make_piece_entry(
    execution: PieceExecution,
    checks: Checks,
    unnamed_functions: Collection[str],
    reasons: Mapping[str, str],
) -> Entry:
    function = execution.function
    trainings = () if function.how == WORDING else execution.trainings
    training_states = [checks[name] for name in trainings if name in checks]
    state = _combine_states(function, training_states, bool(execution.one_way))
    reason, by = "", trainings
    if state in (*model.EXECUTED_SAME, model.CLOSE) and execution.missed:
        state, reason = model.IN_PART if execution.share else model.NEVER, execution.missed
    elif state == model.NEVER:
        state, reason, by = _judge_unexecuted_state(execution, unnamed_functions, reasons)
    elif state == model.IN_PART:
        reason = execution.missed or "the trainings that execute it are compared in part"
    elif state == model.NOT_COMPARED and any(x == model.NEW_FAILS for x, _ in training_states):
        reason = "executed only by trainings that end in an error on the new version"
    state, reason = _adjust_state_by_direct_calls(execution, state, reason)
    calls = execution.calls
    # if no changed argument reaches them, equal results are no evidence
    share = 0.0 if calls and calls.captured and not calls.touched else execution.share
    own = function.new or function.old
    assert own is not None
    notes = tuple(f"line {branch.line}: {branch.summary}" for branch in execution.one_way)
    kind = model.MODULE if function.name == MODULE else model.FUNCTION
    return Entry(
        kind=model.CLASS if function.name.startswith(BODY) else kind,
        name=function.entry_name,
        package=function.file.partition("/")[0].removesuffix(".py"),
        summary=function.how,
        state=state,
        by=by,
        reason=reason,
        notes=() if state in model.WITHOUT_EFFECT else notes,
        share=share if state == model.IN_PART else 1.0,
        culprit=any(
            function in culprits.confirmed_functions
            for _, culprits in training_states
            if culprits is not None
        ),
        file=function.file,
        line=own.first,
        content="\n".join(piece.whole if piece else "" for piece in (function.old, function.new)),
    )


def _adjust_state_by_direct_calls(
    execution: PieceExecution, state: str, reason: str
) -> tuple[str, str]:
    """Return a piece's state and reason, changed where direct calls of it show something else."""
    calls = execution.calls
    settled = (model.DIFFERS, model.LOGS, model.NEW_FAILS, *model.WITHOUT_EFFECT)
    # a function that reads the same values, with the same code, needs no call
    needless = calls is not None and calls.why == SAME_VALUES and not calls.captured
    if calls is None or needless or state in settled:
        return state, reason
    if calls.arguments:
        return (model.DIFFERS if calls.given else model.BEYOND), str(calls)
    if calls.close and state in model.EXECUTED_SAME:
        state = model.CLOSE
    elif not calls.touched and state in model.EXECUTED_SAME:
        # no changed argument reached it: equal results are only partial evidence
        state = model.IN_PART
    return state, reason or str(calls)


def _combine_states(
    function: ChangedPiece | None,
    training_states: Iterable[tuple[str, Culprits | None]],
    has_one_way_branch: bool = True,
) -> str:
    """Return the state of a piece, file or package, judged by the trainings that executed it.

    Args:
        function: the piece of code; None: it is a file or a package.
        training_states: state of each training, and culprits of its difference (None: not known).
    """
    states = [_judge_state_by_training(function, *training) for training in training_states]
    return model.combine_states_of_checks(states, has_one_way_branch)


def _judge_state_by_training(
    function: ChangedPiece | None, state: str, culprits: Culprits | None
) -> str:
    if function and culprits is not None and state not in (*model.UNCHECKED, *model.EXECUTED_SAME):
        if function in culprits.confirmed_functions:
            return state
        if culprits.whole:
            # with the culprits reverted, and this piece as it is, the old results come back
            return model.SAME
        if function in culprits.without_influence:
            return model.NOT_COMPARED
    # code that ran before an error need not have caused it
    return model.NOT_COMPARED if state == model.NEW_FAILS else state


def _judge_unexecuted_state(
    execution: PieceExecution, unnamed_functions: Collection[str], reasons: Mapping[str, str]
) -> tuple[str, str, tuple[str, ...]]:
    function = execution.function
    name = function.entry_name
    if function.how == WORDING:
        return model.NO_EFFECT, "messages, docstrings or annotations only", ()
    if function.how == ADDED and not (function.within or function.awaited):
        return model.NO_EFFECT, "new: only code that has changed can call it", ()
    if function.how == REMOVED and name in unnamed_functions:
        return model.NO_EFFECT, "gone, and nothing of the new version names it", ()
    if execution.details:
        sentence = "executed by probes of details, whose numbers need not depend on it"
        return model.NOT_COMPARED, sentence, execution.details
    if name in reasons:
        return model.OUTSIDE, reasons[name], ()
    if execution.starter:
        sentence = f"it may run in a process that {execution.starter} starts, which is not recorded"
        return model.CANNOT, sentence, ()
    return model.NEVER, "", ()


def find_pieces_never_named(pieces: Iterable[ChangedPiece], folders: Sequence[str]) -> set[str]:
    """Return private functions, and modules, that are gone and that the new version never names.

    Public functions and methods are left out: a user's code, or a base class of another package,
    may call them.
    """
    wanted: dict[str, list[str]] = {}
    for piece in pieces:
        if piece.how == REMOVED and (simple := _get_private_name(piece)):
            wanted.setdefault(simple, []).append(piece.entry_name)
    for path in changed_functions.map_files_by_name(folders).values():
        text = path.read_text(encoding="utf-8", errors="replace")
        for simple in [simple for simple in wanted if simple in text]:
            del wanted[simple]
    return {name for names in wanted.values() for name in names}


def _get_private_name(piece: ChangedPiece) -> str:
    """Return the simple name of a module, or of a private function or class; else nothing."""
    name = piece.name.removeprefix(f"{BODY} ")
    if piece.name == MODULE:
        path = Path(piece.file)
        return path.parent.name if path.stem == "__init__" else path.stem
    # Python itself calls functions such as ``__getattr__`` of a module
    is_private = name.startswith("_") and not name.endswith("__") and "." not in name
    return name if is_private else ""


# -- what no training executes ---------------------------------------------------------------------


def make_other_file_entries(
    inventory: Inventory,
    checks: Checks,
    used_files: Mapping[str, Collection[str]],
) -> Iterator[Entry]:
    """Yield the entries of files that are not Python.

    Args:
        used_files: training -> files that the training opened or imported.
    """
    for file_ in inventory.files:
        by = tuple(name for name, files in used_files.items() if file_.file in files)
        state = _combine_states(None, (checks[name] for name in by if name in checks))
        reason = file_.without_effect
        if reason:
            state, by = model.NO_EFFECT, ()
        elif state == model.NEVER and Path(file_.file).suffix in distribution_metadata.COMPILED:
            state, reason = model.CANNOT, "compiled code that nothing here loads"
        elif file_.how == "added" and state == model.NEVER:
            state, reason = model.NO_EFFECT, "new: only code that has changed can read it"
        yield Entry(
            kind=model.FILE, name=file_.file, package=file_.file.partition("/")[0],
            summary=file_.how, state=state, by=by, reason=reason, file=file_.file,
            content=file_.content,
        )  # fmt: skip


#: why a name that is gone has no effect on a user.
_UNUSED = "neither your files nor what they import use the name"


def make_metadata_entries(inventory: Inventory, unused: Collection[str] = ()) -> Iterator[Entry]:
    """Yield the entries of public names, warnings and requirements, which need no run to differ.

    Args:
        unused: names that no file of the user can use.
    """
    for public in inventory.public:
        is_unused = public.breaks_callers and public.name in unused
        kind, state = model.PUBLIC, model.NO_EFFECT if is_unused else model.DIFFERS
        if public.kind == "deprecated":
            kind, state = model.WARNING, model.LOGS
        elif public.kind == "unread":
            state = model.CANNOT
        yield Entry(
            kind=kind, name=public.name, summary=public.summary, state=state,
            reason=_UNUSED if is_unused else "", file=public.file, line=public.line,
            content=f"{public.kind} {public.summary}",
        )  # fmt: skip
    for row in inventory.requirements:
        harmless = _find_reason_without_effect(row, inventory)
        state = model.NO_EFFECT if harmless else model.DIFFERS
        users = _describe_users(row.package, inventory)
        yield Entry(
            kind=model.REQUIREMENT, name=row.package, summary=row.summary,
            state=model.CANNOT if row.kind == "unread" else state, reason=harmless,
            notes=users if row.summary.startswith(model.GONE) else (),
            content=f"{row.kind} {row.old} -> {row.new}",
        )  # fmt: skip


def _describe_users(distribution: str, inventory: Inventory) -> tuple[str, ...]:
    """Return notes that name the functions that use a distribution that is gone."""
    return tuple(f"{model.NEEDED}{user}" for user in inventory.needed.get(distribution, ()))


def _find_reason_without_effect(requirement: RequirementChange, inventory: Inventory) -> str:
    """Return why a changed declaration has no effect here; empty: it may have one."""
    if requirement.extra and requirement.extra not in inventory.extras:
        return f"extra {requirement.extra} is not part of this upgrade"
    if requirement.kind in ("extra", "entry point"):
        return "" if requirement.old else "new: nothing of the old version asks for it"
    if requirement.kind == "python":
        bounds = SpecifierSet(requirement.new)
    elif requirement.kind == "unread" or not requirement.new:
        return ""
    else:
        new, old = Requirement(requirement.new), Requirement(requirement.old or requirement.package)
        if new.url != old.url or not old.extras <= new.extras:
            return ""
        bounds = new.specifier
    here = inventory.installed.get(requirement.package, "")
    return (
        f"{requirement.package} {here} here satisfies it"
        if here and distribution_metadata.does_range_admit(bounds, here)
        else ""
    )


def make_package_entries(
    inventory: Inventory,
    checks: Checks,
    imported: Mapping[str, Collection[str]],
) -> Iterator[Entry]:
    """Yield the entries of other distributions that are not the same on both versions.

    Args:
        imported: training -> top-level modules that it imported.
    """
    # packages that the requested ones required come before those required by these only
    lost = {name: inventory.versions[name] for name in inventory.lost}
    for package, (old, new) in {**lost, **inventory.versions}.items():
        module = package.replace("-", "_")
        by = tuple(training for training, modules in imported.items() if module in modules)
        state = _combine_states(None, (checks[name] for name in by if name in checks))
        reason = ""
        if package in inventory.lost or (old and not new):
            state = model.DIFFERS
        elif not old:
            state, reason = model.NO_EFFECT, "new: only code that has changed can import it"
        elif state == model.NEVER and package in inventory.unrelated:
            state, reason = model.NO_EFFECT, _UNRELATED
        sentence = f"{old or 'not installed'} -> {new or 'not installed'}"
        yield Entry(
            kind=model.PACKAGE, name=package, summary=sentence, state=state, by=by,
            reason=reason, content=sentence,
            notes=_describe_users(package, inventory) if state == model.DIFFERS else (),
        )  # fmt: skip


def make_returns_entry(verdict: str, framework: str) -> Entry:
    """Return the entry of the returns of trainings with the new version."""
    states = {COULD_NOT_JUDGE: model.CANNOT, HOLDS: model.SAME}
    return Entry(
        kind=model.RETURNS, name=f"returns of {framework}", summary=verdict,
        state=states.get(verdict, model.DIFFERS), standing=verdict, content=verdict,
    )  # fmt: skip
