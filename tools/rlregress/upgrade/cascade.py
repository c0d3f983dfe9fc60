"""The cascade: the list of differences, fingerprints, traces, physics, culprits, and returns."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlregress import progress
from rlregress.details import catalogue, requested_names
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.gate_options import GateOptions
from rlregress.inside.checkpoint import TRUST
from rlregress.model import differences as model
from rlregress.model.code import REMOVED, Changed
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import Comparison, NotTraced, Trace, Traced
from rlregress.model.upgrade_result import (
    LATE,
    Cause,
    Moved,
    MutationTest,
    OfFramework,
    OfScript,
    PieceExecution,
    Upgrade,
)
from rlregress.tracing.child_processes import OutOfTime, is_cut, is_over, limited, note_cut
from rlregress.tracing.recording_processes import current
from rlregress.upgrade import (
    accepted,
    affected,
    attribution,
    cached_folders,
    closures,
    compared_trainings,
    costs,
    coverage,
    direct_calls,
    early_answers,
    entries,
    expected_stages,
    interpreters,
    mutation_test,
    names_in_script,
    not_checked,
    outside_training,
    recordings,
    requested,
    return_gate,
    side_environments,
    side_files,
    side_fingerprints,
    side_physics,
    state,
)
from rlregress.upgrade.compared_trainings import Training
from rlregress.upgrade.inventory import Inventory, inventory
from rlregress.upgrade.requested import Requested
from rlregress.upgrade.resolved import Pair, resolve
from rlregress.upgrade.side_environments import Prepared
from rlregress.upgrade.side_fingerprints import Fingerprint
from rlregress.upgrade.sides import MARKS, Answers, Sides
from rlregress.upgrade.upgrade_options import Options

_FINISHED = ".finished"


def run(options: Options, sides: tuple[Requested, Requested] | None = None) -> Upgrade:
    """Judge an upgrade.

    Args:
        sides: what the two versions are; None: as the options name them.

    Raises:
        UserError: a side cannot be made, or cannot be asked.
    """
    if options.script is not None and options.algorithms:
        raise UserError(
            "a script is traced instead of the built-in trainings, and --algorithm chooses among "
            "those; leave one of the two out"
        )
    _check_user_file(options)
    reviewed = accepted.load(options.accepted)
    wanted = sides or (requested.parse(options.a), requested.parse(options.b))
    wanted = requested.on_environment(*wanted)
    pinned = affected.packages(*wanted)
    adapters = affected.adapters(*wanted, pinned, options.frameworks, options.script is not None)
    if not adapters and options.checkpoint is not None:
        raise UserError(
            f"no framework here differs between {options.a} and {options.b}, so that nothing "
            f"loads {options.checkpoint}; name another version"
        )
    if not adapters and options.script is None:
        idle = [
            Prepared(side, current(x), "not made") for x, side in zip("AB", wanted, strict=True)
        ]
        here = closures.on_path(current("installed"))
        entries_ = entries.of_idle(pinned, affected.unrelated(pinned, [here]))
        return Upgrade(
            a=idle[0].info, b=idle[1].info, frameworks=(), pinned=pinned, other_packages=entries_
        )
    if options.script is None:
        _check_names(adapters, options)
    deadline = options.deadline
    progress.limit(deadline.at - time.time())
    try:
        with limited(deadline):
            result = _judged_upgrade(wanted, pinned, adapters, options)
    except OutOfTime as error:
        # before anything could be compared
        deadline.cut.append("any of what differs")
        sides_ = [
            Prepared(side, current(x), "not compared") for x, side in zip("AB", wanted, strict=True)
        ]
        lost = tuple(
            Entry(kind=model.PACKAGE, name=name, reason=str(error))
            for name in sorted(pinned) or [options.b]
        )
        result = Upgrade(
            a=sides_[0].info, b=sides_[1].info, frameworks=(), pinned=pinned, other_packages=lost
        )
    cut = tuple(f"{what}: {deadline.reason}" for what in deadline.cut)
    return accepted.applied(replace(result, cut=cut), reviewed)


def _judged_upgrade(
    wanted: tuple[Requested, Requested],
    pinned: frozenset[str],
    adapters: Sequence[Adapter],
    options: Options,
) -> Upgrade:
    """Make both versions and compare them.

    Raises:
        OutOfTime: the minutes were over before anything could be compared.
    """
    progress.begin(expected_stages.MAKING)
    pair = resolve(*wanted, pinned, adapters, options.say)
    a, b = side_environments.prepare(pair, options.say, options.lend)
    for line in (*a.lines, *b.lines):
        options.say(line)
    _check(a, b)
    progress.begin(expected_stages.LISTING)
    found = inventory(pair, a, b, options.until("names"))
    for line in (found.summary, *early_answers.of_inventory(found)):
        options.say(line)
    options = replace(options, compared_from=time.time())
    script = None
    if options.script is not None:
        script = compared_trainings.script_training(options.script, pair.imports)
    with _work(a, b, pair.adapters, options, script) as folders:
        result = _compared(pair, a, b, found, folders, options, script)
    judged = tuple(
        _judged(of, adapter, (a, b), options)
        for of, adapter in zip(result.frameworks, pair.adapters, strict=True)
    )
    one_way = coverage.ExecutedCode(
        {training.name: training.b for training in result.traced}
    ).one_way()
    return replace(
        result, frameworks=judged, differing=state.differing(a, b), one_way=tuple(one_way)
    )


def _check_user_file(options: Options) -> None:
    """UserError if there is none, if it is not to be trusted, or if there is no use for it."""
    given = {"--loader": options.loader, "--observations": options.observations}
    if options.checkpoint is None:
        for flag in [
            f for f, path in {**given, "--environment": options.environment}.items() if path
        ]:
            raise UserError(f"{flag} is given without a file to load; name it with --checkpoint")
        return
    for flag, path in {"--checkpoint": options.checkpoint, **given}.items():
        if path is not None and not path.is_file():
            raise UserError(f"{flag} is {path}, and there is no such file")
    if not os.environ.get(TRUST):
        raise UserError(
            f"{options.checkpoint} is not loaded, as a file of an agent can run any code; give "
            "--trust-pickle if you trust who wrote it"
        )
    if options.script is not None or not options.files or options.only_scenarios:
        raise UserError(
            "--checkpoint is loaded beside the files of the built-in trainings; leave out --script "
            "and --no-old-files"
        )


def _check_names(adapters: Sequence[Adapter], options: Options) -> None:
    """UserError for a scenario or an algorithm that no version can have, before any is made."""
    known = []
    for adapter in adapters:
        try:
            known.append({*adapter.trace_trainings(), *adapter.algorithms, *adapter.behavior_only})
        except Exception:  # foreign code of a framework that need not be installed here
            known.append(set())
    if all(known):
        # of a copy without any, as of scripts for gym, the two versions may have some
        _check_titles(set().union(*known), options)


def _check_titles(titles: Iterable[str], options: Options) -> None:
    split = [title.partition(" ") for title in titles]
    algorithms = {algorithm for algorithm, _, _ in split}
    for name in options.algorithms:
        if name not in algorithms:
            raise UserError(
                f"there is no built-in training and no detail of '{name}'; "
                f"{nearest(name, algorithms)}"
            )
    scenarios = sorted({scenario for _, _, scenario in split if scenario})
    for name in options.scenarios or ():
        if name not in scenarios:
            raise UserError(f"unknown scenario '{name}'; {nearest(name, scenarios)}")


def _check(a: Prepared, b: Prepared) -> None:
    pythons = [interpreters.python_of(side.side) for side in (a, b)]
    if pythons[0] != pythons[1]:
        raise UserError(
            f"the old version runs on Python {pythons[0]} and the new version on {pythons[1]}; "
            "bits can only be "
            "compared under one interpreter: make both versions with the same one"
        )


@contextmanager
def _work(
    a: Prepared,
    b: Prepared,
    adapters: Sequence[Adapter],
    options: Options,
    script: Training | None,
) -> Iterator[tuple[Path, Path]]:
    """Where the answers and traces of either side are kept until the gate has ended.

    One that was interrupted, or had too little time, goes on there. A gate that had ended is done
    anew: both sides are recorded in one session on one machine.
    """
    shared = [state.own_digest(), state.machine()]
    shared += [script.key] if script is not None else []
    states = [state.state(side, adapters) for side in (a, b)]
    if options.keep is not None:
        with ExitStack() as stack:
            folders = []
            for of_side in states:
                folder = options.keep / state.key_of([of_side, *shared])
                if folder not in folders:
                    stack.enter_context(cached_folders.locked(folder, options.say))
                folder.mkdir(parents=True, exist_ok=True)
                folders.append(folder)
            yield folders[0], folders[1]
        return
    folder = cached_folders.cache() / "gates" / state.key_of([*states, *shared])
    with cached_folders.locked(folder, options.say):
        if (folder / _FINISHED).exists():
            shutil.rmtree(folder)
        pair = folder / MARKS[0], folder / MARKS[1]
        for of in pair:
            of.mkdir(parents=True, exist_ok=True)
        left = len(list(folder.glob("*/*.trace")))
        if left:
            options.say(f"going on from an interrupted gate: {left} traces are kept")
        try:
            yield pair
        except OutOfTime:
            raise
        except UserError:
            # what cannot be judged once is not gone on with
            shutil.rmtree(folder)
            raise
        if not is_cut():
            (folder / _FINISHED).touch()


def _compared(
    pair: Pair,
    a: Prepared,
    b: Prepared,
    found: Inventory,
    folders: tuple[Path, Path],
    options: Options,
    script: Training | None,
) -> Upgrade:
    """Everything that is compared of both sides."""
    adapters = pair.adapters
    with Sides((a.side, b.side), folders, options.workers, options.say) as sides:
        of_script, ran = None, []
        if script is not None:
            # first: it is what was asked for, and says which details matter to it
            of_script, executed = _script(sides, script.noting(found.others(())), found, options)
            ran.append(executed)
        left_out = [_left_out(adapter, ran, options) for adapter in adapters]
        probed = [_details(names, options) for names in left_out]
        files_of = adapters if options.loads_files else ()
        details_ = expected_stages.of_details(probed, options)
        rest = progress.CommandStage(expected_stages.UNKNOWN, parts=script is None)
        progress.expect([*details_, rest])
        prints = [
            sides.run(
                "-".join([adapter.full_name, "details" if details else "no-details", *names]),
                side_fingerprints.fingerprint,
                adapter,
                details,
                until=options.until("details"),
            )
            for adapter, names, details in zip(adapters, left_out, probed, strict=True)
        ]
        played = sides.run("physics", side_physics.played) if pair.moves_physics else None
        progress.begin(expected_stages.DETAILS)
        results = [_prints(of, adapter) for adapter, of in zip(adapters, prints, strict=True)]
        owned = [
            _Own(adapter, found, prints_, script is None)
            for adapter, prints_ in zip(adapters, results, strict=True)
        ]
        # before anything trains: what differs is known here
        for line in (line for own in owned for line in own.answers):
            options.say(line)
        chosen, one_sided = _trainings(adapters, results, options)
        chosen = [
            [training.noting(found.others(adapter.modules)) for training in trainings]
            for adapter, trainings in zip(adapters, chosen, strict=True)
        ]
        of_frameworks: list[OfFramework] = []
        of_each = zip(owned, chosen, one_sided, left_out, strict=True)
        selects = [
            not options.every and state.same_surroundings(a, b, adapter) for adapter in adapters
        ]
        following = [
            (len(trainings), len(own.differing), bool(own.details.changed), selected)
            for own, trainings, selected in zip(owned, chosen, selects, strict=True)
        ]
        for number, (own, trainings, one_sided_, names_left_out) in enumerate(of_each):
            to_train = [
                *(of.to_train for of in of_frameworks),
                *(own.algorithms_that_differ for own in owned[number:]),
            ]
            progress.expect(
                [
                    *expected_stages.of_trainings(following[number:], options),
                    *expected_stages.of_files(files_of, options),
                    *expected_stages.of_returns(adapters, to_train, options),
                ]
            )
            of, executed = _framework(sides, own, trainings, selects[number], found, options)
            extra = tuple(entries.of_one_sided(one_sided_, own.adapter.full_name))
            built_in = [name for side in own.prints for name in side.algorithms]
            lacks = not_checked.sentences(own.adapter, options, names_left_out, built_in)
            of_frameworks.append(
                replace(of, entries=(*of.entries, *extra), not_checked=tuple(lacks))
            )
            ran.append(executed)
        # last: where time is limited, trainings come first
        progress.begin(expected_stages.FILES)
        saved = [
            sides.between(
                side_files.compared,
                adapter,
                options.algorithms,
                options.both_ways,
                _user_file(options) if adapter is adapters[0] else None,
            )
            for adapter in files_of
        ]
        for number, task in enumerate(saved):
            of = of_frameworks[number]
            files = entries.of_saved(task.result(), of.name)
            if files and not any(file.is_late for file in files):
                unmoved = sum(file.state == model.SAME for file in files)
                options.say(
                    f"{of.name}: {unmoved} of {len(files)} kinds of saved files are the same"
                )
            of_frameworks[number] = replace(of, entries=(*of.entries, *files))
        moved: list[Moved] = []
        if played is not None:
            moved = _moved(played)
            options.say(
                f"physics: {sum(m.moves for m in moved)} of {len(moved)} environments differ"
            )
    unowned = [] if script is not None else _unowned(adapters, found)
    unused = _unused_names(found, of_script, options)
    of_others = _entries_of_others(found, unowned, _together(ran), moved, unused)
    coverage_ = options.min_coverage
    if coverage_ is None:
        # a script is one program: that it runs little of a release is no fault of either
        coverage_ = model.MIN_COVERAGE if script is None else 0.0
    return Upgrade(
        a=a.info,
        b=b.info,
        frameworks=tuple(of_frameworks),
        physics=tuple(moved),
        script=of_script,
        file=options.checkpoint.name if options.checkpoint is not None else "",
        other_packages=tuple(of_others),
        pinned=pair.pinned,
        min_coverage=coverage_,
        fail_on=options.fail_on,
    )


def _left_out(adapter: Adapter, ran: Sequence[_Executed], options: Options) -> list[str]:
    """Families of details that are not probed: the command or its script is about others."""
    names = list(options.algorithms)
    if options.script is not None:
        names = [file for executed in ran for files in executed.headers("functions").values()
                 for file in files if file.partition("/")[0] in adapter.modules]  # fmt: skip
    of_names = [set(re.split(r"[/_.]", name)) for name in names]
    words = set().union(*of_names)
    # without any, nothing is chosen, or it is not known what the script executes
    every = _algorithms() if words else ()
    others = [name for name in every if not adapter.is_about(name, words)]
    # a script may use what is an algorithm's without its class; and which further families A2C
    # uses, which has no details of its own, is known of none
    if options.script or not all(any(adapter.is_about(a, of) for a in every) for of in of_names):
        return sorted(set(others) - words)
    return sorted(requested_names.exclusive_families(others) - words)


def _algorithms() -> frozenset[str]:
    return requested_names.list_algorithms() | requested_names.list_behavior_only()


def _details(left_out: Sequence[str], options: Options) -> list[catalogue.Detail]:
    every = () if options.only_scenarios else catalogue.all_details()
    return [detail for detail in every if detail.family not in left_out]


def _unused_names(found: Inventory, of_script: OfScript | None, options: Options) -> frozenset[str]:
    """Names that are gone or incompatible and that no file of the user can use."""
    if of_script is not None:
        return of_script.names.unused if of_script.names is not None else frozenset()
    if options.accepted is None or not found.broken:
        return frozenset()
    folder, report = options.accepted.resolve().parent, options.report.resolve()
    compared = found.folders("old")
    return names_in_script.unused_below(folder, report, found.broken, found.users, compared)


def _prints(answers: Answers, adapter: Adapter) -> tuple[Fingerprint, Fingerprint]:
    """What probes gave on both versions; nothing if time was over: what was compared still counts.

    Raises:
        UserError: a version gave no answers.
    """
    try:
        return answers[0].result(), answers[1].result()
    except OutOfTime:
        why = note_cut(f"details of {adapter.full_name}")
        late = Fingerprint({}, (), {}, unread={"all details": why}, no_algorithms=why)
        return late, late


def _moved(played: Answers) -> list[Moved]:
    """Environments that both versions have played in time."""
    try:
        return side_physics.compared(played[0].result(), played[1].result())
    except OutOfTime as error:
        note_cut("physics")
        return [Moved(environment="physics", step=None, note=str(error), missing="AB")]


def _user_file(options: Options) -> dict[str, str] | None:
    """The file of a user that both versions load."""
    if options.checkpoint is None:
        return None
    files = {"file": options.checkpoint, "loader": options.loader,
             "observations": options.observations}  # fmt: skip
    absolute = {name: str(path.resolve()) if path else "" for name, path in files.items()}
    return {**absolute, "environment": options.environment}


@dataclass(frozen=True, kw_only=True)
class _Executed:
    """What trainings executed, and what came of them.

    Attributes:
        traces: of the old and of the new version, by name.
        same: name -> file -> functions, of trainings that run no changed code.
        checks: see ``entries.evidence``.
    """

    traces: tuple[Mapping[str, Trace], Mapping[str, Trace]] = field(
        default_factory=lambda: ({}, {})
    )
    same: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)

    def headers(self, key: str) -> dict[str, set[str]]:
        """Training -> what the header of its new version's trace lists under a key."""
        return {name: set(trace.header.get(key, ())) for name, trace in self.traces[1].items()}


