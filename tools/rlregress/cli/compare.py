"""``rlregress compare``: where frameworks differ in their implementation details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from rlregress.catalogue import requested_names
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.check import comparison
from rlregress.cli import complete, html_option, output, waiting
from rlregress.cli.details import Details
from rlregress.cli.options import Algorithms, Html, get_typed_command
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.report import comparison_text, harmless, markdown_page, short_summary
from rlregress.report.html import comparison_page
from rlregress.report.html.page import PageInfo


def _check_algorithms_have_details(adapters: Sequence[Adapter], algorithms: Sequence[str]) -> None:
    """Raise UserError for an algorithm without details in one of the frameworks."""
    known_algorithms = (
        requested_names.list_algorithms() | requested_names.list_algorithms_without_returns()
    )
    for algorithm in algorithms:
        if algorithm not in known_algorithms:
            raise UserError(
                f"unknown algorithm '{algorithm}'; {suggest_names(algorithm, known_algorithms)}; "
                "details that belong to no algorithm are selected with --detail"
            )
        lacking = [
            adapter.framework.title
            for adapter in adapters
            if algorithm not in {id.partition(".")[0] for id, _ in adapter.observe.list_probes()}
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
            help="Two or more names of frameworks, or copies: name@version.",
            autocompletion=complete.complete_frameworks,
        ),
    ],
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the matrix as JSON.")] = False,
    html: Html = "",
    algorithm: Algorithms = None,
    detail: Details = None,
    only_different: Annotated[
        bool, typer.Option("--only-different", help="Leave out details that are the same in all.")
    ] = False,
) -> None:
    """Example:

    rlregress compare sb3 torchrl --algorithm ppo --only-different

    Prints where frameworks differ in their implementation details, and what follows from it. Exit
    code 0, also where they differ; 1: some detail could not be compared, 2: wrong names.
    """
    if as_markdown and as_json:
        raise UserError("--markdown and --json are two formats; give one of them")
    new_page = html_option.prepare_requested_page(html, get_typed_command())
    adapters = requested_names.select_adapters(frameworks)
    comparison.check_distinct_adapters(adapters)
    detail_ids = requested_names.find_detail_ids(split_comma_separated_names("--detail", detail))
    algorithms = split_comma_separated_names("--algorithm", algorithm)
    _check_algorithms_have_details(adapters, algorithms)
    left_out = requested_names.list_families_excluded_by_algorithms(algorithms)
    if not detail_ids and not left_out:
        waiting.probe_all_with_progress(adapters)
    compared = comparison.compare_adapters(adapters, detail_ids, left_out)
    if not compared.rows:
        raise UserError(
            f"{' and '.join(map(str, adapters))} have no probe of a detail that is selected; "
            "rlregress details lists all details, name others or leave --algorithm or --detail out"
        )
    if only_different:
        compared = compared.select_different_rows()
    output.mark_exit_code_decided()
    new_page.write_and_print_path(
        comparison_page.format_comparison_title(compared),
        lambda facts: comparison_page.make_page_of_comparison(compared, facts).render_html(),
    )
    if as_json:
        typer.echo(comparison_text.format_comparison_as_json(compared))
    elif as_markdown:
        facts = PageInfo(comparison_page.format_comparison_title(compared), "", 0.0, "", "")
        text = markdown_page.format_page_as_markdown(
            comparison_page.make_page_of_comparison(compared, facts)
        )
        typer.echo(harmless.escape_markdown(text))
    else:
        comparison_text.print_comparison(compared)
        output.print_next_steps(
            short_summary.format_first_steps([comparison_page.make_card_of_comparison(compared)])
        )
    raise typer.Exit(1 if any(row.is_undecided for row in compared.rows) else 0)
