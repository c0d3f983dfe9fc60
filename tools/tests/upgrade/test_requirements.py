"""Declarations of two versions of a distribution are compared without executing anything."""

from __future__ import annotations

import importlib.metadata

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from rlregress.model import differences as model
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.differences.requirements import list_requirement_changes
from rlregress.upgrade.verdict import entries
from rlregress.upgrade.versions.declarations import (
    Declared,
    read_declarations,
    read_declarations_of_tree,
)
from tools.tests.small_files import write_files


def declare(*rows, python="", **fields):
    """A declaration with these requirements."""
    return Declared(
        requires=tuple(map(Requirement, rows)), requires_python=SpecifierSet(python), **fields
    )


def sentences(old, new):
    """Kind and sentence of every change."""
    return [f"{c.kind}: {c.summary}" for c in list_requirement_changes(old, new)]


# -- requirements ----------------------------------------------------------------------------------

URL, OTHER_URL = "x @ https://a.org/x.whl", "x @ https://b.org/x.whl"
EXTRA = {"extras": frozenset({"plot"})}
REQUIREMENTS = {
    "a raised lower bound": (
        declare("torch>=2.3,<3.0"), declare("torch>=2.8,<3.0"),
        ["requirement: needs torch<3.0,>=2.8 (was torch<3.0,>=2.3)"]),
    "another order": (declare("numpy>=1,<2"), declare("NumPy <2, >=1"), []),
    "gone": (declare("x>=1"), declare(), ["requirement: no longer installed: x"]),
    "new": (declare(), declare("x>=1"), ["requirement: newly installed: x>=1"]),
    "into an extra": (
        declare("x", **EXTRA), declare("x; extra=='plot'", **EXTRA),
        ["requirement: no longer installed: x (an extra now: plot)",
         "requirement: extra plot: newly installed: x"]),
    "within an extra": (
        declare("x; extra=='plot'", **EXTRA), declare("x>=2; extra=='plot'", **EXTRA),
        ["requirement: extra plot: needs x>=2 (was x)"]),
    "an extra of what is required": (
        declare("x[y]"), declare("x"), ["requirement: needs x (was x[y])"]),
    "a condition that holds here both times": (declare("x"), declare("x; python_version>'3'"), []),
    "a condition that no longer holds here": (
        declare("x"), declare("x; python_version<'3'"), ["requirement: no longer installed: x"]),
    "two rows for one distribution": (
        declare("x>=1", "x<9"), declare("x>=1", "x<8"),
        ["requirement: needs x<8,>=1 (was x<9,>=1)"]),
    "from another place": (
        declare("x"), declare(URL),
        [f"requirement: needs {Requirement(URL)} (was x)"]),
    "one of two places": (
        declare(URL, OTHER_URL), declare(URL, "x @ https://c.org/x.whl"),
        [f"requirement: needs {URL},https://c.org/x.whl (was {URL},https://b.org/x.whl)"]),
    "a place beside versions": (
        declare(URL, "x>=1"), declare("x>=1"), [f"requirement: needs x>=1 (was {URL},>=1)"]),
    "the same version in other words": (
        declare("x>=1.0,==2.0rc1"), declare("x >= 1.0.0, == 2.0.rc1"), []),
    "Python": (
        declare(python=">=3.9"), declare(python=">=3.10"),
        ["python: python >=3.10 (was >=3.9)"]),
    "an extra that is gone": (declare(**EXTRA), declare(), ["extra: extra plot is gone"]),
    "an entry point": (
        declare(entry_points={"one of g": "a:f", "two of g": "a:f"}),
        declare(entry_points={"two of g": "a:g", "three of g": "a:f"}),
        ["entry point: entry point one of g is gone",
         "entry point: entry point three of g is new",
         "entry point: entry point two of g points at a:g (was a:f)"]),
}  # fmt: skip


def test_every_difference_is_one_sentence():
    """With both values; a field that could not be read is a change of its own, never equal."""
    for case, (old, new, expected) in REQUIREMENTS.items():
        assert sentences(old, new) == expected, case
    unread = declare("x", python=">=3", unread={"install_requires": "setup.py:3"})
    sentence = "unread: its declaration of install_requires was not read: setup.py:3"
    assert sentences(unread, unread) == [sentence]
    assert sentences(unread, declare("y", python=">=4")) == [
        sentence, "python: python >=4 (was >=3)",
    ]  # fmt: skip


