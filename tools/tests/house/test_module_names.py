"""No two modules share a name, except those of two adapters, and those of one subject."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("conftest.py", "docs", "tools", "tests_unit", "tests_behavior", "tests_performance")
# Python and pytest decide what these are called.
GIVEN = {"__init__", "__main__", "conftest"}
# A subject of the catalogue, an algorithm or a family of details, keeps its name from the entries
# to the formula and the probes: one search for "sac.py" finds all that is asked about SAC.
PARALLEL = {
    "tools/rlregress/details",
    "tools/rlregress/formulas",
    "tools/rlregress/measurements",
    "tools/rlregress/frameworks/*/drivers",
    "tools/rlregress/frameworks/*/probes",
    "tools/rlregress/frameworks/*/probes/helpers",
}


def place(path: Path, root: Path) -> str:
    """The folder of a module, with one name for all adapters."""
    parts = list(path.relative_to(root).parent.parts)
    if parts[:3] == ["tools", "rlregress", "frameworks"] and len(parts) > 3:
        parts[3] = "*"
    return "/".join(parts)


def shared_names(root: Path) -> dict[str, list[str]]:
    """Name -> the modules that share it without a reason."""
    places: dict[str, set[str]] = defaultdict(set)
    for source in SOURCES:
        for path in [root / source, *(root / source).rglob("*.py")]:
            if path.suffix == ".py" and path.stem not in GIVEN:
                places[path.stem].add(place(path, root))
    shared = {}
    for name, folders in places.items():
        one_subject = folders & PARALLEL if "tools/rlregress/details" in folders else set()
        if len(folders - one_subject) + bool(one_subject) > 1:
            shared[name] = sorted(str(PurePosixPath(folder, f"{name}.py")) for folder in folders)
    return shared


def test_no_two_modules_share_a_name():
    """A module's name leads to one module: in a search, an import, a traceback or a sentence."""
    assert shared_names(ROOT) == {}


def test_the_subjects_of_the_catalogue_are_seen():
    """The exception is in use: the entries and the probes of SAC have one name."""
    places = [ROOT / "tools/rlregress/details", *ROOT.glob("tools/rlregress/frameworks/*/probes")]
    assert sum((folder / "sac.py").is_file() for folder in places) >= 3


@pytest.mark.parametrize(
    ("added", "name"),
    [
        ("tools/rlregress/model/gate.py", "gate"),
        ("tools/rlregress/details/gate.py", "gate"),
        ("tools/rlregress/gate/sac.py", "sac"),
        ("tools/rlregress/frameworks/training.py", "training"),
        ("tools/rlregress/frameworks/two/probes/training.py", "training"),
        ("tools/rlregress/formulas/nstep.py", "nstep"),
        ("tools/tests/gate/test_a.py", "test_a"),
        ("tests_behavior/test_a.py", "test_a"),
    ],
)
def test_a_shared_name_is_found(tmp_path, added, name):
    """One more module of the same name is named; adapters, subjects and packages may share one."""
    library = "tools/rlregress"
    allowed = [
        "conftest.py",
        "tools/tests/conftest.py",
        "tests_unit/test_a.py",
        f"{library}/gate/__init__.py",
        f"{library}/upgrade/gate.py",
        *(f"{library}/{family}/sac.py" for family in ("details", "formulas", "measurements")),
        *(f"{library}/frameworks/{framework}/training.py" for framework in ("one", "two")),
        *(f"{library}/frameworks/{framework}/probes/sac.py" for framework in ("one", "two")),
        *(
            f"{library}/frameworks/{framework}/probes/helpers/nstep.py"
            for framework in ("one", "two")
        ),
    ]
    for file in allowed:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert shared_names(tmp_path) == {}
    (tmp_path / added).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / added).touch()
    assert list(shared_names(tmp_path)) == [name]


def test_modules_that_adapters_load_by_name_are_there():
    """A name in a string is renamed by no tool: it has to be that of a file."""
    folder = ROOT / "tools" / "rlregress" / "frameworks"
    own = {path.parent: path.read_text() for path in folder.glob("*/__init__.py")}
    adapters = [place for place in own if (place / "probes").is_dir()]
    for place in adapters:
        for name in re.findall(r"_sibling\(\"([\w.]+)\"\)", own[place]):
            path = place / name.replace(".", "/")
            assert path.with_suffix(".py").is_file() or path.is_dir(), f"{place.name}: {name}"
    named = re.findall(r"_sibling\(\"([\w.]+)\"\)", (folder / "base.py").read_text())
    assert len(named) > 5
    for name in named:
        paths = [place / name.replace(".", "/") for place in adapters]
        assert any(p.with_suffix(".py").is_file() or p.is_dir() for p in paths), name
