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

from rlregress.model.code import Changed, Function
from rlregress.model.recorded_traces import Divergence, Trace, Traced
from rlregress.model.upgrade_result import Culprits
from rlregress.trace.child_processes import extract_last_message
from rlregress.upgrade.differences.old_code import is_revertible, list_old_code
from rlregress.upgrade.evidence.compared_trainings import Training, compare_traces_and_their_ends

#: functions that are reverted one by one from the start.
_NEAR = 8
#: how often a search goes on with what moves the training reverted.
_DEPTHS = 3
#: functions that are named together, of all that are reverted at once.
_FEW = 5
#: outcomes of a trial: it trains as the old version does, as the new one, otherwise, or fails.
_AS_OLD, _AS_NEW, _LIKE_NEITHER, _FAILED = "as old", "as new", "like neither", "failed"

Group = tuple[Changed, ...]
#: yields groups to revert, is sent the trace of each as far as there are recordings left, and
#: returns the culprits.
Search = Generator[list[Group], Mapping[Group, Trace], "Culprits"]


def find_functions_at_divergence(
    first: Divergence | None, functions: Iterable[Changed]
) -> tuple[Changed, ...]:
    """Find the changed functions where two traces diverge, the nearest first."""
    if first is None:
        return ()
    frames = []
    for event, label in ((first.new, "new"), (first.old, "old")):
        if event is not None and event.file:
            frames.append((label, event.file, event.line))
            frames += [(label, caller.file, caller.line) for caller in event.callers]
    return _find_innermost(frames, list(functions))


def _find_innermost(
    frames: Iterable[tuple[str, str, int]], functions: Sequence[Changed]
) -> tuple[Changed, ...]:
    """Find the innermost changed function around each frame (version, file, line)."""
    nearest = []
    for label, file, line in frames:
        inside = [
            f
            for f in functions
            if f.get_file_on(label) == file and _contains_line(getattr(f, label), line)
        ]
        nearest += sorted(inside, key=lambda f: -getattr(f, label).first)[:1]
    return tuple(dict.fromkeys(nearest))


def _find_functions_near_divergence(training: Traced, functions: Sequence[Changed]) -> Group:
    """Return the functions where traces diverge, and those that raise an error in one version."""
    parting = find_functions_at_divergence(training.comparison.first, functions)
    return tuple(dict.fromkeys((*parting, *_find_functions_that_raise(training, functions))))


def _contains_line(function: Function | None, line: int) -> bool:
    return function is not None and function.first <= line <= function.last


