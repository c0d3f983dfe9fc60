"""What two versions of a distribution declare is compared, and nothing is executed for it."""

from __future__ import annotations

import importlib.metadata
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from rlregress.model import differences as model
from rlregress.upgrade import entries
from rlregress.upgrade.inventory import Inventory
from rlregress.upgrade.requirements import Declared, changes, declared, declared_by_tree, narrows


def of(*rows, **fields):
    """A declaration with these requirements."""
    return Declared(name="a", version="1", requires=tuple(map(Requirement, rows)), **fields)


def said(old, new):
    """Kind, whether it narrows, and the sentence of every change."""
    return [(c.kind, c.narrows, c.summary) for c in changes(old, new)]


# -- requirements ----------------------------------------------------------------------------------

EXTRA = {"extras": frozenset({"plot"})}
REQUIREMENTS = {
    "a raised lower bound": (
        of("torch>=2.3,<3.0"),
        of("torch>=2.8,<3.0"),
        [("requirement", True, "needs torch >=2.8, <3.0 (was >=2.3, <3.0)")],
    ),
    "a lowered lower bound": (
        of("torch>=2.8,<3.0"),
        of("torch>=2.3,<3.0"),
        [("requirement", False, "needs torch >=2.3, <3.0 (was >=2.8, <3.0)")],
    ),
    "a new upper bound": (
        of("numpy"),
        of("numpy<3"),
        [("requirement", True, "needs numpy <3 (was any version)")],
    ),
    "an exclusion": (
        of("numpy>=1"),
        of("numpy>=1,!=1.5"),
        [("requirement", True, "needs numpy !=1.5, >=1 (was >=1)")],
    ),
    "another order": (of("numpy>=1,<2"), of("NumPy <2, >=1"), []),
    "the same versions in other words": (
        of("numpy~=1.2"),
        of("numpy>=1.2,==1.*"),
        [
            (
                "requirement",
                False,
                "needs numpy ==1.*, >=1.2 (was ~=1.2, which admits the same versions)",
            )
        ],
    ),
    "gone": (of("x>=1"), of(), [("requirement", True, "no longer installed: x")]),
    "new": (of(), of("x>=1"), [("requirement", False, "newly installed: x >=1")]),
    "into an extra": (
        of("x", **EXTRA),
        of("x; extra=='plot'", **EXTRA),
        [
            ("requirement", True, "no longer installed: x (an extra now: plot)"),
            ("extra", False, "extra plot: newly installed: x"),
        ],
    ),
    "out of an extra": (
        of("x; extra=='plot'", **EXTRA),
        of("x", **EXTRA),
        [
            ("extra", True, "extra plot: no longer installed: x"),
            ("requirement", False, "newly installed: x (an extra before: plot)"),
        ],
    ),
    "within an extra": (
        of("x; extra=='plot'", **EXTRA),
        of("x>=2; extra=='plot'", **EXTRA),
        [("extra", True, "extra plot: needs x >=2 (was any version)")],
    ),
    "an extra of what is required": (
        of("x[y]"),
        of("x"),
        [("requirement", True, "needs x (was [y])")],
    ),
    "a condition that holds here both times": (
        of("x"),
        of("x; python_version>'3'"),
        [
            (
                "requirement",
                False,
                'x is required under another condition: python_version > "3" (was always)',
            )
        ],
    ),
    "a condition that no longer holds here": (
        of("x"),
        of("x; python_version<'3'"),
        [
            ("requirement", True, 'no longer installed: x (now: x; python_version < "3")'),
            ("requirement", False, 'not for this interpreter: requires x; python_version < "3"'),
        ],
    ),
    "for other interpreters alone": (
        of("x>=1; python_version<'3'"),
        of("x>=2; python_version<'3'"),
        [
            (
                "requirement",
                False,
                'not for this interpreter: no longer requires x>=1; python_version < "3"',
            ),
            ("requirement", False, 'not for this interpreter: requires x>=2; python_version < "3"'),
        ],
    ),
    "two rows for one distribution": (
        of("x>=1", "x<9"),
        of("x>=1", "x<8"),
        [("requirement", True, "needs x >=1, <8 (was >=1, <9)")],
    ),
    "a second row under another condition": (
        of("x>=1", "x<9; python_version>'3'"),
        of("x>=1", "x<9; python_version>'3.1'"),
        [
            (
                "requirement",
                False,
                'x is required under another condition: python_version > "3.1" '
                '(was python_version > "3")',
            )
        ],
    ),
    "Python": (
        of(requires_python=">=3.9"),
        of(requires_python=">=3.10"),
        [("python", True, "python >=3.10 (was >=3.9)")],
    ),
    "an extra that is gone": (of(**EXTRA), of(), [("extra", True, "extra plot is gone")]),
    "an extra that is new": (of(), of(**EXTRA), [("extra", False, "extra plot is new")]),
    "an entry point": (
        of(entry_points={("g", "one"): "a:f", ("g", "two"): "a:f"}),
        of(entry_points={("g", "two"): "a:g", ("g", "three"): "a:f"}),
        [
            ("entry point", True, "entry point one of g is gone"),
            ("entry point", False, "entry point three of g is new"),
            ("entry point", False, "entry point two of g points at a:g (was a:f)"),
        ],
    ),
    "nothing": (of("x>=1", **EXTRA), of("x>=1", **EXTRA), []),
}


