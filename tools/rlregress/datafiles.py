"""Reads and validates the data files of ``baselines/``. One sentence describes a damaged file.

Plain dataclasses describe the content of a file, and pydantic checks their annotations. A table is
a dataclass, a list of tables a tuple of these. Annotations below state ranges and choices. Only
lists are converted, to tuples: text in quotes is no number, and true is not 1. The cells of a CSV
file are text, and become numbers where numbers are expected.
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
from rlregress.errors import UserError, suggest_names

#: most characters of a value that an error message quotes
_MAX_QUOTED = 100
#: format of a point in time
TIME = "%Y-%m-%dT%H:%M:%SZ"
#: checked because ``strptime`` also takes a month of one digit
_TIME_LENGTH = len("2026-01-31T04:30:00Z")
#: most bytes of a file: this many are read in seconds
_MAX_BYTES = {"YAML": 500_000, "TOML": 3_000_000, "CSV": 20_000_000, "JSON": 50_000_000}
#: most values of a file; an alias counts as all values that it repeats
_MAX_VALUES = {"YAML": 1_000_000, "JSON": 500_000}
#: most rows of a CSV file
_MAX_ROWS = 100_000
_TOO_MANY = f"it has more than {_MAX_VALUES['JSON']} values"
#: a whole number that is larger than any float
_TOO_LARGE = re.compile(r"\d{309}")
#: a key of TOML with more than 50 dots: the time to read it grows with the square of their number
_DOTTED = re.compile(
    r"""(?:(?<![\w.-])[\w-]++|(?<!\\)"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""
    r"""(?:[ \t]*+\.[ \t]*+(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')){51}"""
)


