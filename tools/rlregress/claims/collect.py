"""Every claim of the sources about some frameworks, settled; and what the sources name, asked."""

from __future__ import annotations

from collections.abc import Sequence

from rlregress import frameworks, suite
from rlregress.claims.claim_files import load
from rlregress.claims.name_claims import settle_names
from rlregress.claims.settle import probe, settle, settled
from rlregress.frameworks.base import Adapter
from rlregress.model.settled_claims import NOT_CHECKABLE, Answers, Item, Settled


def collect(adapters: Sequence[Adapter]) -> list[Settled]:
    """Every claim about one of the frameworks, settled, and those that cannot be checked.

    In the order of the files; a claim about a framework of which there are several copies comes
    once for each.
    """
    chosen = {adapter.name for adapter in adapters}
    left_out = set(frameworks.names()) - chosen
    found = []
    for claim in load(suite.baselines() / "claims"):
        if claim.not_checkable and claim.framework not in left_out:
            found.append(settled(claim, "", NOT_CHECKABLE, {}, claim.not_checkable))
        found += [
            settle(claim, adapter)
            for adapter in adapters
            if adapter.name == claim.framework and not claim.not_checkable
        ]
    names = [settled_name for adapter in adapters for settled_name in settle_names(adapter)]
    rows = list(dict.fromkeys((name.claim.place, name.claim.quote) for name in names))
    return found + sorted(
        names,
        key=lambda settled_claim: rows.index(
            (settled_claim.claim.place, settled_claim.claim.quote)
        ),
    )


def answers(items: Sequence[Item], adapters: Sequence[Adapter]) -> Answers:
    """What the frameworks answer to everything that asks what the sources name."""
    subjects = [("detail", id) for item in items for id in item.details]
    subjects += [("default", name) for item in items for name in item.defaults]
    return {
        (kind, name): [probe(adapter, **{kind: name}) for adapter in adapters]
        for kind, name in subjects
    }
