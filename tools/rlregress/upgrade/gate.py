"""The cascade: fingerprints, traces, physics, what makes them part, and returns where they do."""

from __future__ import annotations

import hashlib
import inspect
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlregress.details import catalogue
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.gate.run import GateOptions
from rlregress.tracing.run import current
from rlregress.tracing.trace import Trace
from rlregress.upgrade import (
    affected,
    cached_folders,
    causes,
    coverage,
    environments,
    explained,
    fingerprints,
    functions,
    interpreters,
    physics,
    proof,
    requested,
    returns,
    scenarios,
    selection,
    state,
    traced,
)
from rlregress.upgrade.environments import Prepared
from rlregress.upgrade.fingerprints import Fingerprint
from rlregress.upgrade.functions import Changed
from rlregress.upgrade.pair import Pair, resolve
from rlregress.upgrade.result import OfFramework, OfScript, Upgrade
from rlregress.upgrade.search import Cause
from rlregress.upgrade.sides import MARKS, Entered, Noted, Sides
from rlregress.upgrade.traced import NotTraced, Traced, Training

_FINISHED = ".finished"
#: share of the details and of the trainings that has to be asked for a verdict.
ASKED = 0.8


@dataclass(frozen=True)
class Options:
    """What ``rlregress gate --from A --to B`` was asked; see the command's help.

    Attributes:
        scenarios: names of the scenarios to trace; None: all of them.
        only_scenarios: trace these alone, no plain training, and ask no details.
        asked: share of the details and of the trainings that has to be asked for a verdict.
        prove: how many faults to seed into what differs; 0: none.
        script: the job of a script that is traced instead of the built-in trainings.
        every: trace also what runs no code that differs.
        returns, one_look: train what has diverged; judge it by the gate of fixed size.
        lend: distributions that both sides have, although only one version installs them.
        keep: answers of a side are those of an earlier gate of this session; of what is reached
            only functions are noted.
    """

    a: str
    b: str
    report: Path
    frameworks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    scenarios: Sequence[str] | None = None
    only_scenarios: bool = False
    asked: float = ASKED
    prove: int = 0
    every: bool = False
    returns: bool = True
    one_look: bool = False
    workers: int = 2
    lend: Sequence[str] = ()
    script: Mapping[str, Any] | None = None
    keep: Path | None = None
    say: Callable[[str], None] = field(default=cached_folders.silent)


def run(options: Options) -> Upgrade:
    """Judge an upgrade.

    Raises:
        UserError: a side cannot be made, or cannot be asked.
    """
    if options.script is not None and options.algorithms:
        raise UserError(
            "a script is traced instead of the built-in trainings, and --algorithm chooses among "
            "those; leave one of the two out"
        )
    asked = (requested.parse(options.a), requested.parse(options.b))
    pinned = affected.packages(*asked)
    adapters = affected.adapters(*asked, pinned, options.frameworks, options.script is not None)
    if not adapters and options.script is None:
        idle = [Prepared(side, current(x), "not made") for x, side in zip("AB", asked, strict=True)]
        return Upgrade(idle[0], idle[1], (), pinned=pinned)
    _check_names(adapters, options)
    pair = resolve(*asked, pinned, adapters, options.say)
    a, b = environments.prepare(pair, options.say, options.lend)
    for line in (*a.lines, *b.lines):
        options.say(line)
    _check(a, b)
    script = None
    if options.script is not None:
        script = traced.script_training(options.script, pair.imports)
    with _work(a, b, pair.adapters, options, script) as folders:
        result = _compared(pair, a, b, folders, options, script)
    judged = tuple(
        _judged(of, adapter, (a, b), options)
        for of, adapter in zip(result.frameworks, pair.adapters, strict=True)
    )
    return replace(result, frameworks=judged, differing=state.differing(a, b))


def _check_names(adapters: Sequence[Adapter], options: Options) -> None:
    """UserError for an algorithm or a scenario that nobody has, before the sides are made."""
    if options.script is not None:
        return
    known = {name for adapter in adapters for name in adapter.trace_trainings()}
    for adapter in adapters:
        known |= {name for of in _of_scenarios(adapter, options) for name in of.algorithms}
    for name in options.algorithms:
        if name not in known:
            raise UserError(f"there is no built-in training of '{name}'; {nearest(name, known)}")


