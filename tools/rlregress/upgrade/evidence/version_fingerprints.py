"""Fingerprints of both versions: the answers of their probes, and the probes without an answer.

A comparison has three results: same, different, not probed. A probe without an answer, on one
version or on both, is "not probed": neither equality nor a change.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rlregress.catalogue import registry
from rlregress.catalogue.judge import judge_observation
from rlregress.catalogue.registry import Detail
from rlregress.frameworks.base import Adapter
from rlregress.model.recorded_traces import describe_version_label
from rlregress.model.upgrade_result import (
    ABSENT,
    ERROR,
    LATE,
    NO_PROBE,
    ChangedDefault,
    ChangedDetail,
    DetailResults,
    ProbeAnswer,
    UnprobedDetail,
)
from rlregress.trace.child_processes import find_end_time
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import runtime_process

#: how many of the nearest variants are named with an observation that matches none.
_NEAR = 3

Key = tuple[str, str]
#: file below the folder of its package, and qualified name.
Function = tuple[str, str]


@dataclass(frozen=True)
class Fingerprint:
    """The observations of one version's probes, by (detail id, scope).

    Attributes:
        algorithms: algorithms that have a built-in training.
        no_algorithms: why the algorithms cannot be read; empty: they were read.
        defaults: "<algorithm> <scope>" -> hyperparameter -> value as Python writes it.
        unread: "<algorithm> <scope>" -> why its defaults cannot be read.
        signatures: public class or function -> parameter -> default as Python writes it.
        modules_unread: public module -> why it cannot be imported.
    """

    versions: Mapping[str, str]
    algorithms: tuple[str, ...]
    found: Mapping[Key, ProbeAnswer]
    defaults: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    no_algorithms: str = ""
    modules_unread: Mapping[str, str] = field(default_factory=dict)


def fingerprint_version(
    runtime: Runtime,
    path: Path,
    adapter: Adapter,
    details: Iterable[Detail],
) -> Fingerprint:
    """Probe details in a process of a version; find their variants in this process."""
    return judge_raw_answers(probe_details_on_version(runtime, path, adapter, details))


def probe_details_on_version(
    runtime: Runtime,
    path: Path,
    adapter: Adapter,
    details: Iterable[Detail],
) -> Mapping[str, Any]:
    """Return a version's answers to the probes of some details, as plain data."""
    inputs = {
        detail.id: {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in detail.inputs.items()
        }
        for detail in details
    }
    end_time = find_end_time()
    until = end_time if math.isfinite(end_time) else None
    job = {"framework": adapter.full_name, "inputs": inputs, "until": until}
    module = "rlregress.inside.probe_worker"
    answered: Mapping[str, Any] = runtime_process.run_module_on_version(runtime, path, module, job)
    if any(answer.get("why") == LATE for answer in answered["observed"].values()):
        # not kept: a later command with more time may get the answers that are missing here
        path.unlink(missing_ok=True)
    return answered


def judge_raw_answers(answers: Mapping[str, Any]) -> Fingerprint:
    """Return a version's fingerprint: the variant of each detail, found in the observed numbers."""
    functions: list[Function] = [(file, name) for file, name in answers["functions"]]
    answered: dict[Key, ProbeAnswer] = {}
    for key, observation in answers["observed"].items():
        id, _, scope = key.partition(" ")
        answered[id, scope] = _judge_raw_answer(id, observation, functions)
    return Fingerprint(
        answers["versions"],
        tuple(answers["algorithms"]),
        answered,
        answers["defaults"],
        answers["defaults_unread"],
        answers["signatures"],
        str(answers.get("algorithms_unread", "")),
        answers["signatures_unread"],
    )


def _judge_raw_answer(
    detail_id: str, raw_answer: Mapping[str, Any], functions: list[Function]
) -> ProbeAnswer:
    executed = frozenset(functions[n] for n in raw_answer.get("entered", ()))
    if "error" in raw_answer:
        at = raw_answer.get("place") or {}
        place = f"{at['file']}:{at['line']} in {at['function']}" if at else ""
        why, error_origin = str(raw_answer.get("why", ERROR)), str(raw_answer.get("whose", ""))
        return ProbeAnswer(
            text=str(raw_answer["error"]),
            why=why,
            error_origin=error_origin,
            place=place,
            called=executed,
        )
    detail = registry.get_detail(detail_id)
    judged = judge_observation(detail, raw_answer["observed"])
    near: tuple[tuple[str, tuple[float, ...]], ...] = ()
    if judged.variant is None:
        names = sorted(judged.distances, key=lambda name: judged.distances[name])[:_NEAR]
        near = tuple((n, tuple(map(float, judged.expected[n]))) for n in names)
    return ProbeAnswer(
        text=judged.variant_or_reason,
        variant=judged.variant,
        observed=tuple(raw_answer["observed"]),
        near=near,
        called=executed,
    )


