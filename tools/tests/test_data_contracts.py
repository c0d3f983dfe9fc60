"""Every model of a data file reports an error in the file as one sentence.

The models are found in the code, and sound files of them among the committed ones, so that a new
model is held to the contract without a line here. What each key refuses is in a snapshot: a model
that becomes less strict is a difference in it.
"""

from __future__ import annotations

import ast
import csv
import dataclasses
import importlib
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import yaml

from rlregress import datafiles, suite
from rlregress.errors import UserError
from rlregress.faults import fault_tables
from rlregress.trace import golden
from rlregress_studies.determinism.determinism_study import Checkpoint

from . import hostile
from .nightly import every

#: functions of ``datafiles`` that are given a model, second.
READERS = ("read_data_file", "read_data_file_cached", "validate_content", "read_json_line")
#: in the place of any value; of each key the ones that it refuses are tried
WRONG = (
    "", "no such word", "a\nb", 0, -1, 0.5, 1e300, 1 << 60, True, math.nan, [], {}, [""], [7],
    ["a\nb"], [[7]], {"": 7}, {"x": "a\nb"},
)  # fmt: skip
REMEDY = "mend it"


def _expressions(text: str) -> set[str]:
    """Return the models that a module gives to ``datafiles``, as they are written there."""
    return {
        ast.unparse(call.args[1])
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if ast.unparse(call.func.value) == "datafiles" and call.func.attr in READERS
    }  # fmt: skip


def _build_models() -> dict[str, Any]:
    """Return the models that a function makes: "module expression" -> what it stands for."""
    return {
        "faults.fault_tables _make_model_of_fault_file(instrument)": {
            instrument: fault_tables._make_model_of_fault_file(instrument)
            for instrument in fault_tables._KEYS
        }
    }


def _find_models() -> dict[str, Any]:
    root, models, built = suite.find_suite_root(), {}, _build_models()
    packages = ("tools/rlregress", "tools/rlregress_studies", "tools/rlregress_power")
    for package in (*packages, "tests_behavior"):
        for path in sorted((root / package).rglob("*.py")):
            parts, text = path.relative_to(root).with_suffix("").parts, path.read_text("utf-8")
            if "tests" in parts or "datafiles." not in text:
                continue
            module = ".".join(parts).removeprefix("tools.")
            short = module.removeprefix("rlregress.")
            for expression in sorted(_expressions(text)):
                name = f"{short} {expression}"
                if name in built:
                    models |= {f"{short} {key}": model for key, model in built.pop(name).items()}
                else:
                    models[name] = eval(expression, vars(importlib.import_module(module)))
    assert not built, f"no longer read: {list(built)}"
    return models


