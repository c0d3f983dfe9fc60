"""Output for CI jobs: annotations, and a summary of the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rlregress import files
from rlregress.cli import output
from rlregress.errors import UserError
from rlregress.report import ci_formats, harmless
from rlregress.report.upgrade_findings import Finding

#: variables of GitHub Actions: the file of the summary, and "true"
_SUMMARY, _ON_GITHUB = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"
#: variables of GitHub and GitLab with the top folder of the repository
_TOPS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def find_repository_or_cwd() -> Path:
    """Return the folder of the checkout in a CI job, else the working folder."""
    named = (os.environ[name] for name in _TOPS if os.environ.get(name))
    return files.resolve_real_path(next(named, "."))


def print_annotations_on_github(findings: Sequence[Finding]) -> None:
    """Print annotations in a job of GitHub; print nothing elsewhere."""
    if os.environ.get(_ON_GITHUB) == "true":
        for line in ci_formats.format_annotations(findings):
            print(line, file=output.get_unescaped_output(), flush=True)


def append_github_summary(text: str) -> None:
    """Append a report to GitHub's page of the run, cut to its limit; UserError if that fails."""
    if not os.environ.get(_SUMMARY):
        return
    try:
        path = Path(os.environ[_SUMMARY])
        files.check_path_is_file_or_free(path)
        with path.open("a", encoding="utf-8") as stream:
            safe = harmless.escape_markdown(text)
            stream.write(ci_formats.cut_text_after_line(safe, ci_formats.SUMMARY - stream.tell()))
    except OSError as error:
        raise UserError(f"the file that {_SUMMARY} names cannot be written: {error}") from None
