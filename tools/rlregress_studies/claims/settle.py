"""Settles claims of sources by probing the installed framework's code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import rlregress_studies
from rlregress import frameworks, suite
from rlregress.catalogue import documented_defaults, hyperparameter_names
from rlregress.catalogue.implementation import (
    AdapterKey,
    list_implementations,
    load_all_expectations,
    make_adapter_key,
)
from rlregress.catalogue.judge import Judgement
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import Item
from rlregress_studies.claims.claim_files import (
    NOT_CHECKABLE,
    UNPROBED,
    Answers,
    Claim,
    SettledClaim,
    find_recorded_verdict,
    load_claims,
)

ABSENT = "absent"


class _Range(Protocol):
    @property
    def since(self) -> str: ...
    @property
    def until(self) -> str | None: ...


#: cache of defaults: each copy of a framework is read once per process
_VALUES: dict[AdapterKey, Mapping[tuple[str, str], Mapping[str, Any]]] = {}


def _judge_detail(adapter: Adapter, detail: str) -> Mapping[str, Judgement]:
    """Return scope -> judgement of a detail."""
    return {
        implementation.scope: implementation.judgement
        for implementation in list_implementations(adapter, detail)
    }


def _read_defaults(adapter: Adapter) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    key = make_adapter_key(adapter)
    if key not in _VALUES:
        _VALUES[key] = adapter.read.read_defaults()
    return _VALUES[key]


@cache
def _read_stated_defaults(path: Path) -> tuple[documented_defaults.Defaults, ...]:
    return documented_defaults.load_documented_defaults(path)


def build_settled_claim(
    claim: Claim, version: str, verdict: str, answers_by_scope: Mapping[str, str], reason: str = ""
) -> SettledClaim:
    """Build the result for a claim from the answers and the record."""
    return SettledClaim(
        claim=claim,
        version=version,
        verdict=verdict,
        recorded=find_recorded_verdict(claim, version),
        answers=answers_by_scope,
        reason=reason,
    )


def settle_claim(claim: Claim, adapter: Adapter) -> SettledClaim:
    """Return the verdict on a claim about the framework of ``adapter``.

    - confirmed: the code does what the claim says, in the named scope, or in any if none is named
    - outdated: it does something else, and another version does what the claim says
    - refuted: it does something else
    - unprobed: nothing could be probed
    """
    version = adapter.code.version()
    if claim.not_checkable:
        return build_settled_claim(claim, "", NOT_CHECKABLE, {}, claim.not_checkable)
    by_scope = {
        scope: answer
        for scope, answer in probe_detail_or_default(adapter, claim.detail, claim.default).items()
        if not claim.scope or scope == claim.scope
    }
    says = [
        statement if claim.detail else documented_defaults.format_value(statement)
        for statement in claim.says
    ]
    fitting = [scope for scope, answer in by_scope.items() if answer in says]
    other_scopes = [scope for scope in by_scope if scope not in fitting]
    if fitting:
        reason = (
            f"of {' and '.join(fitting)}, not of {' and '.join(other_scopes)}"
            if other_scopes
            else ""
        )
        return build_settled_claim(claim, version, "confirmed", by_scope, reason)
    if not by_scope:
        scope = f" in scope {claim.scope}" if claim.scope else ""
        return build_settled_claim(
            claim, version, UNPROBED, {}, f"there is no probe of {claim.subject}{scope}"
        )
    judged = [_judge_detail(adapter, claim.detail)[s] for s in by_scope] if claim.detail else []
    if any(judgement.variant is None for judgement in judged):
        lacking = next(filter(None, (judgement.lacking for judgement in judged)), "")
        result = build_settled_claim(
            claim, version, UNPROBED, by_scope, lacking or "no variant could be determined"
        )
        return replace(result, lacking=lacking)
    elsewhere = _describe_versions_that_claim_fits(claim, adapter, list(by_scope), says, version)
    return build_settled_claim(
        claim, version, "outdated" if elsewhere else "refuted", by_scope, elsewhere
    )


def probe_detail_or_default(
    adapter: Adapter, detail: str = "", default: str = ""
) -> dict[str, str]:
    """Return scope -> variant of a detail (or why there is none), or value of a default as text."""
    if detail:
        judged = _judge_detail(adapter, detail)
        return {scope: judgement.variant or judgement.reason for scope, judgement in judged.items()}
    algorithm, _, name = default.partition(".")
    return {
        scope: documented_defaults.format_value(values.get(name, ABSENT))
        for (default_algorithm, scope), values in _read_defaults(adapter).items()
        if default_algorithm == algorithm
    }


def _describe_versions_that_claim_fits(
    claim: Claim, adapter: Adapter, scopes: list[str], says: list[str], version: str
) -> str:
    """Describe the other versions for which the claim is documented."""
    if claim.detail:
        return _format_ranges(
            entry
            for entry in load_all_expectations(adapter)
            if entry.id == claim.detail
            and entry.scope in scopes
            and entry.variant in says
            and not entry.includes_version(version)
        )
    path = documented_defaults.locate_documented_defaults(adapter)
    if not path.exists():  # a framework of a third party
        return ""
    algorithm, _, name = claim.default.partition(".")
    return _format_ranges(
        entry
        for entry in _read_stated_defaults(path)
        if entry.algorithm == algorithm
        and entry.scope in scopes
        and not entry.includes_version(version)
        and documented_defaults.format_value(entry.values.get(name, ABSENT)) in says
    )


def _format_ranges(entries: Iterable[_Range]) -> str:
    words = [
        f"true from {entry.since} on" if entry.until is None else f"true before {entry.until}"
        for entry in entries
    ]
    return "; ".join(dict.fromkeys(words))


#: the title of ``baselines/claims/thesis.toml``.
DOCUMENT = "Janssens 2025, How Stable are Baselines"


def settle_printed_hyperparameter_names(adapter: Adapter) -> Iterator[SettledClaim]:
    """Yield every printed hyperparameter name of a framework, settled."""
    names, version = adapter.read.map_hyperparameters_to_own_names(), adapter.code.version()
    for cell in hyperparameter_names.list_printed_names(adapter.name):
        question = f"name of {cell.algorithm}.{cell.hyperparameter}"
        by_scope = {
            scope: called[cell.hyperparameter]
            for (algorithm, scope), called in names.items()
            if algorithm == cell.algorithm and cell.hyperparameter in called
        }
        right = cell.is_right(names)
        later = cell.wrong_until or ""
        reason = f"true from {later} on" if later and not right else ""
        verdict = "confirmed" if right else "outdated" if later else "refuted"
        recorded = (
            "confirmed"
            if cell.is_recorded_as_right(version)
            else "outdated"
            if later
            else "refuted"
        )
        claim = Claim(
            document=DOCUMENT,
            id=f"{cell.table}.{cell.algorithm}.{cell.row}.{cell.framework}",
            place=f"thesis, appendix D, {cell.table}, names",
            quote=cell.row,
            framework=cell.framework,
            default=question,
            note="" if right else cell.reason,
            says=(cell.printed,),
            verdicts={"": recorded},
        )
        yield build_settled_claim(claim, version, verdict, by_scope, reason)


def settle_all_claims(adapters: Sequence[Adapter]) -> list[SettledClaim]:
    """Settle every claim about one of the frameworks.

    Claims that cannot be checked are included. They are in the order of the files; a claim is
    settled once for each copy of its framework.
    """
    adapter_names = {adapter.name for adapter in adapters}
    left_out = set(frameworks.list_framework_names()) - adapter_names
    results = []
    for claim in load_claims(suite.locate_data_of_package(rlregress_studies, "claims")):
        if claim.not_checkable and claim.framework not in left_out:
            results.append(build_settled_claim(claim, "", NOT_CHECKABLE, {}, claim.not_checkable))
        results += [
            settle_claim(claim, adapter)
            for adapter in adapters
            if adapter.name == claim.framework and not claim.not_checkable
        ]
    names = [
        settled_name
        for adapter in adapters
        for settled_name in settle_printed_hyperparameter_names(adapter)
    ]
    rows = list(dict.fromkeys((name.claim.place, name.claim.quote) for name in names))
    return results + sorted(
        names,
        key=lambda settled_claim: rows.index(
            (settled_claim.claim.place, settled_claim.claim.quote)
        ),
    )


def probe_subjects_of_items(items: Sequence[Item], adapters: Sequence[Adapter]) -> Answers:
    """Return the frameworks' answers to every detail and default that the sources name."""
    subjects = [("detail", id) for item in items for id in item.details]
    subjects += [("default", name) for item in items for name in item.defaults]
    return {
        (kind, name): [probe_detail_or_default(adapter, **{kind: name}) for adapter in adapters]
        for kind, name in subjects
    }
