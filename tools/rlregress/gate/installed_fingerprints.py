"""The fingerprint of the installed frameworks: every detail, in every scope, as it is probed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlregress.details import catalogue
from rlregress.details.implementation import implementations
from rlregress.frameworks.base import Adapter


def collect(adapters: Sequence[Adapter], chosen: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Probe everything, or the details whose ids are ``chosen``.

    Returns:
        ``versions``: framework -> package -> version; ``details``: id -> framework -> scope ->
        ``found``, ``documented``, ``observed``.
    """
    details: dict[str, Any] = {}
    for detail in catalogue.all_details():
        if chosen and detail.id not in chosen:
            continue
        for adapter in adapters:
            for implementation in implementations(adapter, detail.id):
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
        "versions": {a.full_name: dict(a.code.versions()) for a in adapters},
        "details": details,
    }


def differing(fingerprint: dict[str, Any]) -> list[str]:
    """What is not as documented: ``detail framework scope``."""
    return [
        f"{id} {framework} {scope}"
        for id, frameworks in fingerprint["details"].items()
        for framework, scopes in frameworks.items()
        for scope, answer in scopes.items()
        if answer["found"] != answer["documented"] or answer["found"] is None
    ]