@pytest.mark.parametrize("case", REQUIREMENTS)
def test_every_difference_is_one_sentence(case):
    """Each change has its kind, whether it narrows, and both values."""
    old, new, expected = REQUIREMENTS[case]
    assert said(old, new) == expected


def test_what_was_not_read_is_never_equal():
    """A field that could not be read is a change of its own, and is not compared."""
    unread = of("x", requires_python=">=3", unread={"requires": "setup.py:3"})
    assert said(unread, unread) == [
        ("unread", True, "what it declares of requires was not read: setup.py:3")
    ]
    assert [kind for kind, _, _ in said(unread, of("y", requires_python=">=4"))] == [
        "python",
        "unread",
    ]


# -- ranges ----------------------------------------------------------------------------------------

numbers = st.integers(0, 2)
suffixes = st.sampled_from(["", "", "", "a1", "rc1", ".post1", ".dev1", "rc1.dev1"])
releases = st.lists(numbers, min_size=1, max_size=2).map(lambda r: ".".join(map(str, r)))
named = st.builds(str.__add__, releases, suffixes)
pairs = st.lists(numbers, min_size=2, max_size=2).map(lambda r: ".".join(map(str, r)))
specifiers = st.one_of(
    st.builds(str.__add__, st.sampled_from([">=", "<=", ">", "<", "==", "!="]), named),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), releases),
    st.builds("~={}{}".format, pairs, suffixes),
)
ranges = st.lists(specifiers, max_size=3).map(",".join).map(SpecifierSet)
SUFFIXES = (
    *("", ".dev0", ".dev1", ".dev2", "a0", "a1", "a1.dev1", "a1.post1", "a2", "rc0", "rc1"),
    *("rc1.dev0", "rc1.dev1", "rc1.dev2", "rc1.post1", "rc2", ".post0", ".post1", ".post2", "+x"),
)
GRID = [
    Version(".".join(map(str, release)) + suffix)
    for release in product(range(4), range(4), range(3))
    for suffix in SUFFIXES
]