def _together(ran: Sequence[_Executed]) -> _Executed:
    return _Executed(
        traces=(
            {name: trace for executed in ran for name, trace in executed.traces[0].items()},
            {name: trace for executed in ran for name, trace in executed.traces[1].items()},
        ),
        same={name: functions_ for executed in ran for name, functions_ in executed.same.items()},
        checks={name: check for executed in ran for name, check in executed.checks.items()},
    )


def _entries_of_others(
    found: Inventory,
    pieces: Sequence[Changed],
    ran: _Executed,
    moved: Sequence[Moved],
    unused: Collection[str],
) -> list[Entry]:
    """Entries that belong to no framework: metadata, packages, files, environments."""
    used = {
        name: imported | ran.headers("opened").get(name, set())
        for name, imported in ran.headers("imported").items()
    }
    packages = ran.headers("distributions_imported")
    executions = coverage.piece_executions(pieces, ran.traces, {}, found.folders("new"), ran.same)
    return [
        *_entries_of(executions, ran, found),
        *entries.of_distributions(entries.of_files(found, ran.checks, used), found.parts),
        *entries.of_metadata(found, unused),
        *entries.of_packages(found, ran.checks, packages),
        *entries.of_environments(moved),
    ]


def _entries_of(
    executions: Sequence[PieceExecution], ran: _Executed, found: Inventory, framework: str = ""
) -> list[Entry]:
    unnamed = entries.unnamed(
        (execution.function for execution in executions), found.folders("new")
    )
    pieces_ = entries.of_pieces(executions, ran.checks, unnamed, outside_training.load(), framework)
    return entries.of_distributions(entries.without_public(pieces_, found.public), found.parts)


