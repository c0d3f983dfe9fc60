"""Every model of a data file reports an error in the file as one sentence.

The models are found in the code, so that a new model is held to the contract without a line here.
What each key refuses is in a snapshot: a model that becomes less strict is a difference in it.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import math
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import is_typeddict

from rlregress import datafiles, suite
from rlregress.errors import UserError
from rlregress.faults import fault_tables

#: functions of ``datafiles`` that are given a model, second.
READERS = ("read_data_file", "read_data_file_cached", "validate_content", "read_json_line")
#: in the place of any value; of each key the ones that it refuses are tried
WRONG = (
    "", "no such word", "a\nb", 0, -1, 0.5, 1e300, 1 << 60, True, math.nan, [], {}, [""], [7],
    ["a\nb"], [[7]], {"": 7}, {"x": "a\nb"},
)  # fmt: skip
FILE, REMEDY = Path("some.json"), "mend it"


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


def _list_keys(table: type) -> list[tuple[str, Any, bool]]:
    """Return each key of a table, with its type and whether a file has to have it."""
    # annotations are texts, each of the module of its class
    names = {}
    for base in reversed(table.__mro__):
        names |= vars(sys.modules[base.__module__])
    types = typing.get_type_hints(table, names, include_extras=True)
    if is_typeddict(table):
        return [(name, type_, True) for name, type_ in types.items()]
    lacks = dataclasses.MISSING
    return [
        (field.name, types[field.name], field.default is field.default_factory is lacks)
        for field in dataclasses.fields(table)
    ]


def _list_tables(model: Any) -> list[type]:
    """Return the tables of which a model consists, each once."""
    tables: list[type] = []
    parts = [model]
    while parts:
        part = parts.pop()
        if is_typeddict(part) or (isinstance(part, type) and dataclasses.is_dataclass(part)):
            if part not in tables:
                tables.append(part)
                parts += [type_ for _, type_, _ in _list_keys(part)]
        else:
            parts += typing.get_args(part)
    return tables


#: words of pydantic, for which there is no sentence of ours
_RAW = re.compile("Input should|Value error|Assertion failed|validation error|a valid|type=")
#: what a sentence says of a value, and which part of it is kept: what was expected
_MESSAGE = re.compile(
    r"some\.json: key '(?P<key>[^']*)' (?:is|holds|has the key) .+?"
    r"(?:, expected (?P<wanted>.+)|; (?:did you mean|known:|\d+ are known,|none is) .+)"
)


def _list_sentences(key: str, expected: Any) -> Iterator[str]:
    """Yield the sentence of each wrong value of a key, without the remedy."""
    for value in WRONG:
        try:
            datafiles.validate_content({key: value}, Mapping[str, expected], FILE, REMEDY)
        except UserError as error:
            sentence = str(error)
            assert sentence.startswith(str(FILE)), sentence
            assert sentence.endswith(f"; {REMEDY}"), sentence
            assert sentence.isprintable(), sentence
            assert not _RAW.search(sentence), sentence
            yield sentence.removesuffix(f"; {REMEDY}")


def _describe_key(key: str, expected: Any) -> str:
    """Return what a key expects, as the sentences of wrong values say."""
    clauses = {}
    for sentence in _list_sentences(key, expected):
        match = _MESSAGE.fullmatch(sentence)
        # what is missing or unknown within a table is of the keys of that table
        if match is not None:
            assert key in match["key"], sentence
            clauses[match["wanted"] or "a known word"] = None
    return "; ".join(clauses) or "anything"


def expectations(model: Any) -> Iterator[str]:
    """Yield what each key of the tables of a model expects, and a model that is no table."""
    tables = _list_tables(model)
    if model not in tables:
        yield f"as a whole: {_describe_key('file', model)}"
    for table in tables:
        for key, type_, is_needed in _list_keys(table):
            mark = "" if is_needed else "?"
            yield f"{table.__name__}.{key}{mark}: {_describe_key(key, type_)}"


def _file(name: str) -> str:
    return f"data_models/{re.sub(r'[^a-zA-Z_.]+', '-', name).strip('-')}.txt"


@pytest.mark.parametrize("name", MODELS)
def test_an_error_in_a_data_file_is_one_sentence(name: str, snapshot) -> None:
    """Wrong values are one sentence in each model; damage and keys: ``test_datafiles``."""
    snapshot(_file(name), "".join(f"{line}\n" for line in sorted(expectations(MODELS[name]))))


def test_every_snapshot_is_of_a_model() -> None:
    """A snapshot of a removed model would never be compared."""
    folder = Path(__file__).parent / "snapshots" / "data_models"
    assert {f"data_models/{path.name}" for path in folder.iterdir()} == set(map(_file, MODELS))
