"""``rlregress bisect`` as a user runs it, on repositories that are made here."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rlregress import frameworks
from rlregress.bisect import symptoms
from rlregress.cli import commands
from rlregress.errors import UserError
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.versions import cached_folders, requested
from tools.tests.nightly import every

FAULT, COUNT = 27, 40
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
    rows = []
    for number, text in enumerate(sources):
        rows += [
            "commit refs/heads/main",
            f"committer Toy <toy@example.org> {1_700_000_000 + 86_400 * number} +0000",
            f"data {len(f'change {number}')}",
            f"change {number}",
        ]
        files = {
            f"{package}/__init__.py": text,
            **{f: contents[number] for f, contents in (further_files or {}).items()},
        }
        for file, content in files.items():
            rows += [f"M 100644 inline {file}", f"data {len(content)}", content]
    git(folder, "fast-import", "--quiet", arguments="\n".join([*rows, ""]))
    git(folder, "reset", "--hard", "--quiet", "main")
    return folder


def source(number, broken=()):
    """A version of the package; a broken one does not import."""
    value = 1 if number < FAULT else 2
    suffix = "(" if number in broken else ""
    return f"# {number}\n{suffix}\ndef value():\n    return {value}\n"


@pytest.fixture
def bisect(tmp_path, monkeypatch, capsys):
    """Run the command in an empty cache; its exit code, its last line and bisect.json."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    check = tmp_path / "check.py"
    check.write_text(CHECK)

    def run(repository, *words):
        if not any(word.startswith("--") for word in words):
            words = (*words, "--command", f"python {shlex.quote(str(check))}")
        code = commands.program(
            ["bisect", *words, "--repo", str(repository), "--report", str(tmp_path / "report")],
            prog_name="rlregress", standalone_mode=False,
        )  # fmt: skip
        data = json.loads((tmp_path / "report" / "bisect.json").read_text())
        return code, capsys.readouterr().out.splitlines()[-1], data

    return run


def test_the_commit_of_a_long_history_is_named(bisect, tmp_path):
    """The date and the changed function come with it; commits that do not import are left out."""
    broken = {FAULT - 3, FAULT + 4, 20, 30, 31, 32}
    repository = make_repository(tmp_path / "toy", [source(n, broken) for n in range(COUNT)])
    (repository / "toy" / "__init__.py").write_text("what the user has not committed\n")
    before = git(repository, "status", "--porcelain")
    index = (repository / ".git" / "index").read_bytes()
    code, last, data = bisect(repository, "main~39", "main")
    assert code == 0
    assert last.endswith(f"change {FAULT}")
    (step,) = data["steps"]
    assert step["old"].endswith(f"change {FAULT - 1}")
    assert step["date"] == "2023-12-11"
    assert step["values"] == ["exit code 0", "exit code 1"]
    assert [f["place"] for f in step["functions"]] == ["toy/__init__.py:3 value"]
    assert step["functions"][0]["lines"] == ["-    return 1", "+    return 2"]
    assert data["checked"] + len(data["skipped"]) <= 11
    assert git(repository, "status", "--porcelain") == before
    assert (repository / ".git" / "index").read_bytes() == index


def test_commits_that_cannot_be_checked_leave_a_range(bisect, tmp_path):
    """Where the fault lies among commits that do not import, all of them are named."""
    broken = {FAULT - 1, FAULT, FAULT + 1}
    numbers = range(FAULT - 3, FAULT + 3)
    repository = make_repository(tmp_path / "toy", [source(n, broken) for n in numbers])
    code, last, data = bisect(repository, "main~5", "main")
    assert code == 3
    assert last.startswith("first changed in: after ")
    assert len(data["steps"][0]["between"]) == len(broken)
    assert len(data["skipped"]) == len(broken)