class _Own:
    """What of the list of differences belongs to one framework.

    Args:
        prints: what its probes gave on both versions.
        code: whether pieces of code do; those of a script's gate belong to the script.
    """

    def __init__(
        self,
        adapter: Adapter,
        found: Inventory,
        prints: tuple[Fingerprint, Fingerprint],
        code: bool = True,
    ) -> None:
        self.adapter, self.prints = adapter, prints
        versions = [side.versions.get(adapter.packages[0], "") for side in prints]
        later = attribution.of_other_versions(adapter, *versions)
        self.details = side_fingerprints.compared(*prints, later)
        self.defaults = tuple(side_fingerprints.changed_defaults(*prints))
        self.pieces = [piece for piece in found.pieces if code and _owns(adapter, piece)]
        others = _unowned([adapter], found) if code else []
        #: those that its trainings may run, too: of packages that are no framework's.
        self.differing = [piece for piece in (*self.pieces, *others) if piece.counts]

    @property
    def algorithms_that_differ(self) -> list[str]:
        """Algorithms whose details differ: their trainings are expected to diverge."""
        return sorted({detail.id.partition(".")[0] for detail in self.details.changed})

    @property
    def answers(self) -> list[str]:
        """What its probes say, in words."""
        details = self.details
        counted = (
            f"{details.probed} of {details.all} details probed on both versions, "
            f"{len(details.changed)} differ; "
        )
        return [
            f"{self.adapter.full_name}: {counted if details.all else ''}"
            f"{len(self.defaults)} changed defaults",
            *early_answers.of_probes(details.changed, self.defaults),
        ]