MODELS = _find_models()


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sound file: its content, its format, and its tables.

    Attributes:
        tables: name of a table -> path of its first place in the content.
    """

    kind: str
    content: Any
    tables: Mapping[str, tuple[Any, ...]]


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


DUMPS: Mapping[str, Callable[[Any], str]] = {
    "TOML": tomli_w.dumps, "YAML": yaml.safe_dump, "JSON": json.dumps, "CSV": _csv
}  # fmt: skip


#: of what no committed file and no format of ``hostile`` is
FURTHER: list[tuple[str, Any]] = [
    ("JSON", {"schema": 1, "runs": 1, "width": 999, "digest": "0" * 64}),
    ("JSON", hostile.JOB.convert_to_plain_data()),
    (
        "JSON",
        {"run": hostile.JOB.name, "group": hostile.JOB.cell.group, "seconds": 1.0,
         "job": {**hostile.JOB.convert_to_plain_data(), "key": hostile.JOB.key}},
    ),
    ("JSON", [dataclasses.asdict(Checkpoint(1, "ab", 1.0, 2.0))]),
    ("JSON", {"items": [["parameters", "float 0.5", "load", [0.5]]]}),
    ("JSON", hostile.EVIDENCE),
    (
        "JSON",
        {
            "schema": golden.SCHEMA,
            "script": "train.py", "arguments": ["--seed", "1"], "packages": ["mine"], "steps": 0,
            "arithmetic": {"aten": "AVX2"}, "seeds": {"torch": "1"}, "seeded": ["NumPy"],
            "versions": {"torch": "2.13.0"}, "sources": {"train.py": "ab"}, "length": 1,
            "sites": [{"kind": "step", "name": "x", "at": None, "parts": ["reward"]}],
            "events": ["0 01234567"], "block": 1, "blocked": 1, "blocks": ["0123456789abcdef"],
            "values": [
                {"event": 0, "before": 0, "site": 0,
                 "parts": [["0123456789abcdef", 1.0, [1.0], None, "", ""]]}
            ],
            "checksum": "ab",
        },
    ),
]  # fmt: skip


def _format_samples() -> Iterator[tuple[str, Any]]:
    for file_format in hostile.FORMATS:
        if file_format.dump is hostile._csv:
            columns, *rows = file_format.sample
            yield "CSV", [dict(zip(columns, row, strict=True)) for row in rows]
        elif file_format.dump is hostile._trace:
            yield from (("JSON", row) for row in file_format.sample)
        elif file_format.sample is not None:
            yield ("TOML" if file_format.dump is hostile._toml else "JSON"), file_format.sample


@cache
def _list_contents() -> list[tuple[str, Any]]:
    """Kind and content of what commands write, and of every committed file, small ones first."""
    # what is no text is read by NumPy without pickles, or after its digest was compared
    binary_suffixes = {".sha256", ".npz", ".gz"}
    paths = [
        path for path in suite.locate_baselines().rglob("*.*") if path.suffix not in binary_suffixes
    ]
    paths.sort(key=lambda path: (path.stat().st_size, path))
    kinds = [
        (datafiles._find_format_of_file(path), path.read_text(encoding="utf-8")) for path in paths
    ]
    committed = [(kind, datafiles._PARSERS[kind](text)) for kind, text in kinds]
    return [*FURTHER, *_format_samples(), *committed]


@cache
def _schema(model: Any) -> Mapping[str, Any]:
    return datafiles._make_type_adapter(model, strict=True).json_schema()


def _tables(schema: Mapping[str, Any], content: Any) -> dict[str, tuple[Any, ...]]:
    """Return the tables of a model that a content has, each with its first place."""
    tables: dict[str, tuple[Any, ...]] = {}
    for place in hostile.places(content):
        table = datafiles._find_table_schema(schema, (0, *place))
        if "properties" in table:
            tables.setdefault(table["title"], place)
    return tables


def _cut(content: Any) -> Any:
    """Return the content with two of each list, and so quick to write and read."""
    if isinstance(content, list):
        return [_cut(item) for item in content[:2]]
    if isinstance(content, dict):
        return {key: _cut(value) for key, value in content.items()}
    return content


def _is_sound(kind: str, content: Any, model: Any) -> bool:
    try:
        datafiles.validate_content(content, model, Path("x"), syntax=kind)
    except (UserError, AttributeError):
        return False
    return True


@cache
def samples(model: Any) -> list[Sample]:
    """Return sound files of a model, as few as have all of its tables."""
    schema, selected = _schema(model), []
    top = datafiles._find_table_schema(schema, (0,))
    missing_tables = {definition["title"] for definition in schema.get("$defs", {}).values()}
    for kind, content in _list_contents():
        if selected and not missing_tables:
            break
        if isinstance(content, dict) and not set(top.get("required", ())) <= set(content):
            continue
        few = _cut(content)
        if "properties" not in top and isinstance(few, dict):
            few = dict(list(few.items())[:2])
        for candidate in (few[:1] if kind == "CSV" else few, content):
            if (missing_tables or not selected) and _is_sound(kind, candidate, model):
                tables = _tables(schema, candidate)
                if not selected or missing_tables & set(tables):
                    selected.append(Sample(kind=kind, content=candidate, tables=tables))
                    missing_tables -= set(tables)
    assert selected, "no sound file of it is known; add one to FURTHER"
    assert not missing_tables, f"no sound file has a table {missing_tables}; add one to FURTHER"
    return selected


def refusal(folder: Path, kind: str, text: str, model: Any) -> str:
    """Return the error message of a file, without its name; empty: there is none."""
    path = folder / f"some.{kind.lower()}"
    path.write_text(text, encoding="utf-8")
    return _sentence(path, lambda: datafiles.read_data_file(path, model, REMEDY))


def _sentence(path: Path, read: Callable[[], Any]) -> str:
    """Return the error message of ``read``, as ``refusal`` does."""
    try:
        read()
    except UserError as error:
        sentence = str(error)
        assert sentence.startswith(str(path)), sentence
        assert sentence.endswith(f"; {REMEDY}"), sentence
        assert sentence.isprintable(), sentence
        assert not _RAW.search(sentence), sentence
        return sentence.removeprefix(str(path)).removesuffix(f"; {REMEDY}")
    return ""


#: words of pydantic, for which there is no sentence of ours
_RAW = re.compile("Input should|Value error|Assertion failed|validation error|a valid|type=")


def _places(files: list[Sample]) -> Iterator[tuple[Sample, str, tuple[Any, ...]]]:
    """Each table of some samples once, with the first that has it and where."""
    seen: set[str] = set()
    for sample in files:
        for title, place in sample.tables.items():
            if title not in seen:
                seen.add(title)
                yield sample, title, place


#: what a sentence says of a value, and which part of it is kept: what was expected
_MESSAGE = re.compile(
    r".*?(?:key|column) '(?P<key>[^']*)' (?:is|holds|has the key) .+?"
    r"(?:, expected (?P<wanted>.+)|; (?:did you mean|known:|\d+ are known,|none is) .+)"
    r"|, \[\[(?P<table>\w+)\]\] .* is .+, expected (?P<row>.+)"
)


def _clause(message: str, key: str) -> str:
    """Return the expectation that a message states for a key; empty: it concerns several keys."""
    match = _MESSAGE.fullmatch(message)
    if match is None:
        return ""
    assert key in (match["key"] or match["table"]), message
    return match["wanted"] or match["row"] or "a known word"


def _list_messages(
    folder: Path, model: Any, sample: Sample, place: tuple[Any, ...]
) -> Iterator[str]:
    """Yield the messages for each wrong value at a place that the format can hold."""
    path = folder / f"some.{sample.kind.lower()}"
    for value in WRONG:
        with suppress(TypeError):
            content = hostile.replaced(sample.content, place, value)
            if sample.kind != "CSV":
                # to write and parse these takes most of the time
                yield _sentence(
                    path, partial(datafiles.validate_content, content, model, path, REMEDY)
                )
            else:
                yield refusal(folder, sample.kind, DUMPS[sample.kind](content), model)


def expectations(folder: Path, model: Any, files: list[Sample]) -> Iterator[str]:
    """Yield table, key, and expectation for each key of a model."""
    for sample, title, place in _places(files):
        table = datafiles._find_table_schema(_schema(model), (0, *place))
        # its lines are counted for the sentences
        text = DUMPS[sample.kind](sample.content)
        (folder / f"some.{sample.kind.lower()}").write_text(text, encoding="utf-8")
        for key in table["properties"]:
            # keys of a table below this one
            sentences = _list_messages(folder, model, sample, (*place, key))
            explained = re.compile("is missing; expected|unknown (key|column)")
            clauses = dict.fromkeys(
                _clause(text, key) for text in sentences if not explained.search(text)
            )
            needed = key in table.get("required", ())
            message = "; ".join(filter(None, clauses)) or "anything"
            yield f"{title}.{key}{'' if needed else '?'}: {message}"


def _file(name: str) -> str:
    return f"data_models/{re.sub(r'[^a-zA-Z_.]+', '-', name).strip('-')}.txt"


@pytest.mark.parametrize("name", every(3, [*MODELS]))
def test_an_error_in_a_data_file_is_one_sentence(name: str, tmp_path: Path, snapshot) -> None:
    """Wrong values are one sentence in each model; damage and keys: ``test_datafiles``."""
    lines = sorted(expectations(tmp_path, MODELS[name], samples(MODELS[name])))
    snapshot(_file(name), "".join(f"{line}\n" for line in lines))


def test_every_snapshot_is_of_a_model() -> None:
    """A snapshot of a removed model would never be compared."""
    folder = Path(__file__).parent / "snapshots" / "data_models"
    assert {f"data_models/{path.name}" for path in folder.iterdir()} == set(map(_file, MODELS))
