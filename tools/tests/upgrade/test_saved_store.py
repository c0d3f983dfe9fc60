"""The store of old files: faults in loading turn it red, and no other file is loaded."""

from __future__ import annotations

import base64
import gzip
import os
import pickle
import re
import shutil
import sys
from dataclasses import replace

import pytest
from packaging.version import Version

from rlregress import frameworks, suite
from rlregress.errors import UserError
from rlregress.inside import saved_files_worker
from rlregress.model.loaded_files import LoadedFile, StoredFile, describe_outcomes_by_release
from rlregress.upgrade.evidence import saved_store
from tests_behavior import test_old_files
from tools.tests.small_files import Hostile, write_files

FRAMEWORKS = ("sb3", "torchrl", "contrib")


def newest(framework):
    """Return the last release of the store up to the installed version."""
    installed = Version(frameworks.get_adapter(framework).code.version())
    records = saved_store.list_release_records(framework)
    return [record for record in records if Version(record.release) <= installed][-1]


def check(framework, kind, answers=saved_files_worker.save_and_load):
    """Return the outcomes of the files of a kind."""
    return list(saved_store.compare_stored_files(frameworks.get_adapter(framework), kind, answers))


def test_stored_files_are_small_named_and_of_no_machine():
    """At most 50 KB a file and 3 MB in all, each of a release; functions have no folders."""
    paths = [path for path in (suite.locate_baselines() / "saved").rglob("*") if path.is_file()]
    assert max(path.stat().st_size for path in paths) <= saved_store.LARGEST == 50_000
    assert sum(path.stat().st_size for path in paths) <= saved_store.LARGEST_STORE == 3_000_000
    for framework in FRAMEWORKS:
        records = saved_store.list_release_records(framework)
        kinds = [kind for record in records for kind in record.kind]
        named = {digest for kind in kinds for digest in (kind.answers, *kind.files.values())}
        for digest in named:
            saved_store._read_stored_file(framework, digest)
        stored_files = os.listdir(saved_store.locate_stored_files(framework) / "files")
        assert sorted(stored_files) == sorted({f"{digest[:16]}.gz" for digest in named})
    for path in (path for path in paths if path.suffix == ".gz"):
        content = gzip.decompress(path.read_bytes())
        pickled = map(base64.b64decode, saved_store._BASE64.findall(content))
        for text in (content, *pickled):
            assert not re.search(rb"/(tmp|home|root|work)/", text), path.name


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A copy of the store that may be damaged."""
    shutil.copytree(suite.locate_baselines() / "saved", tmp_path / "saved")
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    return tmp_path / "saved"


def unloaded(record, kind):
    """Return the outcome of a file of Stable-Baselines3 that may not be loaded."""

    def load(job):
        raise AssertionError("it was loaded")

    sb3 = frameworks.get_adapter("sb3")
    return saved_store._compare_stored_file(
        sb3, saved_store.read_expected_differences_of_stored_files("sb3"), record, kind, load
    )


def test_a_damaged_or_foreign_file_is_refused(store, tmp_path):
    """In a sentence, and nothing of it is executed."""
    record = newest("sb3")
    (kind,) = (kind for kind in record.kind if kind.name == "ppo normaliser")
    path = store / "sb3" / "files" / f"{kind.files['statistics.pkl'][:16]}.gz"
    content = path.read_bytes()
    hostile = gzip.compress(pickle.dumps(Hostile(str(tmp_path / "mark"))))
    flipped = content[:40] + bytes([content[40] ^ 1]) + content[41:]
    cut, large = content[: len(content) // 2], gzip.compress(bytes(20_000_000))
    for damaged in (flipped, cut, hostile, large, None):
        path.write_bytes(damaged) if damaged else path.unlink()
        failure = unloaded(record, kind).failure
        assert failure.startswith("refused: ")
        assert path.name in failure
        assert "\n" not in failure
    assert not (tmp_path / "mark").exists()


def test_names_do_not_lead_out_of_the_store():
    """A record that names another place is refused before it is read."""
    record = newest("sb3")
    kind = replace(record.kind[0], files={"../../model.zip": "0"})
    assert unloaded(record, kind).failure.startswith("refused: '..' cannot be the name")


EDITED = r"2\.9\.2\.toml is not as it was recorded: .* restore it"
KIND = saved_store.StoredKind(
    name="ppo model", algorithm="ppo", way="save, load", trusted=False, bytecode=False,
    answers="x", files={},
)  # fmt: skip
EXPECTED = saved_store.ExpectedDifference(
    since="1.0", until="2.0", kinds=("ppo model",), loaded_since="2.0", why="why", source="s",
    item=(saved_store.KnownItem(paths=("settings",), written="1", read="2"),),
)  # fmt: skip
NOT_LOADED = replace(EXPECTED, item=(), error="ModuleNotFoundError: No module named 'gym'")
BROKEN = {"error": NOT_LOADED.error, "at": "a.py:1 f", "when": "load"}
OWN = saved_store._Answers(items=(("parameters", "1", "f", ()), ("settings['a']", "1", "f", ())))


def test_what_cannot_be_loaded_here_is_skipped(monkeypatch):
    """Files of a newer release or NumPy, and functions of another Python: with the reason."""
    record = newest("sb3")

    def explain(kind=KIND, release=record.release, **versions):
        versions = {**record.versions, "written": release, **versions}
        return unloaded(replace(record, release=release, versions=versions), kind).skipped

    assert explain() == ""
    assert "functions of Python 2.7" in explain(replace(KIND, bytecode=True), python="2.7.18")
    assert "NumPy 99.0 wrote it" in explain(numpy="99.0")
    assert "a newer release wrote it" in explain(release="99.0")
    unknown = replace(EXPECTED, since="0.1", until="99.0", unless="json")
    known = saved_store.KnownDifferences(expected=(unknown,))
    monkeypatch.setattr(
        saved_store, "read_expected_differences_of_stored_files", lambda name: known
    )
    assert "where json is installed is not recorded" in explain()
    known = saved_store.KnownDifferences(compared_since="50")
    assert "records begin with 50" in explain()


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
        (rows("1", "22"), [EXPECTED], "settings['a'], a.py:1 f: 1 -> 22; no longer differs as"),
        (BROKEN, [], "does not load: ModuleNotFoundError: No module named 'gym' at a.py:1 f"),
        (BROKEN, [NOT_LOADED], ""),
        (BROKEN, [NOT_LOADED, EXPECTED, replace(NOT_LOADED, error="another", why="other")], ""),
        ({**BROKEN, "error": "KeyError"}, [NOT_LOADED], "does not load: KeyError at a.py:1 f; no"),
        ({**BROKEN, "error": f"{BROKEN['error']} and more"}, [NOT_LOADED],
         "does not load: ModuleNotFoundError: No module named 'gym' and more"),
        (rows("1", "1"), [NOT_LOADED], "no longer differs as documented: why"),
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
        (SMALLER, ("other", *BEFORE[1:]), AFTER, False),
        (GONE, ("params[6]", "int 6", "f", ()), ("missing", ()), True),
        (GONE, ("params[6]", "int 6", "f", ()), ("int 7", ()), False),
        (LONGER, ("rows", "tuple of 5", "f", ()), ("tuple of 6", ()), True),
        (LONGER, ("rows", "tuple of 5", "f", ()), ("tuple of 60", ()), False),
        (LONGER, ("rows", "tuple of 50", "f", ()), ("tuple of 6", ()), False),
    ],
)
def test_a_known_item_differs_so_and_not_otherwise(documented, row, read, covers):
    """Its words before and after are pinned, and its values but for rounding."""
    assert documented.covers_difference(row, read) == covers


def test_what_became_of_the_files_of_releases_is_one_clause_each():
    """Outcomes are named with their releases; a file with nothing compared is not the same."""
    files = [StoredFile(name="x", release=release, refused="why") for release in ("1", "2", "3")]
    files += [StoredFile(name="x", release="4", file=None, skipped="old")]
    files += [StoredFile(name="x", release="5", file=LoadedFile(name="x", compared=1))]
    outcomes = ["refused: why (3 releases, 1 to 3)", "not loaded: old (4)", "same (5)"]
    assert describe_outcomes_by_release(files) == outcomes
    assert describe_outcomes_by_release(files[:2:-1]) == outcomes[1:]
    assert StoredFile(name="x", release="1", file=LoadedFile(name="x")).failure
    assert not StoredFile(name="x", release="1", file=LoadedFile(name="x", compared=1)).failure


def test_a_known_difference_is_of_some_releases():
    """Those that wrote it, and those that load it."""
    assert EXPECTED.is_expected_for_file("ppo model", "1.8.0", "2.9.2")
    assert not EXPECTED.is_expected_for_file("ppo model", "2.0.0", "2.9.2")
    assert not EXPECTED.is_expected_for_file("ppo model", "1.0", "1.8.0")
    assert not EXPECTED.is_expected_for_file("sac model", "1.0", "2.9.2")
    assert not replace(EXPECTED, loaded_until="2.5").is_expected_for_file(
        "ppo model", "1.0", "2.9.2"
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


def test_what_is_too_large_or_of_no_framework_is_not_recorded(store, monkeypatch):
    """One sentence, and nothing is written, nor written over."""
    with pytest.raises(UserError, match="expected at most 50000"):
        saved_store._check_stored_sizes("sb3", "2.9.2", {"a" * 64: bytes(50_001)})
    full = {f"{n:064}": bytes(50_000) for n in range(60)}
    with pytest.raises(UserError, match="at most 3000000; remove a release"):
        saved_store._check_stored_sizes("sb3", "2.9.2", full)
    with pytest.raises(UserError, match="names no release of a framework"):
        list(saved_store.record_files_of_release("numpy==1.26.4", "", print))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # it would be loaded as another release, or be left out without a word
        (("release = ", 'release = "9.9.9"\n#'), "no package in 'versions'"),
        (("numpy = ", "#"), "'versions' has no numpy"),
        (('name = "ppo policy"', 'name = "ppo model"'), "two kinds have the same 'name'"),
        (("numpy = ", 'numpy = "two"\n#'), "numpy"),
        # it would be told as a change of the framework, be skipped, or end in a traceback
        (("trusted = false", "trusted = true"), EDITED),
        (('"model.zip" = "', '"model.zip" = "0'), EDITED),
    ],
)  # fmt: skip
def test_an_edited_table_is_refused(store, change, message):
    """One that contradicts itself, and one that is not as it was recorded."""
    path = saved_store.locate_stored_files("sb3") / "releases" / "2.9.2.toml"
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change, 1 if message is EDITED else -1))
    with pytest.raises(UserError, match=message):
        saved_store.list_stored_kinds("sb3")


def test_damage_of_the_store_is_no_failure_of_the_framework(monkeypatch):
    """A file that is refused ends in a user error; beside a difference it is told with that."""
    refused = [StoredFile(name="x", release=f"{n}", refused="why") for n in range(2)]
    differing = LoadedFile(name="x", compared=1, differing=1, item="i", writer="1", reader="2")
    both = [*refused, StoredFile(name="x", release="3", file=differing)]
    for files, kind in ((refused, UserError), (both, AssertionError)):
        monkeypatch.setattr(saved_store, "compare_stored_files", lambda *_, files=files: files)
        with pytest.raises(kind, match="old files `x`: refused: why"):
            test_old_files.test_files_of_past_releases_do_the_same(
                frameworks.get_adapter("torchrl"), "td3", "x", lambda **of: None
            )


def test_other_tables_that_do_not_fit_the_store_are_refused(store):
    """A copy hides the release of its name; a kind that is misspelt lets its difference pass."""
    folder = saved_store.locate_stored_files("sb3")
    path = folder / "expected.toml"
    path.write_text(path.read_text().replace('"ppo normaliser"', '"ppo normalizer"'))
    with pytest.raises(UserError, match=r"at line \d+: no release in .* 'ppo normalizer'"):
        saved_store.read_expected_differences_of_stored_files("sb3")
    shutil.copy(folder / "releases" / "1.8.0.toml", folder / "releases" / "2.9.2.toml")
    with pytest.raises(UserError, match="release 1.8.0 wrote its files"):
        saved_store.list_release_records("sb3")


def test_an_empty_store_is_no_all_clear(store):
    """Nothing to load is an error where the framework saves files; others save none."""
    assert ("ppo", "ppo model") in saved_store.list_stored_kinds("sb3")
    shutil.rmtree(saved_store.locate_stored_files("sb3"))
    with pytest.raises(UserError, match="holds no files of past releases"):
        saved_store.list_stored_kinds("sb3")
    for name in ("cleanrl", "rsl_rl", "skrl"):
        assert not saved_store.list_stored_kinds(name)


def test_what_is_no_release_is_not_recorded(tmp_path, monkeypatch):
    """An edited package, and a copy in front of it, would be stored as files of the release."""
    sb3 = frameworks.get_adapter("sb3")
    saved_store._check_imported_release(sb3)
    monkeypatch.syspath_prepend(write_files(tmp_path, {"stable_baselines3/__init__.py": ""}))
    monkeypatch.delitem(sys.modules, "stable_baselines3", raising=False)
    message = f"stable_baselines3 is imported from {tmp_path}/stable_baselines3, and not from"
    with pytest.raises(UserError, match=message):
        saved_store._check_imported_release(sb3)
    monkeypatch.setattr(saved_store, "explain_altered_package", lambda package: "it was edited")
    with pytest.raises(UserError, match="is no release: it was edited; expected one"):
        saved_store._check_imported_release(sb3)