def expect_value(expectation: str, fits: Callable[[Any], object]) -> AfterValidator:
    """Return an annotation that accepts values which fit; its error states the expectation."""

    def check_that_value_fits(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("expected", "another", {"what": expectation})
        return value

    return AfterValidator(check_that_value_fits)


def expect_one_of(
    choices_or_function: Collection[str] | Callable[[], Collection[str]],
) -> AfterValidator:
    """Return an annotation that accepts one of some choices; its error names the nearest ones.

    Args:
        choices_or_function: the choices, or a function that lists them for each check.
    """

    def check_choice(value: str) -> str:
        choices = choices_or_function() if callable(choices_or_function) else choices_or_function
        if value not in choices:
            raise PydanticCustomError("one_of", "one of", {"known": list(choices)})
        return value

    return AfterValidator(check_choice)


def is_version(text: str) -> bool:
    """Return whether a text is the version of a release, as pip reads it."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _is_iso_time(text: str) -> bool:
    try:
        datetime.strptime(text, TIME)
    except ValueError:
        return False
    return len(text) == _TIME_LENGTH


def _has_printable_text(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_has_printable_text, [*value, *value.values()]))
    if isinstance(value, list):
        return all(map(_has_printable_text, value))
    return not isinstance(value, str) or value.isprintable()


def _is_requirement(text: str) -> bool:
    try:
        Requirement(text)
    except InvalidRequirement:
        return False
    return True


#: Text that is not empty.
Text = Annotated[
    str, expect_value("text in quotes that is not empty", lambda text: text.strip() != "")
]
#: The version of a release.
Release = Annotated[str, expect_value("a version as in '2.9.2'", is_version)]
#: A requirement, as pip takes it.
Pin = Annotated[str, expect_value("a requirement as in 'numpy==1.26.4'", _is_requirement)]
#: The name of one file or folder, which cannot lead to another folder.
Component = Annotated[
    str, expect_value("one plain name of letters, digits and any of _.+@:=~-", files.is_plain_name)
]
#: Text that stands in one line: without control characters.
Line = Annotated[
    str,
    Field(max_length=1000),
    expect_value("text in one line, without control characters", str.isprintable),
]
#: A value of a hyperparameter.
Value = Annotated[
    Any, expect_value("numbers, text in one line, or lists and tables of them", _has_printable_text)
]
#: Whole numbers, from 0 or from 1, that a float holds exactly.
Natural = Annotated[int, Field(ge=0, lt=1 << 53)]
Count = Annotated[int, Field(ge=1, lt=1 << 53)]
#: A number that is neither infinite nor NaN.
Number = Annotated[float, Field(allow_inf_nan=False)]
#: A point in time, in UTC.
Time = Annotated[str, expect_value("a time as in '2026-01-31T04:30:00Z'", _is_iso_time)]


@dataclass(frozen=True, kw_only=True)
class Range:
    """Releases from ``since`` on, before ``until``; None: all later ones."""

    since: Release
    until: Release | None = None

    def __post_init__(self) -> None:
        if self.until is not None and Version(self.until) <= Version(self.since):
            raise ValueError(
                f"no version lies between since '{self.since}' and until '{self.until}'; until is "
                "the first version that the entry no longer holds for"
            )

    def includes_version(self, version: str) -> bool:
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
_KEY_ERRORS = ("missing", *_UNKNOWN_KEYS)


def read_data_file(path: Path, model: Any, remedy: str = "") -> Any:
    """Read a TOML, YAML, JSON or CSV file into an object of ``model``.

    Args:
        model: a dataclass, or a type made of dataclasses, mappings and tuples; of a CSV file a
            tuple of rows.
        remedy: what to do about a file that is damaged, for the message.

    Raises:
        UserError: the file is missing or damaged, or a value does not fit ``model``. It names the
            file, the table and the key, the found value and the expected one.
    """
    return _parse_text_of_format(
        _read_text(path, remedy), _find_format_of_file(path), model, path, remedy
    )


def read_json_line(text: str, model: Any, path: Path, remedy: str = "") -> Any:
    """Read one line of a file with a JSON value in each line; see ``read_data_file``.

    Args:
        path: of the file, for messages.
    """
    return _parse_text_of_format(text, "JSON", model, path, remedy)


def _parse_text_of_format(text: str, syntax: str, model: Any, path: Path, remedy: str) -> Any:
    advice = f"; {remedy}" if remedy else ""
    _check_number_of_digits(text, syntax, path, advice)
    if syntax == "JSON" and text.count(",") < _MAX_VALUES["JSON"]:
        # fast: pydantic parses it. Text that it cannot parse is parsed below, for a clear message
        adapter = _make_type_adapter(model, strict=True)
        try:
            return adapter.validate_json(f"[{text}]")[0]
        except ValidationError as error:
            problems = error.errors(include_url=False)
        if text.strip() and all(problem["loc"][:1] == (0,) for problem in problems):
            raise _make_error_of_problems(problems, None, adapter, path, syntax, advice)
    try:
        content = _PARSERS[syntax](text)
    except (ValueError, csv.Error, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} is not valid {syntax}: {reason}{advice}") from None
    return validate_content(content, model, path, remedy, syntax)


def _check_number_of_digits(text: str, syntax: str, path: Path, advice: str) -> None:
    if syntax == "JSON" and _TOO_LARGE.search(text):
        raise UserError(
            f"{path} holds a whole number of more than 308 digits, expected fewer{advice}"
        )


def validate_content(
    content: Any, model: Any, path: Path, remedy: str = "", syntax: str = ""
) -> Any:
    """Validate content that was read already, as ``read_data_file`` does.

    Args:
        path: origin of the content, for messages.
        syntax: format of the file; empty: the format that its name shows.
    """
    syntax, advice = syntax or _find_format_of_file(path), f"; {remedy}" if remedy else ""
    adapter = _make_type_adapter(model, strict=syntax != "CSV")
    try:
        # as JSON: a list fills a tuple, and yet text in quotes is no number
        text = json.dumps([content], default=str)
        if syntax == "JSON" and text.count(",") >= _MAX_VALUES["JSON"]:
            raise ValueError(_TOO_MANY)
        _check_number_of_digits(text, syntax, path, advice)
        validated = adapter.validate_json(text)
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise UserError(f"{path} is not valid {syntax}: {reason}{advice}") from None
        problems = error.errors(include_url=False)
        if problems[0]["type"] == "json_invalid":  # half of a surrogate pair, for one
            raise UserError(f"{path} is not valid {syntax}: {problems[0]['msg']}{advice}") from None
    else:
        return validated[0]
    raise _make_error_of_problems(problems, content, adapter, path, syntax, advice)


def _make_error_of_problems(
    problems: list[ErrorDetails],
    content: Any,
    adapter: TypeAdapter[Any],
    path: Path,
    syntax: str,
    advice: str,
) -> UserError:
    # a key that is misspelt is missing too: the spelling explains it
    first = next((error for error in problems if error["type"] in _UNKNOWN_KEYS), problems[0])
    return UserError(
        _describe_validation_error(path, syntax, content, first, _make_json_schema(adapter))
        + advice
    )


def read_data_file_cached(path: Path, model: Any, remedy: str = "") -> Any:
    """Read a file as ``read_data_file`` does, and cache the result until the file changes."""
    mtime = 0
    with suppress(OSError):  # ``read_data_file`` raises a clear error
        mtime = path.stat().st_mtime_ns
    return _read_file_cached_by_mtime(path, mtime, model, remedy)


@cache
def _read_file_cached_by_mtime(path: Path, mtime: int, model: Any, remedy: str) -> Any:
    del mtime  # a part of the key of the cache
    return read_data_file(path, model, remedy)


def list_files_by_name(folder: Path, pattern: str) -> list[Path]:
    """List the files of a folder that match a pattern, by name; empty without the folder.

    Raises:
        UserError: the folder may not be read; ``Path.glob`` would list no files.
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


def list_toml_files(path: Path, expected_content: str) -> list[Path]:
    """List the TOML files of a folder by name; UserError if there are none.

    Args:
        expected_content: name of the files' content, for the message.
    """
    files = list_files_by_name(Path(path), "*.toml")
    if not files:
        raise UserError(f"{path} holds no {expected_content}; expected TOML files")
    return files


def describe_places_of_tables(path: Path, table: str, count: int) -> list[str]:
    """Return the places of the ``count`` tables ``[[name]]`` of a TOML file, for messages."""
    header = re.compile(rf"^\s*\[\[\s*{table}\s*\]\]")
    rows = enumerate(_read_text(path).splitlines(), start=1)
    lines = [number for number, row in rows if header.match(row)]
    if len(lines) != count:  # written as a list of inline tables
        return [f"{path}, [[{table}]] {number}" for number in range(1, count + 1)]
    return [f"{path}, [[{table}]] at line {line}" for line in lines]


class _CsvRow(dict[str, str]):
    """Column -> cell; ``line`` is the number of the row's last line."""

    def __init__(self, cells: Iterable[tuple[str, str]], line: int) -> None:
        super().__init__(cells)
        self.line = line


def _parse_csv(text: str) -> list[_CsvRow]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns = next(reader, [])
    for name in columns:
        if columns.count(name) > 1:
            raise csv.Error(f"line 1 has {columns.count(name)} columns '{name}', expected one")
    rows: list[_CsvRow] = []
    for cells in reader:
        if cells and len(cells) != len(columns):
            raise csv.Error(
                f"line {reader.line_num} has not as many cells as the first line: {len(cells)}, "
                f"not {len(columns)}"
            )
        if len(rows) >= _MAX_ROWS:
            raise csv.Error(f"it has more than {_MAX_ROWS} rows")
        if cells:
            rows.append(_CsvRow(zip(columns, cells, strict=True), reader.line_num))
    if not rows:
        raise csv.Error("it has no rows below its first line")
    return rows


def _parse_yaml(text: str) -> Any:
    """Parse YAML; ValueError if a value does not fit its tag, or aliases expand too far."""
    loader = yaml.SafeLoader(text)
    try:
        content = loader.get_single_data()
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # PyYAML raises these itself, at the last node that it has begun to convert
        if (node := next(reversed(loader.recursive_objects), None)) is None:
            raise ValueError(str(error)) from None
        line, tag = node.start_mark.line + 1, node.tag.replace("tag:yaml.org,2002:", "!!")
        raise ValueError(f"line {line}: {node.value!r:.60} does not fit its tag {tag}") from None
    remaining, values = _MAX_VALUES["YAML"], [content]
    while values:
        value = values.pop()
        values += value.values() if isinstance(value, dict) else ()
        values += value if isinstance(value, list) else ()
        remaining -= 1
        if remaining < 0:
            raise ValueError(f"with its aliases it has more than {_MAX_VALUES['YAML']} values")
    return content


def _parse_toml(text: str) -> Any:
    """Parse TOML; ValueError for keys that would take minutes."""
    if _DOTTED.search(text):
        raise ValueError("a key has more than 50 dots, expected fewer")
    return tomllib.loads(text)


def _parse_json(text: str) -> Any:
    """Parse JSON; ValueError, without parsing, for more values than are read in seconds."""
    if text.count(",") >= _MAX_VALUES["JSON"]:
        raise ValueError(_TOO_MANY)
    return json.loads(text)


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "TOML": _parse_toml,
    "YAML": _parse_yaml,
    "JSON": _parse_json,
    "CSV": _parse_csv,
}


