"""The words of the library: none of those that it was written without."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rlregress import suite

TOOLS = suite.root() / "tools"
PACKAGES = ("rlregress", "rlregress_studies", "rlregress_power")
DATA: dict[str, Any] = tomllib.loads((Path(__file__).parent / "language.toml").read_text("utf-8"))
WORDS = frozenset(DATA["identifiers"])
EXCEPTIONS = {(entry["word"], name) for entry in DATA["exception"] for name in entry["files"]}
#: what imports bind are names of modules, which another test holds
_MODULES = (ast.Import, ast.ImportFrom)


def identifiers(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Names of classes, functions, parameters, variables and attributes, with their lines."""
    modules = {
        (alias.asname or alias.name).partition(".")[0]
        for node in nodes
        if isinstance(node, _MODULES)
        for alias in node.names
    }
    for node in nodes:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and node.id not in modules:
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr


def phrases_in(text: str, phrases: Sequence[str]) -> list[str]:
    """The phrases that stand in a text as whole words, in any case."""
    words = text.lower()
    # an expression is slow, and most texts hold no phrase at all
    held = [one for one in phrases if one.lower() in words]
    return [one for one in held if re.search(rf"\b{re.escape(one.lower())}\b", words)]


def texts(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """String literals that are no docstrings, with their lines."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.lineno, node.value


def avoided(text: str, name: str = "") -> list[str]:
    """Words and phrases to avoid that a file holds, with their lines."""
    nodes = [*ast.walk(ast.parse(text))]
    found = [
        f"{name}:{line} {word}"
        for line, word in identifiers(nodes)
        if word in WORDS and (word, name) not in EXCEPTIONS
    ]
    return found + [
        f"{name}:{line} {phrase!r}"
        for line, words in texts(nodes)
        for phrase in phrases_in(words, DATA["phrases"])
    ]


def test_the_library_has_no_word_to_avoid():
    """Identifiers are exact; strings are those that a user may read."""
    found = [path for package in PACKAGES for path in sorted((TOOLS / package).rglob("*.py"))]
    names = {path: path.relative_to(TOOLS).as_posix() for path in found}
    paths = [path for path in found if "/tests/" not in names[path]]
    found = [row for path in paths for row in avoided(path.read_text("utf-8"), names[path])]
    assert {names[path].partition("/")[0] for path in paths} == set(PACKAGES)
    assert len(paths) > 100
    assert found == []


def test_a_word_to_avoid_is_found():
    """As a variable, a parameter, an attribute and a class; within another word it is none."""
    assert avoided("said = 1", "a.py") == ["a.py:1 said"]
    assert avoided("def f(told): pass", "a.py") == ["a.py:1 told"]
    assert avoided("x = y.asked", "a.py") == ["a.py:1 asked"]
    assert avoided("class Refusal: pass", "a.py") == ["a.py:1 Refusal"]
    assert avoided(f"x = {DATA['phrases'][0]!r}", "a.py") == [f"a.py:1 {DATA['phrases'][0]!r}"]
    assert avoided("aforesaid = untold", "a.py") == []
    assert avoided(f'"""{DATA["phrases"][0]}"""', "a.py") == []


def test_exceptions_are_few_and_have_reasons():
    """Each is used: its word occurs in its files."""
    assert len(DATA["exception"]) <= 20
    for entry in DATA["exception"]:
        assert entry["reason"]
        for name in entry["files"]:
            nodes = [*ast.walk(ast.parse((TOOLS / name).read_text("utf-8")))]
            words = {word for _, word in identifiers(nodes)}
            assert entry["word"] in words, f"{name} has no {entry['word']}: drop the exception"
