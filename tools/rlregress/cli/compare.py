"""``rlregress compare``: where frameworks differ in their implementation details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from rlregress.catalogue import requested_names
from rlregress.catalogue.requested_names import split_names
from rlregress.check import comparison
from rlregress.cli import complete, html_option, output, waiting
from rlregress.cli.details import Details
from rlregress.cli.options import Algorithms, Html, typed_command
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.report import comparison_text, harmless, markdown_page, short_summary
from rlregress.report.html import comparison_page
from rlregress.report.html.page import Facts


def _check_algorithms(adapters: Sequence[Adapter], algorithms: Sequence[str]) -> None:
    """Raise UserError for an algorithm without details in one of the frameworks."""
    known_algorithms = requested_names.list_algorithms() | requested_names.list_behavior_only()
    for algorithm in algorithms:
        if algorithm not in known_algorithms:
            raise UserError(
                f"unknown algorithm '{algorithm}'; {suggest_names(algorithm, known_algorithms)}; "
                "other families of details are named with --detail"
            )
        lacking = [
            adapter.framework.title
            for adapter in adapters
            if algorithm not in {id.partition(".")[0] for id, _ in adapter.observe.probes()}
        ]
        if lacking:
            raise UserError(
                f"no details of '{algorithm}' are checked in {' and '.join(lacking)}; compare "
                "frameworks that have it, or leave --algorithm out"
            )


def compare(
    frameworks: Annotated[
        list[str],
        typer.Argument(
            metavar="FRAMEWORK...",
            help="Two or more names, or copies: name@version.",
            autocompletion=complete.complete_frameworks,
        ),
    ],
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Html = "",
    algorithm: Algorithms = None,
    detail: Details = None,
    only_different: Annotated[
        bool, typer.Option("--only-different", help="Leave out what all do the same.")
    ] = False,
) -> None:
    """Example:

    rlregress compare sb3 torchrl --algorithm ppo --only-different

    Prints where frameworks differ in their implementation details, and what follows from it. Exit
    code 0, also where they differ; 1: some detail could not be compared, 2: wrong names.
    """
    if as_markdown and as_json:
        raise UserError("--markdown and --json are two formats; give one of them")
    new_page = html_option.open_page(html, typed_command())
    adapters = requested_names.find_adapters(frameworks)
    comparison.check_distinct_adapters(adapters)
    detail_ids = requested_names.find_detail_ids(split_names("--detail", detail))
    algorithms = split_names("--algorithm", algorithm)
    _check_algorithms(adapters, algorithms)
    left_out = requested_names.excluded_families(algorithms)
    if not detail_ids and not left_out:
        waiting.probe_all(adapters)
    compared = comparison.compare_adapters(adapters, detail_ids, left_out)
    if only_different:
        compared = compared.only_different()
    output.mark_decided()
    new_page.write(
        comparison_page.title(compared), lambda facts: comparison_page.page(compared, facts).html()
    )
    if as_json:
        typer.echo(comparison_text.as_json(compared))
    elif as_markdown:
        facts = Facts(comparison_page.title(compared), "", 0.0, "", "")
        text = markdown_page.format_page(comparison_page.page(compared, facts))
        typer.echo(harmless.escape_markdown(text))
    else:
        comparison_text.print_comparison(compared)
        output.print_next_steps(short_summary.steps([comparison_page.card(compared)]))
    raise typer.Exit(1 if compared.undecided else 0)
