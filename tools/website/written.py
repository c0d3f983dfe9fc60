"""Large pages that commands write into ``docs``, divided: no page of the site is one long table."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: address of a page -> (title, Markdown)
Pages = dict[str, tuple[str, str]]

#: a part of a source with more text than this (characters) is divided further
_LONG = 60_000


def sections(text: str, level: int) -> Iterator[tuple[str, str]]:
    """Heading and text of each section of a level; what stands before the first has none."""
    marks = "#" * level
    heading, lines = "", []
    for line in text.splitlines():
        if line.startswith(f"{marks} "):
            yield heading, "\n".join(lines).strip()
            heading, lines = line[level + 1 :], []
        else:
            lines.append(line)
    yield heading, "\n".join(lines).strip()


def comparison(text: str) -> Pages:
    """The comparison of frameworks: its tables, and a page for each family with every detail."""
    (_, first), *rest = sections(text, 2)
    families: dict[str, list[str]] = {}
    tail = []
    for heading, body in rest:
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


def claims(text: str) -> Pages:
    """What sources say: one page for each source, and for each chapter of a long one."""
    (_, first), *rest = sections(text, 2)
    pages: Pages = {}
    table = ["| source | statements |", "|---|---:|"]
    tail = []
    for heading, body in rest:
        if not body.lstrip().startswith("### "):
            tail.append(f"## {heading}\n\n{body}")
            continue
        for part, inside in _chapters(heading, body):
            address = f"claims/{_slug(part)}.md"
            table.append(f"| [{part}]({address}) | {len(re.findall('^`` ', inside, re.M))} |")
            pages[address] = (part, f"# {part}\n\n{inside}")
    index = {"claims/index-of-sources.md": ("Index", "\n\n".join(["# Index", *tail]))}
    start = "\n".join([first, "", "## Statements", "", *table])
    return {"claims.md": ("All sources", start), **pages, **index}


def _chapters(source: str, text: str) -> Iterator[tuple[str, str]]:
    if len(text) < _LONG:
        yield source, text
        return
    short = source.partition(",")[0]
    parts: dict[str, list[str]] = {}
    for heading, body in sections(text, 3):
        if heading:
            found = re.search(r", (section \d+|appendix \w|[A-Z]\w+)", heading)
            chapter = {"Box": "boxes"}.get(found[1], found[1]) if found else "other"
            parts.setdefault(chapter, []).append(f"### {heading}\n\n{body}")
    for chapter, bodies in parts.items():
        yield f"{short}, {chapter}", "\n\n".join(bodies)


def _slug(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower()).strip("-")
