"""``rlregress faults``: the table of seeded faults and what they moved."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rlregress.faults import seeding, traced
from rlregress.faults.probed import Seen, chosen
from rlregress.tracing.processes import last_words
from rlregress.upgrade import optional_faults

#: share of the traced faults that have to be found in the right file and function.
RIGHT = 0.9


def _line(seen: Seen) -> str:
    moved = "; ".join(
        f"{id}: " + ", ".join(f"{found} [{scope}]" for scope, found in scopes.items())
        for id, scopes in sorted(seen.changed.items())
    )
    said = "seen" if seen.detected else "NOT AS EXPECTED"
    line = f"{said:<16}{seen.fault.name}: {moved or 'nothing moved'}"
    if not seen.detected:
        expected = sorted({*seen.fault.turns, *seen.fault.also})
        line += f" (expected: {', '.join(expected)}; {seen.fault.turns[0]}: {seen.fault.finds})"
    return line


def show(frameworks: Sequence[str], names: Sequence[str], workers: int) -> bool:
    """Seed, probe and print, fault by fault; whether all of them were seen as expected."""
    pairs = chosen(frameworks, names)

    seen: list[Seen] = []
    for framework in frameworks:
        faults = [fault for of, fault in pairs if of == framework]
        if not faults:
            continue
        for found in seeding.seed(framework, faults, workers or os.cpu_count() or 1):
            print(f"{framework} {_line(found)}", flush=True)
            seen.append(found)
    detected = sum(found.detected for found in seen)
    print(f"{detected} of {len(seen)} seeded faults were seen as expected")
    return detected == len(seen)


def _traced(found: traced.Found) -> str:
    fault, first = found.fault, found.comparison.first
    said = "found" if found.right else "ELSEWHERE" if found.found else "NOT FOUND"
    name = f"{fault.framework} {fault.algorithm} {fault.name}"
    line = f"{said:<10}{name:<58} {found.comparison.verdict}"
    if first is not None and found.events:
        event = found.events[0]
        line += f", {first.kind} at {event.place} {event.function}"
    if not found.right:
        line += f" (expected: {fault.kind} at {', '.join(fault.at)})"
    if found.failure:
        line += f"; it ended in {last_words(found.failure)}"
    return line


def show_traced(frameworks: Sequence[str], names: Sequence[str], workers: int) -> bool:
    """Seed, trace and print, fault by fault; whether enough were found in the right place."""
    seen: list[traced.Found] = []
    for found in traced.seed(traced.chosen(frameworks, names), workers or os.cpu_count() or 1):
        print(_traced(found), flush=True)
        seen.append(found)
    diverged, right = sum(f.found for f in seen), sum(f.right for f in seen)
    kinds = sum(f.found and f.events != [] and _kind(f) == f.fault.kind for f in seen)
    print(
        f"{diverged} of {len(seen)} found, {right} with the right file and function; "
        f"{kinds} with the expected kind, {sum(f.named for f in seen)} with the changed function "
        "itself in the place or its callers"
    )
    return diverged >= RIGHT * len(seen) and right >= RIGHT * len(seen)


def _kind(found: traced.Found) -> str:
    return found.comparison.first.kind if found.comparison.first is not None else ""


def show_optional(names: Sequence[str], only: Sequence[str], workers: int) -> bool:
    """Seed faults that show only under an option, and print what the scenarios say of each."""

    def say(line: str) -> None:
        print(line, flush=True)

    found = optional_faults.seed(
        optional_faults.chosen(names, only), workers or os.cpu_count() or 1, say
    )
    fitting = [each for each in found if each.seeded is not None]
    for each in found:
        fault, seeded = each.fault, each.seeded
        if seeded is None:
            word = "does not fit this version"
        elif seeded.seen:
            how = "an error" if seeded.comparison is None else "in place" if each.right else "found"
            word = f"{how}, by {seeded.seen}"
        elif seeded.misfit:
            word = f"not seeded: {seeded.misfit}"
        else:
            word = f"run by {len(seeded.trainings)}, not seen" if seeded.trainings else "never run"
        say(f"{fault.framework} {fault.name} ({fault.option}): {word}")
    seen, right = sum(each.seen for each in fitting), sum(each.right for each in fitting)
    share = seen / len(fitting) if fitting else 0.0
    say(
        f"{seen} of {len(fitting)} faults under an option are found ({share:.0%}), {right} where "
        f"they are; {len(found) - len(fitting)} do not fit the installed version"
    )
    return bool(fitting) and share >= 0.9
