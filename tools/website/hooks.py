"""What the site has beside the pages of ``docs``: see the functions that MkDocs calls, below.

Pages of data are made when the site is built, from the data: nothing generated is kept. Large pages
that a command has written into ``docs`` are divided.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import from_data
import written

#: section of the navigation -> address of a page -> (title, Markdown)
Sections = dict[str, dict[str, tuple[str, str]]]

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
DOCS = TOP / "docs"
#: pages of the top of the repository, and their names in the site
_FROM_TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}
#: what is loaded by every page
_LOADED = ("filter.js", "site.css")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


@cache
def _made() -> Sections:
    return {
        "Frameworks side by side": written.comparison(from_data.comparison()),
        "Behaviour": {"behavior.md": ("Question by question", from_data.behavior())},
        "Details": from_data.details(),
        "What sources say": written.claims(from_data.claims()),
        "Real releases": from_data.histories(),
        "Injected faults": from_data.faults(),
    }


def _text(path: Path) -> str:
    return path.read_text("utf-8")


def on_config(config: Any) -> Any:
    """Put the pages of data into the navigation, at the end of its reference."""
    [reference] = [section["Reference"] for section in config.nav if "Reference" in section]
    reference += [
        {section: [{title: address} for address, (title, _) in pages.items()]}
        for section, pages in _made().items()
    ]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of data, those of the top of the repository, and what every page loads."""
    from mkdocs.structure.files import File

    for pages in _made().values():
        for address, (_, text) in pages.items():
            if old := files.get_file_from_path(address):
                files.remove(old)
            files.append(File.generated(config, address, content=text))
    for name, address in _FROM_TOP.items():
        files.append(File.generated(config, address, content=from_top(_text(TOP / name))))
    for name in _LOADED:
        files.append(File.generated(config, name, abs_src_path=str(HERE / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Leave no link to a folder, or to a file that only the repository has."""
    return without_outside(markdown, page.file.src_uri)


def from_top(text: str) -> str:
    """A page of the top of the repository, with links as from within ``docs``."""

    def moved(link: re.Match[str]) -> str:
        mark, said, target, anchor = link.groups()
        target = _FROM_TOP.get(target, target.removeprefix("docs/"))
        return f"{mark}[{said}]({target}{anchor or ''})"

    # what is left is the link around a picture
    return _LINK.sub(moved, text).replace("](docs/", "](")


def without_outside(text: str, page: str) -> str:
    """The text with the words alone of links that lead out of ``docs``, or to a folder of it.

    Args:
        page: address of the page in the site, which is that in ``docs``.
    """

    def kept(link: re.Match[str]) -> str:
        _, said, target, anchor = link.groups()
        if not target or re.match(r"[a-z]+:", target):
            return link[0]
        place = (DOCS / page).parent / target
        back = {
            name: address for name, address in _FROM_TOP.items() if place.resolve() == TOP / name
        }
        if back:
            return f"[{said}]({'../' * page.count('/')}{next(iter(back.values()))}{anchor or ''})"
        inside = place.resolve().is_relative_to(DOCS) and not place.is_dir()
        return link[0] if inside else said

    return _LINK.sub(kept, text)
