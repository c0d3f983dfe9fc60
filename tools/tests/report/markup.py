"""A page as a parser sees it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_ALONE = {"meta", "link", "br", "img", "hr", "input", "wbr"}
#: tags that may stand within a word
_WITHIN = {"del", "ins", "a", "code", "tspan", "wbr"}
#: what makes a browser ask for something
_LOADING = ("src", "href", "xlink:href", "srcset", "action", "data", "poster", "background")


class Page(HTMLParser):
    """Tags with their attributes, the text of each, and markup errors.

    Attributes:
        tags: (tag, attributes) in order.
        wrong: tags that are closed out of order, or not at all.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.wrong: list[str] = []
        self._texts: list[list[str]] = []
        self._open: list[tuple[str, int]] = []
        self.feed(text)
        self.close()
        self.wrong += [f"<{tag}> is not closed" for tag, _ in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._separate_words(tag)
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._texts.append([])
        if tag not in _ALONE:
            self._open.append((tag, len(self.tags) - 1))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _ALONE:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            self.wrong.append(f"</{tag}> closes {self._open[-1:]}")
            return
        self._open.pop()
        self._separate_words(tag)

    def _separate_words(self, tag: str) -> None:
        """Put a space between the texts of two tags."""
        if tag not in _WITHIN:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        for _, number in self._open:
            self._texts[number].append(data)

    def texts(self, tag: str, class_name: str = "") -> list[str]:
        """Return the text within every tag of a name, and of a class if one is given."""
        return [
            " ".join("".join(text).split())
            for (name, attributes), text in zip(self.tags, self._texts, strict=True)
            if name == tag and (not class_name or class_name in attributes.get("class", "").split())
        ]

    def attributes(self, *names: str) -> list[str]:
        """Return values of attributes of all tags."""
        return [fields[name] for _, fields in self.tags for name in names if name in fields]

    def loads(self) -> list[str]:
        """Return addresses that a browser would load beyond this file."""
        targets = [
            fields[name]
            for tag, fields in self.tags
            for name in _LOADING
            if name in fields and tag != "a" and not fields[name].startswith(("#", "data:,"))
        ]
        styles = [*self.texts("style"), *self.attributes("style")]
        urls = [
            address for style in styles for address in re.findall(r"url\(([^#)][^)]*)\)", style)
        ]
        imports = [style for style in styles if "@import" in style]
        # the page's own script has no address
        scripts = [tag for tag, _ in self.tags if tag in ("iframe", "object", "embed")]
        return targets + urls + imports + scripts

    def wrong_links(self) -> list[str]:
        """Return ids that occur twice, and links within the page that lead nowhere."""
        ids = self.attributes("id")
        twice = [id for id in set(ids) if ids.count(id) > 1]
        links = [
            fields["href"][1:] for _, fields in self.tags if fields.get("href", "").startswith("#")
        ]
        clips = re.findall(r"url\(#([^)]+)\)", " ".join(self.attributes("clip-path", "style")))
        return twice + [link for link in [*links, *clips] if link not in ids]
