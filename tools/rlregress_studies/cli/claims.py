"""``rlregress study claims``: checks claims of papers and blogs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from rlregress import suite
from rlregress.catalogue import requested_names, source_index
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.cli import output, waiting
from rlregress.cli.options import Frameworks
from rlregress.frameworks.base import Adapter
from rlregress_studies.claims import claims_text, settle
from rlregress_studies.claims.claim_files import Framework


def claims(
    framework: Frameworks = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Example:

    rlregress study claims --framework sb3

    Probes whether what papers and blogs say of the installed frameworks is true. Exit code 0: every
    verdict is the recorded one, 1: some verdict is another, 2: could not judge.
    """
    raise typer.Exit(
        settle_and_print_claims(
            requested_names.select_adapters(split_comma_separated_names("--framework", framework)),
            as_markdown,
        )
    )


def settle_and_print_claims(adapters: Sequence[Adapter], as_markdown: bool = False) -> int:
    """Settle the claims of the sources and print them; return 1 if one is not as recorded."""
    waiting.probe_all_with_progress(adapters)
    settled = settle.settle_all_claims(adapters)
    output.mark_exit_code_decided()
    differing = claims_text.describe_claims_not_as_recorded(settled)
    if as_markdown:
        items = source_index.load_source_index(suite.locate_baselines() / "sources")
        probed_adapters = [
            Framework(
                name=adapter.name, title=adapter.framework.title, version=adapter.code.version()
            )
            for adapter in adapters
        ]
        answered = settle.probe_subjects_of_items(items, adapters)
        typer.echo(claims_text.make_claims_page(settled, items, answered, probed_adapters))
        return 1 if differing else 0
    claims_text.print_claims(settled)
    output.print_next_steps([suggest_after_claims(differing)])
    return 1 if differing else 0


def suggest_after_claims(differing: Sequence[str]) -> str:
    """Suggest the next step after settling claims."""
    if differing:
        return (
            "Find out whether the sentence or its probe is wrong now, record the verdict in "
            "baselines/claims, and check again: rlregress study claims"
        )
    return "Nothing: every verdict is the recorded one."
