"""Revisions of a git repository: listed, and written to a folder of the cache.

The user's checkout and index are only read: files are written through an index of their own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rlregress.errors import UserError
from rlregress.upgrade.versions import cached_folders


def _run_git(repository: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    variables = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    # neither a hook nor a watcher of the repository runs
    quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]
    try:
        completed = subprocess.run(
            ["git", *quiet, "-C", str(repository), *words],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            env={**variables, **(env or {}), "GIT_OPTIONAL_LOCKS": "0"},
        )
    except FileNotFoundError:
        raise UserError("git is not installed; it is needed to read a revision") from None
    if completed.returncode:
        lines = completed.stderr.strip().splitlines() or ["git reports nothing"]
        raise UserError(f"git cannot read {repository}: {lines[-1]}")
    return completed.stdout


def find_commit(repository: Path, revision: str) -> str:
    """Return the full id of a revision's commit.

    Raises:
        UserError: the folder is in no repository, or it has no such revision.
    """
    _run_git(repository, "rev-parse", "--absolute-git-dir")
    try:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return _run_git(repository, *words).strip()
    except UserError:
        raise UserError(
            f"{repository} has no revision '{revision}'; expected a commit, a tag or a branch"
        ) from None


def list_parents_between(
    repository: Path, old: str, new: str, first_parent: bool
) -> dict[str, tuple[str, ...]]:
    """Return commit -> its parents, for all commits from the old to the new one.

    Parents come first, and those that do not follow the old commit are left out.

    Args:
        first_parent: of merges, follow the first parent alone.

    Raises:
        UserError: the old commit is no ancestor of the new one.
    """
    only = ["--first-parent"] if first_parent else []
    words = ["rev-list", "--reverse", "--topo-order", "--parents", *only]
    # only descendants of the old commit: others need not have its behaviour at the start
    words += ["--ancestry-path", f"{old}..{new}"]
    rows = [line.split() for line in _run_git(repository, *words).splitlines()]
    parents_by_commit = {row[0]: tuple(row[1:2] if first_parent else row[1:]) for row in rows}
    reachable: dict[str, tuple[str, ...]] = {old: ()}
    for commit, parents in parents_by_commit.items():
        reachable[commit] = tuple(p for p in parents if p in parents_by_commit or p == old)
    descendants = {old}
    for commit, parents in reachable.items():
        if descendants.intersection(parents):
            descendants.add(commit)
    if new not in descendants:
        raise UserError(
            f"{old[:10]} is no ancestor of {new[:10]} in {repository}; expected an older commit "
            "of the same history as OLD"
        )
    return reachable


def find_last_common_commit(repository: Path, first: str, second: str) -> str:
    """Return the last common commit of two commits; empty: the repository lacks it."""
    try:
        return _run_git(repository, "merge-base", first, second).strip()
    except UserError:
        return ""


def list_parents(repository: Path, commit_: str) -> list[str]:
    """Return the parent commits that the repository has: a shallow clone lacks some."""
    return _run_git(repository, "rev-list", "--parents", "-n", "1", commit_).split()[1:]


def describe_commit(repository: Path, commit_: str) -> tuple[str, str]:
    """Return the short id with the subject, and the date, of a commit."""
    short, date, subject = (
        _run_git(repository, "show", "--no-patch", "--format=%h%x00%cs%x00%s", commit_)
        .strip()
        .split("\0")
    )
    return f"{short} {subject}", date


def check_out_commit(repository: Path, commit_: str, target_folder: Path | None = None) -> Path:
    """Return a folder with the files of a commit.

    Args:
        target_folder: the folder to make it in; None: the cache.
    """
    # the id of all that it holds, submodules by their commits
    facts = (f"{commit_}^{{tree}}", "--show-prefix", "--absolute-git-dir")
    name, inside, directory = _run_git(repository, "rev-parse", *facts).splitlines()
    git = {"GIT_DIR": directory}
    folder = (target_folder or cached_folders.locate_cache()) / "revisions" / name

    def write_files_of_commit(target: Path) -> None:
        index = target.with_name(f"{target.name}.index")
        git.update(GIT_INDEX_FILE=str(index), GIT_WORK_TREE=str(target))
        try:
            _run_git(target, "read-tree", commit_, env=git)
            _run_git(target, "checkout-index", "--all", env=git)
        finally:
            index.unlink(missing_ok=True)

    cached_folders.reuse_or_make_folder(folder, write_files_of_commit)
    return folder / inside


def describe_files_without_content(repository: Path, commit_: str) -> list[str]:
    """Describe submodules and LFS files, of which a checkout has no content."""
    rows = _run_git(repository, "ls-tree", "-r", "--full-tree", "-z", commit_).split("\0")
    sentences = [
        f"the submodule {row.partition(chr(9))[2]}, whose files no commit has"
        for row in rows
        if row.startswith("160000 ")
    ]
    for row in rows:
        facts, _, path = row.partition("\t")
        if path.rpartition("/")[2] == ".gitattributes":
            text = _run_git(repository, "cat-file", "blob", facts.split()[2])
            patterns = [line.split()[0] for line in text.splitlines() if "filter=lfs" in line]
            sentences += [f"{p} as {path} has it, of which commits have pointers" for p in patterns]
    return sentences


def parse_revision(text: str) -> tuple[Path, str] | None:
    """Return folder and revision of ``PATH@REVISION`` or ``HEAD``; None: it is neither."""
    if text == "HEAD":
        return Path(), text
    for place, letter in enumerate(text):
        folder = Path(os.path.expanduser(text[:place]))
        if letter == "@" and place and "://" not in text and folder.is_dir():
            return folder, text[place + 1 :]
    return None
