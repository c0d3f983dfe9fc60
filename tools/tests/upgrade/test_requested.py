"""Requests of an upgrade gate, and the frameworks and physics that they concern."""

from __future__ import annotations

import importlib.metadata
import json

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.upgrade import cascade
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.versions import affected, installed
from rlregress.upgrade.versions.requested import parse_requested_version
from rlregress.upgrade.versions.resolved import ResolvedPair, ResolvedVersion
from rlregress.upgrade.versions.version_resolution import ResolvedPins, ResolverInput
from tools.tests.small_files import write_files

VERSION = importlib.metadata.version("gymnasium")


@pytest.fixture
def lock(tmp_path):
    """A lock file with the given lines."""

    def written(*lines, name="requirements.txt"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return written


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("tensordict==0.13.0, Torch_RL==0.13.3", ("tensordict==0.13.0", "torch-rl==0.13.3")),
        ("numpy==2.0 NumPy==2.0", ("numpy==2.0",)),
        (" installed ", ()),
    ],
)
def test_requirements_are_canonical_and_sorted(text, requirements):
    """Order, separators and spelling do not make another set; the same pin twice is one."""
    assert parse_requested_version(text).requirements == requirements


def test_a_framework_is_known_by_its_short_name_and_its_import_name():
    """The output says so; pins of a base are added, except where the version has its own."""
    version = parse_requested_version("torchrl==0.9.2 numpy==2.0.0")
    version = version.add_missing_pins(["numpy==1.26.4", "gymnasium==0.29.1"])
    assert version.requirements == ("gymnasium==0.29.1", "numpy==2.0.0", "torchrl==0.9.2")
    assert version.text == "torchrl==0.9.2 numpy==2.0.0 gymnasium==0.29.1"
    for name in ("SB3", "stable_baselines3"):
        request = parse_requested_version(f"{name}==2.8.0 gymnasium==1.0.0")
        assert request.requirements == ("gymnasium==1.0.0", "stable-baselines3==2.8.0")
        is_other_name = name == "SB3"
        assert bool(request.understood) == is_other_name
        assert not is_other_name or "as the package stable-baselines3" in request.understood[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "not pinned|no requirement")
          for text in ("gymnasium", "gymnasium>=1.0", "gymnasium==1.*", "gymnasium==1,!=1")),
        ("numpy==2.0 numpy==1.0", "contradicts itself: numpy==1.0 and numpy==2.0"),
        # a mistyped folder or file is handed to no installer
        *((name, f"'{name}' is no folder and no file")
          for name in ("./no/such/tree", "nothere.txt", "nothere.lock")),
        ("refers.txt", "'-r base.txt' in refers.txt refers to another file"),
        ("empty.txt", "pins nothing"),
        ("loose.txt", "not pinned"),
        # the command that writes requirements.txt
        ("environment.yml", "environment.yml is of a format .* requirements.txt: .*pip freeze"),
        ("Pipfile.lock", "Pipfile.lock is of a format .* requirements.txt: .*pipenv requirements"),
        ("poetry.lock", "poetry.lock is of a format .* requirements.txt: .*poetry export"),
        ("other.lock", "other.lock is of a format .* requirements.txt: .*uv export"),
    ],
)  # fmt: skip
def test_what_names_no_version_is_refused(text, message, tmp_path, monkeypatch):
    """A version that is not pinned would be another one tomorrow."""
    files = {
        "refers.txt": "-r base.txt\nnumpy==2.0.0\n", "empty.txt": "# nothing\n",
        "loose.txt": "numpy>=2\n", "environment.yml": "name: x\n", "Pipfile.lock": "{}",
        "poetry.lock": "[[package]]\n", "other.lock": "[[package]]\n",
    }  # fmt: skip
    monkeypatch.chdir(write_files(tmp_path, files))
    with pytest.raises(UserError, match=message):
        parse_requested_version(text)