def _check(a: Prepared, b: Prepared) -> None:
    pythons = [interpreters.python_of(side.side) for side in (a, b)]
    if pythons[0] != pythons[1]:
        raise UserError(
            f"side A runs on Python {pythons[0]} and side B on {pythons[1]}; bits can only be "
            "compared under one interpreter: make both sides with the same one"
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

    One that was interrupted goes on there. A gate that had ended is done anew: both sides are
    recorded in one session on one machine.
    """
    shared = [state.own_digest(), state.machine()]
    shared += [script.key] if script is not None else []
    states = [state.state(side, adapters) for side in (a, b)]
    if options.keep is not None:
        with ExitStack() as stack:
            folders = []
            for of_side in states:
                folder = options.keep / _key([of_side, *shared])
                if folder not in folders:
                    stack.enter_context(cached_folders.locked(folder, options.say))
                folder.mkdir(parents=True, exist_ok=True)
                folders.append(folder)
            yield folders[0], folders[1]
        return
    folder = cached_folders.cache() / "gates" / _key([*states, *shared])
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
        except UserError:
            # what cannot be judged once is not gone on with
            shutil.rmtree(folder)
            raise
        (folder / _FINISHED).touch()


def _key(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _compared(
    pair: Pair,
    a: Prepared,
    b: Prepared,
    folders: tuple[Path, Path],
    options: Options,
    script: Training | None,
) -> Upgrade:
    """Everything that is asked of both sides."""
    adapters = pair.adapters
    with Sides((a.side, b.side), folders, options.workers, options.say) as sides:
        details = () if options.only_scenarios else catalogue.all_details()
        name = "no-details" if options.only_scenarios else "details"
        prints = [
            sides.ask(f"{adapter.full_name}-{name}", fingerprints.fingerprint, adapter, details)
            for adapter in adapters
        ]
        played = sides.ask("physics", physics.played) if pair.moves_physics else None
        asked = [(one.result(), other.result()) for one, other in prints]
        chosen = _trainings(adapters, asked, options)
        of_frameworks = [
            _framework(sides, adapter, pair, trainings, state.alike_beside(a, b, adapter), options)
            for adapter, pair, trainings in zip(adapters, asked, chosen, strict=True)
        ]
        of_script = _script(sides, script, options) if script is not None else None
        moved: list[physics.Moved] = []
        if played is not None:
            moved = physics.compared(played[0].result(), played[1].result())
            options.say(
                f"physics: {sum(m.moves for m in moved)} of {len(moved)} environments differ"
            )
    return Upgrade(a, b, tuple(of_frameworks), tuple(moved), of_script)


def _trainings(
    adapters: Sequence[Adapter],
    asked: Sequence[tuple[Fingerprint, Fingerprint]],
    options: Options,
) -> list[list[Training]]:
    """By framework, what is traced: every algorithm, plain and through its scenarios."""
    if options.script is not None:
        return [[] for _ in adapters]
    every = [[name for name in a.algorithms if name in b.algorithms] for a, b in asked]
    offered = [_of_scenarios(adapter, options) for adapter in adapters]
    known = sorted(
        {name for names in every for name in names}
        | {algorithm for of in offered for scenario in of for algorithm in scenario.algorithms}
    )
    for name in options.algorithms:
        if name not in known:
            raise UserError(
                f"there is no built-in training of '{name}'; known: {', '.join(known) or 'none'}"
            )

    def wanted_(name: str) -> bool:
        return not options.algorithms or name in options.algorithms

    def plain_(name: str) -> bool:
        return wanted_(name) and not options.only_scenarios

    return [
        [
            *(traced.built_in(adapter, name) for name in names if plain_(name)),
            *(
                traced.scenario_training(adapter, name, scenario)
                for scenario in of
                for name in scenario.algorithms
                if wanted_(name)
            ),
        ]
        for adapter, names, of in zip(adapters, every, offered, strict=True)
    ]


def _of_scenarios(adapter: Adapter, options: Options) -> list[scenarios.Scenario]:
    every = scenarios.of(adapter)
    if options.scenarios is None:
        return list(every)
    known = sorted({scenario.name for scenario in every})
    for name in options.scenarios:
        if name not in known:
            raise UserError(f"unknown scenario '{name}'; {nearest(name, known)}")
    return [scenario for scenario in every if scenario.name in options.scenarios]


def _framework(
    sides: Sides,
    adapter: Adapter,
    pair: tuple[Fingerprint, Fingerprint],
    trainings: Sequence[Training],
    alike_beside: bool,
    options: Options,
) -> OfFramework:
    """What the fingerprints and the traces of one framework say."""
    one, other = pair
    versions = [side.versions.get(adapter.packages[0], "") for side in pair]
    later = explained.of_other_versions(adapter, *versions)
    details = fingerprints.compared(one, other, later)
    defaults = tuple(
        default
        for default in fingerprints.changed_defaults(one, other)
        if not coverage.beside(f"{default.owner.replace('.', '/')} ", adapter.periphery)
    )
    options.say(
        f"{adapter.full_name}: {details.asked} of {details.all} details asked, "
        f"{len(details.changed)} done differently; {len(defaults)} changed defaults"
    )
    within, beside = coverage.of_the_algorithms(
        functions.changed(one.folders, other.folders), adapter.periphery
    )
    differing = [function for function in within if function.counts]
    lines = {label: [[f.file_on(label.lower()), f.name] for f in differing] for label in "AB"}
    if options.keep is not None:
        # answers that are kept are held against those of other sides, too: what is entered
        lines = {"A": [], "B": []}
    elif not any(function.how == functions.REMOVED for function in differing):
        del lines["A"]
    same: dict[str, Mapping[str, Sequence[str]]] = {}
    if alike_beside and trainings and not options.every:
        same = _same_code(sides, adapter, pair, trainings, differing, options)
    left = [training for training in trainings if training.name not in same]
    held, lost, traces = _traces(sides, left, lines, options)
    reach = tuple(coverage.reach(differing, held, _probed(pair), other.folders, same))
    causes_ = {
        name: causes.with_new(cause, within)
        for name, cause in _causes(sides, held, trainings, differing, options).items()
    }
    proof = None
    if options.prove:
        proof = _prove(sides, reach, held, trainings, traces[1], options)
    changed = {(d.id, d.scope): d for d in details.changed}
    differences = explained.differences(causes_.values(), details.changed, differing)
    return OfFramework(
        adapter.full_name,
        adapter.title,
        adapter.modules[0] if adapter.modules else "",
        (one.versions, other.versions),
        details,
        {key: explained.standing(adapter, d, versions[1]) for key, d in changed.items()},
        {key: explained.documented(adapter, d) for key, d in changed.items()},
        defaults,
        tuple(fingerprints.unread(one, other)),
        tuple(held),
        tuple(lost),
        tuple(same),
        reach,
        len(beside),
        len(within) - len(differing),
        causes_,
        differences,
        proof,
        threshold=options.asked,
        passages=explained.side_by_side([*differences, *(each.function for each in reach)]),
    )


def _same_code(
    sides: Sides,
    adapter: Adapter,
    pair: tuple[Fingerprint, Fingerprint],
    trainings: Sequence[Training],
    differing: Sequence[Changed],
    options: Options,
) -> dict[str, Mapping[str, Sequence[str]]]:
    """Name -> functions entered, of the trainings that run no code by which the sides differ.

    Of the files in which a function differs.
    """
    one, other = pair
    telling = selection.telling(one.folders, other.folders, _sources(adapter))
    if telling.because:
        options.say(f"{adapter.full_name}: every training is traced, as {telling.because}")
        return {}
    if telling.functions:
        files = sorted({function.file for function in differing})
        entered = sides.entering(trainings, telling, other.folders, files)
    else:
        entered = dict.fromkeys((training.name for training in trainings), Entered({}))
    same = {name: of.functions for name, of in entered.items() if of.functions is not None}
    options.say(
        f"{adapter.full_name}: {len(same)} of {len(trainings)} trainings run no code that differs"
    )
    return same


def _sources(adapter: Adapter) -> list[Path]:
    """The source files of an adapter's trainings."""
    file = Path(inspect.getfile(type(adapter)))
    if file.name != "__init__.py":
        return [file]
    return [path for path in file.parent.rglob("*.py") if "probes" not in path.parts]


def _probed(pair: tuple[Fingerprint, Fingerprint]) -> dict[tuple[str, str], list[str]]:
    """Function -> details whose probes have entered it and were answered on both sides."""
    details: dict[tuple[str, str], list[str]] = {}
    for key, answer in pair[1].found.items():
        other = pair[0].found.get(key)
        if answer.observed is None or other is None or other.observed is None:
            continue
        for function in answer.entered | other.entered:
            details.setdefault(function, []).append(f"{key[0]} [{key[1]}]")
    return details


def _traces(
    sides: Sides, trainings: Sequence[Training], lines: Mapping[str, Noted], options: Options
) -> tuple[list[Traced], list[NotTraced], tuple[dict[str, Trace], dict[str, Trace]]]:
    """What is held against the other side, what could not be, and the traces themselves."""
    if not trainings:
        return [], [], ({}, {})
    a, b = sides.record(trainings, lines)
    once = {t.name: traced.compared_once(t.name, a[t.name], b[t.name]) for t in trainings}
    parted = [training for training in trainings if traced.parts(once[training.name])]
    again: tuple[dict[str, Trace], dict[str, Trace]] = {}, {}
    if parted:
        options.say(
            f"recording {len(parted)} trainings again, to see whether they repeat themselves"
        )
        again = sides.record(parted, again=True)
    held, lost = [], []
    for training in trainings:
        name = training.name
        comparison = once[name]
        if isinstance(comparison, NotTraced):
            lost.append(comparison)
            if comparison.counts:
                options.say(f"{training.owner} {comparison}")
            continue
        repetitions = (again[0][name], again[1][name]) if name in again[0] else None
        both = traced.with_repetitions(name, comparison, a[name], b[name], repetitions)
        held.append(both)
        if not both.proved or both.plain:
            options.say(f"{training.owner} {name}: {both.word}")
    return held, lost, (a, b)


def _causes(
    sides: Sides,
    held: Sequence[Traced],
    trainings: Sequence[Training],
    differing: Sequence[Changed],
    options: Options,
) -> dict[str, Cause]:
    """What makes trainings part: changed functions put back."""
    parted = [t for t in held if t.comparison.verdict != "equal" and t.repeats]
    by_name = {training.name: training for training in trainings}
    if parted and differing:
        options.say(f"looking for the functions that make {len(parted)} trainings differ")
    return causes.causes(
        parted, by_name, differing, lambda jobs: sides.record_once("B", list(jobs))
    )


def _prove(
    sides: Sides,
    reach: Sequence[coverage.Reach],
    held: Sequence[Traced],
    trainings: Sequence[Training],
    traces: Mapping[str, Trace],
    options: Options,
) -> proof.Proof:
    names = {t.name for t in held if t.proved}
    options.say(f"seeding up to {options.prove} faults into {len(reach)} changed functions")
    return proof.prove(
        reach,
        {training.name: training for training in trainings},
        {name: trace for name, trace in traces.items() if name in names},
        lambda jobs: sides.record_once("B", jobs),
        options.prove,
    )


def _script(sides: Sides, script: Training, options: Options) -> OfScript:
    a, b = sides.record([script], {"A": True, "B": True})

    def again() -> tuple[Trace, Trace]:
        options.say("recording the script again, to see whether it repeats itself")
        one, other = sides.record([script], again=True)
        return one[script.name], other[script.name]

    held = traced.compared(script.name, a[script.name], b[script.name], again)
    word = held.word if isinstance(held, Traced) else "could not be compared"
    options.say(f"script {script.name}: {word}")
    if isinstance(held, NotTraced):
        return OfScript(held)
    folders = [list(side.header["folders"]) for side in (held.a, held.b)]
    differing = functions.changed(*folders)
    changed = [each for each in differing if each.counts]
    every = coverage.reach(changed, [held], {}, folders[1])
    reach = tuple(each for each in every if each.trainings)
    entered = [each.function for each in reach]
    causes_ = {
        name: causes.with_new(cause, differing)
        for name, cause in _causes(sides, [held], [script], entered, options).items()
    }
    proof = None
    if options.prove:
        proof = _prove(sides, reach, [held], [script], b, options)
    differences = explained.differences(causes_.values(), (), ())
    passages = explained.side_by_side(differences)
    return OfScript(held, reach, len(every) - len(reach), causes_, differences, proof, passages)


def _judged(
    of: OfFramework, adapter: Adapter, sides: tuple[Prepared, Prepared], options: Options
) -> OfFramework:
    names = of.to_train
    if not options.returns or not names:
        return of
    options.say(f"{adapter.name}: trainings of {', '.join(names)} on side B")
    folder = options.report / f"returns-{adapter.name}"
    a, b = (prepared.side for prepared in sides)
    trained = GateOptions(folder, one_look=options.one_look, workers=options.workers)
    verdict = returns.judge(adapter, names, (a, b), trained, options.say)
    return replace(of, returns=verdict, stored=frozenset(returns.stored(adapter)))
