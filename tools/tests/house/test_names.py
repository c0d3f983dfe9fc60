"""Names and first sentences: how many of each package are vague, and that no package gets worse."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from rlregress import suite

TOOLS = suite.find_suite_root() / "tools"
#: package -> the most vague bindings and functions of 1000, and riddles of 100 docstrings
CEILINGS: dict[str, list[float]] = tomllib.loads(
    (Path(__file__).parent / "names.toml").read_text("utf-8")
)["ceilings"]
#: the goal of every package; tests may have 25 vague bindings
TARGETS = (10.0, 5.0, 3.0)
#: words that name nothing: pronouns, prepositions, bare participles
VAGUE = frozenset(
    ["again", "apart", "begun", "beside", "chosen", "counted", "drawn", "each", "ended", "every"]
    + ["found", "given", "held", "here", "kept", "known", "left", "listed", "lost", "looked"]
    + ["made", "more", "moved", "of", "one", "other", "others", "rest", "several", "some"]
    + ["standing", "taken", "there", "together", "wanted", "what", "whole"]
)
#: those that are vague before a noun too; ``other_framework`` and ``known_names`` are not
FIRST_WORDS = frozenset(
    ["beside", "each", "every", "given", "held", "here", "kept", "made", "of", "there", "what"]
)
RIDDLE = re.compile(
    r"^(what|that|whether|of|who|where)\b|\bwhat\b[^.]*\b(is|are|has|have|was|were|does|do)\b", re.I
)
#: the entries of these sections of a docstring
ENTRIES = re.compile(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)+)", re.M)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def is_vague(name: str) -> bool:
    """Return whether a name is a vague word or begins with one, whatever its underscores."""
    # the words of a class: CamelCase
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip("_")).lower().split("_")
    return words[0] in (VAGUE if len(words) == 1 else FIRST_WORDS)


def list_bindings(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names of parameters, variables, attributes and classes where they are bound."""
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ClassDef):
            yield node.name


def first_sentences(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the first sentence of every docstring."""
    for node in nodes:
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text.split("\n\n")[0].split(". ")[0]


@cache
def flag_names(text: str) -> tuple[list[bool], list[bool], list[bool], list[str]]:
    """Return which bindings and functions are vague, which docstrings riddles; unknown arguments.

    The nodes of a thousand files would be looked through for garbage again and again.
    """
    nodes = list(ast.walk(ast.parse(text)))
    functions = [n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return (
        [is_vague(name) for name in list_bindings(nodes)],
        [is_vague(name) for name in functions],
        [bool(RIDDLE.search(sentence)) for sentence in first_sentences(nodes)],
        list_unknown_arguments(nodes),
    )


def measure_names(texts: Sequence[str]) -> tuple[float, float, float]:
    """Return vague bindings and functions for 1000, and riddles for 100 docstrings."""
    bindings, functions, riddles = (
        [flag for text in texts for flag in flag_names(text)[kind]] for kind in range(3)
    )

    def share(flags: Sequence[bool], of_so_many: int) -> float:
        return of_so_many * sum(flags) / len(flags) if flags else 0.0

    return share(bindings, 1000), share(functions, 1000), share(riddles, 100)


def list_packages() -> dict[str, list[Path]]:
    """Return package -> its Python files: packages of the core, the two others, and tests."""
    packages: dict[str, list[Path]] = {}
    for path in sorted(TOOLS.rglob("*.py")):
        parts = path.relative_to(TOOLS).parts
        if "tests" in parts:
            name = "tests"
        elif parts[0] == "rlregress" and len(parts) > 2:
            name = f"rlregress.{parts[1]}"
        else:
            name = parts[0]
        packages.setdefault(name, []).append(path)
    return packages


PACKAGES = list_packages()


def test_a_package_has_no_more_vague_names_than_its_ceiling():
    """A new package has the target as its ceiling."""
    kinds = ("vague bindings of 1000", "vague functions of 1000", "riddles of 100 docstrings")
    worse = [
        f"{package}: {figure:.1f} {kind}, at most {limit}"
        for package, paths in PACKAGES.items()
        for kind, figure, limit in zip(
            kinds,
            measure_names([path.read_text("utf-8") for path in paths]),
            CEILINGS.get(package, TARGETS),
            strict=True,
        )
        if figure > limit
    ]
    assert worse == []


def test_every_kind_of_name_and_sentence_counts():
    """Parameters, variables, attributes and classes are bindings; a riddle is a first sentence."""
    text = '''"""What it is."""
class OfFramework:
    """A thing. What follows does not count."""
    def given_(self, _found):
        """Whether it holds."""
        self.kept = held_rows = offset = other_framework
'''
    bindings, functions, riddles = measure_names([text])
    assert bindings == 1000 * 4 / 6  # all but self and offset
    assert functions == 1000
    assert riddles == pytest.approx(100 * 2 / 3)


def list_unknown_arguments(nodes: Sequence[ast.AST]) -> list[str]:
    """List the entries of ``Args`` and ``Attributes`` that no function or class binds."""
    unknown = []
    for node in nodes:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        for section in ENTRIES.findall(ast.get_docstring(node) or ""):
            inner = list(ast.walk(node))
            bound = {"self", *list_bindings(inner)}
            bound |= {n.name for n in inner if isinstance(n, ast.FunctionDef)}
            names = re.findall(r"^    ([\w*]+(?:, [\w*]+)*):", section, re.M)
            entries = [name.strip("*") for entry in names for name in entry.split(", ")]
            unknown += [f"{node.name}: {name}" for name in entries if name not in bound]
    return unknown


def test_a_docstring_describes_arguments_that_exist():
    """A function takes each argument of its docstring, so a rename has reached the docstring."""
    paths = [path for package in PACKAGES.values() for path in package]
    unknown = {str(path): flag_names(path.read_text("utf-8"))[3] for path in paths}
    assert {path: names for path, names in unknown.items() if names} == {}
