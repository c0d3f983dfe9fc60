"""Guides, glossary, evidence and commands: the pages show what is there."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import rlregress
from rlregress import frameworks, suite
from rlregress.catalogue import registry
from rlregress.cli import commands
from rlregress.model import differences
from rlregress.report import check_report, tables

DOCS = suite.find_suite_root() / "docs"
LIBRARY = Path(rlregress.__file__).parent
GUIDES = [page for page in DOCS.glob("*.md") if "<!-- from " in page.read_text("utf-8")]
SHOWN = re.compile(r"<!-- from (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


def not_shown(text: str, root: Path) -> list[str]:
    """Files of which a page shows something that does not stand there."""
    blocks = SHOWN.findall(text)
    return [path for path, block in blocks if block not in (root / path).read_text("utf-8")]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_what_a_guide_shows_is_there(guide):
    """Every block of a guide is a part of the file that it names."""
    text = guide.read_text("utf-8")
    assert text.count("<!-- from ") == len(SHOWN.findall(text))
    assert not_shown(text, suite.find_suite_root()) == []


def test_every_room_and_page_is_listed():
    """Packages and modules on the page on the house, whose files are there; pages on the site."""
    picture = (DOCS / "architecture.md").read_text("utf-8").partition("Imports go down")[0]
    rooms = [f"{path.parent.name}/" for path in LIBRARY.glob("*/__init__.py")]
    rooms += [path.name for path in LIBRARY.glob("[a-z]*.py")]
    assert len(rooms) > 10
    assert [room for room in rooms if room not in picture] == []
    text = (DOCS / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([\w/.-]+/[\w.-]+\.(?:py|toml))`", text))
    assert len(named) > 20
    roots = (LIBRARY, suite.find_suite_root())
    assert [name for name in named if not any((root / name).is_file() for root in roots)] == []
    navigation = (DOCS.parent / "tools" / "website" / "mkdocs.yml").read_text("utf-8")
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert [page for page in pages if f": {page}\n" not in navigation] == []


def test_the_readme_counts_the_catalogue_and_is_short():
    """Its numbers are those of ``rlregress details``; it has at most 620 words."""
    text = (suite.find_suite_root() / "README.md").read_text("utf-8")
    numbers = re.search(r"(\d+) implementation details \((\d+) of them checked in\s", text)
    assert numbers is not None
    checked_in_sb3 = {id for id, _ in frameworks.get_adapter("sb3").observe.list_probes()}
    assert numbers.groups() == (str(len(registry.list_detail_ids())), str(len(checked_in_sb3)))
    text = (suite.find_suite_root() / "README.md").read_text("utf-8")
    assert len(text.split()) <= 620
    assert re.search(r"rlregress check +# every night: ", text)


#: word and exit code of a verdict, in the table of all verdicts
_VERDICT = re.compile(r"(?m)^\| `([\w ]+)` \| (?:both|upgrade|check) \| ([0-3](?: or 2)?) \|")


def test_each_word_has_one_meaning():
    """Verdicts with exit codes, worst first, and states in the order of reports; no word twice."""
    words = [word for word, _ in _VERDICT.findall((DOCS / "evidence.md").read_text("utf-8"))]
    assert sorted(words) == sorted({*differences.ORDER, *check_report.MEANING})
    assert [word for word in words if word in differences.ORDER] == list(differences.ORDER)
    codes = dict(_VERDICT.findall((DOCS / "evidence.md").read_text("utf-8")))
    fails = differences.ORDER[: differences.ORDER.index(differences.FAIL_ON) + 1]
    assert {word: int(codes[word][0]) for word in differences.ORDER} == {
        word: differences._CODES.get(word, 3) if word in fails else 0 for word in differences.ORDER
    }
    table = (DOCS / "evidence.md").read_text("utf-8").partition("\n## States\n")[2]
    rows = table.partition("\n## ")[0].splitlines()
    states = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    assert states == ["state", *differences.STATES]
    rows = (DOCS / "glossary.md").read_text("utf-8").splitlines()
    words = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    words = [word for word in words if word != "word"]
    assert len(words) == len(set(words)) > 40


EVIDENCE = DOCS / "evidence.md"
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
    text = EVIDENCE.read_text(encoding="utf-8")
    if request.config.getoption("--rewrite-snapshots"):
        EVIDENCE.write_text(
            BLOCK.sub(lambda b: f"{b[1]}{shown(b[2])}{b[4]}", text), encoding="utf-8"
        )
        text = EVIDENCE.read_text(encoding="utf-8")
    blocks = {module: block for _, module, block, _ in BLOCK.findall(text)}
    assert set(blocks) == declaring()
    for module, block in blocks.items():
        assert block == shown(module), f"write it anew with --rewrite-snapshots: {module}"


COMMANDS = DOCS / "commands.md"
START, END = "<!-- help of every command -->\n", "<!-- end -->"


def format_commands() -> str:
    """Return question and example of each command, in the order of the help."""
    rows = []
    for row in commands.ROWS:
        _, example, *_ = (inspect.getdoc(row.import_function()) or "").split("\n\n")
        rows.append(tables.format_markdown_row(row.line, f"`{example.splitlines()[0]}`"))
    return "\n".join(["", *tables.format_markdown_head("question", "example"), *rows, "", ""])


def test_the_page_says_what_the_help_says(request: pytest.FixtureRequest) -> None:
    """Every command has a row, with its question and its first example."""
    before, _, after_start = COMMANDS.read_text("utf-8").partition(START)
    listed, _, after = after_start.partition(END)
    if request.config.getoption("--rewrite-snapshots"):
        listed = format_commands()
        COMMANDS.write_text(f"{before}{START}{listed}{END}{after}", "utf-8")
    assert listed == format_commands(), "write it anew with --rewrite-snapshots"
