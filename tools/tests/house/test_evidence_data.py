"""Pages list what is compared, what is not and what is masked as the code that compares has it.

A module says so by ``COMPARED`` (what -> how), ``NOT_COMPARED`` and ``MASKED`` (sentences). A page
shows them behind ``<!-- data of MODULE -->``; ``--rewrite-snapshots`` writes them anew.
"""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from rlregress import suite

PAGE = suite.find_suite_root() / "docs" / "evidence.md"
LIBRARY = Path(importlib.import_module("rlregress").__path__[0])
BLOCK = re.compile(r"(<!-- data of (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
LISTS = {"NOT_COMPARED": "Not compared:", "MASKED": "Masked, as no two runs have it in common:"}


def shown(module: str) -> str:
    """What a page shows of a module: a table, and lists."""
    code = importlib.import_module(module)
    rows = getattr(code, "COMPARED", {}).items()
    table = [
        "",
        "| compared | how |",
        "|---|---|",
        *(f"| {subject} | {how} |" for subject, how in rows),
    ]
    lists = [
        ["", title, "", *(f"- {sentence}" for sentence in getattr(code, name))]
        for name, title in LISTS.items()
        if hasattr(code, name)
    ]
    return "\n".join([*table, *(line for lines in lists for line in lines), "", ""])


def declaring() -> set[str]:
    """Modules that have a table of what they compare."""
    modules = set()
    for path in LIBRARY.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        body = ast.parse(text).body if "COMPARED" in text else []
        names = {
            ast.unparse(t) for node in body if isinstance(node, ast.Assign) for t in node.targets
        }
        if "COMPARED" in names:
            modules.add(".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts))
    return modules


def test_the_page_shows_what_the_code_compares(request: pytest.FixtureRequest) -> None:
    """Each block is as its module has it, and no module that declares something has no block."""
    text = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--rewrite-snapshots"):
        PAGE.write_text(BLOCK.sub(lambda b: f"{b[1]}{shown(b[2])}{b[4]}", text), encoding="utf-8")
        text = PAGE.read_text(encoding="utf-8")
    blocks = {module: block for _, module, block, _ in BLOCK.findall(text)}
    assert set(blocks) == declaring()
    for module, block in blocks.items():
        assert block == shown(module), f"write it anew with --rewrite-snapshots: {module}"
