"""``rlregress probe``, ``compare``, ``details`` and ``claims``: what frameworks do."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress.cli import complete
from rlregress.cli.options import Frameworks, Html, as_typed, names_of
from rlregress.errors import UserError


def probe(
    framework: Frameworks = None,
    detail: Annotated[
        str | None,
        typer.Option(
            "--detail",
            help="Ids of details, or how they begin, comma-separated; default: all.",
            autocompletion=complete.of_details,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the fingerprint: which variant of every detail the installed frameworks implement.

    Exit code 0: all is as documented in baselines/details, 1: something is not, 2: could not ask.
    """
    from rlregress.commands import frameworks as frameworks_command
    from rlregress.gate import selection

    chosen = selection.details(names_of("--detail", detail))
    adapters = selection.adapters(names_of("--framework", framework))
    raise typer.Exit(frameworks_command.probe(adapters, chosen, as_json))


def compare(
    frameworks_: Annotated[
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
    """Print where frameworks differ in their implementation details, and what follows from it.

    Exit code 0, also where they differ; 1: some detail could not be compared, 2: wrong names.
    """
    from rlregress.commands import following, output, pages, waiting
    from rlregress.gate import comparison, selection
    from rlregress.reporting import brief
    from rlregress.reporting import compare as compare_report
    from rlregress.reporting.html import compare as compare_page

    if as_markdown and as_json:
        raise UserError("--markdown and --json are two formats; give one of them")
    new_page = pages.begin(html, as_typed())
    adapters = selection.adapters(frameworks_)
    comparison.check(adapters)
    waiting.ask(adapters)
    compared = comparison.compare(adapters)
    output.decided()
    new_page.write(compare_page.title(compared), lambda facts: compare_page.page(compared, facts))
    if as_json:
        typer.echo(compare_report.as_json(compared))
    elif as_markdown:
        typer.echo(compare_report.markdown(compared))
    else:
        compare_report.show(compared)
        following.say(brief.steps([compare_page.card(compared)]))
    raise typer.Exit(1 if compared.undecided else 0)


def details(
    detail: Annotated[
        str | None,
        typer.Argument(
            help="Id of one detail, a family of them, such as sac, or words of what they ask.",
            autocompletion=complete.of_details,
        ),
    ] = None,
    framework: Frameworks = None,
) -> None:
    """Print the catalogue of implementation details: counts, several, or one detail in full.

    Words are looked for in ids, questions, consequences, sources and variants: halved, "Box 6".

    Exit code 0, or 2 if there is no such detail.
    """
    from rlregress.commands import frameworks as frameworks_command
    from rlregress.gate import selection

    frameworks_command.details(detail, selection.adapters(names_of("--framework", framework)))


def claims(
    framework: Frameworks = None,
    write: Annotated[bool, typer.Option("--write", help="Write docs/claims.md.")] = False,
) -> None:
    """Probe whether what papers and blogs say of the installed frameworks is true.

    Exit code 0: every verdict is the recorded one, 1: some verdict is another, 2: could not judge.
    """
    from rlregress.commands import frameworks as frameworks_command
    from rlregress.gate import selection

    adapters = selection.adapters(names_of("--framework", framework))
    raise typer.Exit(frameworks_command.claims(adapters, write))
