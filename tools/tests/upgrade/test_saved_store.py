"""The store of old files: faults in loading turn it red, and no other file is loaded."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.metadata
import os
import pickle
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from operator import itemgetter

import pytest
from packaging.version import Version

from rlregress import datafiles, frameworks, suite
from rlregress.errors import UserError
from rlregress.inside import saved_files_worker
from rlregress.model.loaded_files import LoadedFile, StoredFile, describe_outcomes_by_release
from rlregress.upgrade.evidence import saved_store
from tests_behavior import test_old_files
from tools.tests.nightly import every
from tools.tests.upgrade.faults_of_files import TABLE, changed, in_a_fork, put_in
from tools.tests.upgrade.small_packages import edit_copy

FRAMEWORKS = ("sb3", "torchrl", "contrib")
STORED = {name: dict(map(reversed, saved_store.list_stored_kinds(name))) for name in FRAMEWORKS}
#: what is read from the store is what a release wrote: a fault of saving shows in an upgrade.
LOADING = [
    change
    for change in TABLE["fault"]
    if change["kind"] in STORED.get(change["framework"], ())
    and "saved again" not in change["shows"]
]
SAME = [change for change in TABLE["same"] if change["kind"] in STORED.get(change["framework"], ())]


def newest(framework):
    """Return the last release of the store up to the installed version."""
    installed = Version(frameworks.get_adapter(framework).code.version())
    return [
        r for r in saved_store.list_release_records(framework) if Version(r.release) <= installed
    ][-1]


def check(framework, kind, answers=saved_files_worker.save_and_load):
    """Return the outcomes of the files of a kind."""
    return list(saved_store.compare_stored_files(frameworks.get_adapter(framework), kind, answers))


def failure(change, record, output):
    """Write the failure of a release's file, loaded with a function changed."""
    put_in(change)
    (kind,) = (kind for kind in record.kind if kind.name == change["kind"])
    adapter = frameworks.get_adapter(change["framework"])
    file = saved_store._compare_stored_file(
        adapter,
        saved_store.read_known_differences(adapter.name),
        record,
        kind,
        saved_files_worker.save_and_load,
    )
    output.write_text(file.failure)


@pytest.fixture
def check_release(tmp_path):
    """Return a function that loads a release, or the newest, with a function changed."""

    def check_with(change, record=None):
        pytest.importorskip(frameworks.get_adapter(change["framework"]).framework.modules[0])
        record = record or newest(change["framework"])
        in_a_fork(failure, change, record, tmp_path / "found")
        return (tmp_path / "found").read_text()

    return check_with


@pytest.mark.parametrize("change", every(12, LOADING, itemgetter("name")))
def test_a_fault_in_loading_turns_it_red(check_release, change):
    """The first thing that differs is named."""
    shows = "does not load" if change["shows"] == "do not load" else change["shows"]
    assert shows in check_release(change)


@pytest.mark.parametrize("change", every(9, SAME, itemgetter("name")))
def test_a_rewrite_does_not(check_release, change):
    """A rewrite that loads the same values is no failure."""
    assert check_release(change) == ""


def test_sizes():
    """At most 50 KB a file and 3 MB in all; every file is named by a release, and there."""
    paths = [path for path in (suite.locate_baselines() / "saved").rglob("*") if path.is_file()]
    assert max(path.stat().st_size for path in paths) <= saved_store.LARGEST == 50_000
    assert sum(path.stat().st_size for path in paths) <= saved_store.LARGEST_STORE == 3_000_000
    for framework in FRAMEWORKS:
        named = {
            digest
            for record in saved_store.list_release_records(framework)
            for kind in record.kind
            for digest in (kind.answers, *kind.files.values())
        }
        for digest in named:
            content = saved_store._read_stored_file(framework, digest)
            assert hashlib.sha256(content).hexdigest() == digest
        stored_files = os.listdir(saved_store.locate_stored_files(framework) / "files")
        assert sorted(stored_files) == sorted({f"{digest[:16]}.gz" for digest in named})


