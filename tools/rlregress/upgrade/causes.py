"""Which of the changed functions move a training: they are put back, to see what it does.

Side A's code of some functions is put into side B, and the training is recorded again. If the trace
is that of side B, none of them moves the training. If it is that of side A, the others are not
needed. Otherwise each half is put back by itself, and so on down to single functions (the search of
A. Zeller, "Yesterday, my program worked. Today, it does not. Why?", 1999). The functions nearest to
the place where the traces part are put back one by one from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlregress.tracing.compare import Divergence, is_answer
from rlregress.tracing.processes import last_words
from rlregress.tracing.trace import Trace
from rlregress.upgrade.functions import CHANGED, Changed, Function
from rlregress.upgrade.traced import Traced, Training, held_against

#: recordings in all, of trainings of so many events or more: a shorter one counts as a part of one,
#: down to the least.
LIMIT = 150
_LONG, _LEAST = 1000, 0.1
#: recordings of one training.
_EACH = 30
#: functions that are put back one by one from the start.
_NEAR = 8
#: trainings that are searched at once.
WAVE = 4
#: what came of putting functions back.
_AS_A, _AS_B, _ELSEWHERE, _FAILED = "as A", "as B", "elsewhere", "failed"

Group = tuple[Changed, ...]
#: records trainings on side B: traces by name.
Record = Callable[[Sequence[Training]], Mapping[str, Trace]]


@dataclass(frozen=True)
class _Came:
    """What came of a group of functions that were put back.

    Attributes:
        said: one of the four words above.
        why: of a failure, its last words.
        misfits: functions of the group that could not be put back, and why.
    """

    said: str
    why: str = ""
    misfits: tuple[tuple[Changed, str], ...] = ()


#: asks for groups, is sent what came of each, and returns the cause.
_Search = Generator[list[Group], Mapping[Group, _Came], "Cause"]


@dataclass(frozen=True)
class Cause:
    """What makes a training part.

    Attributes:
        place: changed functions where the traces part, or that called what stands there.
        alone: the function that makes side B do what side A does when it is put back.
        moving: functions that move the training when they are put back.
        together: functions that move it when all of them are put back, and not with half of them.
        still: functions that do not.
        failed: functions that cannot be put back alone, and why.
        open: functions that were not tried, for want of recordings.
        new: functions that only one side has, and that the named ones call.
    """

    place: tuple[Changed, ...] = ()
    alone: Changed | None = None
    moving: tuple[Changed, ...] = ()
    together: tuple[Changed, ...] = ()
    still: tuple[Changed, ...] = ()
    failed: tuple[tuple[Changed, str], ...] = ()
    open: tuple[Changed, ...] = ()
    new: tuple[Changed, ...] = ()

    @property
    def functions(self) -> tuple[Changed, ...]:
        """The functions that are named, the surest first; none that was shown to do nothing."""
        alone = (self.alone,) if self.alone is not None else ()
        near = tuple(each for each in self.place if each not in self.still)
        return tuple(dict.fromkeys((*alone, *self.moving, *self.together, *near)))


def with_new(cause: Cause, functions: Sequence[Changed]) -> Cause:
    """The cause with the functions of one side alone that its own name, and those that these name.

    They cannot be put back by themselves: they come and go with what calls them.
    """
    alone = [each for each in functions if each.how != CHANGED and not each.at_import]
    left = [each for each in alone if each not in cause.functions]
    found: list[Changed] = []
    named = list(cause.functions)
    while named:
        called = [each for each in left if _calls(named[0], each)]
        found += called
        left = [each for each in left if each not in called]
        named = [*named[1:], *called]
    return replace(cause, new=tuple(found))


def _calls(caller: Changed, function: Changed) -> bool:
    """Whether a function names another: any of a module, a method only in its own file."""
    kind, _, name = function.name.rpartition(".")
    # a class's own methods are called by Python, whoever they belong to
    if name.startswith("__") or (kind and function.file != caller.file):
        return False
    code = "".join(own.code for own in (caller.a, caller.b) if own is not None)
    return f"attr='{name}'" in code or f"id='{name}'" in code


def at(first: Divergence | None, functions: Iterable[Changed]) -> tuple[Changed, ...]:
    """Changed functions where two traces part, the nearest first."""
    if first is None:
        return ()
    frames = []
    for event, side in ((first.b, "b"), (first.a, "a")):
        if event is not None and event.file:
            frames.append((side, event.file, event.line))
            frames += [(side, caller.file, caller.line) for caller in event.callers]
    known = list(functions)
    found = []
    for side, file, line in frames:
        inside = [f for f in known if f.file_on(side) == file and _holds(getattr(f, side), line)]
        # the innermost one
        found += sorted(inside, key=lambda f: -getattr(f, side).first)[:1]
    return tuple(dict.fromkeys(found))


def _holds(function: Function | None, line: int) -> bool:
    return function is not None and function.first <= line <= function.last


def causes(
    parted: Sequence[Traced],
    trainings: Mapping[str, Training],
    functions: Sequence[Changed],
    record: Record,
    limit: float = LIMIT,
) -> dict[str, Cause]:
    """Training -> what makes it part.

    A few at once are searched, one of every place where trainings part before the others. The later
    ones begin with what moves any of the earlier ones: mostly that is all. One that parts at a
    place that moves an earlier one is not searched: the place tells.

    Args:
        trainings: by name.
        functions: those that differ.
        limit: recordings in all, as ``LIMIT``.
    """
    # what diverges before what rounds
    shortest = sorted(parted, key=lambda one: (one.proved, len(one.b.events)))
    places = {one.name: at(one.comparison.first, functions) for one in shortest}
    firsts = {places[one.name] or one.name: one.name for one in reversed(shortest)}
    # one of each place before the others
    order = sorted(shortest, key=lambda one: one.name not in firsts.values())
    found: dict[str, Cause] = {}
    for start in range(0, len(order), WAVE):
        wave = {one.name: one for one in order[start : start + WAVE]}
        known = {each for cause in found.values() for each in _movers(cause)}
        told = {name: Cause(places[name]) for name in wave if known & set(places[name])}
        found.update(told)
        searches = {
            one.name: _search(one, functions, known)
            for one in wave.values()
            if one.name not in told
        }
        limit -= _run(searches, wave, trainings, record, limit, found)
    return {one.name: found[one.name] for one in parted}


def _movers(cause: Cause) -> Group:
    alone = (cause.alone,) if cause.alone is not None else ()
    return (*alone, *cause.moving, *cause.together)


def _run(
    searches: Mapping[str, _Search],
    traced: Mapping[str, Traced],
    trainings: Mapping[str, Training],
    record: Record,
    limit: float,
    found: dict[str, Cause],
) -> float:
    """Run searches side by side, turn by turn; how many recordings it took, as ``LIMIT``."""
    asked: dict[str, list[Group]] = {}
    spent = 0.0
    taken = 0
    of_each = dict.fromkeys(searches, 0)
    for name, search in searches.items():
        _send(name, search, None, asked, found)
    while asked:
        jobs: dict[tuple[str, Group], Training] = {}
        for name, groups in asked.items():
            for group in groups:
                cost = _cost(traced[name])
                if spent + cost <= limit and of_each[name] < _EACH:
                    jobs[name, group] = job(trainings[name], group, taken + len(jobs))
                    of_each[name] += 1
                    spent += cost
        recorded = record(list(jobs.values())) if jobs else {}
        taken += len(jobs)
        for name, groups in list(asked.items()):
            came = {
                group: _came(traced[name], group, recorded[jobs[name, group].name])
                for group in groups
                if (name, group) in jobs
            }
            _send(name, searches[name], came, asked, found)
    return spent


def _cost(one: Traced) -> float:
    return min(max(len(one.b.events) / _LONG, _LEAST), 1.0)


def _send(
    name: str,
    search: _Search,
    came: Mapping[Group, _Came] | None,
    asked: dict[str, list[Group]],
    found: dict[str, Cause],
) -> None:
    try:
        asked[name] = next(search) if came is None else search.send(came)
    except StopIteration as ended:
        asked.pop(name, None)
        found[name] = ended.value


def _search(one: Traced, functions: Sequence[Changed], known: Iterable[Changed]) -> _Search:
    """The nearest functions one by one, the others by halves and halves of halves."""
    near = at(one.comparison.first, functions)
    entered = [each for each in dict.fromkeys((*near, *_entered(one, functions))) if _fits(each)]
    entered.sort(key=lambda each: _distance(each, one.comparison.first, near))
    before = [each for each in entered if each in set(known)]
    alone: Changed | None = None
    moving: list[Changed] = []
    together: list[Changed] = []
    still: list[Changed] = []
    failed: dict[Changed, str] = {}
    open_: list[Changed] = []
    #: groups that move the training, as their halves
    split: list[list[Group]] = []
    groups: list[Group] = [tuple(before)] if before else []
    came: Mapping[Group, _Came] = (yield groups) if before else {}
    if not any(each.said == _AS_A for each in came.values()):
        groups = _first_groups(entered)
        came = (yield groups) if groups else {}
    while groups:
        # what brings side A back makes the others superfluous
        whole = [group for group in groups if group in came and came[group].said == _AS_A]
        looked_at = whole[:1] or groups
        open_ += [each for group in looked_at if group not in came for each in group]
        left: list[Group] = []
        for group in [group for group in looked_at if group in came]:
            said, misfits = came[group].said, dict(came[group].misfits)
            failed.update(misfits)
            rest = tuple(each for each in group if each not in misfits)
            if said == _AS_B and _both_as_b(group, came, split):
                together += rest
            elif said == _AS_B:
                still += rest
            elif len(rest) > 1:
                left += _halves(rest)
                split += [_halves(rest)] if said != _FAILED else []
            elif rest and said == _FAILED:
                failed[rest[0]] = came[group].why
            elif rest and said == _AS_A:
                alone = rest[0]
            else:
                moving += rest
        groups = left
        came = (yield groups) if groups else {}
    if len(still) == len(entered) > 1:
        whole_ = tuple(entered)
        came = yield [whole_]
        if whole_ in came and came[whole_].said in (_AS_A, _ELSEWHERE):
            still, together = [], list(whole_)
    return Cause(
        near,
        alone,
        tuple(moving),
        tuple(together),
        tuple(still),
        tuple(failed.items()),
        tuple(open_),
    )


def _first_groups(ranked: Sequence[Changed]) -> list[Group]:
    """The nearest alone; the others in a group for each package."""
    found: list[Group] = [(each,) for each in ranked[:_NEAR]]
    packages: dict[str, list[Changed]] = {}
    for each in ranked[_NEAR:]:
        packages.setdefault(each.file.partition("/")[0], []).append(each)
    return [*found, *map(tuple, packages.values())]


def _distance(function: Changed, first: Divergence | None, near: Sequence[Changed]) -> int:
    """From the place where traces part: at it, in a file of it, in its folder, in its package."""
    if function in near:
        return near.index(function)
    events = [event for event in (first.b, first.a) if event is not None] if first else []
    files = [event.file for event in events if event.file]
    files += [caller.file for event in events for caller in event.callers]
    if function.file in files:
        return len(near)
    folders = {file.rpartition("/")[0] for file in files[:1]}
    if any(function.file.startswith(f"{folder}/") for folder in folders):
        return len(near) + 1
    packages = {file.partition("/")[0] for file in files}
    return len(near) + (2 if function.file.partition("/")[0] in packages else 3)


def _both_as_b(group: Group, came: Mapping[Group, _Came], split: Sequence[Sequence[Group]]) -> bool:
    """Whether it is a half of what moves the training, and neither half does."""
    return any(
        group in halves and all(half in came and came[half].said == _AS_B for half in halves)
        for halves in split
    )


def _halves(group: Group) -> list[Group]:
    middle = (len(group) + 1) // 2
    return [group[:middle], group[middle:]]


def _fits(function: Changed) -> bool:
    """Whether it can be put back: it, or its class, is on both sides; it does not run at import."""
    return function.counts and None not in function.paths and not function.at_import


def _entered(one: Traced, functions: Iterable[Changed]) -> list[Changed]:
    names = {
        (file, name)
        for side in (one.a, one.b)
        for file, of_file in side.header.get("functions", {}).items()
        for name in of_file
    }
    return [function for function in functions if function.key in names]


def job(training: Training, group: Group, number: int) -> Training:
    """The training on side B with side A's code of some functions."""
    files: dict[tuple[Path, str], list[str]] = {}
    for function in group:
        path = function.paths[0]
        assert path is not None
        files.setdefault((path, function.file), []).append(function.name)
    changes = [
        {"file": file, "functions": names, "text": path.read_text(encoding="utf-8")}
        for (path, file), names in files.items()
    ]
    name = f"{training.name} trial {number}"
    return Training(training.owner, name, {**training.job, "swap": changes})


def _came(one: Traced, group: Group, trace: Trace) -> _Came:
    by_key = {function.key: function for function in group}
    misfits = tuple(
        (by_key[file, name], why) for file, name, why in trace.header.get("misfits", ())
    )
    for said, side in ((_AS_A, one.a), (_AS_B, one.b)):
        if not _refused(trace) - _refused(side) and held_against(side, trace).verdict == "equal":
            return _Came(said, misfits=misfits)
    if trace.failure:
        return _Came(_FAILED, last_words(trace.failure), misfits)
    refused = _refused(trace) - _refused(one.a) - _refused(one.b)
    if refused:
        return _Came(_FAILED, f"{min(refused)[0]} is refused, as on neither side", misfits)
    return _Came(_ELSEWHERE, misfits=misfits)


def _refused(trace: Trace) -> set[tuple[str, str]]:
    """Name and digest of the answers that are words: that the library raises an error."""
    return {
        (event.name, event.parts["value"].digest)
        for event in trace.events
        if is_answer(event) and "value" in event.parts and event.parts["types"].text == "value str"
    }
