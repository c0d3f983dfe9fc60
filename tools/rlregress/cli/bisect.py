"""``rlregress bisect``: the release or commit that changed something."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rlregress import frameworks
from rlregress.bisect import search, symptoms, versions
from rlregress.bisect.symptoms import Symptom
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.cli import output
from rlregress.cli.options import Packages, Report, Steps
from rlregress.cli.parsing import get_script_arguments, refuse_options_without_script
from rlregress.errors import UserError
from rlregress.files import resolve_real_path
from rlregress.frameworks.base import Adapter
from rlregress.inside.run_record import check_folder_is_writable, write_text_atomically
from rlregress.progress import show_progress
from rlregress.report import bisect_text
from rlregress.trace import jobs
from rlregress.upgrade.versions import affected, cached_folders, interpreters, requested, revisions
from rlregress.upgrade.versions.requested import RequestedVersion

_ONE_OF = "--detail, --default, --name, --algorithm, --script or --command"


def bisect(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", show_default=False)],
    new: Annotated[str, typer.Argument(metavar="NEW", show_default=False)],
    detail: Annotated[str, typer.Option(metavar="ID", help="Search changes of this detail.")] = "",
    default: Annotated[
        str, typer.Option(metavar="NAME", help="Search changes of a default: 'td3 minibatch_size'.")
    ] = "",
    name: Annotated[str, typer.Option(metavar="NAME", help="Search changes of this name.")] = "",
    algorithm: Annotated[str, typer.Option(metavar="NAME", help="Algorithm to trace.")] = "",
    scenario: Annotated[str, typer.Option(metavar="NAME", help="Scenario to trace.")] = "",
    script: Annotated[
        str | None, typer.Option(metavar="FILE", help="Search changes of the trace of a script.")
    ] = None,
    command: Annotated[str, typer.Option(metavar="TEXT", help="Search by its exit code.")] = "",
    repo: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Repository to search; OLD is a commit.")
    ] = None,
    first_parent: Annotated[
        bool, typer.Option("--first-parent", help="Follow only the first parent of a merge.")
    ] = False,
    pins: Annotated[
        str, typer.Option("--with", metavar="PINS", help="Packages that every commit runs on.")
    ] = "",
    python: Annotated[
        str, typer.Option(metavar="VERSION", help="Python of all versions: a version, or a path.")
    ] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Find every release that changes it, not the first only.")
    ] = False,
    framework: Annotated[str, typer.Option(metavar="NAME", help="Framework to search.")] = "",
    package: Packages = None,
    steps: Steps = 0,
    report: Report = "report",
) -> None:
    """Example:

    rlregress bisect sb3==2.2.1 sb3==2.8.0 --default "td3 minibatch_size"

    Names the first release, or the first commit of --repo, that changed what is looked for, and the
    function. What follows -- are the arguments of --script. Writes bisect.json. Exit code 0: found,
    3: only a range, as versions between could not be checked, 2: OLD and NEW are the same, or one
    could not be checked.
    """
    targets = [text for text in (detail, default, name, algorithm, script, command) if text]
    if len(targets) != 1:
        count_text = "none" if not targets else str(len(targets))
        raise UserError(f"expected one of {_ONE_OF}, found {count_text}")
    if scenario and not algorithm:
        raise UserError("--scenario needs an algorithm; name it with --algorithm")
    if script is None:
        refuse_options_without_script(context, package or steps)
    if repo is None and first_parent:
        raise UserError("--first-parent applies to commits; name their repository with --repo")
    if repo is None and pins:
        raise UserError("--with applies to commits; name their repository with --repo")
    if repo is not None and every:
        raise UserError("--all names every release, and --repo searches commits; leave one out")
    python = python and interpreters.find_interpreter(python)
    folder = resolve_real_path(report)
    check_folder_is_writable(folder, "the report")
    cached_folders.require_writable_cache()
    repository = None if repo is None else versions.require_repository_folder(repo)
    ends = None
    if repository is None:
        ends = (_parse_end_of_range(old, python), _parse_end_of_range(new, python))
    adapters = _select_adapters_of_versions(
        ends, repository, new, framework, for_script=bool(script or command or name)
    )

    def make_symptom() -> Symptom:
        if script is not None:
            arguments = get_script_arguments(context)
            job = jobs.build_script_job(
                Path(script), arguments, split_comma_separated_names("--package", package), steps
            )
            imports = affected.group_importable_names(*ends) if ends else {}
            return symptoms.make_symptom_of_script(job, imports)
        if command:
            return symptoms.make_symptom_of_command(command)
        if name:
            return symptoms.make_symptom_of_public_name(name)
        if len(adapters) != 1:
            framework_names = ", ".join(adapter.name for adapter in adapters)
            raise UserError(
                f"found several frameworks ({framework_names}), expected one; choose with "
                "--framework"
            )
        if detail:
            return symptoms.make_symptom_of_detail(adapters[0], detail)
        if default:
            return symptoms.make_symptom_of_default(adapters[0], default)
        return symptoms.make_symptom_of_trace(adapters[0], algorithm, scenario)

    with show_progress(typer.echo) as say:
        if repository is not None:
            result = search.search_changing_commit(
                make_symptom(),
                repository,
                (old, new),
                adapters,
                say,
                first_parent,
                requested.parse_requested_version(pins, python).requirements if pins else (),
                python,
            )
        else:
            assert ends is not None
            result = search.search_changing_release(make_symptom(), ends, adapters, say, every)
    text = json.dumps(bisect_text.convert_bisect_to_plain_data(result), indent=1) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    write_text_atomically(folder / "bisect.json", text)
    output.mark_exit_code_decided()
    for line in bisect_text.format_bisect_report(result):
        typer.echo(line)
    raise typer.Exit(result.exit_code)


def _parse_end_of_range(version: str, python: str) -> RequestedVersion:
    try:
        return requested.parse_requested_version(version, python)
    except UserError as error:
        if "=" in version or "/" in version:
            raise
        raise UserError(f"{error}; for a commit, name the repository with --repo") from None


def _select_adapters_of_versions(
    ends: tuple[RequestedVersion, RequestedVersion] | None,
    repository: Path | None,
    newest: str,
    framework: str,
    for_script: bool,
) -> Sequence[Adapter]:
    """Return the frameworks that the versions or the repository concern, or the named one."""
    if framework:
        return [frameworks.get_adapter(framework)]
    if ends is None:
        # the working tree may have another revision checked out, or none
        assert repository is not None
        commit = revisions.find_commit(repository, newest)
        with cached_folders.make_temporary_folder("bisect") as own:
            tree = revisions.check_out_commit(repository, commit, own)
            version = RequestedVersion(commit[:10], tree=tree)
            return affected.list_affected_adapters(version, version, for_script=for_script)
    return affected.list_affected_adapters(*ends, for_script=for_script)
