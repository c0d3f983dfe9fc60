"""Data files are read into models; each kind of damage has one sentence."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

from rlregress import datafiles
from rlregress.datafiles import Count, Number, Pin, Release, Text, expect_one_of, expect_value
from rlregress.errors import UserError, suggest_names


def _short(values: tuple[int, ...]) -> tuple[int, ...]:
    if len(values) > 2:
        raise ValueError("two are enough")
    return values


@dataclass(frozen=True)
class Row:
    """A table of the files below."""

    id: Text
    kind: Annotated[str, expect_one_of(("fix", "feature"))] = "fix"
    since: Release = "0"
    until: Release | None = None
    steps: Count = 1
    share: Annotated[float, Field(lt=1)] = 0.5
    mean: Number = 0.0
    judged: bool = False
    pins: tuple[Pin, ...] = ()
    span: tuple[Number, Number] = (0, 0)
    spans: tuple[tuple[Number, Number], ...] = ()
    widths: Annotated[tuple[int, ...], AfterValidator(_short)] = ()
    limits: Mapping[Annotated[str, expect_value("a small letter", str.islower)], Count] = field(
        default_factory=dict
    )
    extra: Any = None

    def __post_init__(self) -> None:
        if self.until == self.since:
            raise ValueError("until is since; leave it out")


@dataclass(frozen=True)
class File:
    """A whole file."""

    row: tuple[Row, ...]


def read(folder, text: str, name: str = "x.toml", model: Any = File, remedy: str = "") -> Any:
    """Return the content of a file with this text."""
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return datafiles.read_data_file(path, model, remedy)


def refusal(folder, text: str, name: str = "x.toml") -> str:
    """Return the error message for a file with this text; it ends with the remedy."""
    with pytest.raises(UserError) as raised:
        read(folder, text, name, tuple[Row, ...] if name == "x.csv" else File, "write it again")
    sentence = str(raised.value)
    assert sentence.startswith(str(folder / name))
    assert sentence.endswith("; write it again")
    assert "\n" not in sentence
    return sentence


TOML = '[[row]]\nid = "a"\nsteps = 3\nmean = 2\npins = ["x==1"]\nextra = [1, 2.5]\n'
FILES = {
    "x": TOML, "x.toml": TOML,
    "x.yaml": "row:\n- {id: a, steps: 3, mean: 2, pins: [x==1], extra: [1, 2.5]}\n",
    "x.json": '{"row": [{"id": "a", "steps": 3, "mean": 2, "pins": ["x==1"], "extra": [1, 2.5]}]}',
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_into_its_model(tmp_path, name) -> None:
    """Lists become tuples where the model has them; untyped values stay as they are."""
    (row,) = read(tmp_path, FILES[name], name).row
    assert row == Row("a", steps=3, mean=2.0, pins=("x==1",), extra=[1, 2.5])
    assert isinstance(row.extra[0], int)


ROW = '# one\n\n[[row]]\nid = "a"\n'


#: text of a file, and what is said of it
DAMAGE = [
    ("row = 3", ": key 'row' is 3, expected a list"),
    ('row = [{ id = "" }]', ", [[row]] 1: key 'id' is '', expected text in quotes that is not"),
    ("", ": key 'row' is missing; expected row"),
    ("rows = []", ": unknown key 'rows'; did you mean 'row'? (known: row)"),
    ("[[row]]", ", [[row]] at line 1: key 'id' is missing; expected id, kind, since, until"),
    (ROW + ROW + "x = 1", ", [[row]] at line 7: unknown key 'x'; known: extra, id, judged"),
    (ROW + 'kind = "fixed"', "at line 3: key 'kind' is 'fixed'; did you mean 'fix'? (known: f"),
    (ROW + 'since = "new"', "line 3: key 'since' is 'new', expected a version as in '2.9.2'"),
    (ROW + 'since = "1"\nuntil = "1"', "line 3: until is since; leave it out"),
    (ROW + "steps = 0", "line 3: key 'steps' is 0, expected a number of at least 1"),
    (ROW + "steps = true", "line 3: key 'steps' is true, expected a whole number"),
    (ROW + 'steps = "2"', "line 3: key 'steps' is '2', expected a whole number"),
    (ROW + "share = 1.0", "line 3: key 'share' is 1.0, expected a number below 1"),
    (ROW + "mean = nan", "line 3: key 'mean' is NaN, expected a finite number"),
    (ROW + "judged = 1", "line 3: key 'judged' is 1, expected true or false"),
    (ROW + 'pins = "x==1"', "line 3: key 'pins' is 'x==1', expected a list"),
    (ROW + 'pins = ["x=1"]', "key 'pins' holds 'x=1', expected a requirement as in 'numpy==1."),
    (ROW + "widths = [1, 2, 3]", "line 3: key 'widths': two are enough"),
    (ROW + "span = [1, 2, 3]", "key 'span' is [1, 2, 3], expected a list of 2 values"),
    (ROW + "spans = [[1, 2], [3]]", "key 'spans' holds [3], expected a list of 2 values"),
    (ROW + "limits = { a = 0 }", "line 3: key 'limits.a' is 0, expected a number of at least"),
    (ROW + "limits = { A = 1 }", "line 3: key 'limits' has the key 'A', expected a small lett"),
    (ROW + f"steps = '{'x' * 200}'", f"key 'steps' is '{'x' * 99}..., expected a whole number"),
]


#: name and text of a file, and what is said of it
DAMAGE_OF_FORMATS = [
    ("x.toml", "row = [", "is not valid TOML: Invalid value (at end of document)"),
    ("x.yaml", "row: [", "is not valid YAML: while parsing a flow node expected the node cont"),
    ("x.yaml", "a: 1\nb: !!bool x", "is not valid YAML: line 2: 'x' does not fit its tag !!bool"),
    ("x.yaml", "row: [{id: a, limits: {a: x}}]", ": key 'row[0].limits.a' is 'x', expected a"),
    ("x.json", '{"row": 1', "is not valid JSON: Expecting ',' delimiter: line 1 column 10"),
    ("x.json", '{"row": [{}]}', ", table 'row[0]': key 'id' is missing; expected id"),
    ("x.json", "[" * 100000, "is not valid JSON: "),
    ("x.csv", "id,steps\na,1\nb,x\n", ", line 3: column 'steps' is 'x', expected a whole num"),
    ("x.csv", 'id,steps\n"a\n7",1\nb,x\n', ", line 4: column 'steps' is 'x'"),
    ("x.csv", 'id,steps\na,"x\n\x01"\n', r"column 'steps' is 'x\n\x01', expected a whole"),
    ("x.csv", "id,stepz\na,1\n", ", line 1: unknown column 'stepz'; did you mean 'steps'?"),
    ("x.csv", "id,mean\na,inf\n", ", line 2: column 'mean' is 'inf', expected a finite number"),
    ("x.csv", "id,steps\na\n", "is not valid CSV: line 2 has not as many cells as the first"),
    ("x.csv", "id,steps,id\na,1,b\n", "is not valid CSV: line 1 has 2 columns 'id'"),
    ("x.csv", "}{ [[", "is not valid CSV: it has no rows below its first line"),
    ("x.toml", "\udcff", "cannot be read: byte 0 is not UTF-8; "),
]


def test_damage_is_one_sentence(tmp_path):
    """File, table and line, key, value and expectation; the path of a key, or a column."""
    for text, sentence in DAMAGE:
        assert sentence in refusal(tmp_path, text)
    for name, text, sentence in DAMAGE_OF_FORMATS:
        assert sentence in refusal(tmp_path, text, name)


def test_cells_of_a_csv_file_become_numbers_where_the_model_has_them(tmp_path):
    """An id of digits stays text; a byte order mark is no part of a name."""
    assert read(tmp_path, "\ufeffid,steps\na,1\n", "x.csv", tuple[Row, ...])[0].id == "a"
    rows = read(tmp_path, "id,mean,steps\n7,-0.5,3\n", "x.csv", tuple[Row, ...])
    assert rows == (Row("7", mean=-0.5, steps=3),)


def test_a_missing_file_is_named(tmp_path):
    """Also a folder in its place; a number that no float can be is refused."""
    for reason in ("No such file", "it is a folder, not a file"):
        with pytest.raises(UserError, match=f"x.csv cannot be read: {reason}.*expected a"):
            datafiles.read_data_file(tmp_path / "x.csv", File)
        (tmp_path / "x.csv").mkdir(exist_ok=True)
    path = tmp_path / "x.json"
    path.write_text(f'{{"a": {10**400}}}')
    message = "holds a whole number of more than 308 digits, expected fewer"
    with pytest.raises(UserError, match=message):
        datafiles.read_data_file(path, dict[str, float])


def test_an_empty_folder_is_named(tmp_path) -> None:
    """A folder gives its TOML files by name, and has at least one."""
    with pytest.raises(UserError, match="holds no claims; expected TOML files$"):
        datafiles.list_toml_files(tmp_path, "claims")
    for name in ("b.toml", "a.toml", "c.txt"):
        (tmp_path / name).touch()
    names = [path.name for path in datafiles.list_toml_files(tmp_path, "claims")]
    assert names == ["a.toml", "b.toml"]


@pytest.mark.parametrize(
    ("name", "names", "clause"),
    [
        ("shrt", ["smoke", "short"], "did you mean 'short'? (known: short, smoke)"),
        ("x", ["smoke", "short"], "known: short, smoke"),
        ("x", [], "there is none"),
        ("short", ["shirt", *map(str, range(30))], "did you mean 'shirt'?"),
        ("x", [f"n{n:02}" for n in range(31)], "31 are known, such as 'n30', 'n29', 'n28'"),
    ],
)
def test_near_names_are_offered_and_known_ones_listed(name, names, clause) -> None:
    """A list that nobody reads is not shown."""
    assert suggest_names(name, names) == clause


def test_a_file_that_is_remembered_is_read_anew_once_it_is_written(tmp_path):
    """Changed content is read again."""
    path = tmp_path / "some.toml"
    path.write_text("a = 1\n")
    os.utime(path, ns=(1, 1))
    first = datafiles.read_data_file_cached(path, Mapping[str, int])
    assert datafiles.read_data_file_cached(path, Mapping[str, int]) is first
    path.write_text("a = 2\n")
    os.utime(path, ns=(2, 2))
    assert datafiles.read_data_file_cached(path, Mapping[str, int]) == {"a": 2}
    path.unlink()
    with pytest.raises(UserError, match=r"some\.toml"):
        datafiles.read_data_file_cached(path, Mapping[str, int])


#: between quotes that are none: they stand at the end of text in several lines
HIDDEN = "x = ['''\n\"''', {" + ".".join("a" * 9_000) + ' = 1}, "\\""]'


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (".".join(["a"] * 20_000) + " = 1", "x.toml", "is not valid TOML: a key has more than 50"),
        ("[" + " . ".join(['"a"', "'b'"] * 9_000) + "]", "x.toml", "a key has more than 50 dots"),
        (HIDDEN, "x.toml", "a key has more than 50 dots"),
        ("[" + "[]," * 5_000_000 + "[]]", "x.json", "is not valid JSON: it has more than 500000"),
        ('{"row": [' + "[]," * 100_000 + "[]]}", "x.json", "holds \\[\\], expected a table"),
        ("a,b\n" + "x,y\n" * 900_000, "x.csv", "is not valid CSV: it has more than 100000 rows"),
        ("a,b\n" + "x,y\n" * 90_000, "x.csv", "line 1: unknown column 'a'"),
    ],
    ids=["dots", "quoted dots", "hidden dots", "lists", "wrong lists", "rows", "wrong rows"],
)
def test_a_file_that_would_take_minutes_is_refused_soon(tmp_path, text, name, message) -> None:
    """A file that is small to write and slow to parse is refused within 5 CPU seconds."""
    started = time.process_time()
    with pytest.raises(UserError, match=message):
        read(tmp_path, text, name, tuple[Row, ...] if name == "x.csv" else File)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("number", [40, 49])
def test_many_dots_that_are_no_key_are_read(tmp_path, number) -> None:
    """Numbers of a list, prose, and tables below each other."""
    text = f"x = [{', '.join(['1.5'] * 200)}]\n"
    text += f'y = "{". ".join(["some words"] * 200)}"\n{".".join("a" * number)} = 1\n'
    read(tmp_path, text, model=Mapping[str, Any])


@dataclass(frozen=True)
class Maybe:
    """A model with an optional table, an optional list, and a union."""

    at: tuple[str, int, tuple[Row, ...]] | None = None
    rows: Mapping[str, Row | None] | None = None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"at": ["x"]}', "key 'at' holds .*, expected a list of 3 values|'at' is"),
        ('{"at": ["x", 1, [{}]]}', "key 'id' is missing; expected id, "),
        ('{"at": ["x", 1, [{"id": "x", "idd": 1}]]}', "unknown key 'idd'; did you mean 'id'"),
        ('{"rows": {"a": {}}}', "table 'rows.a': key 'id' is missing; expected id, "),
        ('{"rows": {"a": 7}}', "key 'rows.a' is 7, expected a table"),
        ('{"at": ["x", 1, [], 4]}', "expected a list of 3 values"),
    ],
)
def test_an_error_below_an_optional_table_is_named(tmp_path, text, message) -> None:
    """An error below an optional list or table is named with its path."""
    with pytest.raises(UserError, match=message):
        read(tmp_path, text, "x.json", Maybe)