def _owns(adapter: Adapter, piece: Changed) -> bool:
    package = piece.file.partition("/")[0]
    return package in adapter.modules or bool(adapter.checkout and package.startswith(adapter.name))


def _unowned(adapters: Sequence[Adapter], found: Inventory) -> list[Changed]:
    """Pieces of packages that are none of these frameworks'."""
    return [piece for piece in found.pieces if not any(_owns(x, piece) for x in adapters)]


def _trainings(
    adapters: Sequence[Adapter],
    probes: Sequence[tuple[Fingerprint, Fingerprint]],
    options: Options,
) -> tuple[list[list[Training]], list[dict[str, str]]]:
    """By framework, what is traced: every algorithm, plain and through its scenarios.

    Also by framework, the titles that only one version has, and which.
    """
    if options.script is not None:
        return [[] for _ in adapters], [{} for _ in adapters]
    every = []
    one_sided: list[dict[str, str]] = []
    for old, new in probes:
        # where the names cannot be read, the trainings themselves say why
        in_old = set(new.algorithms if old.no_algorithms else old.algorithms)
        in_new = set(old.algorithms if new.no_algorithms else new.algorithms)
        every.append([*dict.fromkeys(n for n in (*old.algorithms, *new.algorithms)
                                     if n in in_old & in_new)])  # fmt: skip
        sides = {"old": in_old - in_new, "new": in_new - in_old}
        one_sided.append({name: side for side, names in sides.items() for name in sorted(names)})
    of_details = {id.partition(".")[0] for pair in probes for side in pair for id, _ in side.found}
    names = [n for names in (*one_sided, *every) for n in names]
    if not is_over():
        _check_titles([*names, *(of_details & _algorithms())], options)
    chosen = [
        [compared_trainings.built_in(adapter, name) for name in names if options.traces(name)]
        for adapter, names in zip(adapters, every, strict=True)
    ]
    return chosen, [{n: side for n, side in of.items() if options.traces(n)} for of in one_sided]


