"""Escapes text from files for its display: terminals, Markdown, code hosts.

The text stays readable: an active character is written as its escape.
"""

from __future__ import annotations

import re

#: control characters except tabs and ends of lines; characters that reorder, hide or replace text;
#: single surrogates, which cannot be encoded, and code points that are no characters
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ue000-\uf8ff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
#: escape sequences for colours, except those that hide text, such as black
_COLOUR = re.compile("(\x1b\\[(?:(?:[0-79]|3[1-79]|9[0-7])(?:;(?=[0-9])|(?=m)))*m)")
#: workflow commands: those of GitHub begin a line, others may occur anywhere in it
_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
_ANYWHERE = re.compile(r"##(?=\w*\[)")
#: a command may begin this many characters before the end of the earlier text of a line
BEFORE = 100
#: encloses our own fences; removed from all texts of files
_FENCE = "\ue000"
#: text that would be markup, a link or an image in Markdown, an address or a mention on GitHub, or
#: a workflow command in the log of a job
_MARKUP = re.compile(
    r"<(?=[A-Za-z/!?])|(?<=\])[(:\[]|:(?=//)|(?<=www)\.|(?<![A-Za-z0-9_])@(?=\w)"
    r"|^\s*:(?=:)|#(?=#\w*\[)",
    re.IGNORECASE,
)
_FENCES = re.compile("`{2,}|~{3,}")


def _escape_match(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def escape_for_terminal(text: str, line_start: str = "", colours: bool = False) -> str:
    """Escape a text for a terminal or the log of a job: control sequences, workflow commands.

    Args:
        line_start: the earlier text of the same line, at most ``BEFORE`` characters.
        colours: whether to keep escape sequences for colours.
    """
    text = text.replace(_FENCE, "")
    parts = _COLOUR.split(text) if colours else [text]
    # every second part is a colour
    text = "".join(
        part if number % 2 else _OBEYED.sub(_escape_match, part)
        for number, part in enumerate(parts)
    )
    command_spans = (match.span() for match in re.finditer(r"##\w*\[", line_start + text))
    if any(start < len(line_start) < end for start, end in command_spans):
        text = f" {text}"
    text = _COMMAND.sub(r"\1: ", line_start + text)[len(line_start) :]
    return _ANYWHERE.sub("# #", text)


def escape_into_one_line(text: str) -> str:
    """Escape a text as ``escape_for_terminal`` does, in one line for the middle of a sentence."""
    return " ".join(escape_for_terminal(text).split())


def make_markdown_code_block(text: str) -> list[str]:
    """Return lines of Markdown that show a text unchanged; to be passed to ``escape_markdown``."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = f"{_FENCE}{'`' * max(3, longest + 1)}{_FENCE}"
    return [fence, text.replace(_FENCE, ""), fence]


def escape_markdown(text: str) -> str:
    """Escape a whole Markdown text, so that only our own marks are markup.

    Texts of several lines must be in it as ``make_markdown_code_block`` returns them.
    """
    parts = re.split(f"{_FENCE}(`+)(?:{_FENCE}\n)(.*?)\n{_FENCE}\\1{_FENCE}", text, flags=re.DOTALL)
    safe = []
    for number in range(0, len(parts), 3):
        lines = _OBEYED.sub(_escape_match, parts[number]).split("\n")
        safe.append("\n".join(map(_escape_markdown_line, lines)))
        if number + 2 < len(parts):
            fence, inside = parts[number + 1 : number + 3]
            safe.append(f"{fence}\n{escape_for_terminal(inside)}\n{fence}")
    return "".join(safe)


def _escape_markdown_line(line: str) -> str:
    """Escape a line of Markdown. Between two backticks nothing is markup."""
    pieces = _FENCES.sub(_convert_to_entity, line).split("`")
    # a cell of a table ends code between backticks, and an escaped backtick begins none
    certain = len(pieces) % 2 and not re.search(r"\||\\`", line)
    return ("`" if certain else "&#96;").join(
        _ANYWHERE.sub("# #", piece)
        if certain and number % 2
        else _MARKUP.sub(_convert_to_entity, piece)
        for number, piece in enumerate(pieces)
    )


def _convert_to_entity(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(character)};" for character in match[0])


def format_workflow_command(level: str, properties: dict[str, str], message: str) -> str:
    """Return a workflow command of GitHub, with text that cannot end it."""
    named = ",".join(
        f"{key}={_escape_property_of_command(value)}" for key, value in properties.items()
    )
    return f"::{level} {named}::{_escape_data_of_command(message)}"


def _escape_data_of_command(text: str) -> str:
    safe = "\r".join(_OBEYED.sub(_escape_match, part) for part in text.split("\r"))
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property_of_command(text: str) -> str:
    return _escape_data_of_command(text).replace(":", "%3A").replace(",", "%2C")