#: endings of the JSON files of a store.
_STORE_ENDINGS = ("LEASE", "PROGRESS", "CHECKPOINT")


def _find_format_of_file(path: Path) -> str:
    """Return the format by the ending; other endings are TOML, as a third party may choose one."""
    ending = path.suffix[1:].upper()
    if ending in _STORE_ENDINGS:
        return "JSON"
    return ending if ending in _PARSERS else "TOML"


def _read_text(path: Path, remedy: str = "") -> str:
    try:
        # some editors write a byte order mark
        content = files.read_regular_file(path, _MAX_BYTES[_find_format_of_file(path)])
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except OSError as error:
        reason = str(error.strerror)
    remedy = remedy or f"expected a {_find_format_of_file(path)} file"
    raise UserError(f"{path} cannot be read: {reason}; {remedy}")


@cache
def _make_type_adapter(model: Any, strict: bool) -> TypeAdapter[Any]:
    if get_origin(model) in (tuple, list):
        # the first bad row is enough: the errors of 100 000 rows take a GiB
        model = Annotated[model, FailFast()]
    # in a tuple: pydantic accepts a configuration for a plain dataclass only around it
    return TypeAdapter(tuple[model], config=ConfigDict(strict=strict, extra="forbid"))


@cache
def _make_json_schema(adapter: TypeAdapter[Any]) -> Mapping[str, Any]:
    return adapter.json_schema()


