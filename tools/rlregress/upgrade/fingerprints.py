"""Fingerprints of both sides: details that are done otherwise, and those that one side cannot say.

A detail that one side cannot be asked about is no change of the framework by itself: the reason
decides what it counts as.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rlregress.details import catalogue
from rlregress.details.judge import judge
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side
from rlregress.upgrade import asking

#: why a probe gave no answer: a package of others is missing, the code is none that the probe
#: knows, or the probe ended in an error.
PACKAGE, UNKNOWN_CODE, ERROR, NO_PROBE = "package", "code", "error", "no probe"

Key = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """What one probe said.

    Attributes:
        variant: as judged; None if no one variant matches, or if there was no answer.
        observed: the vector, or None if there was no answer.
        text: the variant, or why there is none.
        why: "" if there was an answer, else ``PACKAGE``, ``UNKNOWN_CODE`` or ``ERROR``.
    """

    variant: str | None
    observed: tuple[float, ...] | None
    text: str
    why: str = ""


@dataclass(frozen=True)
class Fingerprint:
    """What one side's probes observed, by (detail id, scope).

    Attributes:
        algorithms: those that have a built-in training.
        defaults: "<algorithm> <scope>" -> hyperparameter -> value as Python writes it; in a
            sentence, why they cannot be read.
    """

    versions: Mapping[str, str]
    algorithms: tuple[str, ...]
    found: Mapping[Key, Answer]
    defaults: Mapping[str, Mapping[str, str]] | str = field(default_factory=dict)


def fingerprint(side: Side, kept: Path, adapter: Adapter) -> Fingerprint:
    """Ask every detail on a side; judged here."""
    inputs = {
        detail.id: {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in detail.inputs.items()
        }
        for detail in catalogue.all_details()
    }
    job = {"framework": adapter.full_name, "inputs": inputs}
    answers = asking.ask(side, "rlregress.frameworks.ask", job, kept)
    found: dict[Key, Answer] = {}
    for cell, given in answers["observed"].items():
        id, _, scope = cell.partition(" ")
        found[id, scope] = _answer(id, given)
    algorithms = tuple(answers["algorithms"])
    return Fingerprint(answers["versions"], algorithms, found, answers["defaults"])


def _answer(id: str, given: Mapping[str, Any]) -> Answer:
    if "error" in given:
        return Answer(None, None, str(given["error"]), str(given.get("why", ERROR)))
    judged = judge(catalogue.get(id), given["observed"])
    return Answer(judged.variant, tuple(given["observed"]), judged.found)


@dataclass(frozen=True)
class ChangedDetail:
    """A detail that is not done alike on both sides."""

    id: str
    scope: str
    a: str
    b: str

    @property
    def consequence(self) -> str:
        """What it means for a training."""
        return catalogue.get(self.id).consequence

    @property
    def family(self) -> str:
        """The part of its name that says what it is about."""
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class OneSided:
    """A detail that only one side could be asked.

    Attributes:
        side: label of the side that gave no answer.
        why: ``PACKAGE``, ``UNKNOWN_CODE``, ``ERROR`` or ``NO_PROBE``.
    """

    id: str
    scope: str
    side: str
    why: str
    text: str

    @property
    def counts(self) -> bool:
        """Whether it may be a change of the framework itself."""
        return self.why in (ERROR, NO_PROBE)


def changed(a: Fingerprint, b: Fingerprint) -> tuple[list[ChangedDetail], list[OneSided]]:
    """Details that are done otherwise, and details that only one side could be asked."""
    details, alone = [], []
    for cell in sorted(set(a.found) | set(b.found)):
        one, other = a.found.get(cell), b.found.get(cell)
        if one is None or other is None:
            side = "A" if one is None else "B"
            alone.append(OneSided(*cell, side, NO_PROBE, "there is no such probe of this copy"))
        elif one.observed is None and other.observed is None:
            continue
        elif one.observed is None or other.observed is None:
            side, missing = ("A", one) if one.observed is None else ("B", other)
            alone.append(OneSided(*cell, side, missing.why, missing.text))
        elif one.variant != other.variant:
            details.append(ChangedDetail(*cell, one.text, other.text))
        elif one.variant is None and one.observed != other.observed:
            details.append(ChangedDetail(*cell, _vector(one), _vector(other)))
    return details, alone


@dataclass(frozen=True)
class ChangedDefault:
    """A hyperparameter that has another value if a user sets nothing."""

    algorithm: str
    scope: str
    name: str
    a: str
    b: str


def changed_defaults(a: Fingerprint, b: Fingerprint) -> list[ChangedDefault]:
    """Hyperparameters that both sides have, with other defaults."""
    if isinstance(a.defaults, str) or isinstance(b.defaults, str):
        return []
    found = []
    for cell in a.defaults:
        for name, value in a.defaults[cell].items():
            other = b.defaults.get(cell, {}).get(name, value)
            if other != value:
                algorithm, _, scope = cell.partition(" ")
                found.append(ChangedDefault(algorithm, scope, name, value, other))
    return found


def _vector(answer: Answer) -> str:
    shown = ", ".join(f"{x:.7g}" for x in (answer.observed or ())[:4])
    return f"{answer.text} [{shown}]"
