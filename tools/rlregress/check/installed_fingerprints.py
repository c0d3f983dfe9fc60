"""Fingerprints of the installed frameworks: the probed variant of every detail in every scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlregress.catalogue import registry
from rlregress.catalogue.implementation import list_implementations
from rlregress.frameworks.base import Adapter


def collect_fingerprint(
    adapters: Sequence[Adapter], detail_ids: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Probe ``detail_ids``, or else all details, on each framework; return versions and variants.

    Returns:
        ``versions``: framework -> package -> version; ``details``: id -> framework -> scope ->
        ``found``, ``documented``, ``observed``.
    """
    details: dict[str, Any] = {}
    for detail in registry.list_details():
        if detail_ids and detail.id not in detail_ids:
            continue
        for adapter in adapters:
            for implementation in list_implementations(adapter, detail.id):
                judgement, documented = implementation.judgement, implementation.documented
                scopes = details.setdefault(detail.id, {}).setdefault(adapter.full_name, {})
                scopes[implementation.scope] = {
                    "found": judgement.variant,
                    "reason": judgement.reason,
                    "documented": documented.variant if documented else None,
                    "observed": judgement.observed.tolist()
                    if judgement.observed is not None
                    else None,
                }
    return {
        "versions": {a.full_name: dict(a.code.map_package_versions()) for a in adapters},
        "details": details,
    }


def list_details_not_as_documented(fingerprint: dict[str, Any]) -> list[str]:
    """List ``detail framework scope`` of probed variants that are not the documented ones."""
    return [
        f"{id} {framework} {scope}"
        for id, frameworks in fingerprint["details"].items()
        for framework, scopes in frameworks.items()
        for scope, answer in scopes.items()
        if answer["found"] != answer["documented"] or answer["found"] is None
    ]
