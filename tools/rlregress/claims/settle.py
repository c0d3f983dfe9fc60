"""The verdict on a claim: what the installed framework's real code says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from rlregress.claims.statements import NOT_CHECKABLE, Claim
from rlregress.details import defaults
from rlregress.details.implementation import Asked, asked, implementations, stated
from rlregress.details.judge import Judgement
from rlregress.frameworks.base import Adapter

UNPROBED = "unprobed"
ABSENT = "absent"


@dataclass(frozen=True)
class Settled:
    """A claim and what was found.

    Attributes:
        version: of the framework under test; empty for a claim that cannot be checked.
        verdict: one of ``statements.VERDICTS``, "not checkable" or "unprobed".
        found: scope -> variant, value or name; the reason where a probe decided nothing.
        reason: what a reader needs beside the verdict.
    """

    claim: Claim
    version: str
    verdict: str
    found: Mapping[str, str]
    reason: str = ""

    @property
    def as_recorded(self) -> bool:
        """Whether the verdict is the recorded one; one that could not be probed never is."""
        return self.verdict == self.claim.recorded(self.version)


class _Range(Protocol):
    @property
    def since(self) -> str: ...
    @property
    def until(self) -> str | None: ...


#: defaults that were asked already: a copy of a framework is asked once per process.
_VALUES: dict[Asked, Mapping[tuple[str, str], Mapping[str, Any]]] = {}


def answers(adapter: Adapter, detail: str) -> Mapping[str, Judgement]:
    """scope -> judgement of a detail."""
    return {each.scope: each.judgement for each in implementations(adapter, detail)}


def _values(adapter: Adapter) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    key = asked(adapter)
    if key not in _VALUES:
        _VALUES[key] = adapter.defaults()
    return _VALUES[key]


@cache
def _stated_defaults(path: Path) -> tuple[defaults.Defaults, ...]:
    return defaults.load(path)


def settle(claim: Claim, adapter: Adapter) -> Settled:
    """The verdict on a claim about the framework of ``adapter``.

    confirmed: the code does what the claim says, in the scope that it names, or in any scope if it
    names none. outdated: it does something else, and another version did, or does, what the claim
    says. refuted: it does something else. unprobed: nothing could be asked.
    """
    version = adapter.version()
    if claim.not_checkable:
        return Settled(claim, "", NOT_CHECKABLE, {}, claim.not_checkable)
    by_scope = {
        scope: answer
        for scope, answer in ask(adapter, claim.detail, claim.default).items()
        if not claim.scope or scope == claim.scope
    }
    says = [one if claim.detail else defaults.spelled(one) for one in claim.says]
    fitting = [scope for scope, answer in by_scope.items() if answer in says]
    others = [scope for scope in by_scope if scope not in fitting]
    if fitting:
        reason = f"of {' and '.join(fitting)}, not of {' and '.join(others)}" if others else ""
        return Settled(claim, version, "confirmed", by_scope, reason)
    if not by_scope:
        scope = f" in scope {claim.scope}" if claim.scope else ""
        return Settled(claim, version, UNPROBED, {}, f"nothing asks {claim.subject}{scope}")
    if claim.detail and any(answers(adapter, claim.detail)[s].variant is None for s in by_scope):
        return Settled(claim, version, UNPROBED, by_scope, "no variant could be told")
    elsewhere = _elsewhere(claim, adapter, list(by_scope), says, version)
    return Settled(claim, version, "outdated" if elsewhere else "refuted", by_scope, elsewhere)


def ask(adapter: Adapter, detail: str = "", default: str = "") -> dict[str, str]:
    """scope -> variant of a detail (or why there is none), or value of a default as text."""
    if detail:
        judged = answers(adapter, detail)
        return {scope: one.variant or one.reason for scope, one in judged.items()}
    algorithm, _, name = default.partition(".")
    return {
        scope: defaults.spelled(values.get(name, ABSENT))
        for (of, scope), values in _values(adapter).items()
        if of == algorithm
    }


def _elsewhere(
    claim: Claim, adapter: Adapter, scopes: list[str], says: list[str], version: str
) -> str:
    """The ranges of other versions for which the claim is documented, in words."""
    if claim.detail:
        return _ranges(
            entry
            for entry in stated(adapter)
            if entry.id == claim.detail
            and entry.scope in scopes
            and entry.variant in says
            and not entry.holds_for(version)
        )
    path = defaults.path_of(adapter)
    if not path.exists():  # a framework of a third party
        return ""
    algorithm, _, name = claim.default.partition(".")
    return _ranges(
        entry
        for entry in _stated_defaults(path)
        if entry.algorithm == algorithm
        and entry.scope in scopes
        and not entry.holds_for(version)
        and defaults.spelled(entry.values.get(name, ABSENT)) in says
    )


def _ranges(entries: Iterable[_Range]) -> str:
    words = [
        f"true from {entry.since} on" if entry.until is None else f"true before {entry.until}"
        for entry in entries
    ]
    return "; ".join(dict.fromkeys(words))


def report(settled: Settled) -> str:
    """The failure text of a claim whose verdict is not the recorded one.

    First line: ``thesis.box6.sb3: refuted (recorded: confirmed)``. Then the sentence, what was
    found, and what to record if the change is intended.
    """
    claim = settled.claim
    found = "; ".join(f"{scope}: {answer}" for scope, answer in settled.found.items())
    record = f'verdict = "{settled.verdict}"'
    before = claim.recorded(settled.version)
    if claim.verdicts and "" not in claim.verdicts:
        record = f'"{settled.version}" = "{settled.verdict}" in its table of verdicts'
    elif before:
        # one verdict holds for every version: what older ones did stays true of them
        record = f'verdict = {{ "<first>" = "{before}", "<changed>" = "{settled.verdict}" }}'
        record += ", with the first version that it holds for and the one that changed"
    lines = [
        f"{claim.id}: {settled.verdict} (recorded: {before or 'nothing'})",
        f"  {claim.place}: {claim.quote}",
        f"  {claim.framework} {settled.version}, {claim.subject}: says "
        f"{' or '.join(str(one) for one in claim.says)}; found {found or 'nothing'}",
    ]
    if settled.reason:
        lines.append(f"  {settled.reason}")
    if settled.verdict != UNPROBED:
        lines.append(
            f"If the change is intended, give the detail its new entry first, then record {record} "
            f"({claim.where})."
        )
    return "\n".join(lines)