def compare_fingerprints(
    old: Fingerprint, new: Fingerprint, documented_elsewhere: Collection[Key] = ()
) -> DetailResults:
    """Compare the answers of both versions to the same probes.

    Args:
        documented_elsewhere: details documented for other versions only: if both versions lack
            one, there is nothing to probe. Any other detail that both lack counts as not
            checked: the framework may have renamed it.
    """
    same = 0
    changed, not_probed, absent = [], [], []
    gone = ProbeAnswer(text="there is no such probe of this copy", why=NO_PROBE)
    for key in sorted(set(old.found) | set(new.found)):
        before, after = answers = old.found.get(key, gone), new.found.get(key, gone)
        if before.why == after.why == ABSENT and key in documented_elsewhere:
            absent.append(_make_detail_not_probed(key, *answers))
        elif before.observed is None or after.observed is None:
            not_probed.append(_make_detail_not_probed(key, *answers))
        elif before.variant != after.variant or (
            before.variant is None
            and not np.array_equal(before.observed, after.observed, equal_nan=True)
        ):
            changed.append(make_changed_detail(key, *answers))
        else:
            same += 1
    # a recognised variant tells a reader more than an observation that matches none
    changed.sort(key=lambda item: (item.new.variant is None, item.old.variant is None))
    return DetailResults(
        same=same, changed=tuple(changed), not_probed=tuple(not_probed), absent=tuple(absent)
    )


def make_changed_detail(key: Key, old: ProbeAnswer, new: ProbeAnswer) -> ChangedDetail:
    """Return a detail that differs, with its entry of the catalogue."""
    detail = registry.get_detail(key[0])
    meanings = {name: variant.meaning for name, variant in detail.variants.items()}
    return ChangedDetail(
        id=detail.id,
        scope=key[1],
        old=old,
        new=new,
        question=detail.question,
        # a consequence of a documented variant need not be one of an unknown variant
        consequence=detail.consequence if new.variant is not None else "",
        meanings=(meanings.get(old.variant or "", ""), meanings.get(new.variant or "", "")),
    )


def _make_detail_not_probed(key: Key, old: ProbeAnswer, new: ProbeAnswer) -> UnprobedDetail:
    missing = {label: x for label, x in (("old", old), ("new", new)) if x.observed is None}
    answer = next(iter(missing.values()))
    return UnprobedDetail(
        id=key[0],
        scope=key[1],
        label=" and ".join(missing),
        why=answer.why,
        text="; ".join(dict.fromkeys(x.text for x in missing.values())),
        error_origin=answer.error_origin,
        place=answer.place,
    )


def list_changed_defaults(old: Fingerprint, new: Fingerprint) -> list[ChangedDefault]:
    """Return hyperparameters and parameters of both versions whose defaults differ."""
    changed = []
    for before, after in ((old.defaults, new.defaults), (old.signatures, new.signatures)):
        for key in sorted(before.keys() & after.keys()):
            owner, _, scope = key.partition(" ")
            changed += [
                ChangedDefault(
                    owner=f"{owner} [{scope}]" if scope else owner,
                    name=name,
                    old=value,
                    new=after[key][name],
                )
                for name, value in before[key].items()
                if after[key].get(name, value) != value
            ]
    return changed


def describe_unread_defaults(old: Fingerprint, new: Fingerprint) -> list[str]:
    """List defaults that could not be compared, each with the version and the reason.

    Modules that neither version can import are left out: both lack a required package.
    """
    sentences = []
    for label, own, other in (("old", old, new), ("new", new, old)):
        modules = own.modules_unread.keys() - other.modules_unread.keys()
        reasons = {**own.unread, **{f"module {n}": own.modules_unread[n] for n in modules}}
        sentences += [
            f"{key} on {describe_version_label(label)}: {why}"
            for key, why in sorted(reasons.items())
        ]
    return sentences
