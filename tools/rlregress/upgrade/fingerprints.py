"""Fingerprints of both sides: what each was asked, what it answered, and what it was not asked.

There are three answers, never two: asked and alike, asked and different, not asked. A probe without
an answer, on one side or on both, is the third: it is neither equality nor a change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rlregress.details import catalogue
from rlregress.details.catalogue import Detail
from rlregress.details.judge import judge
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side
from rlregress.upgrade import side_process

#: why a probe gave no answer: a package of others is missing, the framework does not have what it
#: asks about, the code is none that it knows, it ended in an error, or there is no such probe.
PACKAGE, ABSENT, UNKNOWN_CODE, ERROR, NO_PROBE = "package", "absent", "code", "error", "no probe"
#: whose code raised the error: this library's, or the framework's.
SUITE, FRAMEWORK = "suite", "framework"
#: variants that are named beside an observation that matches none.
_NEAR = 3

Key = tuple[str, str]
#: file below the folder of its package, and qualified name.
Function = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """What one probe said.

    Attributes:
        variant: as judged; None if no one variant matches, or if there was no answer.
        observed: the vector, or None if there was no answer.
        text: the variant, or why there is none.
        why: "" if there was an answer, else ``PACKAGE``, ``ABSENT``, ``UNKNOWN_CODE`` or ``ERROR``.
        whose: of an error, ``SUITE``, ``FRAMEWORK`` or "other".
        place: of an error, where it was raised.
        near: the nearest variants, with what each expects, if none matches.
        entered: functions of the framework that the probe has entered.
    """

    variant: str | None
    observed: tuple[float, ...] | None
    text: str
    why: str = ""
    whose: str = ""
    place: str = ""
    near: tuple[tuple[str, tuple[float, ...]], ...] = ()
    entered: frozenset[Function] = frozenset()


@dataclass(frozen=True)
class Fingerprint:
    """What one side's probes observed, by (detail id, scope).

    Attributes:
        algorithms: those that have a built-in training.
        no_algorithms: why they cannot be read; empty: they are.
        defaults: "<algorithm> <scope>" -> hyperparameter -> value as Python writes it.
        unread: "<algorithm> <scope>" -> why its defaults cannot be read.
        signatures: public class or function -> parameter -> default as Python writes it.
        folders: of the code under test.
    """

    versions: Mapping[str, str]
    algorithms: tuple[str, ...]
    found: Mapping[Key, Answer]
    defaults: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    no_algorithms: str = ""


def fingerprint(side: Side, kept: Path, adapter: Adapter, details: Iterable[Detail]) -> Fingerprint:
    """Ask details on a side; judged here."""
    inputs = {
        detail.id: {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in detail.inputs.items()
        }
        for detail in details
    }
    job = {"framework": adapter.full_name, "inputs": inputs}
    return _read(side_process.ask(side, "rlregress.frameworks.ask", job, kept))


def _read(answers: Mapping[str, Any]) -> Fingerprint:
    functions: list[Function] = [(file, name) for file, name in answers["functions"]]
    answered: dict[Key, Answer] = {}
    for asked, given in answers["observed"].items():
        id, _, scope = asked.partition(" ")
        answered[id, scope] = _answer(id, given, functions)
    return Fingerprint(
        answers["versions"],
        tuple(answers["algorithms"]),
        answered,
        answers["defaults"],
        answers["defaults_unread"],
        answers["signatures"],
        tuple(answers["folders"]),
        str(answers.get("algorithms_unread", "")),
    )


def _answer(id: str, given: Mapping[str, Any], functions: list[Function]) -> Answer:
    entered = frozenset(functions[n] for n in given.get("entered", ()))
    if "error" in given:
        at = given.get("place") or {}
        place = f"{at['file']}:{at['line']} in {at['function']}" if at else ""
        why, whose = str(given.get("why", ERROR)), str(given.get("whose", ""))
        return Answer(None, None, str(given["error"]), why, whose, place, entered=entered)
    detail = catalogue.get(id)
    judged = judge(detail, given["observed"])
    near: tuple[tuple[str, tuple[float, ...]], ...] = ()
    if judged.variant is None:
        names = sorted(judged.distances, key=lambda name: judged.distances[name])[:_NEAR]
        near = tuple((n, tuple(map(float, judged.expected[n]))) for n in names)
    observed = tuple(given["observed"])
    return Answer(judged.variant, observed, judged.found, near=near, entered=entered)


@dataclass(frozen=True)
class ChangedDetail:
    """A detail that is not done alike on both sides."""

    id: str
    scope: str
    a: Answer
    b: Answer

    @property
    def consequence(self) -> str:
        """What it means for a training."""
        return catalogue.get(self.id).consequence

    @property
    def question(self) -> str:
        """What is asked."""
        return catalogue.get(self.id).question

    def meaning(self, answer: Answer) -> str:
        """The formula of a variant in words; empty where there is none."""
        return catalogue.get(self.id).variants[answer.variant].meaning if answer.variant else ""

    @property
    def words(self) -> str:
        """Both variants, or what there is in their place: "half -> none"."""
        return f"{self.a.text} -> {self.b.text}"

    @property
    def entered(self) -> frozenset[Function]:
        """Functions that its probe enters on either side."""
        return self.a.entered | self.b.entered

    def numbers(self) -> list[str]:
        """What was observed, and what the nearest variants expect, where none matches."""
        if self.a.variant is not None and self.b.variant is not None:
            return []
        lines = []
        for label, answer in (("A", self.a), ("B", self.b)):
            lines.append(f"observed on side {label}: {vector(answer.observed or ())}")
            for name, expected in answer.near:
                lines.append(f"  expected of {name}: {vector(expected)}")
        return lines


@dataclass(frozen=True)
class NotAsked:
    """A detail that could not be asked.

    Attributes:
        side: label of the side that gave no answer, or "A and B".
        why: ``PACKAGE``, ``ABSENT``, ``UNKNOWN_CODE``, ``ERROR`` or ``NO_PROBE``.
        text: the reason.
        whose, place: of an error; see ``Answer``.
    """

    id: str
    scope: str
    side: str
    why: str
    text: str
    whose: str = ""
    place: str = ""


@dataclass(frozen=True)
class Details:
    """The three answers.

    Attributes:
        alike: how many were asked on both sides and are done alike.
        absent: those of what neither side has; there is nothing to ask, and they are not counted.
    """

    alike: int = 0
    changed: tuple[ChangedDetail, ...] = ()
    not_asked: tuple[NotAsked, ...] = ()
    absent: tuple[NotAsked, ...] = ()

    @property
    def asked(self) -> int:
        """How many were asked on both sides."""
        return self.alike + len(self.changed)

    @property
    def all(self) -> int:
        """How many there are of what one side has at least."""
        return self.asked + len(self.not_asked)


def compared(a: Fingerprint, b: Fingerprint, later: Collection[Key] = ()) -> Details:
    """What both sides answer to the same probes.

    Args:
        later: details that are documented of other versions alone: where these are absent from
            both sides there is nothing to ask. What else is absent from both is not asked: the
            framework may only call it by another name.
    """
    alike = 0
    changed, not_asked, absent = [], [], []
    gone = Answer(None, None, "there is no such probe of this copy", NO_PROBE)
    for key in sorted(set(a.found) | set(b.found)):
        one, other = a.found.get(key, gone), b.found.get(key, gone)
        if one.why == other.why == ABSENT and key in later:
            absent.append(_not_asked(key, one, other))
        elif one.observed is None or other.observed is None:
            not_asked.append(_not_asked(key, one, other))
        elif one.variant != other.variant or (
            one.variant is None and not _same(one.observed, other.observed)
        ):
            changed.append(ChangedDetail(*key, one, other))
        else:
            alike += 1
    return Details(alike, tuple(changed), tuple(not_asked), tuple(absent))


def _same(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return len(one) == len(other) and bool(
        np.array_equal(np.array(one), np.array(other), equal_nan=True)
    )


def _not_asked(key: Key, one: Answer, other: Answer) -> NotAsked:
    missing = [(label, x) for label, x in (("A", one), ("B", other)) if x.observed is None]
    side = " and ".join(label for label, _ in missing)
    answer = missing[0][1]
    texts = dict.fromkeys(x.text for _, x in missing)
    return NotAsked(*key, side, answer.why, "; ".join(texts), answer.whose, answer.place)


@dataclass(frozen=True)
class ChangedDefault:
    """What a user gets who sets nothing, where it is another value.

    Attributes:
        owner: "<algorithm> [<scope>]", or the class or function that takes the parameter.
    """

    owner: str
    name: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.owner} `{self.name}`: {self.a} -> {self.b}"


def changed_defaults(a: Fingerprint, b: Fingerprint) -> list[ChangedDefault]:
    """Hyperparameters and parameters that both sides have, with other defaults."""
    changed = []
    for key in sorted(set(a.defaults) & set(b.defaults)):
        algorithm, _, scope = key.partition(" ")
        changed += _other(f"{algorithm} [{scope}]", a.defaults[key], b.defaults[key])
    for owner in sorted(set(a.signatures) & set(b.signatures)):
        changed += _other(owner, a.signatures[owner], b.signatures[owner])
    return changed


def _other(owner: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[ChangedDefault]:
    return [
        ChangedDefault(owner, name, value, b[name])
        for name, value in a.items()
        if b.get(name, value) != value
    ]


def unread(a: Fingerprint, b: Fingerprint) -> list[str]:
    """Defaults that could not be compared, each with the side and the reason."""
    return [
        f"{key} on side {label}: {why}"
        for label, side in (("A", a), ("B", b))
        for key, why in sorted(side.unread.items())
    ]


def vector(numbers: tuple[float, ...]) -> str:
    """Numbers as a reader wants them."""
    shown = ", ".join(f"{x:.7g}" for x in numbers[:8])
    return f"[{shown}{', ...' if len(numbers) > 8 else ''}]"
