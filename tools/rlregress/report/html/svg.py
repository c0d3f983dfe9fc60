"""Draws figures as SVG elements of a page that take its colours, light or dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from rlregress.model.extra_packages import explain_installation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: placeholder colours, which are replaced by the colours of the page
INK, FAINT, STORED, NEW, BAND, LIMIT = (f"#01020{digit}" for digit in range(3, 9))
_OF_PAGE = {
    INK: "var(--ink)", FAINT: "var(--line)", STORED: "var(--stored)", NEW: "var(--new)",
    BAND: "var(--band)", LIMIT: "var(--limit)",
}  # fmt: skip
#: pixels
_WIDTH = 360.0
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
    height: float,
    margins: tuple[float, float, float, float],
) -> Markup:
    """Draw on axes and return the drawing as an element of a page.

    Args:
        name: any text that is unique within a page.
        label: description for readers who cannot see it.
        height: pixels; all figures have one width, and a narrow page shows them smaller.
        margins: pixels left, right, below and above the axes.
    """
    # the import takes most of a second, and commands without a figure do not need it
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return escape(f"A figure is not drawn: {explain_installation('matplotlib')}.")

    left_margin, right_margin, below, above = margins
    place = (
        left_margin / _WIDTH, below / height, (_WIDTH - left_margin - right_margin) / _WIDTH,
        (height - below - above) / height,
    )  # fmt: skip
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # a glyph that is missing in this font may exist in the font of the page
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure = Figure(figsize=(_WIDTH / _POINTS, height / _POINTS))
        axes = figure.add_axes(place)
        for background in (figure.patch, axes.patch):
            background.set_visible(False)
        draw(axes)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _strip_document_header(text.getvalue(), label)


def _strip_document_header(text: str, label: str) -> Markup:
    """Return the drawing without its document header and its global styles.

    Metadata, fonts, unused ids and invisible digits are removed as well.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>", "", text, flags=re.DOTALL)
    idle = (
        r' id="[\w.]+_\d+"| xmlns:xlink="[^"]*"| font-family:[^;"]+;| transform="rotate\(-0[^"]*"'
    )
    text = re.sub(idle, "", text)
    text = re.sub(r'(<svg[^>]*?) width="[^>]*?( viewBox="[^"]*")[^>]*', r"\1\2", text)
    text = re.sub(r' (?:d|x|y)="[^"]*"', _round_coordinates, text).replace(" xlink:href", " href")
    text = re.sub("#01020[3-8]", lambda colour: _OF_PAGE[colour[0]], text)
    text = re.sub(r">\s+<", "><", text).replace("<g/>", "")
    text = re.sub(r"<g>(<text[^>]*>[^<]*</text>|<(?:use|path)[^>]*/>)</g>", r"\1", text)
    # one style for a group of points, instead of one for each
    text = re.sub(
        r'<g>(<use [^>]* style="([^"]*)"/>(?:<use [^>]* style="\2"/>)+)</g>',
        _move_style_to_group,
        text,
    )
    # texts in a figure are escaped by matplotlib
    head = Markup('<svg role="img" aria-label="{}"').format(label)
    return Markup(text.replace("<svg", head, 1))  # noqa: S704


def _round_coordinates(match: re.Match[str]) -> str:
    one_line = re.sub(r"\s+", " ", match[0])
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}", one_line)


def _move_style_to_group(points: re.Match[str]) -> str:
    style = f' style="{points[2]}"'
    return f"<g{style}>{points[1].replace(style, '')}</g>"
