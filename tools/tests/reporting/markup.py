"""A page as a parser sees it."""

from __future__ import annotations

from html.parser import HTMLParser

_ALONE = {"meta", "link", "br", "img", "hr", "input"}
#: of drawings, which may close themselves
_DRAWN = {"path", "use", "tspan", "rect", "circle", "line", "g", "text"}


class Page(HTMLParser):
    """Tags with their attributes, the text of each, and what does not fit together.

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

    def handle_data(self, data: str) -> None:
        for _, number in self._open:
            self._texts[number].append(data)

    def texts(self, tag: str, of_class: str = "") -> list[str]:
        """The text within every tag of a name, and of a class if one is given."""
        return [
            " ".join("".join(text).split())
            for (name, attributes), text in zip(self.tags, self._texts, strict=True)
            if name == tag and (not of_class or of_class in attributes.get("class", "").split())
        ]

    def attributes(self, *names: str) -> list[str]:
        """Values of attributes of all tags."""
        return [of[name] for _, of in self.tags for name in names if name in of]