def _describe_validation_error(
    path: Path, syntax: str, content: Any, error: ErrorDetails, schema: Mapping[str, Any]
) -> str:
    """Describe an error of pydantic in a sentence, with the JSON schema of the model."""
    _, *keys = error["loc"]
    place = str(path)
    kind, context = error["type"], error.get("ctx", {})
    is_cell, noun = syntax == "CSV" and bool(keys), "key"
    if is_cell:
        # a column is named in the first line, and its cells stand below
        row, noun = int(keys.pop(0)), "column"
        place = f"{path}, line {1 if kind in _KEY_ERRORS else content[row].line}"
    elif syntax == "TOML" and len(keys) > 1 and isinstance(keys[1], int):
        tables = content[keys[0]]
        # a list of text with a bad entry is no list of tables
        if kind == "dataclass_type" or isinstance(tables[keys[1]], dict):
            name, number, *keys = keys
            place = describe_places_of_tables(path, str(name), len(tables))[int(number)]
    if kind == "value_error":  # __post_init__ raised it, of several keys together
        subject = f"{noun} '{_join_keys(keys)}': " if keys else ""
        # it may quote text of the file
        rule = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(context["error"]))
        return f"{place}: {subject}{rule}"
    if kind == "missing" and isinstance(keys[-1], int):  # a list of a fixed length is too short
        keys = keys[:-1]
        fixed = len(_find_table_schema(schema, error["loc"][:-1]).get("prefixItems", ()))
        kind, context = ("too_long" if fixed else "", {"max_length": fixed})
    if kind in _KEY_ERRORS:
        name = str(keys.pop())
        where = f"{place}, table '{_join_keys(keys)}'" if keys else place
        known_keys = list(_find_table_schema(schema, error["loc"][:-1]).get("properties", {}))
        if not known_keys:
            return f"{where}: {noun} '{name}': {error['msg']}"
        if kind == "missing":
            return f"{where}: {noun} '{name}' is missing; expected {', '.join(known_keys)}"
        return f"{where}: unknown {noun} '{name}'; {suggest_names(name, known_keys)}"
    verb = "is"
    if keys and keys[-1] == "[key]":  # of a table whose keys are checked as well
        verb, keys = "has the key", keys[:-2]
    elif keys and isinstance(keys[-1], int):
        verb, keys = "holds", keys[:-1]
    subject = f"{place}: {noun} '{_join_keys(keys)}'" if keys else place
    value = f"{subject} {verb} {_quote_value_for_message(error['input'])}"
    if kind == "one_of":
        return f"{value}; {suggest_names(error['input'], context['known'])}"
    expectation = _EXPECTED[kind].format(**context) if kind in _EXPECTED else error["msg"]
    if is_cell:
        expectation = expectation.replace("text in quotes", "text")
    return f"{value}, expected {expectation}"


