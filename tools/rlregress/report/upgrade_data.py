"""The result of ``rlregress upgrade`` as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import (
    ComparedTraining,
    UncomparedTraining,
    compute_executed_share,
)
from rlregress.model.upgrade_result import (
    UNDOCUMENTED,
    Culprits,
    FrameworkResult,
    ScriptResult,
    UnprobedDetail,
    Upgrade,
    group_details_by_functions,
    select_details_of_culprits,
)

#: of the data; 3: the two versions are ``old`` and ``new`` in all keys and labels, where 2 had
#: ``from``, ``to``, ``a``, ``b``, ``A`` and ``B``. 2: ``entries`` holds every difference with its
#: state, and every verdict of ``model.differences``, where 1 had ``unchanged as far as asked`` for
#: ``partly checked``.
SCHEMA = 3
#: verdict -> what schema 1 called it.
_BEFORE = {model.PARTLY: "unchanged as far as asked", model.NEW_FAILS: "changed",
           model.REPAIRED: "unchanged as far as asked", model.ROUNDED: "unchanged"}  # fmt: skip


def convert_upgrade_to_plain_data(result: Upgrade) -> dict[str, Any]:
    """Return the report as plain data."""
    checked = result.judgement.coverage
    return {
        "schema": SCHEMA,
        "old": result.old.text,
        "new": result.new.text,
        "verdict": result.verdict,
        "verdict_of_schema_1": _BEFORE.get(result.verdict, result.verdict),
        "headline": result.judgement.headline,
        "exit_code": result.exit_code,
        "coverage": {
            "checked": checked.checked,
            "in_part": checked.in_part,
            "ran": checked.ran,
            "all": checked.all,
            "share": checked.share,
        },
        "states": dict(result.judgement.states),
        "asked": {name: [tally.checked, tally.all] for name, tally in result.tallies.items()},
        "not_checked": result.not_checked,
        "entries": [_convert_entry_to_plain_data(entry) for entry in result.entries],
        "accepted_stale": result.stale,
        "not_done_in_time": result.cut,
        "sides": {
            version.label: {"how": version.how, "because": version.why, "although": version.notes}
            for version in (result.old, result.new)
        },
        "versions": result.differing,
        "frameworks": {
            framework.name: _convert_framework_to_plain_data(result, framework)
            for framework in result.frameworks
        },
        "script": _convert_script_to_plain_data(result.script),
        "physics": [asdict(comparison) for comparison in result.physics],
        "costs": [asdict(cost) for cost in result.costs],
    }


def _convert_entry_to_plain_data(entry: Entry) -> dict[str, Any]:
    plain = {
        "kind": entry.kind,
        "name": entry.name,
        "state": entry.state,
        "key": entry.key,
        "framework": entry.framework,
        "package": entry.package,
        # of a detail its variants as they are called, which programs may compare
        "change": entry.content if entry.summary and entry.kind == model.DETAIL else entry.summary,
        "reason": entry.reason,
        "by": entry.by,
        "notes": entry.notes,
        "file": entry.file,
        "line": entry.line,
        "standing": entry.standing,
        "culprit": entry.culprit,
        "accepted": entry.accepted,
    }
    return {name: value for name, value in plain.items() if value}


def _convert_script_to_plain_data(result: ScriptResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    lines = [asdict(line) for line in result.names.lines] if result.names is not None else []
    if isinstance(result.training, UncomparedTraining):
        return {result.training.name: {"not_traced": dict(result.training.reasons), "names": lines}}
    return {
        result.training.name: {
            "names": lines,
            **_convert_trace_to_plain_data(
                result.training, result.culprits.get(result.training.name), ()
            ),
        }
    }


def _convert_framework_to_plain_data(result: Upgrade, framework: FrameworkResult) -> dict[str, Any]:
    returns = None
    if framework.returns is not None:
        returns = {"verdict": framework.returns.verdict, "lines": framework.returns.lines}
    changed = [execution.function for execution in framework.executions]
    return {
        "verdict": framework.verdict,
        "headline": framework.judgement.soften_unchanged_of_part(result.verdict).headline,
        "versions": [dict(versions) for versions in framework.versions],
        "details_alike": framework.details.same,
        "details": [
            {
                "id": d.id,
                "scope": d.scope,
                "old": d.old.text,
                "new": d.new.text,
                "observed": [d.old.observed, d.new.observed],
                "documented": framework.standing.get((d.id, d.scope), UNDOCUMENTED),
                "functions": [f.entry_name for f in finding.functions],
            }
            for finding in group_details_by_functions(framework.details.changed, changed)
            for d in finding.details
        ],
        "not_asked": [
            _convert_unprobed_to_plain_data(not_probed)
            for not_probed in framework.details.not_probed
        ],
        "absent": [
            _convert_unprobed_to_plain_data(missing) for missing in framework.details.absent
        ],
        "defaults": [asdict(default) for default in framework.defaults],
        "defaults_unread": framework.unread,
        "returns": returns,
        "traces": {
            t.name: _convert_trace_to_plain_data(
                t, framework.culprits.get(t.name), framework.details.changed
            )
            for t in framework.traced
        },
        "not_traced": [
            {
                "name": lost.name,
                "sides": dict(lost.reasons),
                "counts": lost.is_supported_by_both_versions,
            }
            for lost in framework.not_traced
        ],
        "same_code": framework.same_code,
    }


def _convert_unprobed_to_plain_data(detail: UnprobedDetail) -> dict[str, Any]:
    # "whose" and "side" are what CI reads
    keys = {"error_origin": "whose", "label": "side"}
    return {keys.get(name, name): item for name, item in asdict(detail).items()}


def _convert_trace_to_plain_data(
    traced: ComparedTraining, culprits: Culprits | None, details: Any
) -> dict[str, Any]:
    return {
        "verdict": traced.comparison.verdict,
        "events": traced.comparison.compared,
        "not_compared": traced.comparison.not_compared,
        "repeats": traced.repeats,
        "notes": traced.notes,
        "extra_events": dict(Counter(label for label, _ in traced.comparison.extra)),
        "first": _convert_divergence_to_plain_data(traced),
        "cause": culprits and _convert_culprits_to_plain_data(culprits),
        "details": [f"{d.id} [{d.scope}]" for d in select_details_of_culprits(culprits, details)],
        "reached": compute_executed_share(traced.new),
    }


def _convert_culprits_to_plain_data(culprits: Culprits) -> dict[str, Any]:
    return {
        "place": [function.entry_name for function in culprits.place],
        "alone": culprits.alone and culprits.alone.entry_name,
        "moving": [function.entry_name for function in culprits.influencing],
        "together": [function.entry_name for function in culprits.together],
        "whole": culprits.whole,
        "still": [function.entry_name for function in culprits.without_influence],
        "failed": [[function.entry_name, why] for function, why in culprits.failed],
        "not_tried": [function.entry_name for function in culprits.open],
        "new": [function.entry_name for function in culprits.new],
    }


def _convert_divergence_to_plain_data(traced: ComparedTraining) -> dict[str, Any] | None:
    first = traced.comparison.first
    if first is None:
        return None
    return {
        "kind": first.kind,
        "part": first.part,
        "ratio": first.new_to_old_ratio,
        "old": first.old.place if first.old else None,
        "new": first.new.place if first.new else None,
        "functions": [event.function if event else None for event in (first.old, first.new)],
    }
