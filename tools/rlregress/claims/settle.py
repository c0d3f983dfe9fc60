"""The verdict on a claim: what the installed framework's real code says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rlregress import suite
from rlregress.claims.statements import NOT_CHECKABLE, Claim
from rlregress.details import expectations
from rlregress.details.expectations import Expectation
from rlregress.details.implementation import implementations
from rlregress.details.judge import Judgement
from rlregress.frameworks.base import Adapter

UNPROBED = "unprobed"


@dataclass(frozen=True)
class Settled:
    """A claim and what was found.

    Attributes:
        version: of the framework under test; empty for a claim that cannot be checked.
        verdict: one of ``statements.VERDICTS``, "not checkable" or "unprobed".
        found: scope -> variant or value; for an undecided probe the reason.
        reason: what a reader needs beside the verdict.
    """

    claim: Claim
    version: str
    verdict: str
    found: Mapping[str, Any]
    reason: str = ""

    @property
    def as_recorded(self) -> bool:
        """Whether the verdict is the recorded one; one that could not be probed never is."""
        return self.verdict == self.claim.recorded(self.version)


@cache
def answers(adapter: Adapter, detail: str) -> Mapping[str, Judgement]:
    """scope -> judgement of a detail, probed once per process and copy of a framework."""
    return {each.scope: each.judgement for each in implementations(adapter, detail)}


@cache
def _history(framework: str) -> tuple[Expectation, ...]:
    return expectations.load(suite.baselines() / "details" / framework)


def settle(claim: Claim, adapter: Adapter) -> Settled:
    """The verdict on a claim about the framework of ``adapter``.

    confirmed: the code does what the claim says, in the scope that it names, or in any scope if it
    names none. outdated: it does something else, and another version did, or does, what the claim
    says. refuted: it does something else. unprobed: nothing could be asked.
    """
    version = adapter.versions()[adapter.packages[0]]
    if claim.not_checkable:
        return Settled(claim, "", NOT_CHECKABLE, {}, claim.not_checkable)
    if claim.default:
        return _settle_default(claim, adapter, version)
    asked = answers(adapter, claim.detail)
    judged = {s: j for s, j in asked.items() if not claim.scope or s == claim.scope}
    found = {scope: judgement.variant or judgement.reason for scope, judgement in judged.items()}
    fitting = [scope for scope, judgement in judged.items() if judgement.variant in claim.says]
    if fitting:
        others = [scope for scope in judged if scope not in fitting]
        reason = f"of {' and '.join(fitting)}, not of {' and '.join(others)}" if others else ""
        return Settled(claim, version, "confirmed", found, reason)
    if not judged or any(judgement.variant is None for judgement in judged.values()):
        scope = f" in scope {claim.scope}" if claim.scope else ""
        reason = "" if judged else f"no probe asks {claim.detail}{scope}"
        return Settled(claim, version, UNPROBED, found, reason)
    elsewhere = _true_elsewhere(claim, adapter, list(judged), version)
    verdict = "outdated" if elsewhere else "refuted"
    return Settled(claim, version, verdict, found, elsewhere)


def _true_elsewhere(claim: Claim, adapter: Adapter, scopes: Sequence[str], version: str) -> str:
    """The ranges of other versions for which the claim is documented, in words."""
    ranges = [
        f"true from {entry.since} on" if entry.until is None else f"true before {entry.until}"
        for entry in _history(adapter.name)
        if entry.id == claim.detail
        and entry.scope in scopes
        and entry.variant in claim.says
        and not entry.holds_for(version)
    ]
    return "; ".join(dict.fromkeys(ranges))


def _settle_default(claim: Claim, adapter: Adapter, version: str) -> Settled:
    algorithm, _, name = claim.default.partition(".")
    found = {
        scope: _spelled(values.get(name, "absent"))
        for (of, scope), values in adapter.defaults().items()
        if of == algorithm and (not claim.scope or scope == claim.scope)
    }
    says = _spelled(claim.says[0])
    fitting = [scope for scope, value in found.items() if value == says]
    others = [scope for scope in found if scope not in fitting]
    if fitting:
        reason = f"of {' and '.join(fitting)}, not of {' and '.join(others)}" if others else ""
        return Settled(claim, version, "confirmed", found, reason)
    if not found:
        return Settled(claim, version, UNPROBED, {}, f"no defaults of {algorithm} are known")
    return Settled(claim, version, "refuted", found)


def _spelled(value: Any) -> str:
    """A default as text: 1e6, 1000000 and 1000000.0 are the same."""
    if value is None:
        return "none"
    if isinstance(value, bool) or isinstance(value, str):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_spelled(one) for one in value) + "]"
    return f"{float(value):.12g}"


def expected(claim: Claim, version: str) -> str:
    """The recorded verdict in words."""
    return claim.recorded(version) or "nothing"


def report(settled: Settled) -> str:
    """The failure text of a claim whose verdict is not the recorded one."""
    claim = settled.claim
    subject = claim.detail or claim.default
    listed = "; ".join(f"{scope}: {value}" for scope, value in settled.found.items()) or "nothing"
    record = f'verdict = "{settled.verdict}"'
    if claim.verdicts and "" not in claim.verdicts:
        record = f'"{settled.version}" = "{settled.verdict}" in the table of its verdicts'
    lines = [
        f"{claim.id}: {settled.verdict} (recorded: {expected(claim, settled.version)})",
        f"  {claim.place}: {claim.quote}",
        f"  {claim.framework} {settled.version}, {subject}: says "
        f"{' or '.join(str(one) for one in claim.says)}; found {listed}",
    ]
    if settled.reason:
        lines.append(f"  {settled.reason}")
    if settled.verdict != UNPROBED:
        lines.append(f"If the change is intended, record {record} ({claim.where})")
    return "\n".join(lines)