def _join_keys(keys: Iterable[int | str]) -> str:
    """Join a path of keys: ``total_steps.ppo``, ``pairs[0].changes``."""
    parts = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys if key != "")
    return parts.removeprefix(".")


def _find_table_schema(schema: Mapping[str, Any], keys: Iterable[int | str]) -> Mapping[str, Any]:
    """Find the part of a JSON schema that describes the table at a path of keys; empty if none."""
    parts: list[Mapping[str, Any]] = [schema]
    for key in keys:
        inner = [_find_inner_schema(part, key) for part in parts]
        parts = [alternative for part in inner for alternative in _list_alternatives(schema, part)]
    return next((part for part in parts if part.get("type") in ("object", "array")), {})


def _find_inner_schema(schema: Mapping[str, Any], key: int | str) -> Any:
    """Return the JSON schema of one key or one entry of a list; None if there is none."""
    if isinstance(key, str):
        return schema.get("properties", {}).get(key) or schema.get("additionalProperties")
    fixed = schema.get("prefixItems", ())
    return fixed[key] if key < len(fixed) else schema.get("items")


def _list_alternatives(schema: Mapping[str, Any], inner: Any) -> list[Mapping[str, Any]]:
    """List the alternatives of a part (``anyOf``), with all references resolved."""
    while isinstance(inner, Mapping) and "$ref" in inner:
        inner = schema["$defs"][inner["$ref"].rpartition("/")[2]]
    if not isinstance(inner, Mapping):
        return []
    return [
        inner,
        *(
            alternative
            for alternative_part in inner.get("anyOf", ())
            for alternative in _list_alternatives(schema, alternative_part)
        ),
    ]


def _quote_value_for_message(value: Any) -> str:
    """Quote a value as a file has it, cut if it is long."""
    if isinstance(value, str):
        text = f"'{value}'" if value.isprintable() else repr(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}..."
