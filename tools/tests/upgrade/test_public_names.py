"""Public names of a package, and users of a package that is gone, are read from source."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from rlregress.errors import UserError
from rlregress.upgrade.differences import changed_functions, public_names
from rlregress.upgrade.differences.package_users import list_functions_using
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
        pieces = changed_functions.find_changed_pieces(
            *([str(tmp_path / version / "p")] for version in "ab")
        )
        assert public_names.can_change_public_names(pieces) or not summaries, what


def test_an_entry_says_where(compare_packages):
    """Lines are the new version's, or the old one's of a lost name; deep nesting is unread."""
    terms = "+".join(["y"] * 10_000)
    (entry_,) = compare_packages(f"X = {terms}", f"X = {terms} + 1")
    assert (entry_.kind, entry_.name) == ("unread", "p")
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
    pieces = changed_functions.find_changed_pieces(*folders)
    assert pieces
    assert not public_names.can_change_public_names(pieces)
    assert public_names.list_public_changes(*(Path(folder) for (folder,) in folders)) == []


GUARDED = "try:\n  import pandas as pd\nexcept ImportError:\n  raise ImportError('pip') from None\n"


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("import pandas\ndef load(): return pandas.read_csv('x')\ndef other(): ...", ["load"]),
        ("def load():\n  try:\n    import pandas\n  except ImportError:\n    raise", ["load"]),
        (f"{GUARDED}def plot(x): return [pd.Series(y) for y in x]", ["plot"]),
        ("from pandas import Series as S\nclass A:\n  def f(self): S()\n  def _g(self): S()",
         ["A.f"]),
        ("import pandas\ndef load(): pandas.read_csv('x')\ndef both(): load()\ndef no(x): x.load()",
         ["load", "both"]),
        # what runs, and a type checker does not read, or not alone
        ("import typing\nif not typing.TYPE_CHECKING:\n  import pandas\n"
         "def f(): x = pandas", ["f"]),
        ("TYPE_CHECKING = True\nif TYPE_CHECKING:\n  import pandas\ndef f(): x = pandas", ["f"]),
        # in annotations, of something else of that name, or private
        ("import pandas\ndef load() -> pandas.DataFrame: ...\ndef f(x: pandas.Series): ...", []),
        ("from .pandas import f\ndef g(): f()", []),
        ("def broken(: import pandas", []),
    ],
)  # fmt: skip
def test_a_function_that_uses_a_package_is_named(tmp_path, text, users):
    """It imports the package itself, or reads a name that its module has from there."""
    (tmp_path / "a.py").write_text(text)
    assert list_functions_using({"pandas", "matplotlib"}, tmp_path) == users