# -- what is declared ------------------------------------------------------------------------------


METADATA = b"Metadata-Version: 2.1\nName: A.a\nVersion: 1\n"


def read_metadata(folder, **files):
    """Return the declaration of an installed distribution of these files."""
    info = folder / "a-1.dist-info"
    info.mkdir(parents=True)
    for name, content in {"METADATA": METADATA, **files}.items():
        (info / name).write_bytes(content)
    (distribution,) = importlib.metadata.distributions(path=[str(folder)])
    return read_declarations(distribution)


def test_an_installed_distribution_is_read_from_its_metadata(tmp_path):
    """Requirements, Python, extras and entry points; a row nobody can read is reported."""
    text = METADATA + (
        b"Requires-Python: >=3.9\nRequires-Python: <4\nProvides-Extra: Plot\nRequires-Dist: x>=1.\n"
    )
    declaration = read_metadata(
        tmp_path, METADATA=text, **{"entry_points.txt": b"[g]\none = a:f\n"}
    )
    assert (declaration.version, declaration.requires_python) == ("1", "<4,>=3.9")
    assert [str(row) for row in declaration.requires] == ["x>=1"]
    assert declaration.extras == {"plot"}
    assert declaration.entry_points == {"one of g": "a:f"}
    damaged = read_metadata(tmp_path / "damaged", METADATA=text + b"Requires-Dist: ?? what\n")
    assert "?? what" in damaged.unread["install_requires"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("METADATA", b"Name: a\nVersion: 1\nSummary: caf\xe9\n"),
        ("METADATA", b"\xef\xbb\xbfName: a\nVersion: 1\nRequires-Dist: x\n"),
        ("METADATA", b"Name: a\nVersion: 1\nRequires-Dist: x; os_name ~= 'posix'\n"),
        ("entry_points.txt", b"[g]\nno value\n"),
    ],
)
def test_damaged_metadata_is_not_read(file, content, tmp_path):
    """It is no traceback, and never taken to declare nothing."""
    assert read_metadata(tmp_path, **{file: content}).unread


PYPROJECT = """
[project]
name = "A"
version = "1"
requires-python = ">=3.9"
dependencies = ["x>=1", "y; python_version>'3'"]
[project.optional-dependencies]
plot = ["z<2; python_version>'3'"]
[project.scripts]
one = "a:f"
"""
CFG = """
[metadata]
name = A
version = 1
[options]
python_requires = >=3.9
install_requires =
    x>=1
    y; python_version>'3'
[options.extras_require]
plot = z<2; python_version>'3'
[options.entry_points]
console_scripts =
    one = a:f
"""
SETUP = """
from setuptools import setup
RAISED = raise_if_executed
core = ["x>=1"]
setup(
    name="A", version="1", python_requires=">=3.9",
    install_requires=core + ["y; python_version>'3'"],
    extras_require={"plot:python_version>'3'": ["z<2"]},
    entry_points={"console_scripts": ["one = a:f"]},
)
"""
DYNAMIC = PYPROJECT.split("requires-python")[0] + (
    'dynamic = ["requires-python", "dependencies", "optional-dependencies", "scripts"]\n'
)
TREES = {
    "setup.py": {"setup.py": SETUP},
    "setup.cfg before setup.py": {"setup.cfg": CFG, "setup.py": SETUP.replace("x>=1", "w")},
    "pyproject.toml before setup.py": {
        "pyproject.toml": PYPROJECT,
        "setup.py": SETUP.replace("x>=1", "w"),
    },
    "pyproject.toml with fields of setup.py": {"pyproject.toml": DYNAMIC, "setup.py": SETUP},
}


def tree(folder, files):
    """A working tree of these files."""
    return read_declarations_of_tree(write_files(folder, files))


@pytest.mark.parametrize("case", TREES)
def test_a_tree_declares_the_same_in_each_of_its_files(tmp_path, case):
    """Whichever file declares it, and without executing any."""
    declaration = tree(tmp_path, TREES[case])
    assert not declaration.unread
    assert declaration.version == "1"
    expected = declare(
        "x>=1", "y; python_version>'3'", "z<2; python_version>'3' and extra=='plot'",
        python=">=3.9", entry_points={"one of console_scripts": "a:f"}, **EXTRA,
    )  # fmt: skip
    assert list_requirement_changes(declaration, expected) == []


