"""No two modules share a name, except those of two adapters, and those of one subject."""

from __future__ import annotations

import ast
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
    "tools/rlregress/catalogue",
    "tools/rlregress/formulas",
    "tools/rlregress/measurements",
    "tools/rlregress/frameworks/*/observe",
    "tools/rlregress/frameworks/*/observe/drivers",
    "tools/rlregress/frameworks/*/observe/helpers",
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
    found = {}
    for name, folders in places.items():
        one_subject = folders & PARALLEL if "tools/rlregress/catalogue" in folders else set()
        if len(folders - one_subject) + bool(one_subject) > 1:
            found[name] = sorted(str(PurePosixPath(folder, f"{name}.py")) for folder in folders)
    return found


def test_no_two_modules_share_a_name():
    """A module's name leads to one module: in a search, an import, a traceback or a sentence."""
    assert shared_names(ROOT) == {}


def test_the_subjects_of_the_catalogue_are_seen():
    """The exception is in use: the entries and the probes of SAC have one name."""
    library = ROOT / "tools" / "rlregress"
    places = [library / "catalogue", *library.glob("frameworks/*/observe")]
    assert sum((folder / "sac.py").is_file() for folder in places) >= 3


@pytest.mark.parametrize(
    ("added", "name"),
    [
        ("tools/rlregress/model/state.py", "state"),
        ("tools/rlregress/catalogue/state.py", "state"),
        ("tools/rlregress/check/sac.py", "sac"),
        ("tools/rlregress/frameworks/training.py", "training"),
        ("tools/rlregress/frameworks/two/observe/training.py", "training"),
        ("tools/rlregress/formulas/nstep.py", "nstep"),
        ("tools/tests/check/test_a.py", "test_a"),
        ("tests_behavior/test_a.py", "test_a"),
    ],
)
def test_a_shared_name_is_found(tmp_path, added, name):
    """One more module of the same name is named; adapters, subjects and packages may share one."""
    library = "tools/rlregress"
    kept = [
        "conftest.py",
        "tools/tests/conftest.py",
        "tests_unit/test_a.py",
        f"{library}/check/__init__.py",
        f"{library}/upgrade/state.py",
        *(f"{library}/{family}/sac.py" for family in ("catalogue", "formulas", "measurements")),
        *(f"{library}/frameworks/{one}/training.py" for one in ("one", "two")),
        *(f"{library}/frameworks/{one}/observe/sac.py" for one in ("one", "two")),
        *(f"{library}/frameworks/{one}/observe/helpers/nstep.py" for one in ("one", "two")),
    ]
    for file in kept:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert shared_names(tmp_path) == {}
    (tmp_path / added).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / added).touch()
    assert list(shared_names(tmp_path)) == [name]


def test_modules_that_adapters_load_by_name_are_there():
    """A package finds its functions in modules whose names no tool renames: they define them."""
    folder = ROOT / "tools" / "rlregress" / "frameworks"
    found = 0
    for path in folder.glob("*/*/__init__.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("find_in"):
                for module in node.keywords:
                    text = (path.parent / f"{module.arg}.py").read_text()
                    for name in ast.literal_eval(module.value):
                        assert re.search(
                            rf"^(def {name}\(|{name} = |from .* as {name}$)", text, re.M
                        ), f"{path}: {name}"
                        found += 1
    assert found > 30
