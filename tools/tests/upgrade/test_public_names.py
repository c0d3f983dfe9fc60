"""Changes of the public names of a package are read from its source, and are complete."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from rlregress.errors import UserError
from rlregress.upgrade.differences import changed_functions, public_names
from tools.tests.small_files import write_files, write_versions


def package(folder, files):
    """A package of these files below a folder; a text alone is its module ``m``."""
    shutil.rmtree(folder, ignore_errors=True)
    files = {"m.py": files} if isinstance(files, str) else files
    return write_files(folder / "p", {"__init__.py": "", **files})


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
    lines = {c.name: (c.file, c.line) for c in entries}
    assert lines == {"p.m.X": ("p/m.py", 4), "p.m.f": ("p/m.py", 5)}


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y = x + 1", "self.last = y = x"),
        ('return "a"', 'return "b"'),
    ],
)
def test_what_functions_compute_alone_needs_no_reading(tmp_path, old, new):
    """No public name differs if only bodies of functions do, and then no package need be read."""
    text = """
class Agent:
    def __init__(self):
        self.last = 0

    @property
    def name(self):
        return "a"

    def act(self, x):
        y = x + 1
        return y
"""
    changed = {"__init__.py": text.replace(old, new, 1)}
    folders = write_versions(tmp_path, {"__init__.py": text}, changed)
    pieces = changed_functions.find_changed_functions(*folders)
    assert pieces
    assert not public_names.can_change_public_names(pieces)
    assert public_names.list_public_changes(*(Path(folder) for (folder,) in folders)) == []
