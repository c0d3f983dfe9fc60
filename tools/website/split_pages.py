"""Split large pages that commands write into ``docs``: no page of the site is one long table."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: address of a page -> (title, Markdown)
Pages = dict[str, tuple[str, str]]

#: characters; a source with more text is split by chapters
_LONG = 60_000


def split_sections(text: str, level: int) -> Iterator[tuple[str, str]]:
    """Yield heading and text of each section of a level; text before the first heading has none."""
    marks = "#" * level
    heading = ""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(f"{marks} "):
            yield heading, "\n".join(lines).strip()
            heading, lines = line[level + 1 :], []
        else:
            lines.append(line)
    yield heading, "\n".join(lines).strip()


def split_comparison(text: str) -> Pages:
    """Return the tables of the comparison of frameworks, and a page for each family of details."""
    (_, first), *parsed = split_sections(text, 2)
    families: dict[str, list[str]] = {}
    tail = []
    for heading, body in parsed:
        if heading.startswith("`"):
            family = heading.strip("`").partition(".")[0]
            families.setdefault(family, []).append(f"## {heading}\n\n{body}")
        else:
            tail.append(f"## {heading}\n\n{body}")
    pages: Pages = {
        f"comparison/{family}.md": (family, "\n\n".join([f"# {family}: what differs", *parts]))
        for family, parts in families.items()
    }
    # a row of a table leads to its detail, which has gone to the page of its family
    first = re.sub(r"(?m)^(\| \[`(\w+)\.\S+`\]\()#", r"\1comparison/\2.md#", first)
    start = "\n\n".join([first, *tail])
    return {"comparison.md": ("All families", start), **pages}


def split_claims(text: str) -> Pages:
    """Return a page for each source of claims, and for each chapter of a long one."""
    (_, first), *parsed = split_sections(text, 2)
    pages: Pages = {}
    table = ["| source | statements |", "|---|---:|"]
    tail = []
    for heading, body in parsed:
        if not body.lstrip().startswith("### "):
            tail.append(f"## {heading}\n\n{body}")
            continue
        for part, inside in _split_chapters(heading, body):
            address = f"claims/{_make_slug(part)}.md"
            table.append(f"| [{part}]({address}) | {len(re.findall('^`` ', inside, re.M))} |")
            pages[address] = (part, f"# {part}\n\n{inside}")
    index = {"claims/index-of-sources.md": ("Index", "\n\n".join(["# Index", *tail]))}
    start = "\n".join([first, "", "## Statements", "", *table])
    return {"claims.md": ("All sources", start), **pages, **index}


def _split_chapters(source: str, text: str) -> Iterator[tuple[str, str]]:
    if len(text) < _LONG:
        yield source, text
        return
    short = source.partition(",")[0]
    parts: dict[str, list[str]] = {}
    for heading, body in split_sections(text, 3):
        if heading:
            match = re.search(r", (section \d+|appendix \w|[A-Z]\w+)", heading)
            chapter = {"Box": "boxes"}.get(match[1], match[1]) if match else "other"
            parts.setdefault(chapter, []).append(f"### {heading}\n\n{body}")
    for chapter, bodies in parts.items():
        yield f"{short}, {chapter}", "\n\n".join(bodies)


def _make_slug(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower()).strip("-")