def test_a_search_that_was_killed_goes_on_to_the_same_answer(bisect, tmp_path):
    """It is ended in the middle of a check; nothing that it made stays behind."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(FAULT - 4, FAULT + 4)])
    (tmp_path / "check.py").write_text(f"import os, signal, time\n{CHECK}")
    words = ["main~7", "main", "--repo", str(repository), "--report", str(tmp_path / "other")]
    words += ["--command", f"python {tmp_path / 'check.py'}"]
    killed = subprocess.Popen(
        [sys.executable, "-m", "rlregress", "bisect", *words], stdout=subprocess.PIPE, text=True
    )
    for _ in range(3):
        # both ends and one version between them
        assert killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("versions/*/*")}
    assert len(times) >= 3
    (tmp_path / "check.py").write_text("raise SystemExit('it is not asked again of what is kept')")
    for path in list(times)[1:]:
        # of the last one nothing may have been kept, and both ends are asked twice
        assert path.stat().st_mtime_ns == times[path]
    (tmp_path / "check.py").write_text(f"import os, signal, time\n{CHECK}")
    assert bisect(repository, "main~7", "main")[1].endswith("change 4")
    assert list((tmp_path / "cache" / "bisect").iterdir()) == []
    # what runs code of the user's may read what no version names: it is asked anew next time
    assert list((tmp_path / "cache" / "versions").iterdir()) == []


def test_a_command_that_does_not_repeat_itself_names_nothing(bisect, tmp_path):
    """A version is asked twice before it is believed, and a mended command is asked anew."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(FAULT - 1, FAULT + 2)])
    counter = tmp_path / "counter"
    (tmp_path / "check.py").write_text(
        f"import os, sys\nn = os.path.exists({str(counter)!r})\n"
        f"open({str(counter)!r}, 'w').close()\nsys.exit(n)"
    )
    with pytest.raises(UserError, match="does not repeat itself: exit code 0, then exit code 1"):
        bisect(repository, "main~2", "main")
    (tmp_path / "check.py").write_text(CHECK)
    assert bisect(repository, "main~2", "main")[1].endswith("change 1")


def test_a_file_that_is_no_python_is_part_of_a_version(bisect, tmp_path):
    """A commit with the same code and another data file is measured anew."""
    reads = (
        "import pathlib\n\ndef value():\n"
        "    return int(pathlib.Path(__file__).with_name('c.txt').read_text())\n"
    )
    texts = {"toy/c.txt": ["1", "1", "2", "2", "2"]}
    repository = make_repository(tmp_path / "toy", [reads] * 4 + [reads + "# 4\n"], texts)
    assert bisect(repository, "main~4", "main")[1].endswith("change 2")


def test_a_package_lies_in_any_folder_and_what_is_not_filled_is_named(bisect, tmp_path):
    """Commits have neither the files of a submodule nor those of Git LFS."""
    rows = {
        ".gitattributes": ["*.pt filter=lfs diff=lfs"] * 4,
        "tests/__init__.py": [""] * 4,
        "setup.py": [""] * 4,
    }
    sources = [source(n) for n in range(FAULT - 2, FAULT + 2)]
    repository = make_repository(tmp_path / "toy", sources, rows, "parts/python/toy")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},assets")
    git(repository, "commit", "--quiet", "-m", "change 4")
    code, last, data = bisect(repository, "main~4", "main")
    assert (code, last.split()[-1]) == (0, "2")
    assert data["steps"][0]["functions"][0]["place"] == "toy/__init__.py:3 value"
    assert sorted(data["unsearched"]) == [
        "*.pt as .gitattributes has it, of which commits have pointers",
        "the submodule assets, whose files no commit has",
    ]


def branched(repository, *, before_old):
    """main: 0 - OLD - merge - 4; the fault comes on a branch that left at 0, or at OLD."""
    start = "main~1" if before_old else "main"
    git(repository, "checkout", "--quiet", "-b", "side", start)
    for number, value in enumerate((1, 2, 2)):
        (repository / "toy" / "side.py").write_text(f"VALUE = {value}\n# {number}\n")
        git(repository, "add", "toy/side.py")
        git(repository, "commit", "--quiet", "-m", f"side {number}")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "tag", "OLD")
    git(repository, "merge", "--quiet", "--no-ff", "side", "-m", "the merge")
    return repository


SIDE = (
    "import pathlib\n\ndef value():\n"
    "    path = pathlib.Path(__file__).with_name('side.py')\n"
    "    return 2 if path.exists() and 'VALUE = 2' in path.read_text() else 1\n"
)


@pytest.mark.parametrize("before_old", every(2, [True, False]))
def test_a_fault_on_a_branch_is_found_wherever_the_branch_left(bisect, tmp_path, before_old):
    """Also where it left before OLD, whose commits do not follow OLD."""
    repository = make_repository(tmp_path / "toy", [SIDE, SIDE + "# 1\n"])
    branched(repository, before_old=before_old)
    assert bisect(repository, "OLD", "main")[1].endswith("side 1")


def test_a_branch_that_has_what_old_mended_is_no_culprit(bisect, tmp_path):
    """It left before OLD with the fault; the merge, and not the branch, is new."""
    bad = SIDE.replace("else 1", "else 2")
    repository = make_repository(tmp_path / "toy", [bad, SIDE])
    git(repository, "checkout", "--quiet", "-b", "side", "main~1")
    (repository / "other.txt").write_text("1")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "side 0")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "tag", "OLD")
    git(repository, "merge", "--quiet", "--no-ff", "side", "-m", "the merge")
    (repository / "toy" / "__init__.py").write_text(bad)
    git(repository, "commit", "--quiet", "-am", "the fault")
    assert bisect(repository, "OLD", "main")[1].endswith("the fault")


