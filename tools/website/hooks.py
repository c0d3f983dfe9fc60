"""Hooks of MkDocs: they add the pages that the site has beside those of ``docs``.

Pages are made from data when the site is built: nothing generated is stored. Large pages that a
command has written into ``docs`` are split.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import data_pages
import split_pages

#: section of the navigation -> address of a page -> (title, Markdown)
Sections = dict[str, dict[str, tuple[str, str]]]

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
DOCS = TOP / "docs"
#: pages of the top of the repository, and their names in the site
_TOP_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}
#: files that every page loads
_ASSETS = ("filter.js", "site.css")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


@cache
def _build_sections() -> Sections:
    return {
        "Frameworks side by side": split_pages.split_comparison(data_pages.build_comparison()),
        "Behaviour": {"behavior.md": ("Question by question", data_pages.build_behavior())},
        "Details": data_pages.build_details(),
        "What sources say": split_pages.split_claims(data_pages.build_claims()),
        "Real releases": data_pages.build_histories(),
        "Injected faults": data_pages.build_faults(),
    }


def _read_text(path: Path) -> str:
    return path.read_text("utf-8")


def on_config(config: Any) -> Any:
    """Put the pages of data into the navigation, at the end of its reference."""
    [reference] = [section["Reference"] for section in config.nav if "Reference" in section]
    reference += [
        {section: [{title: address} for address, (title, _) in pages.items()]}
        for section, pages in _build_sections().items()
    ]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of data, those of the top of the repository, and the files that pages load."""
    from mkdocs.structure.files import File

    for pages in _build_sections().values():
        for address, (_, text) in pages.items():
            if old := files.get_file_from_path(address):
                files.remove(old)
            files.append(File.generated(config, address, content=text))
    for name, address in _TOP_PAGES.items():
        files.append(
            File.generated(config, address, content=relink_top_page(_read_text(TOP / name)))
        )
    for name in _ASSETS:
        files.append(File.generated(config, name, abs_src_path=str(HERE / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Remove links to folders, and to files that only the repository has."""
    return unlink_outside(markdown, page.file.src_uri)


def relink_top_page(text: str) -> str:
    """Return a page of the top of the repository with links that work from within ``docs``."""

    def relink(link: re.Match[str]) -> str:
        mark, label, target, anchor = link.groups()
        target = _TOP_PAGES.get(target, target.removeprefix("docs/"))
        return f"{mark}[{label}]({target}{anchor or ''})"

    # the link around a picture, which the expression does not match
    return _LINK.sub(relink, text).replace("](docs/", "](")


def unlink_outside(text: str, page: str) -> str:
    """Replace links that lead out of ``docs``, or to a folder of it, by their labels.

    Args:
        page: address of the page in the site, which is that in ``docs``.
    """

    def resolve_link(link: re.Match[str]) -> str:
        _, label, target, anchor = link.groups()
        if not target or re.match(r"[a-z]+:", target):
            return link[0]
        place = (DOCS / page).parent / target
        for name, address in _TOP_PAGES.items():
            if place.resolve() == TOP / name:
                return f"[{label}]({'../' * page.count('/')}{address}{anchor or ''})"
        is_page = place.resolve().is_relative_to(DOCS) and not place.is_dir()
        return link[0] if is_page else label

    return _LINK.sub(resolve_link, text)
