"""The terminal: its width, and screens in colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from rlregress.report import screen


def get_screen_width() -> int:
    """Return the columns of the terminal, up to the widest screen that is easy to read."""
    return min(Console().width, screen.WIDEST)


def print_screen(lines: Iterable[Text], log: Callable[[str], object]) -> None:
    """Print the lines of a screen, in colour where the terminal has colours."""
    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as captured:
        for line in lines:
            console.print(line)
    for text in captured.get().splitlines():
        log(text)