@settings(max_examples=75, deadline=None)
@given(ranges, ranges)
def test_a_range_narrows_if_a_version_falls_out(old, new):
    """The decision is that of trying every version of a grid around what the ranges name."""
    falls_out = [
        version
        for version in GRID
        if old.contains(version, prereleases=True) and not new.contains(version, prereleases=True)
    ]
    assert narrows(old, new) == bool(falls_out), falls_out[:5]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (">=2.3,<3.0", ">=2.3.0,<3", False),
        ("~=2.3", ">=2.3,<3", False),
        (">=2.3,<3", "~=2.3", False),
        ("==2.3.*", ">=2.3,<2.4", True),  # 2.3.dev0
        ("==2.3", "==2.3+cpu", True),
        ("==2.3+cpu", "==2.3", False),
        (">=1!0", ">=0", False),
        (">=0", ">=1!0", True),
        (">1!1,<1!3", "==1!2.*", True),
        (">0", ">=0,!=0.0.*", True),  # 0.0.1
        ("", "<1", True),
        (">1", "<=1", True),
        ("", ">=0", True),  # 0.dev0
        ("", "==0.*", True),
        ("==1.*", "==1.0.*", True),
        (">=1.5", ">=1.5,!=1.6.*", True),
        ("<2", "<=1.9", True),
        ("<1rc1", "<=1rc1.dev1", True),  # 1rc1.dev2
        (">1.post1,<1.post3", "==1.post2", True),  # 1.post3.dev0
        ("<=1rc1,>1a1", "==1rc1", True),  # 1rc0
    ],
)
def test_ranges_that_are_easily_confused(old, new, expected):
    """Compatible releases, prefixes, local versions and epochs count as the specification says."""
    assert narrows(SpecifierSet(old), SpecifierSet(new)) is expected


# -- what is declared ------------------------------------------------------------------------------


def test_an_installed_distribution_is_read_from_its_metadata(tmp_path):
    """Requirements, Python, extras and entry points; a row nobody can read is reported."""
    info = tmp_path / "a-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: A.a\nVersion: 1\nRequires-Python: >=3.9\n"
        "Provides-Extra: Plot\nRequires-Dist: x>=1.\nRequires-Dist: ?? what\n"
    )
    (info / "entry_points.txt").write_text("[g]\none = a:f\n")
    (distribution,) = importlib.metadata.distributions(path=[str(tmp_path)])
    found = declared(distribution)
    assert (found.name, found.version, found.requires_python) == ("a-a", "1", ">=3.9")
    assert [str(row) for row in found.requires] == ["x>=1"]
    assert found.extras == {"plot"}
    assert found.entry_points == {("g", "one"): "a:f"}
    assert "?? what" in found.unread["requires"]


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
    "pyproject.toml": {"pyproject.toml": PYPROJECT},
    "setup.cfg": {"setup.cfg": CFG, "setup.py": "from setuptools import setup\nsetup()\n"},
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
    for name, text in files.items():
        (folder / name).write_text(text)
    return declared_by_tree(folder)


@pytest.mark.parametrize("case", TREES)
def test_a_tree_declares_the_same_in_each_of_its_files(tmp_path, case):
    """Whichever file declares it, and without executing any."""
    found = tree(tmp_path, TREES[case])
    assert not found.unread
    assert (found.name, found.version, found.requires_python) == ("a", "1", ">=3.9")
    assert found.extras == {"plot"}
    assert found.entry_points == {("console_scripts", "one"): "a:f"}
    assert [(r.name, str(r.specifier)) for r in found.requires] == [
        ("x", ">=1"), ("y", ""), ("z", "<2"),
    ]  # fmt: skip
    expected = of(
        "x>=1", "y; python_version>'3'", "z<2; python_version>'3' and extra=='plot'",
        requires_python=">=3.9", entry_points=found.entry_points, **EXTRA,
    )  # fmt: skip
    assert changes(found, expected) == []


