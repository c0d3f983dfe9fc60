"""A figure as SVG that stands within a page: its colours are the page's, light and dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from rlregress.model.extra_packages import not_installed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: what is drawn in it -> the colour that stands for it until the page says which it is
INK, FAINT, STORED, NEW, BAND, LIMIT = (f"#01020{digit}" for digit in range(3, 9))
_OF_PAGE = {
    INK: "var(--ink)", FAINT: "var(--line)", STORED: "var(--stored)", NEW: "var(--new)",
    BAND: "var(--band)", LIMIT: "var(--limit)",
}  # fmt: skip
#: width over height is kept; a point of the figure is a pixel of the page
_POINTS = 72.0
_STYLE = {
    "svg.fonttype": "none", "font.size": 10.0, "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": FAINT, "xtick.color": FAINT, "ytick.color": FAINT, "xtick.labelcolor": INK,
    "ytick.labelcolor": INK, "axes.spines.top": False, "axes.spines.right": False,
    "legend.frameon": False,
    "xtick.labelsize": 9.0, "ytick.labelsize": 9.0, "axes.unicode_minus": True,
    "axes.formatter.useoffset": False, "hatch.linewidth": 0.6,
    # names are no formulas, whatever they hold
    "text.parse_math": False,
}  # fmt: skip


def draw_svg(
    draw: Callable[[Axes], None],
    name: str,
    label: str,
    width: float,
    height: float,
    margins: tuple[float, float, float, float],
) -> Markup:
    """Draw on axes and return the drawing as an element of a page.

    Args:
        name: of the figure, one of its own in a page.
        label: what it shows, for who cannot see it.
        width, height: pixels; a narrow page shows it smaller.
        margins: pixels left, right, below and above the axes.
    """
    # takes most of a second, which no command without a figure has to wait
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return escape(f"A figure is not drawn: {not_installed('matplotlib')}.")

    left_margin, right_margin, below, above = margins
    place = (
        left_margin / width, below / height, (width - left_margin - right_margin) / width,
        (height - below - above) / height,
    )  # fmt: skip
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # of a name that the font cannot draw: the page's font is another
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure = Figure(figsize=(width / _POINTS, height / _POINTS))
        axes = figure.add_axes(place)
        for background in (figure.patch, axes.patch):
            background.set_visible(False)
        draw(axes)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _within_a_page(text.getvalue(), label)


def _within_a_page(text: str, label: str) -> Markup:
    """Return the drawing without its document header and its global styles.

    That is words about the file, a rule of style, a font, ids that nothing refers to, and digits
    that nobody sees.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>", "", text, flags=re.DOTALL)
    idle = (
        r' id="[\w.]+_\d+"| xmlns:xlink="[^"]*"| font-family:[^;"]+;| transform="rotate\(-0[^"]*"'
    )
    text = re.sub(idle, "", text)
    text = re.sub(r'(<svg[^>]*?) width="[^>]*?( viewBox="[^"]*")[^>]*', r"\1\2", text)
    text = re.sub(r' (?:d|x|y)="[^"]*"', _rounded, text).replace(" xlink:href", " href")
    text = re.sub("#01020[3-8]", lambda colour: _OF_PAGE[colour[0]], text)
    text = re.sub(r">\s+<", "><", text).replace("<g/>", "")
    text = re.sub(r"<g>(<text[^>]*>[^<]*</text>|<(?:use|path)[^>]*/>)</g>", r"\1", text)
    # points of one style have it once
    text = re.sub(
        r'<g>(<use [^>]* style="([^"]*)"/>(?:<use [^>]* style="\2"/>)+)</g>', _joined, text
    )
    # texts in a figure are escaped by matplotlib
    head = Markup('<svg role="img" aria-label="{}"').format(label)
    return Markup(text.replace("<svg", head, 1))  # noqa: S704


def _rounded(place: re.Match[str]) -> str:
    one_line = re.sub(r"\s+", " ", place[0])
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}", one_line)


def _joined(points: re.Match[str]) -> str:
    style = f' style="{points[2]}"'
    return f"<g{style}>{points[1].replace(style, '')}</g>"