def test_a_commit_that_does_not_parse_is_left_out_of_names(bisect, tmp_path):
    """Its names are neither there nor gone."""
    files = [NAMED[1]] * 2 + [NAMED[1] + "("] * 2 + [NAMED[1] + "# 4\n"]
    files += [NAMED[1].replace("b=1", "b=2")]
    repository = make_repository(tmp_path / "toy", [NAMED[0]] * 6, {"toy/inner.py": files})
    for name in ("toy.value", "toy.inner.value"):
        code, last, data = bisect(repository, "main~5", "main", "--name", name)
        assert (code, last.split()[-1]) == (0, "5"), data


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("python -c pass && false", "'&&', and no shell runs it"),
        ("python -I check.py", "'-I', which makes Python ignore PYTHONPATH"),
        ("sh -c nosuchprogram", "could not be run: exit code 127"),
        ("nosuchprogram", "cannot be run: nosuchprogram"),
        ("python -c 'open", "cannot be read"),
    ],
)
def test_a_command_that_tells_nothing_is_refused(bisect, tmp_path, command, sentence):
    """It is no version that fails."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in (1, FAULT)])
    with pytest.raises(UserError, match=sentence):
        bisect(repository, "main~1", "main", "--command", command)


def test_what_fails_in_both_ends_says_how(bisect, tmp_path, capsys):
    """A slip in the command is seen in the answer."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in (1, FAULT)])
    code, _, data = bisect(repository, "main~1", "main", "--command", "python -c 'import typo'")
    assert code == 2
    assert "No module named 'typo'" in data["why"]


NAMED = [
    "from toy.inner import value\n",
    "def value(a, b=1):\n    return a\n\nclass Base:\n    def run(self, n): ...\n"
    "class Kind(Base): ...\n",
]


@pytest.mark.parametrize("name", every(3, ["toy.inner.value", "toy.value", "toy.inner.Kind.run"]))
def test_a_public_name_is_found_by_any_of_its_paths(bisect, tmp_path, name):
    """By the short path, by the file that defines it, and as an inherited member."""
    changed = NAMED[1].replace("b=1", "b=2").replace("n)", "n, m=0)")
    files = [NAMED[1], NAMED[1] + "# 2\n", changed, changed + "# 4\n"]
    repository = make_repository(tmp_path / "toy", [NAMED[0]] * 4, {"toy/inner.py": files})
    code, last, data = bisect(repository, "main~3", "main", "--name", name)
    assert (code, last.split()[-1]) == (0, "2"), data
    assert [f["place"].split(" ")[1] for f in data["steps"][0]["functions"]]


def test_what_neither_end_has_is_refused(bisect, tmp_path, monkeypatch):
    """A slip of the pen is no name that stays the same; and no checkout hides every commit."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in (1, FAULT)])
    with pytest.raises(UserError, match="is neither in .* nor in .*; did you mean 'toy"):
        bisect(repository, "main~1", "main", "--name", "toy.valu")
    monkeypatch.chdir(repository)
    with pytest.raises(UserError, match="holds 'toy', which Python may import in place of"):
        bisect(repository, "main~1", "main")


def test_without_a_network_and_with_nothing_kept_there_is_one_sentence(
    command, tmp_path, monkeypatch
):
    """Exit code 2, and no traceback."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    for variable in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    words = ("sb3==1.0", "sb3==1.1.0", "--name", "stable_baselines3.TD3")
    code, _, said = command("bisect", *words, "--report", str(tmp_path))
    assert code == 2
    assert "cannot be reached" in said
    assert "Traceback" not in said


def test_ends_that_are_no_history_are_refused(bisect, tmp_path):
    """In one sentence that names them; without a difference of the ends nothing is judged."""
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(3)])
    for old, new, sentence in (
        ("main", "main~2", "is no ancestor of"), ("main", "main", "are the same commit"),
        ("nowhere", "main", "has no revision 'nowhere'"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=sentence):
            bisect(repository, old, new)
    code, last, data = bisect(repository, "main~2", "main")
    assert (code, data["verdict"]) == (2, "no difference")
    assert last.startswith("no difference: ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "expected one of"),
        ("--detail a --name b", "expected one of .* found 2"),
        ("--name b --scenario c", "--scenario needs an algorithm"),
        ("--name b --first-parent", "--first-parent applies to commits"),
        ("--name b --repo . --all", "leave one out"),
        ("--name b --repo nowhere", "which is no folder"),
        ("--name b --steps 3", "--package and --steps apply to a script"),
    ],
)
def test_a_wrong_command_line_is_reported_in_one_sentence(words, sentence):
    """Before anything is installed."""
    arguments = ["bisect", "sb3==2.7.0", "sb3==2.8.0", *words.split()]
    with pytest.raises(UserError, match=sentence):
        commands.program(arguments, prog_name="rlregress", standalone_mode=False)