UNREAD = {
    "a call": ("setup.py", SETUP.replace("core + [", "read() + ["), "requires", "setup.py:7"),
    "a list that is appended to": (
        "setup.py",
        SETUP.replace("setup(\n", "core.append('w')\nsetup(\n"),
        "requires",
        "setup.py:8",
    ),
    "a list that is added to": (
        "setup.py",
        SETUP.replace("setup(\n", "core += ['w']\nsetup(\n"),
        "requires",
        "setup.py:8",
    ),
    "a name bound twice": (
        "setup.py",
        SETUP.replace("setup(\n", "core = ['w']\nsetup(\n"),
        "requires",
        "setup.py:8",
    ),
    "arguments as **": (
        "setup.py",
        "from setuptools import setup\nsetup(name='a', **facts)\n",
        "extras",
        "setup.py:2",
    ),
    "a file of requirements": (
        "setup.cfg",
        "[options]\ninstall_requires = file: r.txt\n",
        "requires",
        "setup.cfg:2",
    ),
    "a file that pyproject.toml names": (
        "pyproject.toml",
        DYNAMIC + '[tool.setuptools.dynamic]\ndependencies = {file = "r.txt"}\n',
        "requires",
        "takes dependencies from another file",
    ),
    "poetry": ("pyproject.toml", "[tool.poetry]\nname='a'\n", "requires", "poetry"),
    "broken TOML": (
        "pyproject.toml",
        "[project\n",
        "entry_points",
        "pyproject.toml cannot be read",
    ),
    "broken Python": ("setup.py", "setup(\n", "extras", "setup.py cannot be read"),
    "no file": ("README", "", "requires_python", "no [project] in pyproject.toml"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_is_no_literal_is_reported_with_its_line(tmp_path, case):
    """A tree is never taken to declare nothing where it declares something unreadable."""
    name, text, field, expected = UNREAD[case]
    found = tree(tmp_path, {name: text})
    assert expected in found.unread[field]
    assert field in [c.package for c in changes(found, found) if c.kind == "unread"]


# -- what a change means for the environment that was checked --------------------------------------

NEVER = "python_version < '3'"
HERE = {"numpy": "2.1.0", "torch": "2.8.0", "python": "3.11.7"}
MEANT = {
    "newly required, and another version is here": (of(), of("numpy<2"), [False]),
    "newly required, and here": (of(), of("numpy>=2"), [True]),
    "newly required, and not here": (of(), of("scipy"), [False]),
    "newly required from elsewhere": (of(), of("numpy @ https://x.org/n.whl"), [False]),
    "raised to what is here": (of("torch>=2.3"), of("torch>=2.8"), [True]),
    "raised above what is here": (of("torch>=2.3"), of("torch>=2.9"), [False]),
    "widened, and what is here is in it": (of("numpy<2.2"), of("numpy<3"), [True]),
    "widened, and what is here is not in it": (of("numpy<1.2"), of("numpy<2"), [False]),
    "widened, and not here": (of("scipy<1"), of("scipy<2"), [False]),
    "with fewer extras": (of("numpy[fast]"), of("numpy"), [False]),
    "with more extras": (of("numpy"), of("numpy[fast]"), [True]),
    "no longer required": (of("numpy"), of(), [False]),
    "of another interpreter": (of(), of(f"scipy; {NEVER}"), [True]),
    "no longer of another interpreter": (of(f"scipy; {NEVER}"), of(), [True]),
    "under another condition": (of("scipy"), of("scipy; python_version>'3'"), [False]),
    "a Python that is here": (of(), of(requires_python=">=3.11"), [True]),
    "one that is not": (of(requires_python=">=3.9"), of(requires_python=">=3.12"), [False]),
    "any Python": (of(requires_python=">=3.9"), of(), [True]),
    "an entry point elsewhere": (
        of(entry_points={("g", "x"): "a:f"}), of(entry_points={("g", "x"): "a:h"}), [False]),
    "a new entry point": (of(), of(entry_points={("g", "x"): "a:f"}), [True]),
    "an entry point that is gone": (of(entry_points={("g", "x"): "a:f"}), of(), [False]),
    "in an extra that nobody asked for": (
        of(extras=frozenset({"plot"})),
        of("scipy; extra == 'plot'", extras=frozenset({"plot"})), [True]),
    "in an extra that was asked for": (
        of(extras=frozenset({"mine"})),
        of("numpy<2; extra == 'mine'", "torch; extra == 'mine'", extras=frozenset({"mine"})),
        [False, True]),
}  # fmt: skip


@pytest.mark.parametrize("case", MEANT)
def test_a_requirement_is_harmless_only_if_what_is_here_satisfies_it(case):
    """Everything else of what two versions declare counts as different."""
    old, new, expected = MEANT[case]
    found = Inventory(
        requirements=tuple(changes(old, new)), installed=HERE, extras=frozenset({"mine"})
    )
    listed = entries.of_metadata(found)
    assert [each.state == model.NO_EFFECT for each in listed] == expected
    assert [bool(each.reason) for each in listed] == expected