@dataclass(frozen=True)
class EarlierCulprits:
    """The results of the searches of other trainings.

    Attributes:
        influencing: functions whose reverting changes one of these trainings.
        without_influence: other functions, whose reverting changes nothing in one of them.
        failed: other functions, which cannot be reverted alone, each with the reason.
    """

    influencing: frozenset[Changed] = frozenset()
    without_influence: frozenset[Changed] = frozenset()
    failed: Mapping[Changed, str] = field(default_factory=dict)

    def have_all_been_reverted(self, functions: Iterable[Changed]) -> bool:
        """Return whether each of some functions was reverted by some search."""
        return all(
            f in self.influencing or f in self.without_influence or f in self.failed
            for f in functions
        )

    @classmethod
    def collect_from_culprits(cls, all_culprits: Iterable[Culprits]) -> EarlierCulprits:
        """Collect the results from the culprits of some trainings."""
        earlier_culprits = list(all_culprits)
        influencing = frozenset(
            function for culprits in earlier_culprits for function in culprits.confirmed
        )
        without_influence = (
            frozenset(
                function for culprits in earlier_culprits for function in culprits.without_influence
            )
            - influencing
        )
        failed = dict(item for culprits in reversed(earlier_culprits) for item in culprits.failed)
        return cls(
            influencing,
            without_influence,
            {f: why for f, why in failed.items() if f not in influencing | without_influence},
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
    misfits: tuple[tuple[Changed, str], ...] = ()

    @property
    def changes_training(self) -> bool:
        """Return whether the training differs from that of the new version."""
        return self.outcome in (_AS_OLD, _LIKE_NEITHER)

    def select_reverted(self, group: Group) -> Group:
        """Return the functions of the group that could be reverted."""
        misfits = dict(self.misfits)
        return tuple(function for function in group if function not in misfits)


@dataclass
class _Findings:
    """The results of a search so far; as ``Culprits``.

    Attributes:
        without_influence_elsewhere: functions whose reverting changes nothing in another training.
    """

    without_influence_elsewhere: frozenset[Changed] = frozenset()
    alone: Changed | None = None
    influencing: list[Changed] = field(default_factory=list)
    together: list[Changed] = field(default_factory=list)
    without_influence: list[Changed] = field(default_factory=list)
    failed: dict[Changed, str] = field(default_factory=dict)
    open: list[Changed] = field(default_factory=list)
    whole: bool | None = None
    is_ended: bool = False

    def summarize_culprits(self, at_divergence: Group) -> Culprits:
        """Return the culprits that are known so far."""
        named = {*self.influencing, *self.together}
        without_influence = tuple(
            function for function in dict.fromkeys(self.without_influence) if function not in named
        )
        explained = {*named, *without_influence}
        return Culprits(
            place=at_divergence,
            alone=self.alone,
            influencing=tuple(dict.fromkeys(self.influencing)),
            together=tuple(dict.fromkeys(self.together)),
            whole=True if self.alone is not None else self.whole,
            without_influence=without_influence,
            failed=tuple(item for item in self.failed.items() if item[0] not in explained),
            open=tuple(dict.fromkeys(self.open)),
        )


@dataclass(frozen=True)
class _State:
    """The state of a search: the new version with some functions reverted.

    Attributes:
        training: the old version's trace, and the new version's with ``base`` reverted.
        base: the functions that are reverted.
    """

    training: Traced
    base: Group = ()

    def add_reverted_functions(self, group: Sequence[Changed], trace: Trace) -> _State:
        """Return the state with further functions reverted."""
        comparison = compare_traces_and_their_ends(self.training.old, trace)
        return _State(
            replace(self.training, comparison=comparison, new=trace), (*self.base, *group)
        )


_Trials = Generator[list[Group], Mapping[Group, Trace], dict[Group, _Trial]]
_NextState = Generator[list[Group], Mapping[Group, Trace], _State]


def search_culprits_of_training(
    training: Traced, functions: Sequence[Changed], earlier: EarlierCulprits
) -> Search:
    """Revert culprits of earlier trainings first, then the nearest functions, then all others.

    Args:
        functions: the changed functions.
    """
    place = _find_functions_near_divergence(training, functions)
    near = [function for function in place if is_revertible(function)]
    reverted = list(dict.fromkeys((*near, *list_revertible_functions(training, functions))))
    findings, state = _Findings(earlier.without_influence), _State(training)
    findings.failed |= {f: earlier.failed[f] for f in reverted[len(near) :] if f in earlier.failed}
    earlier_culprits = [function for function in reverted if function in earlier.influencing]
    # where it diverges at what moves another training, that is reverted first
    earlier_culprits = [
        function for function in earlier_culprits if function in place
    ] or earlier_culprits
    if earlier_culprits:
        state = yield from _try_earlier_culprits(state, earlier_culprits, findings)
    for _ in range(_DEPTHS):
        if findings.is_ended:
            break
        state = yield from _search_level(state, reverted, functions, findings)
    return findings.summarize_culprits(place)


def _try_reverting_groups(state: _State, groups: Sequence[Group]) -> _Trials:
    """Return the result of reverting each group, in addition to the functions of the state."""
    requested = {(*state.base, *group): group for group in groups}
    traces = (yield list(requested)) if requested else {}
    return {
        requested[group]: _judge_reverted_training(state.training, requested[group], trace)
        for group, trace in traces.items()
    }


def _try_earlier_culprits(
    state: _State, earlier_culprits: Sequence[Changed], findings: _Findings
) -> _NextState:
    """Revert the culprits of other trainings together; if the training changes, one by one."""
    group = tuple(earlier_culprits)
    trial = (yield from _try_reverting_groups(state, [group])).get(group)
    if trial is None or not trial.changes_training:
        return state
    trials_alone = {group: trial}
    if len(group) > 1:
        trials_alone = yield from _try_reverting_groups(
            state, [(function,) for function in group[:_NEAR]]
        )
    restoring = [
        function for (function,), result in trials_alone.items() if result.outcome == _AS_OLD
    ]
    if restoring:
        findings.alone, findings.is_ended = restoring[0], True
        return state
    influencing = tuple(
        function for (function,), result in trials_alone.items() if result.changes_training
    )
    if 0 < len(influencing) < len(group):
        # the others are not needed for what these do
        joint_trial = trials_alone.get(influencing)
        joint_trial = joint_trial or (yield from _try_reverting_groups(state, [influencing])).get(
            influencing
        )
        if joint_trial is None or not joint_trial.changes_training:
            return state
        group, trial = influencing, joint_trial
    findings.influencing += influencing
    findings.together += () if influencing else trial.select_reverted(group)
    findings.whole = findings.is_ended = trial.outcome == _AS_OLD
    return state.add_reverted_functions(group, trial.trace)


@dataclass
class _Level:
    """The results of one pass over the functions: the nearest by themselves, the others in groups.

    Attributes:
        alone, influencing, together, without_influence, failed: as of ``Culprits``.
        trials: the results of every group that was reverted.
        halves: the two halves of each group that changes the training.
        by_file: groups of functions of one file, some of which fail by themselves.
    """

    alone: Changed | None = None
    influencing: list[Changed] = field(default_factory=list)
    together: list[Changed] = field(default_factory=list)
    without_influence: list[Changed] = field(default_factory=list)
    failed: dict[Changed, str] = field(default_factory=dict)
    trials: dict[Group, _Trial] = field(default_factory=dict)
    halves: list[list[Group]] = field(default_factory=list)
    by_file: list[Group] = field(default_factory=list)

    def split_group_by_result(self, group: Group, trials: Mapping[Group, _Trial]) -> list[Group]:
        """Note the result of a group, and return the smaller groups to revert next."""
        outcome = trials[group].outcome
        fitting = trials[group].select_reverted(group)
        if outcome == _AS_NEW:
            both = _is_inert_half(group, trials, self.halves)
            (self.together if both else self.without_influence).extend(fitting)
            return []
        if len(fitting) > 1:
            halves = _split_group_in_halves(fitting)
            if outcome != _FAILED:
                self.halves.append(halves)
            return halves
        for function in fitting:
            if outcome == _FAILED:
                self.failed[function] = trials[group].why
            elif outcome == _AS_OLD:
                self.alone = function
            else:
                self.influencing.append(function)
        return []


def _search_level(
    state: _State, executed: Sequence[Changed], functions: Sequence[Changed], findings: _Findings
) -> _NextState:
    """Search the nearest functions one by one, the others in ever smaller groups."""
    near = _find_functions_near_divergence(state.training, functions)
    ranked = _rank_functions(state, executed, near, findings)
    level = _Level()
    groups = _group_functions_to_revert_first(
        ranked, findings.without_influence_elsewhere.difference(near)
    )
    while groups:
        trials = yield from _try_reverting_groups(state, groups)
        level.trials.update(trials)
        # what brings the old version back makes the others superfluous
        as_old = [group for group in groups if group in trials and trials[group].outcome == _AS_OLD]
        examined = as_old[:1] or groups
        findings.open += [
            function for group in examined if group not in trials for function in group
        ]
        smaller: list[Group] = []
        for group in [group for group in examined if group in trials]:
            level.failed.update(trials[group].misfits)
            if group not in level.by_file:
                smaller += level.split_group_by_result(group, trials)
            elif trials[group].changes_training:
                level.together += yield from _minimize_group(
                    state, group, trials[group], level.trials
                )
        if level.alone is None:
            files = _group_by_file(level.failed, ranked, level.without_influence)
            files = [group for group in files if group not in level.by_file]
            level.by_file += files
            smaller = [*files, *smaller]
        groups = smaller
    if len(level.without_influence) == len(ranked) > 1:
        # none of them by itself, but perhaps all of them
        all_functions = tuple(ranked)
        level.trials.update((yield from _try_reverting_groups(state, [all_functions])))
        if all_functions in level.trials and level.trials[all_functions].changes_training:
            level.without_influence, level.together = [], list(all_functions)
    if level.failed and level.alone is None and not (level.influencing or level.together):
        yield from _revert_all_and_minimize(state, level, ranked)
    findings.without_influence += level.without_influence
    findings.failed.update(level.failed)
    return (yield from _revert_effective_functions(state, level, findings))


def _revert_all_and_minimize(
    state: _State, level: _Level, ranked: Sequence[Changed]
) -> Generator[list[Group], Mapping[Group, Trace], None]:
    """Revert all executed functions, and reduce them to the few that need each other.

    They may lie in several files, and some of them change nothing when reverted alone.
    """
    all_functions = tuple(ranked)
    trials = yield from _try_reverting_groups(state, [all_functions])
    level.trials.update(trials)
    if all_functions in trials and trials[all_functions].changes_training:
        needed = yield from _minimize_group(
            state, all_functions, trials[all_functions], level.trials
        )
        # so many say of none that it is the culprit
        level.together += needed if len(needed) <= _FEW else ()


def _rank_functions(
    state: _State, executed: Sequence[Changed], near: Group, findings: _Findings
) -> list[Changed]:
    """Return the functions to revert at this level, the nearest to the divergence first."""
    first = state.training.comparison.first
    # what did nothing before may do something with what is reverted since
    excluded = {*state.base, *(function for function in findings.failed if function not in near)}
    candidates = [function for function in executed if function not in excluded]
    return sorted(candidates, key=lambda item: _rank_distance(item, first, near))


def _revert_effective_functions(state: _State, level: _Level, findings: _Findings) -> _NextState:
    """Revert all functions that change the training: does that restore the old behaviour?"""
    findings.is_ended = True
    if level.alone is not None and not state.base:
        findings.alone = level.alone
        findings.influencing += level.influencing
        return state
    if level.alone is not None:
        findings.influencing.append(level.alone)
        findings.whole = True
        return state
    findings.influencing += level.influencing
    findings.together += level.together
    group = (*level.influencing, *level.together)
    if not group:
        return state
    trial = level.trials.get(group) or (yield from _try_reverting_groups(state, [group])).get(group)
    if trial is not None and trial.changes_training:
        findings.whole = trial.outcome == _AS_OLD
        if not findings.whole:
            findings.is_ended = False
            return state.add_reverted_functions(group, trial.trace)
    return state


def _minimize_group(
    state: _State, group: Group, trial: _Trial, results: dict[Group, _Trial]
) -> Generator[list[Group], Mapping[Group, Trace], Group]:
    """Leave out parts of a group, smaller and smaller, while the rest has the same effect.

    Args:
        trial: the result of the whole group.
        results: the results of groups; this function adds its own.
    """
    needed = trial.select_reverted(group)
    size = len(needed) // 2
    while size:
        parts = [needed[n : n + size] for n in range(0, len(needed), size)]
        remainders = [
            tuple(function for function in needed if function not in part) for part in parts
        ]
        trials = yield from _try_reverting_groups(state, [r for r in remainders if r])
        results.update(trials)
        enough = [r for r in remainders if r in trials and trials[r].outcome == trial.outcome]
        needed, size = (
            (enough[0], min(size, len(enough[0]) // 2)) if enough else (needed, size // 2)
        )
    return needed


def _group_by_file(
    failed: Iterable[Changed], ranked: Sequence[Changed], without_influence: Sequence[Changed]
) -> list[Group]:
    """Group the functions of each file in which some cannot be reverted alone: together may do."""
    files = dict.fromkeys(function.file for function in failed)
    candidates = [function for function in ranked if function not in without_influence]
    groups = [tuple(function for function in candidates if function.file == file) for file in files]
    return [group for group in groups if len(group) > 1]


def _group_functions_to_revert_first(
    ranked: Sequence[Changed], without_influence: frozenset[Changed]
) -> list[Group]:
    """Make the first groups: the nearest alone, the others by package and known influence.

    Args:
        without_influence: functions whose reverting changes nothing in another training.
    """
    alone = [function for function in ranked if function not in without_influence][:_NEAR]
    groups: dict[tuple[bool, str], list[Changed]] = {}
    for function in ranked:
        if function not in alone:
            key = (function in without_influence, function.file.partition("/")[0])
            groups.setdefault(key, []).append(function)
    return [*((function,) for function in alone), *map(tuple, groups.values())]


def _rank_distance(function: Changed, first: Divergence | None, near: Sequence[Changed]) -> int:
    """Rank how near a function is to the divergence: same place, file, folder, or package."""
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


def _is_inert_half(
    group: Group, trials: Mapping[Group, _Trial], split: Sequence[Sequence[Group]]
) -> bool:
    """Return whether a group is half of one that changes the training, but neither half does."""
    return any(
        group in halves
        and all(half in trials and trials[half].outcome == _AS_NEW for half in halves)
        for halves in split
    )


def _split_group_in_halves(group: Group) -> list[Group]:
    middle = (len(group) + 1) // 2
    return [group[:middle], group[middle:]]


def list_revertible_functions(training: Traced, functions: Iterable[Changed]) -> list[Changed]:
    """List the functions that a training executes and that can be reverted."""
    names = {*training.old.called_functions, *training.new.called_functions}
    files = {file for file, _ in names}
    executed_functions = (
        x for x in functions if x.key in names or (x.at_import and x.file in files)
    )
    return [function for function in executed_functions if is_revertible(function)]


def make_training_with_reverted_functions(
    training: Training, group: Group, number: int
) -> Training:
    """Make the training on the new version with some functions reverted."""
    name = f"{training.name} trial {number}"
    return Training(training.owner, name, {**training.job, "swap": list_old_code(group)})


def _judge_reverted_training(training: Traced, group: Group, trace: Trace) -> _Trial:
    by_key = {function.key: function for function in group}
    misfits = tuple(
        (by_key[file, name], why)
        for file, name, why in trace.header.get("misfits", ())
        if (file, name) in by_key
    )
    for outcome, reference in ((_AS_OLD, training.old), (_AS_NEW, training.new)):
        if (
            not _list_errors_of_answers(trace) - _list_errors_of_answers(reference)
            and compare_traces_and_their_ends(reference, trace).verdict == "equal"
        ):
            return _Trial(outcome, trace, misfits=misfits)
    if trace.failure:
        return _Trial(_FAILED, trace, extract_last_message(trace.failure), misfits)
    if (
        new_errors := _list_errors_of_answers(trace)
        - _list_errors_of_answers(training.old)
        - _list_errors_of_answers(training.new)
    ):
        name, error = min(new_errors)
        why = f"{name} fails only with functions reverted, {error}"
        return _Trial(_FAILED, trace, why, misfits)
    return _Trial(_LIKE_NEITHER, trace, misfits=misfits)


def _list_errors_of_answers(trace: Trace) -> set[tuple[str, str]]:
    """Return the name and the error of each recorded call that failed."""
    return {(event.name, event.error) for event in trace.events if event.error}


def _find_functions_that_raise(training: Traced, functions: Sequence[Changed]) -> Group:
    """Find the functions that raise errors which the other version does not raise."""
    nearest: Group = ()
    for trace, reference, label in (
        (training.new, training.old, "new"),
        (training.old, training.new, "old"),
    ):
        raised = {name for name, _ in _list_errors_of_answers(reference)}
        for event in trace.events:
            if event.error and event.name not in raised:
                nearest += _find_innermost(
                    [(label, caller.file, caller.line) for caller in event.callers], functions
                )[:1]
    return tuple(dict.fromkeys(nearest))