def test_a_lock_file_is_read_as_pip_reads_it(tmp_path):
    """A byte order mark, comments, hashes, markers and editable projects are no pins."""
    text = (
        "# made by a tool\nnumpy==2.0.0 \\\n    --hash=sha256:0123\nscipy==1.14.0  # a comment\n"
        '-e .\npywin32==300 ; sys_platform == "win32"\n'
    )
    for name, start in (("plain.txt", ""), ("marked.txt", "numpy==2.0.0\n")):
        coding = "utf-8-sig" if start else "utf-8"
        (tmp_path / name).write_text(start + text, encoding=coding)
        assert parse_requested_version(str(tmp_path / name)).requirements == (
            "numpy==2.0.0", "scipy==1.14.0"
        )  # fmt: skip


def test_a_tree_is_known_by_its_content(tmp_path):
    """The key of a working tree moves with its code, not with what git keeps beside it."""
    keys = [
        parse_requested_version(str(write_files(tmp_path, {file: text}))).key
        for file, text in (("p/__init__.py", "1"), (".git/hook.py", "1"), ("p/__init__.py", "2"))
    ]
    assert keys[0] == keys[1] != keys[2]


def _names(old, new, *named):
    versions = parse_requested_version(old), parse_requested_version(new)
    return [adapter.name for adapter in affected.list_affected_adapters(*versions, named)]


def _changes_physics(old, new):
    versions = ResolvedVersion("old", old), ResolvedVersion("new", new)
    packages = affected.list_packages_pinned_apart(old, new)
    return ResolvedPair(*versions, packages, ()).changes_physics


def test_a_framework_is_concerned_by_its_own_packages(tmp_path):
    """By a pin of its package, or a working tree that holds it, at its top or below ``src``."""
    for name in ("sb3", "torchrl"):
        package = frameworks.get_adapter(name).framework.packages[0]
        assert _names(f"{package}==0.0.1", "installed") == [name]
    module = frameworks.get_adapter("sb3").framework.modules[0]
    write_files(tmp_path, {f"src/{module}/__init__.py": ""})
    assert _names("installed", str(tmp_path)) == ["sb3"]


def test_what_all_stand_on_concerns_all_that_are_installed():
    """Another gymnasium is asked of every installed framework, and moves physics."""
    assert {"sb3", "torchrl"} <= set(_names("gymnasium==0.0.1", "installed"))
    gymnasium = parse_requested_version("gymnasium==0.0.1")
    assert _changes_physics(gymnasium, parse_requested_version("installed"))


def test_only_pins_that_differ_between_lock_files_count(lock):
    """Equal pins of two lock files concern nobody."""
    same, sb3 = ("gymnasium==1.0.0", "torchrl==0.1.0"), "stable-baselines3"
    old = parse_requested_version(lock(f"{sb3}==2.0.0", *same, name="a"))
    new = parse_requested_version(lock(f"{sb3}==2.1.0", *same, name="b"))
    assert affected.list_packages_pinned_apart(old, new) == {sb3}
    assert [adapter.name for adapter in affected.list_affected_adapters(old, new)] == ["sb3"]
    assert not _changes_physics(old, new)
    # nor does a pin of the installed version
    pins = parse_requested_version(lock(f"gymnasium=={VERSION}", "torchrl==0.1.0"))
    installed_version = parse_requested_version("installed")
    assert affected.list_packages_pinned_apart(pins, installed_version) == {"torchrl"}


def test_lock_files_that_differ_in_nothing_of_a_framework_concern_nobody(lock, tmp_path):
    """A raised tool is acquitted without a run; what requires NumPy may train something."""
    old, new = lock("typer==0.1.0", "numpy==2.0.0", name="a"), lock("typer==0.2.0", "numpy==2.0.0")
    assert _names(old, new) == []
    result = cascade.judge_upgrade(Options(old, new, tmp_path))
    assert (result.verdict, result.exit_code) == ("unchanged", 0)
    assert [(entry.kind, entry.name) for entry in result.entries] == [("package", "typer")]
    assert _names(old, old) == []
    old, new = lock("scipy==1.0.0", "numpy==2.0.0", name="a"), lock("scipy==1.1.0", "numpy==2.0.0")
    result = cascade.judge_upgrade(Options(old, new, tmp_path))
    assert (result.verdict, result.exit_code) == ("partly checked", 2)


