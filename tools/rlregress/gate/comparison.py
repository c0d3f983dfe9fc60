"""Frameworks, or two copies of one, side by side: where they differ and what follows from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rlregress import suite
from rlregress.details import catalogue, expectations
from rlregress.details.implementation import absent as absent_from
from rlregress.details.implementation import implementations
from rlregress.errors import UserError
from rlregress.faults.places import place
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import Comparison, FoundVariant, Row


def _answers(adapter: Adapter, detail: catalogue.Detail) -> tuple[FoundVariant, ...]:
    answers = []
    for implementation in implementations(adapter, detail.id):
        variant = implementation.judgement.variant
        documented = implementation.documented
        known = documented is not None and documented.variant == variant
        answers.append(
            FoundVariant(
                scope=implementation.scope,
                variant=variant,
                meaning=detail.variants[variant].meaning
                if variant
                else implementation.judgement.found,
                deviation=documented.deviation if documented is not None and known else "",
                place=place(implementation),
            )
        )
    return tuple(answers)


def check(adapters: Sequence[Adapter]) -> None:
    """Whether these can be compared.

    Raises:
        UserError: fewer than two adapters, or one of them twice.
    """
    names = [adapter.full_name for adapter in adapters]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise UserError(
            f"'{' '.join(names)}' cannot be compared; expected two or more different frameworks, "
            "or copies of one as in name@version"
        )


def compare(
    adapters: Sequence[Adapter],
    chosen: Collection[str] = (),
    left_out: Collection[str] = (),
) -> Comparison:
    """Probe details on every adapter.

    Args:
        chosen: ids of details; none: all.
        left_out: families of details that are not probed.

    Raises:
        UserError: see ``check``.
    """
    check(adapters)
    rows = []
    lacking = {a.full_name: absent_from(a) for a in adapters}
    for detail in catalogue.all_details():
        if detail.family in left_out or (chosen and detail.id not in chosen):
            continue
        answers = {a.full_name: _answers(a, detail) for a in adapters}
        absent = {a: reasons[detail.id] for a, reasons in lacking.items() if detail.id in reasons}
        answered = {name: given for name, given in answers.items() if given}
        if answered:
            rows.append(Row(detail=detail, answers=answered, absent=absent))
    versions = {a.full_name: a.code.version() for a in adapters}
    return Comparison(versions=versions, rows=tuple(rows))


def compare_documented(versions: Mapping[str, str]) -> Comparison:
    """Return what is documented of frameworks; nothing is probed.

    Args:
        versions: name of a framework, or of a copy as in name@version -> version of its package.
    """
    folder = suite.baselines() / "details"
    known = {
        name: expectations.for_version(expectations.load(folder / name.partition("@")[0]), version)
        for name, version in versions.items()
    }
    rows = []
    for detail in catalogue.all_details():
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
            for name, entries in known.items()
        }
        answered = {name: given for name, given in answers.items() if given}
        if answered:
            rows.append(Row(detail=detail, answers=answered, absent={}))
    return Comparison(versions=versions, rows=tuple(rows))
