"""``rlregress bisect`` as a user runs it, on repositories that are made here."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rlregress import frameworks
from rlregress.bisect import search, symptoms
from rlregress.errors import UserError
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.versions import requested
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from tools.tests.nightly import every

FAULT, COUNT = 9, 14
CHECK = """\
import sys
try:
    import toy
except SyntaxError:
    sys.exit(125)
sys.exit(toy.value() != 1)
"""


def git(repository, *words, arguments=None):
    """Return what git answers in a repository."""
    user = ["-c", "user.name=Toy", "-c", "user.email=t@example.org"]
    return subprocess.run(
        ["git", "-C", str(repository), *user, *words],
        check=True, capture_output=True, text=True, input=arguments,
    ).stdout  # fmt: skip


def make_repository(folder, sources, further_files=None, package="toy"):
    """A repository with one commit for each source of its package ``toy``.

    Args:
        package: the folder of the package.
        further_files: file -> its content in every commit.
    """
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    files = {f"{package}/__init__.py": sources, **(further_files or {})}
    rows = []
    for number in range(len(sources)):
        rows += [
            "commit refs/heads/main",
            f"committer Toy <toy@example.org> {1_700_000_000 + 86_400 * number} +0000",
            f"data {len(f'change {number}')}",
            f"change {number}",
        ]
        for file, contents in files.items():
            rows += [f"M 100644 inline {file}", f"data {len(contents[number])}", contents[number]]
    git(folder, "fast-import", "--quiet", arguments="\n".join([*rows, ""]))
    git(folder, "reset", "--hard", "--quiet", "main")
    return folder


def source(number, broken=()):
    """A version of the package; a broken one does not import."""
    value = 1 if number < FAULT else 2
    suffix = "(" if number in broken else ""
    return f"# {number}\n{suffix}\ndef value():\n    return {value}\n"


@pytest.fixture
def search_commits(tmp_path, bisect):
    """Search the commits of a repository, by default for what changes the exit code of a check."""
    check = tmp_path / "check.py"
    check.write_text(CHECK)

    def search_changing_commit(repository, *words):
        if not any(word.startswith("--") for word in words):
            words = (*words, "--command", f"python {shlex.quote(str(check))}")
        return bisect(*words, "--repo", str(repository))

    return search_changing_commit


def test_the_commit_of_a_long_history_is_named(search_commits, tmp_path):
    """The date and the changed function come with it; commits that do not import are left out."""
    broken = {FAULT - 3, FAULT + 2}
    repository = make_repository(tmp_path / "toy", [source(n, broken) for n in range(COUNT)])
    (repository / "toy" / "__init__.py").write_text("what the user has not committed\n")
    before = git(repository, "status", "--porcelain")
    index = (repository / ".git" / "index").read_bytes()
    code, last, data = search_commits(repository, "main~13", "main")
    assert code == 0
    assert last.endswith(f"change {FAULT}")
    (step,) = data["steps"]
    assert step["old"].endswith(f"change {FAULT - 1}")
    assert step["date"] == "2023-11-23"
    assert step["values"] == ["exit code 0", "exit code 1"]
    assert [f["place"] for f in step["functions"]] == ["toy/__init__.py:3 value"]
    assert step["functions"][0]["lines"] == ["-    return 1", "+    return 2"]
    assert data["checked"] + len(data["skipped"]) <= 8
    assert git(repository, "status", "--porcelain") == before
    assert (repository / ".git" / "index").read_bytes() == index


def test_commits_that_cannot_be_checked_leave_a_range(search_commits, tmp_path):
    """Where the fault lies among commits that do not import, all of them are named."""
    broken = {FAULT - 1, FAULT, FAULT + 1}
    numbers = range(FAULT - 3, FAULT + 3)
    repository = make_repository(tmp_path / "toy", [source(n, broken) for n in numbers])
    code, last, data = search_commits(repository, "main~5", "main")
    assert code == 3
    assert last.startswith("first changed in: after ")
    assert len(data["steps"][0]["between"]) == len(broken)
    assert len(data["skipped"]) == len(broken)


def test_a_search_that_was_interrupted_goes_on(search_commits, tmp_path, monkeypatch):
    """It asks no version again whose answer was kept, and leaves nothing behind at its end."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(FAULT - 2, FAULT + 2)])
    asked = tmp_path / "asked"
    (tmp_path / "check.py").write_text(
        "import pathlib, toy\nfolders = pathlib.Path(toy.__file__).parents[2].iterdir()\n"
        f"open({str(asked)!r}, 'a').write(str(sum(f.is_dir() for f in folders)))\n{CHECK}"
    )
    with monkeypatch.context() as interrupted:
        interrupted.setattr(search.bisection, "find_first_new_version", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            search_commits(repository, "main~3", "main")
    asked.unlink()
    assert search_commits(repository, "main~3", "main")[1].endswith("change 2")
    # neither end again, whose files stay; those of any other version are there for its check alone
    assert asked.read_text() == "3333"
    assert list((tmp_path / "cache" / "bisect").iterdir()) == []
    # what runs code of the user's may read what no version names: it is asked anew next time
    assert list((tmp_path / "cache" / "versions").iterdir()) == []


def test_a_command_that_does_not_repeat_itself_names_nothing(search_commits, tmp_path):
    """A version is asked twice before it is believed, and a mended command is asked anew."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(FAULT - 1, FAULT + 2)])
    counter = tmp_path / "counter"
    (tmp_path / "check.py").write_text(
        f"import os, sys\nn = os.path.exists({str(counter)!r})\n"
        f"open({str(counter)!r}, 'w').close()\nsys.exit(n)"
    )
    with pytest.raises(UserError, match="does not repeat itself: exit code 0, then exit code 1"):
        search_commits(repository, "main~2", "main")
    (tmp_path / "check.py").write_text(CHECK)
    assert search_commits(repository, "main~2", "main")[1].endswith("change 1")


def test_a_file_that_is_no_python_is_part_of_a_version(search_commits, tmp_path):
    """A commit with the same code and another data file is measured anew."""
    reads = (
        "import pathlib\n\ndef value():\n"
        "    return int(pathlib.Path(__file__).with_name('c.txt').read_text())\n"
    )
    repository = make_repository(tmp_path / "toy", [reads] * 3, {"toy/c.txt": ["1", "1", "2"]})
    assert search_commits(repository, "main~2", "main")[1].endswith("change 2")


def test_a_package_lies_in_any_folder_and_what_is_not_filled_is_named(search_commits, tmp_path):
    """Commits have neither the files of a submodule nor those of Git LFS."""
    texts = {".gitattributes": "*.pt filter=lfs diff=lfs", "tests/__init__.py": "", "setup.py": ""}
    rows = {file: [text] * 4 for file, text in texts.items()}
    sources = [source(n) for n in range(FAULT - 2, FAULT + 2)]
    repository = make_repository(tmp_path / "toy", sources, rows, "parts/python/toy")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},assets")
    git(repository, "commit", "--quiet", "-m", "change 4")
    code, last, data = search_commits(repository, "main~4", "main")
    assert (code, last.split()[-1]) == (0, "2")
    assert data["steps"][0]["functions"][0]["place"] == "toy/__init__.py:3 value"
    assert sorted(data["unsearched"]) == [
        "*.pt as .gitattributes has it, of which commits have pointers",
        "the submodule assets, whose files no commit has",
    ]


def merge_branch(repository, start, *values):
    """Commit values on a branch that leaves at a revision, and merge it into main, tagged OLD."""
    git(repository, "checkout", "--quiet", "-b", "side", start)
    for number, value in enumerate(values):
        (repository / "toy" / "side.py").write_text(f"VALUE = {value}\n# {number}\n")
        git(repository, "add", "toy/side.py")
        git(repository, "commit", "--quiet", "-m", f"side {number}")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "tag", "OLD")
    git(repository, "merge", "--quiet", "--no-ff", "side", "-m", "the merge")


SIDE = (
    "import pathlib\n\ndef value():\n"
    "    path = pathlib.Path(__file__).with_name('side.py')\n"
    "    return 2 if path.exists() and 'VALUE = 2' in path.read_text() else 1\n"
)


@pytest.mark.parametrize("start", every(2, ["main~1", "main"]))
def test_a_fault_on_a_branch_is_found_wherever_the_branch_left(search_commits, tmp_path, start):
    """Also where it left before OLD, whose commits do not follow OLD."""
    repository = make_repository(tmp_path / "toy", [SIDE, SIDE + "# 1\n"])
    merge_branch(repository, start, 1, 2, 2)
    assert search_commits(repository, "OLD", "main")[1].endswith("side 1")


def test_a_branch_that_has_what_old_mended_is_no_culprit(search_commits, tmp_path):
    """It left before OLD with the fault; the merge, and not the branch, is new."""
    bad = SIDE.replace("else 1", "else 2")
    repository = make_repository(tmp_path / "toy", [bad, SIDE])
    merge_branch(repository, "main~1", 1)
    (repository / "toy" / "__init__.py").write_text(bad)
    git(repository, "commit", "--quiet", "-am", "the fault")
    assert search_commits(repository, "OLD", "main")[1].endswith("the fault")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("python -c pass && false", "'&&', and no shell runs it"),
        ("python -I check.py", "'-I', which makes Python ignore PYTHONPATH"),
        ("python -c 'open", "cannot be read"),
        ("sh -c nosuchprogram", "could not be run: exit code 127"),
        ("nosuchprogram", "cannot be run: nosuchprogram"),
        ("sh -c 'exit 125'", "ended with exit code 125"),
        ("sh -c 'kill -9 $$'", "ended by signal 9"),
    ],
)
def test_a_command_that_tells_nothing_is_refused(command, sentence):
    """It is no version that fails."""
    installed = requested.parse_requested_version("installed")
    prepared = PreparedVersion(installed, Runtime("new", sys.executable), "installed")
    checked = SimpleNamespace(measure_or_read=lambda _, measure: measure(prepared))
    with pytest.raises(UserError, match=re.escape(sentence)):
        symptoms.make_symptom_of_command(command).value(checked, checked)


NAMED = [
    "from toy.inner import value\n",
    "def value(a, b=1):\n    return a\n\nclass Base:\n    def run(self, n): ...\n"
    "class Kind(Base): ...\n",
]


@pytest.mark.parametrize("name", every(2, ["toy.inner.value", "toy.inner.Kind.run", "toy.value"]))
def test_a_public_name_is_found_by_any_of_its_paths(search_commits, tmp_path, name):
    """By the short path, by the file that defines it, and as an inherited member.

    In a commit that does not parse it is neither there nor gone.
    """
    changed = NAMED[1].replace("b=1", "b=2").replace("n)", "n, m=0)")
    files = [NAMED[1]] * 2 + [NAMED[1] + "("] * 2 + [NAMED[1] + "# 4\n", changed]
    repository = make_repository(tmp_path / "toy", [NAMED[0]] * 6, {"toy/inner.py": files})
    code, last, data = search_commits(repository, "main~5", "main", "--name", name)
    assert (code, last.split()[-1]) == (0, "5"), data
    assert [f["place"].split(" ")[1] for f in data["steps"][0]["functions"]]


def test_what_neither_end_has_is_refused(search_commits, tmp_path, monkeypatch):
    """A slip of the pen is no name that stays the same; and no checkout hides every commit."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in (1, FAULT)])
    with pytest.raises(UserError, match="is neither in .* nor in .*; did you mean 'toy"):
        search_commits(repository, "main~1", "main", "--name", "toy.valu")
    monkeypatch.chdir(repository)
    with pytest.raises(UserError, match="holds 'toy', which Python may import in place of"):
        search_commits(repository, "main~1", "main")


def test_ends_that_are_no_history_are_refused(search_commits, tmp_path):
    """In one sentence that names them; without a difference of the ends nothing is judged."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(3)])
    for old, new, sentence in (
        ("main", "main~2", "is no ancestor of"), ("main", "main", "are the same commit"),
        ("nowhere", "main", "has no revision 'nowhere'"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=sentence):
            search_commits(repository, old, new)
    # a slip in the command is seen in the answer
    words = ("--command", "python -c 'import typo'")
    code, _, data = search_commits(repository, "main~2", "main", *words)
    assert (code, data["verdict"]) == (2, "no difference")
    assert "No module named 'typo'" in data["why"]


def test_a_revision_without_its_repository_hints_at_the_option(bisect, tmp_path, monkeypatch):
    """By its name, and by the folder that ``HEAD`` is of."""
    monkeypatch.chdir(make_repository(tmp_path / "toy", [source(1)]))
    for old, sentence in (
        ("main~5", "is no requirement; .* for a commit, name the repository with --repo"),
        ("HEAD", "is a working tree; to search its commits give --repo \\., and revisions"),
    ):
        with pytest.raises(UserError, match=sentence):
            bisect(old, "sb3==2.8.0", "--name", "b")


def test_a_revision_is_a_version(cache, tmp_path, monkeypatch):
    """``PATH@REVISION`` and ``HEAD`` are folders with the files of that commit."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(3)])
    (repository / "toy" / "__init__.py").write_text("changed\n")
    monkeypatch.chdir(repository)
    for revision, number in ((f"{repository}@main~1", 1), ("HEAD", 2)):
        tree = requested.parse_requested_version(revision).tree
        assert (tree / "toy" / "__init__.py").read_text() == source(number)
    with pytest.raises(UserError, match="has no revision 'v9'"):
        requested.parse_requested_version(f"{repository}@v9")


@pytest.mark.nightly
def test_the_release_that_changed_a_default_is_named_once_more_without_a_network(
    bisect, monkeypatch
):
    """From the list of releases that was kept; with ``--all`` no other release is named."""
    words = ("sb3==2.2.1", "sb3==2.4.0", "--default", "td3 minibatch_size")
    first = bisect(*words)
    assert first[:2] == (0, "first changed in: stable-baselines3 2.3.0")
    for variable in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9/simple")
    assert bisect(*words) == first
    all_steps = bisect(*words, "--all")[2]["steps"]
    assert [(step["old"], step["new"]) for step in all_steps] == [("2.2.1", "2.3.0")]


def test_names_of_defaults_and_algorithms_are_known_before_a_version_is_made():
    """A framework's own name of a default is accepted, an algorithm that is none refused."""
    adapter = frameworks.get_adapter("sb3")
    defaults = {"td3 library": {"minibatch_size": "256"}}
    signatures = {"stable_baselines3.td3.td3.TD3": {"batch_size": "256"}}
    answered = Fingerprint({}, (), {}, defaults, signatures=signatures)
    checked = SimpleNamespace(fingerprint_details=lambda _: answered)
    for name in ("td3 batch_size", "td3 minibatch_size", "stable_baselines3.TD3 batch_size"):
        symptom = symptoms.make_symptom_of_default(adapter, name)
        assert set(symptom.value(checked, checked).values()) == {"256"}, name
    with pytest.raises(UserError, match="'td33' is no algorithm that is compared here; .*'td3'"):
        symptoms.make_symptom_of_default(frameworks.get_adapter("sb3"), "td33 batch_size")