def _framework(
    sides: Sides,
    own: _Own,
    trainings: Sequence[Training],
    selects: bool,
    found: Inventory,
    options: Options,
) -> tuple[OfFramework, _Executed]:
    """What fingerprints and traces of one framework say, and what its trainings executed.

    Args:
        selects: leave out trainings that run no code that differs.
    """
    adapter, details, defaults = own.adapter, own.details, own.defaults
    one, other = own.prints
    late = sum(detail.why == LATE for detail in details.not_probed)
    if late:
        note_cut(f"{late} of {details.all} details of {adapter.full_name}")
    differing = own.differing
    lines = {label: [[f.file_on(label.lower()), f.name] for f in differing] for label in "AB"}
    if options.keep is not None:
        # answers that are kept are compared with those of other sides, too: what is executed
        lines = {"A": [], "B": []}
    elif not any(function.how == REMOVED for function in differing):
        del lines["A"]
    known = recordings.SameCode()
    if selects and trainings:
        known = recordings.same_code(sides, adapter, found, trainings, differing, options)
    same, left = known.functions, known.left(trainings)
    held, lost, traces, of = recordings.compared(sides, left, lines, differing, options)
    lost = [*known.unsupported, *lost]
    searched = [training for training in held if training.name not in of]
    found_ = recordings.causes_of(sides, searched, trainings, differing, found.pieces, options)
    causes_ = {**found_, **{name: found_[cause] for name, cause in of.items() if cause in found_}}
    probed = _probed(own.prints)
    executions = coverage.piece_executions(own.pieces, traces, probed, found.folders("new"), same)
    # of what is close, or differs in logs, a culprit may do more than round, or no more than that
    diverged = [
        causes_[training.name]
        for training in held
        if training.name in causes_
        and training.comparison.verdict == "diverged"
        and not training.comparison.trains_the_same
    ]
    executions = direct_calls.called(
        sides, executions, left, traces[1], diverged, found.folders("new"), options.until("calls")
    )
    held = direct_calls.rounded(held, causes_, executions)
    executing = {name for execution in executions for name in execution.trainings}
    spent = time.time() - options.begun
    costs_ = costs.measured(sides, trainings, held, lost, executing, spent)
    name = adapter.full_name
    checks = entries.of_trainings(held, lost, same, name)
    # of the others it is not known which of the changed functions they could do without
    evident = [check for check in checks if check.name not in of]
    changed = {(d.id, d.scope): d for d in details.changed}
    version = other.versions.get(adapter.packages[0], "")
    standing = {key: attribution.standing(adapter, d, version) for key, d in changed.items()}
    evident += entries.of_details(details, standing, name)
    ran = _Executed(traces=traces, same=same, checks=entries.evidence(evident, found_))
    proof = None
    if options.prove:
        folders = found.folders("new")
        proof = _mutation_test(sides, executions, held, trainings, traces[1], folders, options)
    unread = tuple(side_fingerprints.unread(one, other))
    executed = recordings.lines_of(traces[1])
    listed = [
        *attribution.explaining_functions(causes_.values(), details.changed, differing, executions),
        *attribution.shown_functions(executions),
    ]
    pieces = _entries_of(executions, ran, found, name)
    made = OfFramework(
        name=name,
        title=adapter.title,
        module=adapter.modules[0] if adapter.modules else "",
        versions=(one.versions, other.versions),
        entries=entries.of_framework(
            name, checks, details, standing, defaults, unread, pieces
        ),
        details=details,
        standing=standing,
        documented={key: attribution.documented(adapter, d) for key, d in changed.items()},
        defaults=defaults,
        unread=unread,
        traced=tuple(held),
        not_traced=tuple(lost),
        same_code=tuple(same),
        executions=tuple(executions),
        causes=causes_,
        proof=proof,
        hunks=attribution.side_by_side(listed, executed),
        costs=costs_,
    )  # fmt: skip
    return made, ran


