"""``rlregress compare``: where frameworks differ in their implementation details."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress.cli import complete, html_option, output, waiting
from rlregress.cli.options import Html, as_typed
from rlregress.errors import UserError
from rlregress.gate import comparison, selection
from rlregress.reporting import brief
from rlregress.reporting import compare as compare_report
from rlregress.reporting.html import compare as compare_page


def compare(
    frameworks: Annotated[
        list[str],
        typer.Argument(
            metavar="FRAMEWORK...",
            help="Two or more names, or copies: name@version.",
            autocompletion=complete.of_frameworks,
        ),
    ],
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Html = "",
) -> None:
    """Example:

    rlregress compare sb3 torchrl cleanrl

    Prints where frameworks differ in their implementation details, and what follows from it. Exit
    code 0, also where they differ; 1: some detail could not be compared, 2: wrong names.
    """
    if as_markdown and as_json:
        raise UserError("--markdown and --json are two formats; give one of them")
    new_page = html_option.begin(html, as_typed())
    adapters = selection.adapters(frameworks)
    comparison.check(adapters)
    waiting.probe_all(adapters)
    compared = comparison.compare(adapters)
    output.decided()
    new_page.write(compare_page.title(compared), lambda facts: compare_page.page(compared, facts))
    if as_json:
        typer.echo(compare_report.as_json(compared))
    elif as_markdown:
        typer.echo(compare_report.markdown(compared))
    else:
        compare_report.show(compared)
        output.next_steps(brief.steps([compare_page.card(compared)]))
    raise typer.Exit(1 if compared.undecided else 0)
