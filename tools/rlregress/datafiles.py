"""The data files of ``baselines/``: read, validated, and one sentence for whatever is wrong.

What a file holds is written down once, as plain dataclasses whose annotations pydantic checks: a
table is a dataclass, a list of tables a tuple of them, a range or a choice an annotation from
below. Nothing is converted but lists to tuples: text in quotes is no number, and true is not 1.
Only the cells of a CSV file, which are text all of them, become numbers where numbers are expected.
"""

from __future__ import annotations

import csv
import fnmatch
import io
import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_origin

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, ConfigDict, FailFast, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from rlregress import files
from rlregress.errors import UserError, nearest

#: of the value that is found, this many characters are shown.
_QUOTED = 100
#: how a point in time is written.
TIME = "%Y-%m-%dT%H:%M:%SZ"
#: without it, ``strptime`` takes a month of one digit.
_TIME_LENGTH = len("2026-01-31T04:30:00Z")
#: bytes of a file, at most: so much is read in seconds.
_LARGEST = {"YAML": 500_000, "TOML": 3_000_000, "CSV": 20_000_000, "JSON": 50_000_000}
#: values of such a file, at most; aliases count for all that they stand for.
_MOST_VALUES = {"YAML": 1_000_000, "JSON": 500_000}
#: rows of a CSV file, at most.
_MOST_ROWS = 100_000
_TOO_MANY = f"it has more than {_MOST_VALUES['JSON']} values"
#: a whole number that no float can be.
_BEYOND = re.compile(r"\d{309}")
#: a key of TOML with more than 50 dots: reading it takes the square of their number.
_DOTTED = re.compile(
    r"""(?:(?<![\w.-])[\w-]++|(?<!\\)"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""
    r"""(?:[ \t]*+\.[ \t]*+(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')){51}"""
)


def expected(expectation: str, fits: Callable[[Any], object]) -> AfterValidator:
    """An annotation: the value has to fit; if it does not, the sentence ends in "expected what"."""

    def checked(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("expected", "another", {"what": expectation})
        return value

    return AfterValidator(checked)


def one_of(choices_or_function: Collection[str] | Callable[[], Collection[str]]) -> AfterValidator:
    """An annotation: the text is one of the known ones; if it is not, the nearest are named.

    Args:
        known: the texts, or what finds them when the first value is checked.
    """

    def checked(value: str) -> str:
        choices = choices_or_function() if callable(choices_or_function) else choices_or_function
        if value not in choices:
            raise PydanticCustomError("one_of", "one of", {"known": list(choices)})
        return value

    return AfterValidator(checked)


def is_version(text: str) -> bool:
    """Return whether a text is the version of a release, as pip reads it."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, TIME)
    except ValueError:
        return False
    return len(text) == _TIME_LENGTH


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, [*value, *value.values()]))
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not isinstance(value, str) or value.isprintable()


def _is_requirement(text: str) -> bool:
    try:
        Requirement(text)
    except InvalidRequirement:
        return False
    return True


#: Text that says something.
Text = Annotated[str, expected("text in quotes that is not empty", lambda text: text.strip() != "")]
#: The version of a release.
Release = Annotated[str, expected("a version as in '2.9.2'", is_version)]
#: A requirement, as pip takes it.
Pin = Annotated[str, expected("a requirement as in 'numpy==1.26.4'", _is_requirement)]
#: The name of one file or folder, and nothing that leads elsewhere.
Component = Annotated[
    str, expected("one plain name of letters, digits and any of _.+@:=~-", files.is_component)
]
#: Text that stands in one line: without control characters.
Line = Annotated[
    str,
    Field(max_length=1000),
    expected("text in one line, without control characters", str.isprintable),
]
#: Whatever a hyperparameter may be.
Value = Annotated[
    Any, expected("numbers, text in one line, or lists and tables of them", _is_plain)
]
#: Whole numbers, from 0 or from 1, that a float holds as they are.
Natural = Annotated[int, Field(ge=0, lt=1 << 53)]
Count = Annotated[int, Field(ge=1, lt=1 << 53)]
#: A number that is neither infinite nor NaN.
Number = Annotated[float, Field(allow_inf_nan=False)]
#: A point in time, in UTC.
Time = Annotated[str, expected("a time as in '2026-01-31T04:30:00Z'", _is_time)]


@dataclass(frozen=True, kw_only=True)
class Range:
    """Releases: from ``since`` on, up to ``until`` and without it; None: all later ones."""

    since: Release
    until: Release | None = None

    def __post_init__(self) -> None:
        if self.until is not None and Version(self.until) <= Version(self.since):
            raise ValueError(
                f"no version lies between since '{self.since}' and until '{self.until}'; until is "
                "the first version that the entry no longer holds for"
            )

    def holds_for(self, version: str) -> bool:
        """Return whether the version lies in [since, until)."""
        requested = Version(version)
        return Version(self.since) <= requested and (
            self.until is None or requested < Version(self.until)
        )


_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "dataclass_type": "a table",
    "expected": "{what}",
    "too_short": "at least {min_length} entry",
    "too_long": "a list of {max_length} values",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "greater_than": "a number above {gt}",
}
_UNKNOWN_KEYS = ("unexpected_keyword_argument", "extra_forbidden")
_OF_NAMES = ("missing", *_UNKNOWN_KEYS)


def read(path: Path, model: Any, remedy: str = "") -> Any:
    """Read a TOML, YAML, JSON or CSV file into an object of ``model``.

    Args:
        model: a dataclass, or a type made of dataclasses, mappings and tuples; of a CSV file a
            tuple of rows.
        remedy: what to do about a file that is damaged, for the message.

    Raises:
        UserError: the file is missing or damaged, or a value is not as ``model`` has it. It names
            the file, the table and the key, what was found and what was expected.
    """
    return _parsed(_text(path, remedy), _format(path), model, path, remedy)


def json_line(text: str, model: Any, path: Path, remedy: str = "") -> Any:
    """As ``read``, of one line of a file that has a JSON value in each.

    Args:
        path: of the file, for messages.
    """
    return _parsed(text, "JSON", model, path, remedy)


def _parsed(text: str, kind: str, model: Any, path: Path, remedy: str) -> Any:
    advice = f"; {remedy}" if remedy else ""
    _check_digits(text, kind, path, advice)
    if kind == "JSON" and text.count(",") < _MOST_VALUES["JSON"]:
        # as below, at once; what pydantic does not read is read below, and said in words there
        adapter = _adapter(model, strict=True)
        try:
            return adapter.validate_json(f"[{text}]")[0]
        except ValidationError as error:
            wrong = error.errors(include_url=False)
        if text.strip() and all(problem["loc"][:1] == (0,) for problem in wrong):
            raise _invalid(wrong, None, adapter, path, kind, advice)
    try:
        content = _PARSERS[kind](text)
    except (ValueError, csv.Error, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} is not valid {kind}: {reason}{advice}") from None
    return checked(content, model, path, remedy, kind)


def _check_digits(text: str, kind: str, path: Path, advice: str) -> None:
    if kind == "JSON" and _BEYOND.search(text):
        raise UserError(f"{path} holds a number of more digits than any that is computed{advice}")


def checked(content: Any, model: Any, path: Path, remedy: str = "", kind: str = "") -> Any:
    """Validate content that was read already, like ``read``.

    Args:
        path: where it comes from, for messages.
        kind: of the file; empty: as its name says.
    """
    kind, advice = kind or _format(path), f"; {remedy}" if remedy else ""
    adapter = _adapter(model, strict=kind != "CSV")
    try:
        # as JSON: a list fills a tuple, and yet text in quotes is no number
        text = json.dumps([content], default=str)
        if kind == "JSON" and text.count(",") >= _MOST_VALUES["JSON"]:
            raise ValueError(_TOO_MANY)
        _check_digits(text, kind, path, advice)
        validated = adapter.validate_json(text)
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise UserError(f"{path} is not valid {kind}: {reason}{advice}") from None
        wrong = error.errors(include_url=False)
        if wrong[0]["type"] == "json_invalid":  # half of a pair of characters, for one
            raise UserError(f"{path} is not valid {kind}: {wrong[0]['msg']}{advice}") from None
    else:
        return validated[0]
    raise _invalid(wrong, content, adapter, path, kind, advice)


def _invalid(
    wrong: list[ErrorDetails],
    content: Any,
    adapter: TypeAdapter[Any],
    path: Path,
    kind: str,
    advice: str,
) -> UserError:
    # a key that is misspelt is missing too: the spelling explains it
    first = next((error for error in wrong if error["type"] in _UNKNOWN_KEYS), wrong[0])
    return UserError(f"{_sentence(path, kind, content, first, _schema(adapter))}{advice}")


def remembered(path: Path, model: Any, remedy: str = "") -> Any:
    """As ``read``, for a file that is asked again and again: read anew once it is written again."""
    written = 0
    with suppress(OSError):  # reading it says what is wrong
        written = path.stat().st_mtime_ns
    return _remembered(path, written, model, remedy)


@cache
def _remembered(path: Path, written: int, model: Any, remedy: str) -> Any:
    del written  # tells another content from the one that is remembered
    return read(path, model, remedy)


def list_files(folder: Path, pattern: str) -> list[Path]:
    """List the files of a folder that match a pattern, by name; empty without the folder.

    Raises:
        UserError: it may not be read, which ``Path.glob`` takes for an empty one.
    """
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(
            f"{folder} cannot be read: {error.strerror}; expected a folder that you may read"
        ) from None
    return [folder / name for name in fnmatch.filter(names, pattern)]


def folder(path: Path, content: str) -> list[Path]:
    """The TOML files of a folder in the order of their names; UserError if there are none.

    Args:
        what: what they hold, for the message.
    """
    files = list_files(Path(path), "*.toml")
    if not files:
        raise UserError(f"{path} holds no {content}; expected TOML files")
    return files


def places(path: Path, name: str, count: int) -> list[str]:
    """Return the place of each of the ``count`` tables ``[[name]]`` in a TOML file,
    for messages.
    """
    header = re.compile(rf"^\s*\[\[\s*{name}\s*\]\]")
    rows = enumerate(_text(path).splitlines(), start=1)
    lines = [number for number, row in rows if header.match(row)]
    if len(lines) != count:  # written as a list of inline tables
        return [f"{path}, [[{name}]] {number}" for number in range(1, count + 1)]
    return [f"{path}, [[{name}]] at line {line}" for line in lines]


class _CsvRow(dict[str, str]):
    """Column -> cell; ``line`` is the last one that the row stands on."""

    def __init__(self, cells: Iterable[tuple[str, str]], line: int) -> None:
        super().__init__(cells)
        self.line = line


def _rows(text: str) -> list[_CsvRow]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns = next(reader, [])
    for name in columns:
        if columns.count(name) > 1:
            raise csv.Error(f"line 1 has {columns.count(name)} columns '{name}'")
    rows: list[_CsvRow] = []
    for cells in reader:
        if cells and len(cells) != len(columns):
            raise csv.Error(
                f"line {reader.line_num} has not as many cells as the first line: {len(cells)}, "
                f"not {len(columns)}"
            )
        if len(rows) >= _MOST_ROWS:
            raise csv.Error(f"it has more than {_MOST_ROWS} rows")
        if cells:
            rows.append(_CsvRow(zip(columns, cells, strict=True), reader.line_num))
    if not rows:
        raise csv.Error("it has no rows below its first line")
    return rows


def _yaml(text: str) -> Any:
    """Parse a file; ValueError if its aliases (``*name``) expand too far."""
    try:
        content = yaml.safe_load(text)
    except (AttributeError, LookupError, TypeError):
        # of PyYAML's own code
        raise ValueError("a value does not fit its tag, such as !!int") from None
    remaining, values = _MOST_VALUES["YAML"], [content]
    while values:
        value = values.pop()
        values += value.values() if isinstance(value, dict) else ()
        values += value if isinstance(value, list) else ()
        remaining -= 1
        if remaining < 0:
            raise ValueError(f"with its aliases it has more than {_MOST_VALUES['YAML']} values")
    return content


def _toml(text: str) -> Any:
    """Parse a file; ValueError for one that cannot be written by hand."""
    if _DOTTED.search(text):
        raise ValueError("a key has more than 50 dots")
    return tomllib.loads(text)


def _json(text: str) -> Any:
    """Parse a file; ValueError for more values than can be read in seconds, before reading them."""
    if text.count(",") >= _MOST_VALUES["JSON"]:
        raise ValueError(_TOO_MANY)
    return json.loads(text)


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "TOML": _toml,
    "YAML": _yaml,
    "JSON": _json,
    "CSV": _rows,
}


#: endings of the JSON files of a store.
_OF_STORES = ("LEASE", "PROGRESS", "CHECKPOINT")


def _format(path: Path) -> str:
    """By the end of the name; a third party may call its TOML file as it likes."""
    ending = path.suffix[1:].upper()
    if ending in _OF_STORES:
        return "JSON"
    return ending if ending in _PARSERS else "TOML"


def _text(path: Path, remedy: str = "") -> str:
    try:
        # with or without the mark that some editors put first
        content = files.read(path, _LARGEST[_format(path)])
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except OSError as error:
        reason = str(error.strerror)
    remedy = remedy or f"expected a {_format(path)} file"
    raise UserError(f"{path} cannot be read: {reason}; {remedy}")


@cache
def _adapter(model: Any, strict: bool) -> TypeAdapter[Any]:
    if get_origin(model) in (tuple, list):
        # one row that is wrong is enough: a hundred thousand of them take a GiB
        model = Annotated[model, FailFast()]
    # in a tuple, as pydantic takes a configuration for plain dataclasses only from outside
    return TypeAdapter(tuple[model], config=ConfigDict(strict=strict, extra="forbid"))


@cache
def _schema(adapter: TypeAdapter[Any]) -> Mapping[str, Any]:
    return adapter.json_schema()


def _sentence(
    path: Path, file_format: str, content: Any, error: ErrorDetails, schema: Mapping[str, Any]
) -> str:
    """Describe the first error of pydantic with the JSON schema of the model.

    Args:
        of: kind of the file.
    """
    _, *keys = error["loc"]
    place = str(path)
    kind, context = error["type"], error.get("ctx", {})
    table, word = file_format == "CSV" and bool(keys), "key"
    if table:
        # a column is named in the first line, and its cells stand below
        row, word = int(keys.pop(0)), "column"
        place = f"{path}, line {1 if kind in _OF_NAMES else content[row].line}"
    elif file_format == "TOML" and len(keys) > 1 and isinstance(keys[1], int):
        tables = content[keys[0]]
        # a list of text, in which something is wrong, is no list of tables
        if kind == "dataclass_type" or isinstance(tables[keys[1]], dict):
            name, number, *keys = keys
            place = places(path, str(name), len(tables))[int(number)]
    if kind == "value_error":  # of several keys together: __post_init__ says it all
        file_format = f"{word} '{_key(keys)}': " if keys else ""
        # it may hold what stands in the file
        rule = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(context["error"]))
        return f"{place}: {file_format}{rule}"
    if kind == "missing" and isinstance(keys[-1], int):  # of a list of so many values
        keys = keys[:-1]
        fixed = len(_table(schema, error["loc"][:-1]).get("prefixItems", ()))
        kind, context = ("too_long" if fixed else "", {"max_length": fixed})
    if kind in _OF_NAMES:
        name = str(keys.pop())
        where = f"{place}, table '{_key(keys)}'" if keys else place
        known_keys = list(_table(schema, error["loc"][:-1]).get("properties", {}))
        if not known_keys:
            return f"{where}: {word} '{name}': {error['msg']}"
        if kind == "missing":
            return f"{where}: {word} '{name}' is missing; expected {', '.join(known_keys)}"
        return f"{where}: unknown {word} '{name}'; {nearest(name, known_keys)}"
    verb = "is"
    if keys and keys[-1] == "[key]":  # of a table whose keys are checked as well
        verb, keys = "has the key", keys[:-2]
    elif keys and isinstance(keys[-1], int):
        verb, keys = "holds", keys[:-1]
    subject = f"{place}: {word} '{_key(keys)}'" if keys else place
    value = f"{subject} {verb} {_quoted(error['input'])}"
    if kind == "one_of":
        return f"{value}; {nearest(error['input'], context['known'])}"
    expectation = _EXPECTED[kind].format(**context) if kind in _EXPECTED else error["msg"]
    if table:
        expectation = expectation.replace("text in quotes", "text")
    return f"{value}, expected {expectation}"


def _key(keys: Iterable[int | str]) -> str:
    """A path of keys as one writes it: ``total_steps.ppo``, ``pairs[0].changes``."""
    parts = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys if key != "")
    return parts.removeprefix(".")


def _table(schema: Mapping[str, Any], keys: Iterable[int | str]) -> Mapping[str, Any]:
    """The part of a JSON schema that describes the table at a path of keys; empty if none does."""
    parts: list[Mapping[str, Any]] = [schema]
    for key in keys:
        inner = [_below(part, key) for part in parts]
        parts = [alternative for part in inner for alternative in _alternatives(schema, part)]
    return next((part for part in parts if part.get("type") in ("object", "array")), {})


def _below(part: Mapping[str, Any], key: int | str) -> Any:
    """Return the JSON schema of one key or one entry of a list; None if there is none."""
    if isinstance(key, str):
        return part.get("properties", {}).get(key) or part.get("additionalProperties")
    fixed = part.get("prefixItems", ())
    return fixed[key] if key < len(fixed) else part.get("items")


def _alternatives(schema: Mapping[str, Any], part: Any) -> list[Mapping[str, Any]]:
    """A part without its references; one that may be left out or be several things is each."""
    while isinstance(part, Mapping) and "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    if not isinstance(part, Mapping):
        return []
    return [
        part,
        *(
            alternative
            for alternative_part in part.get("anyOf", ())
            for alternative in _alternatives(schema, alternative_part)
        ),
    ]


def _quoted(value: Any) -> str:
    """A value as it stands in a file, cut where it is long."""
    if isinstance(value, str):
        text = f"'{value}'" if value.isprintable() else repr(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."
