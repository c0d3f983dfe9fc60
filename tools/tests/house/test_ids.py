"""One search for the id of a detail leads to its definition and to its probes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.catalogue import registry

LIBRARY = Path(__file__).resolve().parents[3] / "tools" / "rlregress"
ADAPTERS = sorted(path.parent.name for path in (LIBRARY / "frameworks").glob("*/observe"))


def texts(path: Path) -> set[str]:
    """Every string of a source file that stands there as a whole."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def unplaced(ids: set[str], folder: Path) -> dict[str, list[str]]:
    """The ids that do not stand in exactly one file of a folder, each with those that hold it."""
    ids_by_file = {path.name: texts(path) for path in sorted(folder.glob("*.py"))}
    places = {
        id: [name for name, ids_found in ids_by_file.items() if id in ids_found]
        for id in sorted(ids)
    }
    return {id: names for id, names in places.items() if len(names) != 1}


def tables(text: str) -> Iterator[tuple[str, ast.expr]]:
    """Name and value of what a module assigns at its top."""
    for node in ast.parse(text).body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        if isinstance(target, ast.Name) and node.value is not None:
            yield target.id, node.value


def probe_tables(folder: Path) -> Iterator[tuple[str, ast.expr]]:
    """Name of the file and value of every ``PROBES`` of the families in a folder."""
    for path in sorted(folder.glob("*.py")):
        for name, value in tables(path.read_text(encoding="utf-8")):
            if name == "PROBES":
                yield path.name, value


def literal_keys(name: str, table: ast.expr) -> set[str | tuple[str, str]]:
    """The keys of a table: literal ones, and those of the tables of measurements that it names."""
    if isinstance(table, ast.DictComp):
        named = re.fullmatch(
            r"(\w+)\.MEASUREMENTS\.items\(\)", ast.unparse(table.generators[0].iter)
        )
        assert named, f"{name}: PROBES is made of no table of measurements"
        return set(measured_ids("ppo_loop" if named[1] == "loop" else named[1]))
    assert isinstance(table, ast.Dict), f"{name}: PROBES is no dictionary in braces"
    keys = set()
    for key, value in zip(table.keys, table.values, strict=True):
        if key is None:
            assert isinstance(value, ast.DictComp), (
                f"{name}: PROBES unpacks another table; list its ids"
            )
            keys |= literal_keys(name, value)
        else:
            keys.add(ast.literal_eval(key))
    return keys


@cache
def measured_ids(module: str) -> tuple[str, ...]:
    """The ids in the table of a module of measurements, all of them literal."""
    text = (LIBRARY / "measurements" / f"{module}.py").read_text(encoding="utf-8")
    (table,) = (value for name, value in tables(text) if name == "MEASUREMENTS")
    assert isinstance(table, ast.Dict), f"{module}: MEASUREMENTS is no dictionary in braces"
    return tuple(ast.literal_eval(key) for key in table.keys)


def test_every_id_is_literal_in_one_file_of_the_catalogue():
    """Where a detail is defined, its id stands as one string, and in no second file."""
    ids = {detail.id for detail in registry.all_details()}
    assert unplaced(ids, LIBRARY / "catalogue") == {}


def test_every_measured_id_is_in_one_table():
    """One search for the id of a measured detail leads to its measurement, in one file."""
    folder = LIBRARY / "measurements"
    measured = [
        id
        for path in sorted(folder.glob("*.py"))
        if "MEASUREMENTS" in path.read_text()
        for id in measured_ids(path.stem)
    ]
    assert len(measured) > 90
    assert unplaced(set(measured), folder) == {}
    assert len(measured) == len(set(measured))


@pytest.mark.parametrize("name", ADAPTERS)
def test_probe_tables_list_their_ids(name):
    """The tables of a framework's families hold literal ids: all that it probes, and what the
    installed copy cannot be asked."""
    tables = list(probe_tables(LIBRARY / "frameworks" / name / "observe"))
    own = [(file, table) for file, table in tables if file != "__init__.py"]
    keys = set().union(*(literal_keys(file, table) for file, table in own))
    listed = {key if isinstance(key, str) else key[0] for key in keys}
    if name not in {adapter.name for adapter in frameworks.installed()}:
        pytest.skip(f"{name} is not installed: what it probes cannot be asked")
    adapter = frameworks.get(name)
    assert listed - set(adapter.observe.absent()) == {id for id, _ in adapter.observe.probes()}


def test_an_id_that_is_put_together_is_found(tmp_path):
    """The check sees an id out of pieces, one in two files, and a table that is not literal."""
    (tmp_path / "one.py").write_text('A = "a.whole"\nB = f"{x}.pieces"\nC = "a.twice"\n')
    (tmp_path / "two.py").write_text('"""As in a.whole."""\nC = "a.twice"\n')
    assert unplaced({"a.whole", "a.pieces", "a.twice"}, tmp_path) == {
        "a.pieces": [],
        "a.twice": ["one.py", "two.py"],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PROBES = {**shared}", "PROBES unpacks another table"),
        ("PROBES = {id: 1 for id in shared}", "made of no table of measurements"),
        ("PROBES: Any = dict(a=1)", "PROBES is no dictionary in braces"),
        ('PROBES = {f"{family}.scale": probe}', "malformed node"),
    ],
)
def test_a_table_that_hides_its_ids_is_found(tmp_path, text, message):
    """A search for the id would not lead there."""
    (tmp_path / "family.py").write_text(text)
    ((name, table),) = probe_tables(tmp_path)
    with pytest.raises((AssertionError, ValueError), match=message):
        literal_keys(name, table)
