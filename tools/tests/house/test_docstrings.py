"""Every test states its claim."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("conftest.py", "tools", "tests_unit", "tests_behavior", "tests_performance")


def sources(root: Path) -> Iterator[Path]:
    """Every Python file of the project below ``root``."""
    for name in SOURCES:
        place = root / name
        yield from [place] if place.is_file() else sorted(place.rglob("*.py"))


def claimless_tests(root: Path) -> list[str]:
    """Test functions whose first statement is not a docstring."""
    problems = []
    for path in sources(root):
        if not path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and node.name.startswith("test_")
                and not (ast.get_docstring(node) or "").strip()
            ):
                problems.append(
                    f"{path.relative_to(root)}:{node.lineno} {node.name} states no claim"
                )
    return problems


def test_every_test_states_its_claim():
    """Every test function of the project has a docstring."""
    assert claimless_tests(ROOT) == []


def test_the_checks_look_at_the_project():
    """The checks above read this very file and the library, so that an empty tree cannot pass."""
    read = set(sources(ROOT))
    assert Path(__file__).resolve() in read
    assert ROOT / "conftest.py" in read
    assert ROOT / "tools" / "rlregress" / "frameworks" / "base.py" in read


@pytest.mark.parametrize(
    "text",
    [
        "def test_a(): pass\n",
        "def test_a():\n    x = 1\n    'late'\n",
        'def test_a():\n    """ """\n',
        "class TestA:\n    def test_a(self): pass\n",
        "async def test_a(): pass\n",
    ],
)
def test_a_test_without_claim_is_found(tmp_path, text):
    """A test without a docstring, with a late one or with an empty one is named."""
    path = tmp_path / "tests_unit" / "test_a.py"
    path.parent.mkdir()
    path.write_text('def helper(): pass\n\ndef test_b():\n    """It holds."""\n')
    assert claimless_tests(tmp_path) == []
    path.write_text(text)
    assert len(claimless_tests(tmp_path)) == 1
