"""``rlregress probe``, ``details`` and ``claims``: what the installed frameworks do."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer

from rlregress import suite
from rlregress.claims import collect, sources
from rlregress.commands import following, output, waiting
from rlregress.details import catalogue
from rlregress.details.implementation import documented
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate import asked, fingerprint
from rlregress.model.claims import Framework
from rlregress.reporting import claims as claims_report
from rlregress.reporting import details as details_report
from rlregress.reporting import fingerprint as fingerprint_report
from rlregress.reporting import next_steps


def probe(adapters: Sequence[Adapter], chosen: frozenset[str], as_json: bool) -> int:
    """Print the fingerprint; 1 if something is not as documented.

    Args:
        chosen: ids of details; none: all.

    Raises:
        UserError: no adapter has a probe of a chosen detail; nothing is printed.
    """
    if chosen and not any(id in chosen for a in adapters for id, _ in a.probes()):
        why = sorted(
            f"{adapter.full_name}: {reason}"
            for adapter in adapters
            for id, reason in adapter.absent().items()
            if id in chosen
        )
        raise UserError(f"no framework can be asked what --detail names; {'; '.join(why)}")
    if not chosen:
        waiting.ask(adapters)
    probed_ = fingerprint.collect(adapters, chosen)
    differing = fingerprint.differing(probed_)
    output.decided()
    if as_json:
        typer.echo(json.dumps(probed_, indent=1))
    else:
        fingerprint_report.show(probed_, differing)
        following.say([next_steps.after_probe(differing)])
    return 1 if differing else 0


def details(id: str | None, adapters: Sequence[Adapter]) -> None:
    """Print one detail in full, a line for each of several, or how many there are.

    Args:
        id: of a detail, of a family, or words of their texts.

    Raises:
        UserError: nothing is called or holds ``id``, or what is documented cannot be read; nothing
            is printed.
    """
    if id is None:
        items = sources.load(suite.baselines() / "sources")
        counted = [asked.count(adapter) for adapter in adapters]
        details_report.counts(catalogue.all_details(), items, counted)
    elif id not in catalogue.ids() and (several := catalogue.of_family(id) or catalogue.naming(id)):
        details_report.several(several)
    else:
        known = {
            adapter.full_name: {of: entry.variant for of, entry in documented(adapter).items()}
            for adapter in adapters
        }
        details_report.one(catalogue.get(id), known)


def claims(adapters: Sequence[Adapter], write: bool) -> int:
    """Settle the claims of the sources and print them; 1 if one is not as recorded."""
    top = suite.checkout("claims --write") if write else None
    waiting.ask(adapters)
    settled = collect.collect(adapters)
    output.decided()
    claims_report.show(settled)
    if top is not None:
        items = sources.load(suite.baselines() / "sources")
        asked_of = [
            Framework(name=each.name, title=each.title, version=each.version()) for each in adapters
        ]
        page = claims_report.page(settled, items, collect.answers(items, adapters), asked_of)
        (top / "docs" / "claims.md").write_text(page, encoding="utf-8")
    differing = claims_report.differing(settled)
    following.say([next_steps.after_claims(differing)])
    return 1 if differing else 0