def test_no_file_names_a_folder_of_the_machine_that_wrote_it():
    """Functions in agents name their modules without the folders above."""
    for path in (suite.locate_baselines() / "saved").rglob("*.gz"):
        content = gzip.decompress(path.read_bytes())
        pickled = map(base64.b64decode, saved_store._BASE64.findall(content))
        for text in (content, *pickled):
            assert not re.search(rb"/(tmp|home|root|work)/", text), path.name


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A copy of the tables of the store that may be damaged."""
    files = shutil.ignore_patterns("*.gz")
    shutil.copytree(suite.locate_baselines() / "saved", tmp_path / "saved", ignore=files)
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A copy of the store that may be damaged."""
    shutil.copytree(suite.locate_baselines() / "saved", tmp_path / "saved")
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    return tmp_path / "saved"


def edited(path, *change):
    """A table is changed, and its digest fits."""
    path.write_text(path.read_text().replace(*change))
    digest = datafiles.read_data_file(path, saved_store.Record).content_digest
    path.write_text(re.sub(r"(?m)^digest = .*", f'digest = "{digest}"', path.read_text(), count=1))


class Hostile:
    """Writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def unloaded(record, kind):
    """Return the outcome of a file of Stable-Baselines3 that may not be loaded."""

    def load(job):
        raise AssertionError("it was loaded")

    sb3 = frameworks.get_adapter("sb3")
    return saved_store._compare_stored_file(
        sb3, saved_store.read_known_differences("sb3"), record, kind, load
    )


def damaged(content, mark):
    """The ways to damage a compressed file."""
    return {
        "a bit": content[:40] + bytes([content[40] ^ 1]) + content[41:],
        "half": content[: len(content) // 2],
        "no gzip": b"x",
        "empty": b"",
        "foreign": gzip.compress(pickle.dumps(Hostile(str(mark)))),
        "large": gzip.compress(bytes(20_000_000)),
    }


@pytest.mark.parametrize("way", [*damaged(bytes(100), ""), "missing"])
def test_a_damaged_or_foreign_file_is_refused(store, tmp_path, way):
    """In a sentence, and nothing of it is executed; other releases are loaded."""
    record = newest("sb3")
    (kind,) = (kind for kind in record.kind if kind.name == "ppo normaliser")
    path = store / "sb3" / "files" / f"{kind.files['statistics.pkl'][:16]}.gz"
    mark = tmp_path / "mark"
    if way == "missing":
        path.unlink()
    else:
        path.write_bytes(damaged(path.read_bytes(), mark)[way])
    refused = unloaded(record, kind)
    assert refused.failure.startswith("refused: ")
    assert path.name in refused.failure
    assert "\n" not in refused.failure
    assert not mark.exists()


def test_names_do_not_lead_out_of_the_store(store):
    """A record that names another place is refused before it is read."""
    path = next((store / "sb3" / "releases").glob("*.toml"))
    edited(path, '"model.zip"', '"../../model.zip"', 1)
    (record,) = (
        stored for stored in saved_store.list_release_records("sb3") if stored.release == path.stem
    )
    (kind,) = (kind for kind in record.kind if "../../model.zip" in kind.files)
    assert unloaded(record, kind).failure.startswith("refused: '..' cannot be the name")


def test_what_cannot_be_loaded_here_is_skipped(store, monkeypatch):
    """Files of a newer release or NumPy, and functions of another Python: with the reason."""
    monkeypatch.setattr(saved_store.platform, "python_version_tuple", lambda: ("2", "7", "18"))
    record = newest("sb3")
    files = {file.release: file for file in check("sb3", "ppo model", None)}
    assert f"functions of Python {record.python}, and this is 2.7" in files[record.release].skipped
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "0.9" if name == "numpy" else version(name)
    )
    files = {file.release: file for file in check("sb3", "ppo policy", None)}
    assert files[record.release].skipped.endswith("wrote it, and 0.9 is installed")
    monkeypatch.setattr(
        saved_store,
        "read_known_differences",
        lambda name: saved_store.KnownDifferences(compared_since="50"),
    )
    assert "from 50 on" in check("sb3", "ppo policy", None)[-1].skipped
    path = store / "sb3" / "releases" / f"{record.release}.toml"
    edited(path.rename(path.with_stem("99.0")), f'"{record.release}"', '"99.0"')
    monkeypatch.setattr(
        saved_store, "read_known_differences", lambda name: saved_store.KnownDifferences()
    )
    (newer,) = [file for file in check("sb3", "ppo model", None) if file.release == "99.0"]
    assert "a newer release wrote it" in newer.skipped
    assert not newer.failure


EDITED = r"2\.9\.2\.toml is not as it was recorded: .* restore it"
KIND = saved_store.StoredKind(
    name="ppo model", algorithm="ppo", way="save, load", trusted=False, bytecode=False,
    answers="x", files={},
)  # fmt: skip
EXPECTED = saved_store.Expected(
    since="1.0", until="2.0", kinds=("ppo model",), loaded_since="2.0", why="why", source="s",
    item=(saved_store.KnownItem(paths=("settings",), written="1", read="2"),),
)  # fmt: skip
NOT_LOADED = replace(EXPECTED, item=(), error="ModuleNotFoundError: No module named 'gym'")
BROKEN = {
    "error": "ModuleNotFoundError: No module named 'gym'",
    "at": "a.py:1 f",
    "when": "load",
}
OWN = saved_store._Answers(items=(("parameters", "1", "f", ()), ("settings['a']", "1", "f", ())))


def rows(parameters, setting):
    """Return loaded items."""
    return {"items": [[["parameters", parameters, 0, []], ["settings['a']", setting, 0, []]]]}


@pytest.mark.parametrize(
    ("read", "expected", "failure"),
    [
        (rows("1", "1"), [], ""),
        (rows("1", "2"), [], "settings['a'], a.py:1 f: 1 -> 2"),
        (rows("1", "2"), [EXPECTED], ""),
        (rows("1", "1"), [EXPECTED], "no longer differs as documented: why"),
        (rows("2", "2"), [EXPECTED], "parameters, a.py:1 f: 1 -> 2"),
        (rows("1", "3"), [EXPECTED], "settings['a'], a.py:1 f: 1 -> 3; no longer differs as"),
        (rows("1", "22"), [EXPECTED], "settings['a'], a.py:1 f: 1 -> 22; no longer differs as"),
        (BROKEN, [], "does not load: ModuleNotFoundError: No module named 'gym' at a.py:1 f"),
        (BROKEN, [NOT_LOADED], ""),
        (BROKEN, [NOT_LOADED, EXPECTED, replace(NOT_LOADED, error="another", why="other")], ""),
        ({**BROKEN, "error": "KeyError"}, [NOT_LOADED], "does not load: KeyError at a.py:1 f; no"),
        ({**BROKEN, "error": f"{BROKEN['error']} and more"}, [NOT_LOADED],
         "does not load: ModuleNotFoundError: No module named 'gym' and more"),
        (rows("1", "1"), [NOT_LOADED], "no longer differs as documented: why"),
        (BROKEN, [EXPECTED], "does not load: ModuleNotFoundError"),
        ({**rows("1", "1"), **BROKEN, "when": "use"}, [], "loads, and then fails: "),
        ({**rows("2", "1"), **BROKEN, "when": "use"}, [NOT_LOADED], "parameters, a.py:1 f: 1 -> 2"),
    ],
)  # fmt: skip
def test_what_is_known_has_to_be_there_and_nothing_else(read, expected, failure):
    """A known difference passes, and fails when it is gone or another one comes."""
    loaded = {"functions": ["a.py:1 f"], "kinds": {"ppo model": {"way": "", **read}}}
    judged = saved_store._judge_stored_file(
        StoredFile(name="ppo model", release="1.0"), OWN, loaded, KIND, expected
    )
    assert judged.failure.startswith(failure)
    assert bool(judged.failure) == bool(failure)


BEFORE = ("rewards", "array of <f8 [2]: 0.317017, 0.0866519 (60ff23ce)", "f",
          (0.328646308, 0.317017108, 0.086651884))  # fmt: skip
AFTER = ("array of <f4 [2]: 0.317017, 0.0866519 (a2790fcb)",
         (0.32864632, 0.317017121, 0.086651884))  # fmt: skip
SMALLER = saved_store.KnownItem(paths=("rewards",), written="array of <f8", read="array of <f4")
GONE = saved_store.KnownItem(paths=("params[",), written="int", read="missing")
LONGER = saved_store.KnownItem(paths=("rows",), written="tuple of 5", read="tuple of 6")


@pytest.mark.parametrize(
    ("documented", "row", "read", "covers"),
    [
        (SMALLER, BEFORE, AFTER, True),
        (SMALLER, BEFORE, (AFTER[0], tuple(1.01 * of for of in AFTER[1])), False),
        (SMALLER, BEFORE, (AFTER[0].replace("[2]", "[2, 1]"), AFTER[1]), False),
        (SMALLER, BEFORE, (AFTER[0].replace("<f4", "<f2"), AFTER[1]), False),
        (SMALLER, BEFORE, (AFTER[0], ()), False),
        (SMALLER, BEFORE, ("missing", ()), False),
        (SMALLER, BEFORE, BEFORE[1::2], False),
        (SMALLER, ("other", *BEFORE[1:]), AFTER, False),
        (GONE, ("params[6]", "int 6", "f", ()), ("missing", ()), True),
        (GONE, ("params[6]", "int 6", "f", ()), ("int 7", ()), False),
        (GONE, ("params[6]", "str a", "f", ()), ("missing", ()), False),
        (LONGER, ("rows", "tuple of 5", "f", ()), ("tuple of 6", ()), True),
        (LONGER, ("rows", "tuple of 5", "f", ()), ("tuple of 60", ()), False),
        (LONGER, ("rows", "tuple of 50", "f", ()), ("tuple of 6", ()), False),
    ],
)
def test_a_known_item_differs_so_and_not_otherwise(documented, row, read, covers):
    """Its words before and after are pinned, and its values but for rounding."""
    assert documented.covers_difference(row, read) == covers


def test_a_known_difference_hides_no_other_of_its_item(check_release):
    """Rewards of steps became 32-bit numbers; that they are other numbers too is another one."""
    change = {
        "framework": "sb3", "kind": "ppo normaliser", "file": "common/vec_env/vec_normalize.py",
        "function": "VecNormalize.normalize_reward", "old": "astype(np.float32)",
        "new": "astype(np.float32) * np.float32(1.5)",
    }  # fmt: skip
    (old,) = (
        record for record in saved_store.list_release_records("sb3") if record.release == "2.3.2"
    )
    text = check_release(change, old)
    assert text.startswith("rewards, stable_baselines3/common/vec_env/vec_normalize.py:")
    assert "array of <f8" in text
    assert "(and 12 more); no longer differs as documented: rewards are 32-bit" in text


def test_what_became_of_the_files_of_releases_is_one_clause_each():
    """Outcomes are named with their releases; a file with nothing compared is not the same."""
    files = [StoredFile(name="x", release=release, refused="why") for release in ("1", "2", "3")]
    files += [StoredFile(name="x", release="4", file=None, skipped="old")]
    assert describe_outcomes_by_release(files) == [
        "refused: why (3 releases, 1 to 3)",
        "not loaded: old (4)",
    ]
    assert StoredFile(name="x", release="1", file=LoadedFile(name="x")).failure
    assert not StoredFile(name="x", release="1", file=LoadedFile(name="x", compared=1)).failure


def test_a_known_difference_is_of_some_releases():
    """Those that wrote it, and those that load it."""
    assert EXPECTED.concerns_file("ppo model", "1.8.0", "2.9.2")
    assert not EXPECTED.concerns_file("ppo model", "2.0.0", "2.9.2")
    assert not EXPECTED.concerns_file("ppo model", "1.0", "1.8.0")
    assert not EXPECTED.concerns_file("sac model", "1.0", "2.9.2")
    assert not replace(EXPECTED, loaded_until="2.5").concerns_file("ppo model", "1.0", "2.9.2")
    assert not EXPECTED.reason_unknown
    assert (
        "where json is installed is not recorded" in replace(EXPECTED, unless="json").reason_unknown
    )


@pytest.mark.nightly
def test_a_release_is_recorded(store, monkeypatch):
    """The installed version writes its files again: they are the same, and load."""
    monkeypatch.setattr(suite, "require_checkout", lambda purpose: None)
    shutil.rmtree(store / "torchrl")
    torchrl = frameworks.get_adapter("torchrl")
    monkeypatch.setattr(frameworks, "list_installed_adapters", lambda: [torchrl])
    (line,) = saved_store.record_files_of_release("installed", "rlregress baseline record", print)
    assert "10 kinds" in line
    for _, kind in saved_store.list_stored_kinds("torchrl"):
        assert [file.failure for file in check("torchrl", kind)] == [""]


def test_what_is_too_large_is_not_recorded(store, monkeypatch):
    """One sentence, and nothing is written."""
    with pytest.raises(UserError, match="expected at most 50000"):
        saved_store._check_stored_sizes("sb3", "2.9.2", {"a" * 64: bytes(50_001)})
    full = {f"{n:064}": bytes(50_000) for n in range(60)}
    with pytest.raises(UserError, match="at most 3000000; remove a release"):
        saved_store._check_stored_sizes("sb3", "2.9.2", full)


def test_what_cannot_be_recorded_is_said(command):
    """One sentence, exit code 2."""
    for arguments, part in (
        ("--saved installed --framework sb3", "leave out --framework"),
        ("--saved nothing==1.0", "concerns no framework"),
        ("--framework sb3 --algorithm ppo", "--environment is missing"),
    ):
        code, _, error = command("baseline", "record", *arguments.split())
        assert (code, part in error) == (2, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # it would be loaded as another release, or be left out without a word
        (("release = ", 'release = "9.9.9"\n#'), "no package in 'versions'"),
        (("numpy = ", "#"), "'versions' has no numpy"),
        (('name = "ppo policy"', 'name = "ppo model"'), "two kinds have the same 'name'"),
        (("numpy = ", 'numpy = "two"\n#'), "numpy"),
        # it would be told as a change of the framework, be skipped, or end in a traceback
        *((change, EDITED) for change in (
            ("trusted = false", "trusted = true"), ("bytecode = true", "bytecode = false"),
            ('algorithm = "ppo"', 'algorithm = "ppo2"'),
            ('name = "ppo policy"', 'name = "ppo policies"'),
            ('python = "3.11.7"', 'python = "3.12.0"'),
            ('"model.zip" = "', '"model.zip" = "0'), ('recorded = "2', 'recorded = "3'),
        )),
    ],
)  # fmt: skip
def test_an_edited_table_is_refused(tables, change, message):
    """One that contradicts itself, and one that is not as it was recorded."""
    path = saved_store.locate_stored_files("sb3") / "releases" / "2.9.2.toml"
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change, 1 if message is EDITED else -1))
    for read in (saved_store.list_release_records, saved_store.list_stored_kinds):
        with pytest.raises(UserError, match=message):
            read("sb3")


def test_damage_of_the_store_is_no_failure_of_the_framework(store):
    """A file that is refused ends in a user error; beside a difference it is told with that."""
    record = newest("torchrl")
    (kind,) = (kind for kind in record.kind if kind.name == "td3 loss")
    (store / "torchrl" / "files" / f"{kind.answers[:16]}.gz").write_bytes(b"x")
    test = test_old_files.test_files_of_past_releases_do_the_same
    torchrl = frameworks.get_adapter("torchrl")
    with pytest.raises(UserError, match="old files `td3 loss`: refused: .*; restore it|cannot be"):
        test(torchrl, "td3", "td3 loss", lambda **of: None)
    files = [StoredFile(name="x", release=f"{n}", refused="why") for n in range(2)]
    differing = LoadedFile(name="x", compared=1, differing=1, item="i", writer="1", reader="2")
    files.append(StoredFile(name="x", release="3", file=differing))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_store, "compare_stored_files", lambda *_: files)
        with pytest.raises(AssertionError, match="refused: why"):
            test(torchrl, "td3", "td3 loss", lambda **of: None)


def test_other_tables_that_do_not_fit_the_store_are_refused(tables):
    """A copy hides the release of its name; a kind that is misspelt lets its difference pass."""
    folder = saved_store.locate_stored_files("sb3")
    path = folder / "expected.toml"
    path.write_text(path.read_text().replace('"ppo normaliser"', '"ppo normalizer"'))
    with pytest.raises(UserError, match=r"at line \d+: no release in .* 'ppo normalizer'"):
        saved_store.read_known_differences("sb3")
    shutil.copy(folder / "releases" / "1.8.0.toml", folder / "releases" / "2.9.2.toml")
    with pytest.raises(UserError, match="release 1.8.0 wrote its files"):
        saved_store.list_release_records("sb3")


def test_an_empty_store_is_no_all_clear(tables):
    """Nothing to load is an error where the framework saves files; others save none."""
    shutil.rmtree(saved_store.locate_stored_files("sb3"))
    with pytest.raises(UserError, match="holds no files of past releases"):
        saved_store.list_stored_kinds("sb3")
    for name in ("cleanrl", "rsl_rl", "skrl"):
        assert not saved_store.list_stored_kinds(name)


def test_a_pin_of_no_framework_records_nothing(tables):
    """The installed framework's own files would be written over."""
    before = {
        p: p.read_bytes() for p in saved_store.locate_stored_files("sb3").rglob("*") if p.is_file()
    }
    with pytest.raises(UserError, match="names no release of a framework"):
        list(saved_store.record_files_of_release("numpy==1.26.4", "", print))
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.usefixtures("warm_python")
def test_what_was_recorded_is_what_is_installed(tmp_path):
    """A copy that is in front of the installed package, or an edited one, is not recorded."""
    sb3 = frameworks.get_adapter("sb3")
    installed = importlib.metadata.distribution("stable-baselines3")
    (information,) = {file.parts[0] for file in installed.files if ".dist-info" in file.parts[0]}
    file = "stable_baselines3/common/vec_env/vec_normalize.py"
    said = []
    for name in ("copy", "edited"):
        edit_copy(sb3, file, tmp_path / name, ("class VecNormalize(", "\nclass VecNormalize("))
        if name == "edited":
            shutil.copytree(installed.locate_file(information), tmp_path / name / information)
        said.append(recording(tmp_path / name, "installed"))
    assert said[0].startswith(f"stable_baselines3 is imported from {tmp_path / 'copy'}")
    assert f"is no release: {file} is not as it was installed" in said[1]
    pinned = f"stable-baselines3=={sb3.code.version()}"
    assert recording(tmp_path / "copy", pinned) == said[0]