def test_what_cannot_be_judged_is_refused(tmp_path):
    """The installed version as both old and new, and an empty folder, which is named itself."""
    with pytest.raises(UserError, match="old and new are"):
        _names("installed", "installed")
    with pytest.raises(UserError, match=f"the folder {tmp_path} holds no framework"):
        _names("installed", str(tmp_path))


def test_a_framework_that_does_not_differ_is_not_asked_in_the_place_of_one_that_does():
    """Or its verdict would be read as one on the package that was named."""
    package = f"{frameworks.get_adapter('sb3').framework.packages[0]}==0.0.1"
    with pytest.raises(UserError, match=r"differ in sb3, but --framework names only torchrl; give"):
        _names(package, "installed", "torchrl")
    assert _names(package, "installed", "sb3") == ["sb3"]
    assert _names(f"{package} torchrl==0.0.1", "installed", "torchrl") == ["torchrl"]
    assert _names(f"{package} gymnasium==0.0.1", "installed", "torchrl") == ["torchrl"]


@pytest.fixture
def changed_copy(tmp_path, monkeypatch):
    """Gymnasium is installed, by its metadata, with a file that its installer did not write so."""
    real = importlib.metadata.distribution("gymnasium")
    write_files(tmp_path, {"gymnasium/core.py": "changed = True\n"})
    metadata = write_files(
        tmp_path / f"gymnasium-{VERSION}.dist-info",
        {"METADATA": real.read_text("METADATA"), "RECORD": "gymnasium/core.py,sha256=AAAA,15\n"},
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.explain_altered_package.cache_clear()
    yield metadata
    installed.explain_altered_package.cache_clear()


def test_a_copy_that_was_changed_is_not_its_release(changed_copy):
    """A pin of the installed version names the release: it is fetched, and it differs."""
    pin = f"gymnasium=={VERSION}"
    assert installed.is_version_installed(pin)
    assert not installed.is_unaltered_release_installed(pin)
    assert "core.py is not as it was installed" in installed.explain_altered_package("gymnasium")
    assert ResolvedPins({"gymnasium": pin}, ResolverInput({"gymnasium": pin})).missing_rows == [pin]
    assert ResolvedPins({"gymnasium": pin}, ResolverInput({})).missing_rows == []
    numpy = f"numpy=={importlib.metadata.version('numpy')}"
    old, new = parse_requested_version(f"{pin} {numpy}"), parse_requested_version("numpy==1.0")
    assert affected.list_packages_pinned_apart(old, new) == {"gymnasium", "numpy"}
    # a file that is gone, and a package that was installed from a folder or a commit
    installed.explain_altered_package.cache_clear()
    (changed_copy.parent / "gymnasium" / "core.py").unlink()
    assert installed.explain_altered_package("gymnasium") == "gymnasium/core.py is gone"
    installed.explain_altered_package.cache_clear()
    source = {"url": "file:///tree", "dir_info": {"editable": True}}
    (changed_copy / "direct_url.json").write_text(json.dumps(source))
    assert installed.explain_altered_package("gymnasium") == "it was installed from file:///tree"


def test_what_is_installed_here_is_its_release():
    """Control: the copies that the tests run with are as their installer wrote them."""
    assert installed.is_unaltered_release_installed(f"gymnasium=={VERSION}")
    assert installed.explain_altered_package("numpy") == ""


@pytest.mark.parametrize("name", ["SB3", "stable_baselines3", "Stable-Baselines3"])
def test_another_spelling_of_a_framework_is_answered_with_its_name(name):
    """Its package, its import name and its title."""
    with pytest.raises(UserError, match=f"'{name}' is named 'sb3' here"):
        frameworks.get_adapter(name)
