"""Text from files is shown, and never obeyed: by terminals, Markdown and hosts of code."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rlregress.report import harmless

#: what people would give as a name to have something obeyed, with text in between
PIECES = st.sampled_from(
    rb"\x1b[2J \x1b]0;title\x07 \x9b31m \r \x08 \u202e \ue000 \ud800 \n ::error:: ##[error] "
    rb"##vso[task.complete] ##teamcity[x] <script> </details> <!-- ``` ~~~~ ` \\` | ![x](y) [x](y) "
    rb"@team a@b \xe9@team https://x.org "
    rb"www.x.org [a][b] [b]: text".decode("unicode_escape").split(" ")
) | st.just(" ")
#: what turns the direction of text around.
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
HOSTILE = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


# the first draw in a fresh clone builds a table of all characters, for seconds
@given(HOSTILE, st.booleans())
@example("::error::x", True)
def test_a_terminal_obeys_nothing(text: str, begins: bool) -> None:
    """No control character but tabs and ends of lines, and no command of a host of code."""
    safe = harmless.escape_for_terminal(text, "" if begins else ".")
    obeyed = {c for c in safe if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    assert obeyed <= {"\n", "\t"}
    assert not any(unicodedata.bidirectional(character) in DIRECTIONS for character in safe)
    assert not re.search(r"##\w*\[", safe)
    lines = safe.split("\n")[0 if begins else 1 :]
    assert not any(line.lstrip().startswith("::") for line in lines)
    safe.encode()


@given(HOSTILE)
def test_colours_are_kept_where_they_are_wanted(text: str) -> None:
    """Colours of our library are kept; the text itself adds no escape sequence."""
    safe = harmless.escape_for_terminal(f"\x1b[1;31m{text}\x1b[0m", colours=True)
    assert safe.startswith("\x1b[1;31m")
    assert "\x1b" not in re.sub("\x1b\\[[0-9;]*m", "", safe)
    for hidden in ("8", "30", "40", "1;30", "47;37", "38;5;0"):
        assert "\x1b" not in harmless.escape_for_terminal(f"\x1b[{hidden}mx", colours=True)


def test_harmless_text_is_unchanged() -> None:
    """Accents, tables, arrows and a version are no escape sequences."""
    for text in ("sb3 2.9.2 -> 2.10", "│ Größe │ 3 × 4\n", "\tat 3:4::5", "a # [b]", ""):
        assert harmless.escape_for_terminal(text) == text
        assert harmless.escape_markdown(text) == text
    text = "- `a.py <class> X` and a@2.1"
    assert harmless.escape_markdown(text) == text


@given(HOSTILE, HOSTILE, HOSTILE)
@example("`", "<script>", "`")
@example("|`", "|<b>`", "")
@example("`##[error]`", "::error::", "##[error]")
def test_markdown_obeys_nothing(name: str, failure: str, second_name: str) -> None:
    """Names in lines and failures in fences make no markup, link, image or name of a user."""
    name, second_name = (character.replace("\n", " ") for character in (name, second_name))
    quoted = harmless.make_markdown_code_block(failure)
    rows = ["# Gate", f"- {name} and {second_name}", "", *quoted, "", f"| {name} | {second_name} |"]
    safe = harmless.escape_markdown("\n".join(rows))
    # a job may print the page
    assert not re.search(r"##\w*\[|^\s*::", safe, re.MULTILINE)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(safe)
    outside = re.sub("`[^`]*`", "", harmless.escape_markdown(name))
    assert not re.search(r"https?://|www\.", outside)
    inline = [inner for token in tokens for inner in token.children or ()]
    kinds = {token.type for token in (*tokens, *inline)}
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image"})
    assert sum(token.type == "fence" for token in tokens) == 1
    assert not any(
        re.search(r"(?<![a-zA-Z0-9_`])@\w", token.content) and "&#64;" not in safe
        for token in inline
        if token.type == "text"
    )


def test_markdown_leads_nowhere() -> None:
    """GitHub makes a link of an address, and of a reference that is defined elsewhere."""
    safe = harmless.escape_markdown(
        "See https://x.org, www.x.org and [click][a], Jos\u00e9@team.\n\n[a]: http://x.org\n"
    )
    assert not re.search(r"://|www\.|\]\[|\]:|@", safe)
    assert "href" not in MarkdownIt("commonmark").render(safe)


@pytest.mark.parametrize("text", ["a\nb", "100%", "x::y,z", "a\x1b[2J\rb"])
def test_a_workflow_command_ends_where_it_ends(text: str) -> None:
    """One line, whose text and properties end neither early nor late."""
    line = harmless.format_workflow_command("error", {"file": text, "line": "3"}, text)
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert re.fullmatch(r"::error file=[^:,]*,line=3::.*", line)