#: file, its text, a field that is not read, and why
UNREAD = {
    "a call": (
        "setup.py", SETUP.replace("core + [", "read() + ["), "install_requires", "setup.py:7"),
    "a list that is appended to": (
        "setup.py", SETUP.replace("setup(\n", "core.append('w')\nsetup(\n"), "install_requires",
        "setup.py:8"),
    "a list that is added to": (
        "setup.py", SETUP.replace("setup(\n", "core += ['w']\nsetup(\n"), "install_requires",
        "setup.py:8"),
    "arguments as **": (
        "setup.py", "from setuptools import setup\nsetup(name='a', **facts)\n", "extras_require",
        "setup.py:2"),
    "a file of requirements": (
        "setup.cfg", "[options]\ninstall_requires = file: r.txt\n", "install_requires",
        "setup.cfg takes install_requires from another file"),
    "a file that pyproject.toml names": (
        "pyproject.toml", DYNAMIC + '[tool.setuptools.dynamic]\ndependencies = {file = "r.txt"}\n',
        "install_requires", "takes dependencies from another file"),
    "what the build decides on": (
        "pyproject.toml", DYNAMIC, "install_requires",
        "the build decides on install_requires"),
    "poetry": ("pyproject.toml", "[tool.poetry]\nname='a'\n", "install_requires", "poetry"),
    "broken TOML": (
        "pyproject.toml", "[project\n", "entry_points", "pyproject.toml cannot be read"),
    "no file": ("README", "", "python_requires", "no [project] in pyproject.toml"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNREAD)
def test_what_is_no_literal_is_reported_with_its_line(tmp_path, case):
    """A tree is never taken to declare nothing where it declares something unreadable."""
    name, text, field, expected = UNREAD[case]
    declaration = tree(tmp_path, {name: text})
    assert expected in declaration.unread[field]
    assert field in [
        c.package for c in list_requirement_changes(declaration, declaration) if c.kind == "unread"
    ]


# -- what a change means for the environment that was checked --------------------------------------

INSTALLED = {"numpy": "2.1.0", "torch": "2.8.0", "python": "3.11.7"}
MEANT = {
    "newly required, and here": (declare(), declare("numpy>=2"), [True]),
    "newly required, and not here": (declare(), declare("scipy"), [False]),
    "newly required from elsewhere": (declare(), declare("numpy @ https://x.org/n.whl"), [False]),
    "raised above what is here": (declare("torch>=2.3"), declare("torch>=2.9"), [False]),
    "with fewer extras": (declare("numpy[fast]"), declare("numpy"), [False]),
    "with more extras": (declare("numpy"), declare("numpy[fast]"), [True]),
    "no longer required": (declare("numpy"), declare(), [False]),
    "a Python that is here": (declare(), declare(python=">=3.11"), [True]),
    "one that is not": (declare(python=">=3.9"), declare(python=">=3.12"), [False]),
    "any Python": (declare(python=">=3.9"), declare(), [True]),
    "an entry point elsewhere": (
        declare(entry_points={"x of g": "a:f"}), declare(entry_points={"x of g": "a:h"}), [False]),
    "a new entry point": (declare(), declare(entry_points={"x of g": "a:f"}), [True]),
    "in an extra that nobody asked for": (
        declare(extras=frozenset({"plot"})),
        declare("scipy; extra == 'plot'", extras=frozenset({"plot"})), [True]),
    "in an extra that was asked for": (
        declare(extras=frozenset({"mine"})),
        declare("numpy<2; extra == 'mine'", "torch; extra == 'mine'", extras=frozenset({"mine"})),
        [False, True]),
}  # fmt: skip


def test_a_requirement_is_harmless_only_if_what_is_here_satisfies_it():
    """Everything else of what two versions declare counts as different."""
    for case, (old, new, expected) in MEANT.items():
        inventory = Inventory(
            requirements=tuple(list_requirement_changes(old, new)),
            installed=INSTALLED,
            extras=frozenset({"mine"}),
        )
        rows = list(entries.make_metadata_entries(inventory))
        assert [row.state == model.NO_EFFECT for row in rows] == expected, case
        assert [bool(row.reason) for row in rows] == expected, case
