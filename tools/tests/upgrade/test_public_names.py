"""Changes of the public names of a package are read from its source, and are complete."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from rlregress.errors import UserError
from rlregress.upgrade.differences import changed_functions, public_names
from rlregress.upgrade.versions import cached_folders, wheels
from tools.tests.upgrade.small_packages import write_versions


def package(folder, files):
    """A package of these files below a folder; a text alone is its module ``m``."""
    root = folder / "p"
    shutil.rmtree(root, ignore_errors=True)
    files = {"m.py": files} if isinstance(files, str) else files
    for name, text in {"__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def compare_packages(tmp_path):
    """Compare two packages; the entries."""

    def compare(old, new):
        return public_names.list_public_changes(
            package(tmp_path / "a", old), package(tmp_path / "b", new)
        )

    return compare


#: two versions of a package, and the entries that have to come of them.
CASES = {
    case["what"]: case
    for case in tomllib.loads(Path(__file__).with_name("public_names.toml").read_text())["case"]
}


def test_every_difference_is_one_entry(compare_packages, tmp_path):
    """Each change that a caller can notice has its kind, its sentence, and whether it breaks."""
    for what, case in CASES.items():
        entries = compare_packages(case["old"], case["new"])
        summaries = [f"{e.kind}{'!' if e.breaks_callers else ':'} {e.summary}" for e in entries]
        assert sorted(summaries) == sorted(case["entries"]), what
        # a package is read only if this says so
        pieces = changed_functions.find_changed_functions(
            *([str(tmp_path / version / "p")] for version in "ab")
        )
        assert public_names.can_change_public_names(pieces) or not summaries, what


def test_a_file_that_nests_too_deeply_is_unread(compare_packages):
    """One sum of thousands of terms is no traceback, and the package is not compared."""
    terms = "+".join(["y"] * 10_000)
    (entry_,) = compare_packages(f"X = {terms}", f"X = {terms} + 1")
    assert (entry_.kind, entry_.name) == ("unread", "p")


def test_an_entry_says_where(compare_packages):
    """File and line are those of the new version, or of the old one for a removed name."""
    entries = compare_packages("\n\ndef f(): pass\nX = 1", "\n\n\n\ndef f(x): pass")
    assert [(c.name, c.file, c.line) for c in entries] == [
        ("p.m.X", "p/m.py", 4),
        ("p.m.f", "p/m.py", 5),
    ]


def test_nothing_is_executed(compare_packages, tmp_path):
    """A package is read, not imported."""
    trap = f"open({str(tmp_path / 'executed')!r}, 'w')\n"
    assert [c.summary for c in compare_packages(trap + "X = 1", trap)] == [
        "attribute p.m.X is gone"
    ]
    assert not (tmp_path / "executed").exists()


def test_a_folder_that_is_no_package_is_refused(tmp_path):
    """The sentence has the folder and the expected one."""
    with pytest.raises(UserError, match="is no package; expected a folder with an __init__.py"):
        public_names.list_public_changes(tmp_path, tmp_path)


def released(name, module, version):
    """The folder of a published package, downloaded once."""
    return wheels.unpack_package(f"{name}=={version}", (), cached_folders.ignore_message) / module


#: what the changelogs list of public names under breaking changes and new features.
RELEASES = {
    ("2.6.0", "2.7.0"): {
        ("signature", "parameter `target_update_interval` of DQN.__init__ is at another position"),
        (
            "deprecated",
            "stable_baselines3.common.utils.constant_fn warns now: "
            "constant_fn() is deprecated, please use ConstantSchedule() instead",
        ),
    },
    ("2.8.0", "2.9.2"): {
        ("gone", "function stable_baselines3.common.logger.read_csv is gone"),
        ("gone", "function stable_baselines3.common.logger.read_json is gone"),
    },
}


@pytest.mark.nightly
@pytest.mark.parametrize("versions", RELEASES, ids=" ".join)
def test_what_a_changelog_lists_is_found(versions):
    """Every public name that the changelog of a real release lists is an entry."""
    old, new = (released("stable-baselines3", "stable_baselines3", v) for v in versions)
    entries = {(c.kind, c.summary) for c in public_names.list_public_changes(Path(old), Path(new))}
    assert RELEASES[versions] <= entries


#: an edit of ``_EDITED``, and whether it is one of what a function computes alone.
_EDITED = """
import warnings

LIMIT = 3

class Agent:
    rate = 0.1

    def __init__(self, size, *, depth=2):
        self.size = size

    @property
    def name(self):
        return "a"

    def act(self, x):
        y = x + 1
        return y

    def old(self):
        warnings.warn("use act", DeprecationWarning)
"""
_EDITS = [
    ("y = x + 1", "y = x + 2", True),
    ('return "a"', 'return "b"', True),
    ("        y = x + 1\n", "        y = x\n        y += 1\n", True),
    ("LIMIT = 3", "LIMIT = 4", False),
    ("rate = 0.1", "rate = 0.2", False),
    ("depth=2", "depth=3", False),
    ("self.size = size", "self.width = size", False),
    ("def act(self, x)", "def act(self, y)", False),
    ("    @property\n", "", False),
    ("def act", "def move", False),
    ("use act", "use act, as old will be removed", False),
    ("y = x + 1", "self.last = y = x", True),
    ("y = x + 1", "warnings.warn('gone', FutureWarning); y = x", False),
    ("import warnings\n", "import warnings\nfrom os import path\n", False),
]


@pytest.mark.parametrize(("old", "new", "computes"), _EDITS)
def test_what_functions_compute_alone_needs_no_reading(tmp_path, old, new, computes):
    """No public name differs if only bodies of functions do, and then no package need be read."""
    assert old in _EDITED
    changed = _EDITED.replace(old, new, 1)
    folders = write_versions(tmp_path, {"__init__.py": _EDITED}, {"__init__.py": changed})
    pieces = changed_functions.find_changed_functions(*folders)
    assert public_names.can_change_public_names(pieces) != computes
    assert not (
        computes and public_names.list_public_changes(*(Path(folder) for (folder,) in folders))
    )
