"""The guides for contributors show what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rlregress
from rlregress import frameworks, suite
from rlregress.catalogue import registry

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


def test_every_room_is_in_the_picture():
    """The page on the house names every package and module at the top of the library."""
    picture = (DOCS / "architecture.md").read_text("utf-8").partition("Imports go down")[0]
    rooms = [f"{path.parent.name}/" for path in LIBRARY.glob("*/__init__.py")]
    rooms += [path.name for path in LIBRARY.glob("[a-z]*.py")]
    assert len(rooms) > 10
    assert [room for room in rooms if room not in picture] == []


def test_every_file_that_the_page_names_exists():
    """The page on the house leads to files that are there."""
    text = (DOCS / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([\w/.-]+/[\w.-]+\.(?:py|toml))`", text))
    assert len(named) > 20
    roots = (LIBRARY, suite.find_suite_root())
    assert [name for name in named if not any((root / name).is_file() for root in roots)] == []


def test_the_readme_counts_the_catalogue():
    """The numbers at its top are those of ``rlregress details``."""
    text = (suite.find_suite_root() / "README.md").read_text("utf-8")
    numbers = re.search(r"(\d+) implementation details \((\d+) of them checked in\s", text)
    assert numbers is not None
    checked_in_sb3 = {id for id, _ in frameworks.get_adapter("sb3").observe.list_probes()}
    assert numbers.groups() == (str(len(registry.list_detail_ids())), str(len(checked_in_sb3)))


def test_the_readme_is_read_in_three_minutes():
    """It has at most 620 words, tables included, and says how nightly runs differ."""
    text = (suite.find_suite_root() / "README.md").read_text("utf-8")
    assert len(text.split()) <= 620
    assert re.search(r"rlregress check +# every night: ", text)


def test_every_page_is_in_the_navigation_of_the_site():
    """The site is built at night alone, and a page that it does not list ends that."""
    navigation = (DOCS.parent / "tools" / "website" / "mkdocs.yml").read_text("utf-8")
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert [page for page in pages if f": {page}\n" not in navigation] == []