@pytest.mark.parametrize(
    ("old", "sentence"),
    [
        ("main~5", "is no requirement; .* for a commit, name the repository with --repo"),
        ("HEAD", "is a working tree; to search its commits give --repo \\., and revisions"),
    ],
)
def test_a_revision_without_its_repository_hints_at_the_option(
    tmp_path, monkeypatch, old, sentence
):
    """By its name, and by the folder that ``HEAD`` is of."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(make_repository(tmp_path / "toy", [source(1)]))
    arguments = ["bisect", old, "sb3==2.8.0", "--name", "b"]
    with pytest.raises(UserError, match=sentence):
        commands.program(arguments, prog_name="rlregress", standalone_mode=False)


def test_a_revision_is_a_version(tmp_path, monkeypatch):
    """``PATH@REVISION`` and ``HEAD`` are folders with the files of that commit."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    repository = make_repository(tmp_path / "toy", [source(n) for n in range(3)])
    (repository / "toy" / "__init__.py").write_text("changed\n")
    tree = requested.parse_requested_version(f"{repository}@main~1").tree
    assert (tree / "toy" / "__init__.py").read_text() == source(1)
    monkeypatch.chdir(repository)
    assert (
        requested.parse_requested_version("HEAD").tree / "toy" / "__init__.py"
    ).read_text() == source(2)
    with pytest.raises(UserError, match="has no revision 'v9'"):
        requested.parse_requested_version(f"{repository}@v9")


@pytest.mark.nightly
def test_the_release_that_changed_a_default_is_named_and_once_more_without_a_network(
    tmp_path, monkeypatch, capsys
):
    """Published releases, among them one that was taken back; docs/upgrading.md shows it."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))

    def run(*words):
        arguments = ["bisect", "sb3==2.2.1", "sb3==2.4.0", *words]
        arguments += ["--report", str(tmp_path / "report")]
        code = commands.program(arguments, prog_name="rlregress", standalone_mode=False)
        data = json.loads((tmp_path / "report" / "bisect.json").read_text())
        return code, data, capsys.readouterr().out

    code, data, _ = first = run("--default", "td3 minibatch_size")
    (step,) = data["steps"]
    assert (code, step["old"], step["new"]) == (0, "2.2.1", "2.3.0")
    assert step["values"] == ["100", "256"]
    assert step["date"] == "2024-03-31"
    assert [f["place"] for f in step["functions"]] == [
        "stable_baselines3/td3/td3.py:79 TD3.__init__"
    ]
    assert "+batch_size: int = 256," in step["functions"][0]["lines"]
    assert step["changelog"]
    for variable in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9/simple")
    assert run("--default", "td3 minibatch_size")[:2] == first[:2]
    all_output = run("--all", "--default", "td3 minibatch_size")[1]
    assert [(s["old"], s["new"]) for s in all_output["steps"]] == [("2.2.1", "2.3.0")]


def test_a_framework_s_own_name_of_a_default_is_accepted():
    """Of each algorithm that has it, as the name that all frameworks share."""
    adapter = frameworks.get_adapter("sb3")
    defaults = {"td3 library": {"minibatch_size": "256"}}
    signatures = {"stable_baselines3.td3.td3.TD3": {"batch_size": "256"}}
    answered = Fingerprint({}, (), {}, defaults, signatures=signatures)
    checked = SimpleNamespace(fingerprint_details=lambda _: answered)
    for name in ("td3 batch_size", "td3 minibatch_size", "stable_baselines3.TD3 batch_size"):
        assert set(
            symptoms.make_symptom_of_default(adapter, name).value(checked, checked).values()
        ) == {"256"}, name


def test_an_algorithm_that_is_none_is_refused_before_a_version_is_made():
    """With the nearest one."""
    with pytest.raises(UserError, match="'td33' is no algorithm that is compared here; .*'td3'"):
        symptoms.make_symptom_of_default(frameworks.get_adapter("sb3"), "td33 batch_size")