def recording(folder, release):
    """The one line with which a recording ends that is refused, with a folder on the path."""
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    ran = subprocess.run(
        [sys.executable, "-c", "from rlregress import cli; cli.main()", "baseline", "record",
         "--saved", release],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=suite.locate_checkout_or_current_folder(), capture_output=True, text=True,
    )  # fmt: skip
    assert (ran.returncode, "wrote" in ran.stdout) == (2, False)
    (line,) = ran.stderr.splitlines()
    return line.removeprefix("rlregress: ")


@pytest.mark.nightly
def test_the_line_of_a_check_turns_red(tmp_path):
    """A copy of Stable-Baselines3 that loses exploration: the test fails, and its line says so."""
    (change,) = (row for row in TABLE["fault"] if row["name"] == "exploration begins anew")
    sb3, file = frameworks.get_adapter("sb3"), f"stable_baselines3/{change['file']}"
    text = sb3.code.find_installed_path(file).read_text()
    branch = edit_copy(sb3, file, tmp_path / "branch", (text, changed(text, change)))
    tests = suite.make_pytest_arguments("tests_behavior/test_old_files.py")
    paths = [branch, os.environ.get("PYTHONPATH", "")]
    # it is no worker of this session
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    ran = subprocess.run(
        [sys.executable, *tests, "-q", "-p", "no:cacheprovider", "--framework", "sb3", "-k",
         "dqn_model", "--rlregress-report", str(tmp_path / "report")],
        env={**variables, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=suite.locate_checkout_or_current_folder(), capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "sb3: old files dqn model: settings['exploration_rate']" in ran.stdout
    line = "failed: old files `dqn model`: settings['exploration_rate']"
    assert line in (tmp_path / "report" / "summary.md").read_text()
