"""``rlregress probe``, ``details`` and ``claims``: what the installed frameworks do."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer

from rlregress import suite
from rlregress.claims import collect, sources
from rlregress.commands import following, waiting
from rlregress.details import catalogue
from rlregress.details.implementation import documented
from rlregress.frameworks.base import Adapter
from rlregress.gate import asked, fingerprint
from rlregress.reporting import claims as claims_report
from rlregress.reporting import details as details_report
from rlregress.reporting import fingerprint as fingerprint_report
from rlregress.reporting import next_steps


def probe(adapters: Sequence[Adapter], as_json: bool) -> int:
    """Print the fingerprint; 1 if something is not as documented."""
    waiting.ask(adapters)
    probed_ = fingerprint.collect(adapters)
    differing = fingerprint.differing(probed_)
    if as_json:
        typer.echo(json.dumps(probed_, indent=1))
    else:
        fingerprint_report.show(probed_, differing)
        following.say([next_steps.after_probe(differing)])
    return 1 if differing else 0


def details(id: str | None, adapters: Sequence[Adapter]) -> None:
    """Print one detail in full, the details of a family, or how many there are.

    Raises:
        UserError: there is no such detail or family, or what is documented cannot be read; nothing
            is printed.
    """
    if id is None:
        items = sources.load(suite.baselines() / "sources")
        details_report.counts(items, [asked.count(adapter) for adapter in adapters])
    elif (family := catalogue.of_family(id)) and id not in catalogue.ids():
        details_report.family(family)
    else:
        known = {adapter.full_name: documented(adapter) for adapter in adapters}
        details_report.one(catalogue.get(id), known)


def claims(adapters: Sequence[Adapter], write: bool) -> int:
    """Settle the claims of the sources and print them; 1 if one is not as recorded."""
    top = suite.checkout("claims --write") if write else None
    waiting.ask(adapters)
    settled = collect.collect(adapters)
    claims_report.show(settled)
    if top is not None:
        items = sources.load(suite.baselines() / "sources")
        page = claims_report.page(settled, items, collect.answers(items, adapters), adapters)
        (top / "docs" / "claims.md").write_text(page, encoding="utf-8")
    differing = claims_report.differing(settled)
    following.say([next_steps.after_claims(differing)])
    return 1 if differing else 0