def _probed(pair: tuple[Fingerprint, Fingerprint]) -> dict[tuple[str, str], list[str]]:
    """Function -> details whose probes have entered it and were answered on both sides."""
    details: dict[tuple[str, str], list[str]] = {}
    for key, answer in pair[1].found.items():
        other = pair[0].found.get(key)
        if answer.observed is None or other is None or other.observed is None:
            continue
        for function in answer.called | other.called:
            details.setdefault(function, []).append(f"{key[0]} [{key[1]}]")
    return details


def _mutation_test(
    sides: Sides,
    executions: Sequence[PieceExecution],
    held: Sequence[Traced],
    trainings: Sequence[Training],
    traces: Mapping[str, Trace],
    folders: Sequence[str],
    options: Options,
) -> MutationTest:
    names = {t.name for t in held if t.proved}
    options.say(f"seeding up to {options.prove} faults into {len(executions)} changed functions")
    return mutation_test.mutation_test(
        executions,
        {training.name: training for training in trainings},
        {name: trace for name, trace in traces.items() if name in names},
        lambda jobs: sides.record_once("B", jobs),
        options.prove,
        lambda jobs: direct_calls.of_mutants(sides, jobs, folders),
    )


def _script(
    sides: Sides, script: Training, found: Inventory, options: Options
) -> tuple[OfScript, _Executed]:
    progress.begin(f"recording {script.name} on both versions", 2)
    a, b = sides.record([script], {"A": True, "B": True}, until=options.until("script"))
    steps, seconds = None, 0.0
    if script.name in a and script.name in b:
        seconds = max(t[script.name].header.get("wall_seconds", 0.0) for t in (a, b))
        steps = compared_trainings.common_steps(a[script.name], b[script.name])
    if steps:
        options.say(
            f"{script.name} has not ended: its first {steps} environment steps are compared"
        )
        note_cut(f"{script.name} after {steps} environment steps; --steps records fewer")
        script = compared_trainings.cut_training(script, steps)
        a, b = ({script.name: compared_trainings.cut(t[script.name], steps)} for t in (a, b))
    elif steps == 0:
        a, b = {}, {}

    differing = [piece for piece in found.pieces if piece.counts]

    def expect(differs: bool) -> None:
        progress.expect(expected_stages.of_script(seconds, len(differing), differs, options))

    def again(comparison: Comparison) -> tuple[Trace, Trace] | None:
        expect(True)
        options.say("recording the script again, to see whether it repeats itself")
        progress.begin(expected_stages.REPETITION, 2)
        named = compared_trainings.naming(script, comparison)
        one, other = sides.record([named], again=True, until=options.until("causes"))
        if script.name in one and script.name in other:
            return one[script.name], other[script.name]
        note_cut(f"whether {script.name} repeats itself: it counts as different")
        return None

    held: Traced | NotTraced
    if script.name in a and script.name in b:
        expect(False)
        held = compared_trainings.compared(script.name, a[script.name], b[script.name], again)
    else:
        note_cut(f"{script.name}; --steps records fewer environment steps")
        held = compared_trainings.too_late(script, options.minutes)
    word = held.word if isinstance(held, Traced) else "could not be compared"
    options.say(f"script {script.name}: {word}")
    causes_: dict[str, Cause] = {}
    if isinstance(held, Traced):
        check = entries.of_traced(held, "", model.SCRIPT)
        causes_ = recordings.causes_of(sides, [held], [script], differing, found.pieces, options)
    else:
        check = entries.of_not_traced(held, "", model.SCRIPT)
    ran = _Executed(traces=(a, b), checks=entries.evidence([check], causes_))
    executions = coverage.piece_executions(found.pieces, ran.traces, {}, found.folders("new"))
    executions = direct_calls.called(
        sides, executions, [script], b, causes_.values(), found.folders("new"),
        options.until("calls"),
    )  # fmt: skip
    both, neither = ([held], []) if isinstance(held, Traced) else ([], [held])
    executing = {name for execution in executions for name in execution.trainings}
    spent = time.time() - options.begun
    costs_ = costs.measured(sides, [script], both, neither, executing, spent)
    proof = None
    if options.prove and isinstance(held, Traced):
        executed = [execution for execution in executions if execution.trainings]
        proof = _mutation_test(sides, executed, [held], [script], b, found.folders("new"), options)
    executed_lines = recordings.lines_of(b)
    broken = found.broken
    path = Path((options.script or {})["script"])
    names = names_in_script.gone(path, broken, sides) if broken else None
    if names is not None and isinstance(held, Traced) and held.crash is None:
        # what ended in an error may not have imported everything
        places = {place for of in (held.a, held.b) for place in of.header["folders_imported"]}
        old = found.folders("old")
        own = names_in_script.files_of(path, names)
        names = replace(names, unused=names_in_script.unused(broken, own, places, old))
    listed = attribution.explaining_functions(causes_.values(), (), (), executions)
    made = OfScript(
        held=held,
        entries=(
            check,
            *entries.of_rest(script.name, steps or 0),
            *_entries_of(executions, ran, found),
        ),
        executions=tuple(executions),
        causes=causes_,
        proof=proof,
        hunks=attribution.side_by_side(listed, executed_lines),
        names=names,
        costs=costs_,
    )
    return made, ran


def _judged(
    of: OfFramework, adapter: Adapter, sides: tuple[Prepared, Prepared], options: Options
) -> OfFramework:
    names = of.to_train
    if not options.returns or not names:
        return of
    progress.begin(expected_stages.RETURNS)
    if is_over():
        note_cut(f"returns of {', '.join(names)}")
        return of
    options.say(f"{adapter.name}: trainings of {', '.join(names)} on the new version")
    folder = options.report / f"returns-{adapter.name}"
    a, b = (prepared.side for prepared in sides)
    trained = GateOptions(folder, one_look=options.one_look, workers=options.workers)
    try:
        verdict = return_gate.judge(adapter, names, (a, b), trained, options.say)
    except OutOfTime:
        note_cut(f"returns of {', '.join(names)}")
        return of
    entry = entries.of_returns(verdict.verdict, of.name) if verdict is not None else None
    return of.with_returns(verdict, frozenset(return_gate.stored(adapter)), entry)
