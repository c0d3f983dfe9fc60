"""The search for culprits: functions are reverted, and the training is recorded again.

The old version's code of some functions is put into the new version, and the training is recorded
again. If the trace equals the new version's, none of them changes the training. If it equals the
old version's, the other functions are not needed. Otherwise each half is reverted alone, and so on
down to single functions (A. Zeller, "Yesterday, my program worked. Today, it does not. Why?",
1999). The functions nearest to the place where traces diverge are reverted one by one from the
start. If reverting all functions that change the training does not restore the old trace, the
search continues with them reverted, as others make it diverge later. Results of earlier searches
save recordings: far from that place, a function that failed alone in another training is not tried
alone again, and one that changed nothing in another training is only reverted in groups.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rlregress.model.code import ChangedPiece
from rlregress.model.recorded_traces import ComparedTraining, Divergence, Trace
from rlregress.model.upgrade_result import Culprits
from rlregress.trace.child_processes import extract_last_message
from rlregress.upgrade.differences.old_code import is_revertible
from rlregress.upgrade.evidence.compared_trainings import compare_traces_and_their_ends

#: functions that are reverted one by one from the start.
_NEAR = 8
#: how often a search starts again with the functions that moved the divergence reverted.
_DEPTHS = 3
#: the largest group of functions, needed together only, that is reported as culprits.
_FEW = 5
#: outcomes of a trial: it trains as the old version does, as the new one, otherwise, or fails.
_AS_OLD, _AS_NEW, _LIKE_NEITHER, _FAILED = "as old", "as new", "like neither", "failed"

Group = tuple[ChangedPiece, ...]
#: yields groups to revert, and is sent the trace of each as far as there are recordings left.
_Result = TypeVar("_Result")
_Steps = Generator[list[Group], Mapping[Group, Trace], _Result]
SearchSteps = _Steps[Culprits]


def find_functions_at_divergence(
    first: Divergence | None, functions: Iterable[ChangedPiece]
) -> tuple[ChangedPiece, ...]:
    """Find the changed functions where two traces diverge, the nearest first."""
    if first is None:
        return ()
    frames = []
    for event, label in ((first.new, "new"), (first.old, "old")):
        if event is not None and event.file:
            frames.append((label, event.file, event.line))
            frames += [(label, caller.file, caller.line) for caller in event.callers]
    return _find_innermost_changed(frames, list(functions))


def _find_innermost_changed(
    frames: Iterable[tuple[str, str, int]], functions: Sequence[ChangedPiece]
) -> tuple[ChangedPiece, ...]:
    """Find the innermost changed function around each frame (version, file, line)."""
    nearest = []
    for label, file, line in frames:
        inside = [
            f
            for f in functions
            if f.get_file_in_version(label) == file
            and (own := getattr(f, label)) is not None
            and own.first <= line <= own.last
        ]
        nearest += sorted(inside, key=lambda f: -getattr(f, label).first)[:1]
    return tuple(dict.fromkeys(nearest))


def _find_functions_at_divergence_or_error(
    training: ComparedTraining, functions: Sequence[ChangedPiece]
) -> Group:
    """Return the functions where traces diverge, and those that raise an error in one version."""
    nearest = find_functions_at_divergence(training.comparison.first, functions)
    old, new = training.old, training.new
    for trace, reference, label in ((new, old, "new"), (old, new, "old")):
        raised = {name for name, _ in _list_failed_calls_with_errors(reference)}
        for event in trace.events:
            if event.error and event.name not in raised:
                frames = [(label, caller.file, caller.line) for caller in event.callers]
                nearest += _find_innermost_changed(frames, functions)[:1]
    return tuple(dict.fromkeys(nearest))


def join_culprits(earlier: Sequence[Culprits]) -> Culprits:
    """Merge the culprits of several trainings; an influence on one of them counts for all."""
    influencing = dict.fromkeys(f for culprits in earlier for f in culprits.confirmed_functions)
    inert = dict.fromkeys(f for culprits in earlier for f in culprits.without_influence)
    failed = {f: why for culprits in reversed(earlier) for f, why in culprits.failed}
    return Culprits(
        influencing=tuple(influencing),
        without_influence=tuple(f for f in inert if f not in influencing),
        failed=tuple((f, why) for f, why in failed.items() if f not in influencing | inert),
    )


@dataclass(frozen=True)
class _Trial:
    """The result of a trial: a training with a group of functions reverted.

    Attributes:
        outcome: ``_AS_OLD``, ``_AS_NEW``, ``_LIKE_NEITHER`` or ``_FAILED``.
        trace: of the training with the group reverted.
        why: the error message of a failure.
        misfits: functions of the group that could not be reverted, and why.
    """

    outcome: str
    trace: Trace
    why: str = ""
    misfits: tuple[tuple[ChangedPiece, str], ...] = ()

    @property
    def changes_training(self) -> bool:
        """Return whether reverting the group makes the new version train differently."""
        return self.outcome in (_AS_OLD, _LIKE_NEITHER)

    def select_reverted(self, group: Group) -> Group:
        """Return the functions of the group that could be reverted."""
        misfits = dict(self.misfits)
        return tuple(function for function in group if function not in misfits)


@dataclass
class _Findings:
    """What reverting has shown so far; the attributes are those of ``Culprits``."""

    alone: ChangedPiece | None = None
    influencing: list[ChangedPiece] = field(default_factory=list)
    together: list[ChangedPiece] = field(default_factory=list)
    without_influence: list[ChangedPiece] = field(default_factory=list)
    failed: dict[ChangedPiece, str] = field(default_factory=dict)


@dataclass
class _SearchPass(_Findings):
    """The results of one pass over the functions: it reverts the nearest alone, others in groups.

    Attributes:
        trials: the results of every group that was reverted.
        siblings: half of a group that changes the training -> the other half.
        by_file: groups of functions of one file, some of which fail by themselves.
    """

    trials: dict[Group, _Trial] = field(default_factory=dict)
    siblings: dict[Group, Group] = field(default_factory=dict)
    by_file: list[Group] = field(default_factory=list)

    def note_result_and_split_group(
        self, group: Group, trials: Mapping[Group, _Trial]
    ) -> list[Group]:
        """Note the result of a group, and return the smaller groups to revert next."""
        outcome = trials[group].outcome
        fitting = trials[group].select_reverted(group)
        if outcome == _AS_NEW:
            sibling = trials.get(self.siblings.get(group, ()))
            # neither half has the effect that both have
            both = sibling is not None and sibling.outcome == _AS_NEW
            (self.together if both else self.without_influence).extend(fitting)
            return []
        if len(fitting) > 1:
            middle = (len(fitting) + 1) // 2
            first, second = fitting[:middle], fitting[middle:]
            if outcome != _FAILED:
                self.siblings |= {first: second, second: first}
            return [first, second]
        for function in fitting:
            if outcome == _FAILED:
                self.failed[function] = trials[group].why
            elif outcome == _AS_OLD:
                self.alone = function
            else:
                self.influencing.append(function)
        return []


class CulpritSearch:
    """The search for the culprits of one training.

    Args:
        training: it diverges.
        functions: the changed functions.
        earlier: those of other trainings together, which are reverted first.
    """

    def __init__(
        self, training: ComparedTraining, functions: Sequence[ChangedPiece], earlier: Culprits
    ) -> None:
        #: the traces of the old version, and of the new one with ``_base`` reverted.
        self._training, self._base = training, Group()
        self._functions, self._earlier = functions, earlier
        self._place = _find_functions_at_divergence_or_error(training, functions)
        near = [function for function in self._place if is_revertible(function)]
        executed = [*near, *list_revertible_functions(training, functions)]
        self._executed = list(dict.fromkeys(executed))
        reasons = dict(earlier.failed)
        failed = {f: reasons[f] for f in self._executed[len(near) :] if f in reasons}
        self._findings = _Findings(failed=failed)
        self._whole: bool | None = None
        self._open: list[ChangedPiece] = []

    def take_steps(self) -> SearchSteps:
        """Revert culprits of earlier trainings first, then the nearest functions, then all others.

        Each pass over the functions goes on with what the last one has reverted.
        """
        is_ended = yield from self._try_earlier_culprits()
        for _ in range(_DEPTHS):
            if is_ended:
                break
            is_ended = yield from self._search_in_smaller_groups_until_ended()
        findings = self._findings
        named = {*findings.influencing, *findings.together}
        without_influence = [f for f in dict.fromkeys(findings.without_influence) if f not in named]
        explained = {*named, *without_influence}
        return Culprits(
            place=self._place,
            alone=findings.alone,
            influencing=tuple(dict.fromkeys(findings.influencing)),
            together=tuple(dict.fromkeys(findings.together)),
            whole=True if findings.alone is not None else self._whole,
            without_influence=tuple(without_influence),
            failed=tuple(item for item in findings.failed.items() if item[0] not in explained),
            open=tuple(dict.fromkeys(self._open)),
        )

    def _revert_groups(self, groups: Sequence[Group]) -> _Steps[dict[Group, _Trial]]:
        """Yield groups to revert, receive their traces, and return the result of each group."""
        requested = {(*self._base, *group): group for group in groups}
        traces = (yield list(requested)) if requested else {}
        return {
            requested[group]: _judge_reverted_training(self._training, requested[group], trace)
            for group, trace in traces.items()
        }

    def _revert_group(self, group: Group, trials: dict[Group, _Trial]) -> _Steps[_Trial | None]:
        """Return the result of reverting a group: an earlier one from ``trials``, or a new one."""
        if group not in trials:
            trials.update((yield from self._revert_groups([group])))
        return trials.get(group)

    def _keep_reverted_unless_restored(self, group: Group, trial: _Trial) -> bool:
        """Return whether reverting a group restores the old behaviour; if not, keep it reverted."""
        self._whole = trial.outcome == _AS_OLD
        if not self._whole:
            comparison = compare_traces_and_their_ends(self._training.old, trial.trace)
            self._training = replace(self._training, comparison=comparison, new=trial.trace)
            self._base += group
        return self._whole

    def _try_earlier_culprits(self) -> _Steps[bool]:
        """Revert the culprits of other trainings together; if the training changes, one by one.

        Return whether they explain everything.
        """
        earlier = [function for function in self._executed if function in self._earlier.influencing]
        # culprits of other trainings that lie at this divergence are reverted first
        group = tuple([function for function in earlier if function in self._place] or earlier)
        trials: dict[Group, _Trial] = {}
        trial = (yield from self._revert_group(group, trials)) if group else None
        if trial is None or not trial.changes_training:
            return False
        if len(group) > 1:
            trials = yield from self._revert_groups([(function,) for function in group[:_NEAR]])
        for (function,), result in trials.items():
            if result.outcome == _AS_OLD:
                self._findings.alone = function
                return True
        influencing = tuple(
            function for (function,), result in trials.items() if result.changes_training
        )
        if 0 < len(influencing) < len(group):
            # these have an effect each by itself: see whether they do without the others
            group = influencing
            trial = yield from self._revert_group(group, trials)
            if trial is None or not trial.changes_training:
                return False
        self._findings.influencing += influencing
        self._findings.together += () if influencing else trial.select_reverted(group)
        return self._keep_reverted_unless_restored(group, trial)

    def _search_in_smaller_groups_until_ended(self) -> _Steps[bool]:
        """Search the nearest functions one by one, the others in ever smaller groups.

        Return whether the search has ended.
        """
        first = self._training.comparison.first
        near = _find_functions_at_divergence_or_error(self._training, self._functions)
        # a function without influence before may have one with others reverted
        excluded = {
            *self._base,
            *(function for function in self._findings.failed if function not in near),
        }
        ranked = sorted(
            (function for function in self._executed if function not in excluded),
            key=lambda function: _rank_by_distance(function, first, near),
        )
        level = _SearchPass()
        groups = _group_functions_to_revert_first(
            ranked, frozenset(self._earlier.without_influence).difference(near)
        )
        while groups:
            trials = yield from self._revert_groups(groups)
            level.trials.update(trials)
            # a group that brings the old training back contains all that is looked for
            as_old = [group for group, trial in trials.items() if trial.outcome == _AS_OLD]
            examined = as_old[:1] or groups
            self._open += [f for group in examined if group not in trials for f in group]
            smaller: list[Group] = []
            for group in [group for group in examined if group in trials]:
                level.failed.update(trials[group].misfits)
                if group not in level.by_file:
                    smaller += level.note_result_and_split_group(group, trials)
                elif trials[group].changes_training:
                    level.together += yield from self._minimize_group(group, level.trials)
            if level.alone is None:
                files = _group_failed_with_others_of_file(level, ranked)
                level.by_file += files
                smaller = [*files, *smaller]
            groups = smaller
        if level.alone is None and not (level.influencing or level.together):
            yield from self._revert_all_if_none_has_influence(level, tuple(ranked))
        self._findings.without_influence += level.without_influence
        self._findings.failed.update(level.failed)
        return (yield from self._revert_effective_functions(level))

    def _revert_all_if_none_has_influence(self, level: _SearchPass, ranked: Group) -> _Steps[None]:
        """Revert all functions together if reverting any one of them alone changes nothing.

        If some fail by themselves, all are reduced to the few that need each other. They may lie in
        several files, and some of them change nothing when reverted alone.
        """
        if not level.failed and not len(level.without_influence) == len(ranked) > 1:
            return
        trial = yield from self._revert_group(ranked, level.trials)
        if trial is None or not trial.changes_training:
            return
        if not level.failed:
            level.without_influence, level.together = [], list(ranked)
            return
        needed = yield from self._minimize_group(ranked, level.trials)
        # a large group does not name the culprit
        level.together += needed if len(needed) <= _FEW else ()

    def _revert_effective_functions(self, level: _SearchPass) -> _Steps[bool]:
        """Revert all functions that change the training; return whether the search has ended.

        It goes on if they change it and do not restore the old behaviour.
        """
        findings = self._findings
        if level.alone is not None and self._base:
            findings.influencing.append(level.alone)
            self._whole = True
            return True
        findings.alone = level.alone
        findings.influencing += level.influencing
        if findings.alone is not None:
            return True
        findings.together += level.together
        group = (*level.influencing, *level.together)
        trial = (yield from self._revert_group(group, level.trials)) if group else None
        if trial is None or not trial.changes_training:
            return True
        return self._keep_reverted_unless_restored(group, trial)

    def _minimize_group(self, group: Group, results: dict[Group, _Trial]) -> _Steps[Group]:
        """Reduce a group while its effect stays the same, by leaving out ever smaller parts.

        Args:
            results: the results of groups, the whole one among them; this method adds its own.
        """
        outcome, needed = results[group].outcome, results[group].select_reverted(group)
        size = len(needed) // 2
        while size:
            parts = [needed[n : n + size] for n in range(0, len(needed), size)]
            remainders = [
                tuple(function for function in needed if function not in part) for part in parts
            ]
            trials = yield from self._revert_groups([r for r in remainders if r])
            results.update(trials)
            enough = [r for r in remainders if r in trials and trials[r].outcome == outcome]
            needed, size = (
                (enough[0], min(size, len(enough[0]) // 2)) if enough else (needed, size // 2)
            )
        return needed


def _group_failed_with_others_of_file(
    level: _SearchPass, ranked: Sequence[ChangedPiece]
) -> list[Group]:
    """Group functions that cannot be reverted alone with the other functions of their file."""
    files = dict.fromkeys(function.file for function in level.failed)
    candidates = [function for function in ranked if function not in level.without_influence]
    groups = [tuple(function for function in candidates if function.file == file) for file in files]
    return [group for group in groups if len(group) > 1 and group not in level.by_file]


def _group_functions_to_revert_first(
    ranked: Sequence[ChangedPiece], without_influence: frozenset[ChangedPiece]
) -> list[Group]:
    """Return the first groups to revert: the nearest functions alone, the others by package.

    Args:
        without_influence: functions whose reverting changes nothing in another training.
    """
    alone = [function for function in ranked if function not in without_influence][:_NEAR]
    groups: dict[tuple[bool, str], list[ChangedPiece]] = {}
    for function in ranked:
        if function not in alone:
            key = (function in without_influence, function.file.partition("/")[0])
            groups.setdefault(key, []).append(function)
    return [*((function,) for function in alone), *map(tuple, groups.values())]


def _rank_by_distance(
    function: ChangedPiece, first: Divergence | None, near: Sequence[ChangedPiece]
) -> int:
    """Rank a function by its distance from the divergence: place, file, folder, package, none."""
    if function in near:
        return near.index(function)
    events = [event for event in (first.new, first.old) if event is not None] if first else []
    files = [event.file for event in events if event.file]
    files += [caller.file for event in events for caller in event.callers]
    if function.file in files:
        return len(near)
    folders = {file.rpartition("/")[0] for file in files[:1]}
    if any(function.file.startswith(f"{folder}/") for folder in folders):
        return len(near) + 1
    packages = {file.partition("/")[0] for file in files}
    return len(near) + (2 if function.file.partition("/")[0] in packages else 3)


def list_revertible_functions(
    training: ComparedTraining, functions: Iterable[ChangedPiece]
) -> list[ChangedPiece]:
    """List the functions that a training executes and that can be reverted."""
    names = {*training.old.called_functions, *training.new.called_functions}
    files = {file for file, _ in names}
    executed = (x for x in functions if x.key in names or (x.runs_at_import and x.file in files))
    return [function for function in executed if is_revertible(function)]


def _judge_reverted_training(training: ComparedTraining, group: Group, trace: Trace) -> _Trial:
    by_key = {function.key: function for function in group}
    misfits = tuple(
        (by_key[file, name], why)
        for file, name, why in trace.header.get("misfits", ())
        if (file, name) in by_key
    )
    errors = _list_failed_calls_with_errors(trace)
    unknown_errors = errors
    for outcome, reference in ((_AS_OLD, training.old), (_AS_NEW, training.new)):
        known_errors = _list_failed_calls_with_errors(reference)
        unknown_errors = unknown_errors - known_errors
        if errors <= known_errors and (
            compare_traces_and_their_ends(reference, trace).verdict == "equal"
        ):
            return _Trial(outcome, trace, misfits=misfits)
    if trace.failure:
        return _Trial(_FAILED, trace, extract_last_message(trace.failure), misfits)
    if unknown_errors:
        name, error = min(unknown_errors)
        why = f"{name} fails only with functions reverted, {error}"
        return _Trial(_FAILED, trace, why, misfits)
    return _Trial(_LIKE_NEITHER, trace, misfits=misfits)


def _list_failed_calls_with_errors(trace: Trace) -> set[tuple[str, str]]:
    """Return the name and the error of each recorded call that failed."""
    return {(event.name, event.error) for event in trace.events if event.error}
