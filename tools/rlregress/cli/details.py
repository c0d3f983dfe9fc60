"""``rlregress details``: the catalogue, and which variants are installed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from rlregress import suite
from rlregress.catalogue import registry, requested_names, source_index
from rlregress.catalogue.implementation import (
    load_expectations_of_installed_version,
    load_reasons_of_absent_details,
)
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.check import installed_fingerprints, probe_counts
from rlregress.cli import complete, output, waiting
from rlregress.cli.options import Frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.report import details_text, next_steps

Details = Annotated[
    str | None,
    typer.Option(
        "--detail",
        metavar="IDS",
        help="Ids of details, or their beginnings, such as sac.critic_loss.",
        autocompletion=complete.complete_details,
    ),
]


def details(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[DETAIL]",
            help="Id of a detail, a family such as sac, or words: 'Box 6'.",
            autocompletion=complete.complete_details,
        ),
    ] = None,
    framework: Frameworks = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="Probe which variants installed frameworks have.")
    ] = False,
    detail: Details = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with --installed.")] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="List the details that have no check yet.")
    ] = False,
) -> None:
    """Example:

    rlregress details sac.critic_loss.scale

    Prints the catalogue of implementation details: how many there are, several, or one in full.
    With --installed it prints which variant of each the installed frameworks implement, and the
    exit code is 0 if all are as documented in baselines/details, 1 if one is not. 2: there is no
    such detail, or nothing could be probed.
    With --missing it prints what each framework lacks to be checked for a detail: a probe, an
    expectation, a fault; and what measures the detail in another framework.
    """
    adapters = requested_names.select_adapters(
        split_comma_separated_names("--framework", framework)
    )
    if installed and missing:
        raise UserError("--installed and --missing print different tables; give one of them")
    if installed:
        detail_ids = requested_names.find_detail_ids(
            [*split_comma_separated_names("--detail", detail), *([which] if which else [])]
        )
        raise typer.Exit(probe_and_print_fingerprint(adapters, detail_ids, as_json))
    if detail is not None or as_json:
        raise UserError("--detail and --json go with --installed; give it, or leave them out")
    if missing:
        print_missing_checks_of_adapters(
            requested_names.find_detail_ids([which] if which else []), adapters
        )
    else:
        print_details_of_id(which, adapters)


def print_missing_checks_of_adapters(
    detail_ids: frozenset[str], adapters: Sequence[Adapter]
) -> None:
    """Print the missing probes, expectations and faults of frameworks; no ids: all details."""
    detail_ids = detail_ids or frozenset(registry.list_detail_ids())
    for adapter in adapters:
        lacking, has_none = (
            probe_counts.find_missing_checks_of_details(adapter, detail_ids),
            load_reasons_of_absent_details(adapter),
        )
        who = f"{adapter.full_name} {adapter.code.version()}"
        details_text.print_missing_checks(who, lacking, len(detail_ids - has_none.keys()))


def probe_and_print_fingerprint(
    adapters: Sequence[Adapter], detail_ids: frozenset[str], as_json: bool
) -> int:
    """Print the fingerprint; return 1 if something is not as documented.

    Args:
        detail_ids: ids of details; none: all.

    Raises:
        UserError: no adapter has a probe of a chosen detail; nothing is printed.
    """
    probed = {id for adapter in adapters for id, _ in adapter.observe.list_probes()}
    if not (probed & detail_ids if detail_ids else probed):
        why = sorted(
            {
                f"{adapter} {reason}"
                for adapter in adapters
                for id, reason in load_reasons_of_absent_details(adapter).items()
                if id in detail_ids
            }
            or {f"{adapter} has no probe of one" for adapter in adapters}
        )
        raise UserError(f"no installed framework has any of these details: {'; '.join(why)}")
    if not detail_ids:
        waiting.probe_all_with_progress(adapters)
    fingerprint = installed_fingerprints.collect_fingerprint(adapters, detail_ids)
    differing = installed_fingerprints.list_details_not_as_documented(fingerprint)
    output.mark_exit_code_decided()
    if as_json:
        typer.echo(json.dumps(fingerprint, indent=1))
    else:
        details_text.print_fingerprint(fingerprint, differing)
        output.print_next_steps([next_steps.suggest_after_probe(differing)])
    return 1 if differing else 0


def print_details_of_id(id: str | None, adapters: Sequence[Adapter]) -> None:
    """Print one detail in full, one line for each of several, or the numbers of all details.

    Args:
        id: id of a detail or a family, or words in texts of details; None: all details.

    Raises:
        UserError: nothing matches ``id``, or the expectations cannot be read; nothing is printed.
    """
    if id is None:
        items = source_index.load_source_index(suite.locate_baselines() / "sources")
        counts = [probe_counts.count_probes_of_framework(adapter) for adapter in adapters]
        details_text.print_number_of_details(registry.list_details(), items, counts)
    elif id not in registry.list_detail_ids() and (
        matches := registry.list_details_of_family(id) or registry.search_details(id)
    ):
        details_text.print_details_in_lines(matches)
    else:
        documented_variants = {
            adapter.full_name: {
                place: entry.variant
                for place, entry in load_expectations_of_installed_version(adapter).items()
            }
            for adapter in adapters
        }
        details_text.print_detail(registry.get_detail(id), documented_variants)
