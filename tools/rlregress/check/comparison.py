"""Compares frameworks, or two copies of one framework, by their details."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rlregress import suite
from rlregress.catalogue import expectations, registry
from rlregress.catalogue.implementation import list_implementations
from rlregress.catalogue.implementation import load_reasons_of_absent_details as absent_from
from rlregress.errors import UserError
from rlregress.faults.places import find_deciding_line
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import Comparison, DetailRow, FoundVariant


def _find_variants_of_adapter(
    adapter: Adapter, detail: registry.Detail
) -> tuple[FoundVariant, ...]:
    answers = []
    for implementation in list_implementations(adapter, detail.id):
        variant = implementation.judgement.variant
        documented = implementation.documented
        is_documented = documented is not None and documented.variant == variant
        answers.append(
            FoundVariant(
                scope=implementation.scope,
                variant=variant,
                meaning=detail.variants[variant].meaning
                if variant
                else implementation.judgement.variant_or_reason,
                deviation=documented.deviation if documented is not None and is_documented else "",
                place=find_deciding_line(implementation),
            )
        )
    return tuple(answers)


def check_distinct_adapters(adapters: Sequence[Adapter]) -> None:
    """Raise UserError for fewer than two adapters, or if one occurs twice."""
    names = [adapter.full_name for adapter in adapters]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise UserError(
            f"'{' '.join(names)}' cannot be compared; expected two or more different frameworks, "
            "or copies of one as in name@version"
        )


def compare_adapters(
    adapters: Sequence[Adapter],
    detail_ids: Collection[str] = (),
    skipped_families: Collection[str] = (),
) -> Comparison:
    """Probe details on every adapter, and return the comparison.

    Args:
        detail_ids: details to compare; empty: all.
        skipped_families: families of details that are not probed.

    Raises:
        UserError: see ``check_distinct_adapters``.
    """
    check_distinct_adapters(adapters)
    rows = []
    absent_details = {a.full_name: absent_from(a) for a in adapters}
    for detail in registry.list_details():
        if detail.family in skipped_families or (detail_ids and detail.id not in detail_ids):
            continue
        answers = {a.full_name: _find_variants_of_adapter(a, detail) for a in adapters}
        absent = {
            a: reasons[detail.id] for a, reasons in absent_details.items() if detail.id in reasons
        }
        answered = {
            name: variants_found for name, variants_found in answers.items() if variants_found
        }
        if answered:
            rows.append(DetailRow(detail=detail, answers=answered, absent=absent))
    versions = {a.full_name: a.code.version() for a in adapters}
    return Comparison(versions=versions, rows=tuple(rows))


def list_documented_variants(versions: Mapping[str, str]) -> Comparison:
    """List the documented variants of frameworks side by side. Nothing is probed.

    Args:
        versions: name of a framework, or of a copy as in name@version -> version of its package.
    """
    folder = suite.locate_baselines() / "details"
    documented_entries = {
        name: expectations.filter_by_version(
            expectations.load_expectations(folder / name.partition("@")[0]), version
        )
        for name, version in versions.items()
    }
    rows = []
    for detail in registry.list_details():
        answers = {
            name: tuple(
                FoundVariant(
                    scope=scope,
                    variant=entry.variant,
                    meaning=detail.variants[entry.variant].meaning,
                    deviation=entry.deviation,
                    place=None,
                )
                for (id, scope), entry in sorted(entries.items())
                if id == detail.id
            )
            for name, entries in documented_entries.items()
        }
        answered = {
            name: variants_found for name, variants_found in answers.items() if variants_found
        }
        if answered:
            absent = dict.fromkeys(answers.keys() - answered.keys(), "has none that is documented")
            rows.append(DetailRow(detail=detail, answers=answered, absent=absent))
    return Comparison(versions=versions, rows=tuple(rows))
