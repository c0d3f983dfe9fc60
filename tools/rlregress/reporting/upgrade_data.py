"""What ``rlregress gate --from A --to B`` has found, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rlregress.upgrade import explained
from rlregress.upgrade.found import OfFramework, Upgrade
from rlregress.upgrade.traced import Traced


def as_json(found: Upgrade) -> dict[str, Any]:
    """The report as plain data."""
    script = found.script
    return {
        "from": found.a.wanted.text,
        "to": found.b.wanted.text,
        "verdict": found.verdict,
        "exit_code": found.exit_code,
        "sides": {
            side.side.label: {"how": side.how, "because": side.why, "although": side.notes}
            for side in (found.a, found.b)
        },
        "versions": found.differing,
        "frameworks": {of.adapter.full_name: _plain(of) for of in found.frameworks},
        "script": script and {script.name: _trace(script, explained.of_script(found))},
        "physics": [asdict(moved) for moved in found.physics],
    }


def _plain(of: OfFramework) -> dict[str, Any]:
    returns = None
    if of.returns is not None:
        returns = {"verdict": of.returns.verdict, "lines": of.returns.lines}
    return {
        "verdict": of.verdict,
        "versions": [dict(versions) for versions in of.versions],
        "details": [asdict(detail) for detail in of.details],
        "defaults": [asdict(default) for default in of.defaults],
        "defaults_unread": of.unread,
        "one_sided": [{**asdict(one), "counts": one.counts} for one in of.alone],
        "returns": returns,
        "traces": {t.name: _trace(t, explained.of_training(of, t)) for t in of.traced},
    }


def _trace(traced: Traced, links: Sequence[explained.Link]) -> dict[str, Any]:
    return {
        "verdict": traced.comparison.verdict,
        "events": traced.comparison.compared,
        "repeats": traced.repeats,
        "notes": traced.notes,
        "extra_events": dict(Counter(side for side, _ in traced.comparison.extra)),
        "failures": dict(traced.failures),
        "first": _first(traced),
        "details": [
            {"id": link.detail.id, "scope": link.detail.scope, "sure": link.sure} for link in links
        ],
        "reached": asdict(traced.reached),
    }


def _first(traced: Traced) -> dict[str, Any] | None:
    first = traced.comparison.first
    if first is None:
        return None
    return {
        "kind": first.kind,
        "part": first.part,
        "ratio": first.ratio,
        "a": first.a.place if first.a else None,
        "b": first.b.place if first.b else None,
        "functions": [event.function if event else None for event in (first.a, first.b)],
    }
